"""The run folder: writes are whole or the run stops, and a secret is gone before anything is hashed. Judged by the bytes on the disk."""

import base64
import errno
import html
import json
import os
import urllib.parse

import pytest

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence import store
from deskcert_core.evidence.record import Intended, Note
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.evidence.store import RunFolder, StoreError

SECRET = 'p4ss "wörd" & <more>/+1'


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run-1", secrets={"door": SECRET})


def everything(path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())


def forms(value: str) -> list[str]:
    raw = value.encode()
    return [
        value, urllib.parse.quote(value), urllib.parse.quote_plus(value), json.dumps(value)[1:-1], html.escape(value), raw.hex(),
        base64.b64encode(b"user:" + raw).decode(), base64.b64encode(b"user1:" + raw + b"!!").decode(), base64.b64encode(raw).decode(),
    ]


@pytest.mark.parametrize("place", range(len(forms(SECRET))))
def test_no_form_of_a_secret_reaches_the_disk(folder, place):
    said = forms(SECRET)[place]
    journal = folder.journal("task", 1)
    journal.append(Note(what="said", detail={"text": f"before {said} after"}))
    journal.close()
    folder.text_blob(f"page shows {said} here")
    assert not Scrubber({"door": SECRET}).holds(everything(folder.path))
    assert b"secret:door" in everything(folder.path)


def test_without_the_secret_named_it_would_be_there(tmp_path):
    """The negative control: the same words, with nothing to scrub."""
    folder = RunFolder.create(tmp_path / "run-2", secrets={})
    folder.text_blob(f"page shows {SECRET} here")
    assert Scrubber({"door": SECRET}).holds(everything(folder.path))


def test_a_secret_too_short_to_be_found_again_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        Scrubber({"pin": "123"})


def test_short_writes_are_finished(folder, monkeypatch):
    real = os.write
    monkeypatch.setattr(store.os, "write", lambda fd, data: real(fd, bytes(data[:7])))
    journal = folder.journal("task", 1)
    for step in range(3):
        journal.append(Intended(step=step), sync=True)
    assert [line.body for line in folder.lines("task", 1)] == [Intended(step=step) for step in range(3)]


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_a_failed_write_nothing_is_ever_written_again(folder, monkeypatch, call, code):
    journal = folder.journal("task", 1)
    journal.append(Intended(step=0), sync=True)
    calls = []

    def fail(*_):
        calls.append(1)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(store.os, call, fail)
    for _ in range(3):
        with pytest.raises(StoreError):
            journal.append(Intended(step=1), sync=True)
    monkeypatch.undo()
    with pytest.raises(StoreError):
        journal.append(Intended(step=1), sync=True)
    assert len(calls) == 1
    assert folder.lines("task", 1)[0].body == Intended(step=0)


def test_a_changed_or_missing_blob_is_named(folder):
    digest = folder.text_blob("hello")
    path = folder.path / "blobs" / "sha256" / digest
    path.write_bytes(b"hellp")
    with pytest.raises(EvidenceError, match=f"{digest} was changed"):
        folder.data(digest)
    path.unlink()
    with pytest.raises(EvidenceError, match=f"{digest} is missing"):
        folder.data(digest)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"layout": 99}'])
def test_what_is_no_run_folder_is_said_in_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(EvidenceError) as caught:
        RunFolder.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_files_are_for_the_owner_only(folder):
    journal = folder.journal("task", 1)
    journal.append(Intended(step=0))
    digest = folder.text_blob("x")
    for path in (folder.path / "trials" / "task" / "1" / "journal.jsonl", folder.path / "blobs" / "sha256" / digest):
        assert path.stat().st_mode & 0o077 == 0
