"""A run folder of a failed trial, changed by someone who wants a pass: every change is named, exit code 4, and nothing is derived from it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journals import assertions, invoice
from test_judging import run_folder

from deskcert_core.errors import EvidenceError, ExitCode
from deskcert_core.evidence import chain
from deskcert_core.evidence.store import StoreError
from deskcert_core.judging import judge_run

JOURNAL = "trials/confirm-total/1/journal.jsonl"
NEVER = assertions({"contains_text": "never there"})


def failed(tmp_path: Path) -> Path:
    return run_folder(tmp_path, invoice(), asserted=NEVER)


def refused(path: Path) -> str:
    """What is said, in one line, of a folder that is no evidence."""
    with pytest.raises(EvidenceError) as caught:
        judge_run(path)
    assert caught.value.exit_code == ExitCode.EVIDENCE
    assert "\n" not in str(caught.value)
    assert not (path / "derived").exists()
    return str(caught.value)


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((path / "manifest.json").read_bytes())
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


def swap(path: Path, name: str, change: Callable[[Any], object]) -> None:
    """Another suite or policy: a new blob under its right name, and the manifest that names it."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    data = json.loads((path / "blobs/sha256" / manifest["inputs"][name]).read_bytes())
    raw = json.dumps(change(data) or data).encode()
    digest = hashlib.sha256(raw).hexdigest()
    (path / "blobs/sha256" / digest).write_bytes(raw)
    rewrite(path, lambda manifest: manifest["inputs"].update({name: digest}))


def add(path: Path, journal: str, name: str, raw: bytes | None = None) -> None:
    """One more record, rightly chained: the last one again, or `raw` as it is."""
    data = (path / journal).read_bytes()
    read = chain.read(name, data)
    again = {**json.loads(data.splitlines()[-1]), "seq": len(read.lines), "prev": read.head}
    (path / journal).write_bytes(data + (raw or json.dumps(again).encode() + b"\n"))


def test_the_control_fails_and_is_evidence(tmp_path: Path) -> None:
    assert judge_run(failed(tmp_path)).card.verdict == "FAIL"


def test_a_fail_does_not_become_a_pass_by_another_suite(tmp_path: Path) -> None:
    path = failed(tmp_path)
    swap(path, "suite", lambda suite: suite["tasks"][0]["assertions"][0]["params"].update(value="$1,248.92"))
    assert "manifest.json was changed" in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        {"containment": "netns"}, {"approver": "terminal"}, {"agent": "claude"}, {"criteria": {"max_steps": "1"}}, {"run_id": "run-2"}, {"more": 1},
        {"run_id": ""}, {"run_id": 5}, {"run_id": None}, {"inputs": None}, {"inputs": "x"}, {"inputs": {}}, {"inputs": {"suite": None, "policy": ""}},
        {"inputs": {"suite": "../../manifest.json", "policy": ""}}, {"inputs": {"suite": "a\0b", "policy": ""}}, {"criteria": []},
        {"criteria": {"max_steps": 1}}, {"browser": "x"}, {"browser": [1]}, {"approver": 1}, {"agent": {}}, {"replay": "x"}, {"layout": 2},
    ],
)
def test_a_changed_manifest_is_no_evidence(tmp_path: Path, change: dict[str, Any]) -> None:
    path = failed(tmp_path)
    rewrite(path, lambda manifest: manifest.update(change))
    refused(path)


@pytest.mark.parametrize("content", [b"", b"\xff{", b"[]", b"null", b"1", b"[" * 100_000, b'{"layout": 1}', b'{"layout": 1, "run_id": "run-1"}'])
def test_what_is_no_manifest_is_said_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = failed(tmp_path)
    (path / "manifest.json").write_bytes(content)
    assert "manifest.json" in refused(path)


@pytest.mark.parametrize("name", ["suite", "policy"])
def test_an_input_of_another_shape_or_changed_in_place_is_no_evidence(tmp_path: Path, name: str) -> None:
    path = failed(tmp_path / "shape")
    swap(path, name, lambda _: {"a": 1})
    refused(path)
    path = failed(tmp_path / "place")
    digest = json.loads((path / "manifest.json").read_bytes())["inputs"][name]
    (path / "blobs/sha256" / digest).write_text("{}")
    assert digest in refused(path)


def test_every_blob_that_a_record_names_is_held_against_its_digest(tmp_path: Path) -> None:
    whole = failed(tmp_path / "whole")
    blobs = sorted(blob.name for blob in (whole / "blobs/sha256").iterdir())
    assert len(blobs) > 3
    for number, name in enumerate(blobs):
        path = tmp_path / str(number) / "run-1"
        shutil.copytree(whole, path)
        with (path / "blobs/sha256" / name).open("ab") as blob:
            blob.write(b"x")
        assert name in refused(path)
        (path / "blobs/sha256" / name).unlink()
        assert name in refused(path)


@pytest.mark.parametrize(
    ("journal", "name"), [(JOURNAL, "run-1/confirm-total/1"), ("run.jsonl", "run-1/run")],
)
def test_nothing_stands_after_a_journals_end(tmp_path: Path, journal: str, name: str) -> None:
    path = failed(tmp_path / "record")
    add(path, journal, name)
    assert "after the journal's end" in refused(path)
    path = failed(tmp_path / "bytes")
    add(path, journal, name, b'{"x":1')
    assert "after the journal's end" in refused(path)


def test_a_trial_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    path = run_folder(tmp_path, invoice(), invoice())
    shutil.rmtree(path / "trials/confirm-total/2")
    assert "confirm-total 2 is missing" in refused(path)


@pytest.mark.parametrize("name", ["2", "x", "01", "+1", "0", "1 "])
def test_a_trial_under_another_name_is_no_evidence(tmp_path: Path, name: str) -> None:
    for how in (shutil.copytree, Path.rename):
        path = failed(tmp_path / how.__name__)
        how(path / "trials/confirm-total/1", path / "trials/confirm-total" / name)
        refused(path)


def test_a_trial_that_the_run_did_not_start_is_no_evidence(tmp_path: Path) -> None:
    """Its chain is right and it names the manifest; only run.jsonl does not know it."""
    path, more = failed(tmp_path / "one"), run_folder(tmp_path / "two", invoice(), invoice(), asserted=NEVER)
    shutil.copytree(more / "trials/confirm-total/2", path / "trials/confirm-total/2")
    assert (more / "manifest.json").read_bytes() == (path / "manifest.json").read_bytes()
    assert "does not say that it was started" in refused(path)


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    for place in ("derived", "derived/trials", "derived/trials/confirm-total/1/screenshots"):
        path, outside = failed(tmp_path / place), tmp_path / place / "outside"
        outside.mkdir()
        (path / place).parent.mkdir(parents=True, exist_ok=True)
        (path / place).symlink_to(outside)
        with pytest.raises(StoreError, match="symbolic link") as caught:
            judge_run(path)
        assert caught.value.exit_code == 69
        assert list(outside.iterdir()) == []


def test_derived_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    path = failed(tmp_path)
    (path / "derived").write_text("x")
    with pytest.raises(StoreError) as caught:
        judge_run(path)
    assert caught.value.exit_code == 69
    assert "\n" not in str(caught.value)
