"""A run folder judged: derived files the same byte for byte, and never a pass from a run that is not whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from journals import COSTS, Journal, assertions, invoice, task

from deskcert_core import judging
from deskcert_core.errors import EvidenceError, PluginError
from deskcert_core.evidence.record import Note, Observed, RunEnded, RunStarted, TrialStarted
from deskcert_core.evidence.store import RunFolder
from deskcert_core.judging import judge_run
from deskcert_core.plugins import drivers
from deskcert_core.policy.rules import Domains, Lists, Policy, Status
from deskcert_core.task import Environment, Gate, Suite

PICTURE = b"not really a JPEG"
POLICY = Policy(name="p", actions=Lists(), effects=Lists(), domains=Domains(), writes=Status.BLOCKED)
ASSERTED = assertions({"contains_text": "$1,248.92", "max_steps": 20, "final_status": "success", "no_policy_violations": True})


def run_folder(
    tmp_path: Path, *trials: Journal, reason: Literal["finished", "interrupted", "fault"] | None = "finished", count: int | None = None,
    manifest: dict[str, Any] | None = None, asserted: Any = ASSERTED, tasks: tuple[str, ...] = ("confirm-total",),
) -> Path:
    """A run as a session leaves it: one trial of the task for each journal."""
    folder = RunFolder.create(tmp_path / "run-1", secrets={})
    suite = Suite(
        name="invoice-demo", root="/suite", tasks=tuple(replace(task(*asserted), id=name) for name in tasks),
        environment=Environment(name="local", base_url="http://127.0.0.1:8000"), gate=Gate(min_score=70, violation_weight=50), costs=COSTS,
    )
    told = {
        "agent": "scripted", "adapter": "deskcert 0.1.0", "suite": "invoice-demo", "environment": "local", "approver": "auto", "containment": "proxy",
        "agent_isolation": "process", "browser": {"name": "chromium", "version": "1.2", "sandbox": True},
    }
    folder.write_manifest({**told, **(manifest or {})}, suite, POLICY)
    run = folder.run_journal()
    run.append(RunStarted(run_id="run-1", started_at="2026-01-01T00:00:00Z", manifest=folder.digest))
    picture = folder.blob(PICTURE)
    for number, journal in enumerate(trials, 1):
        writer = folder.journal("confirm-total", number)
        run.append(Note(what="trial", detail={"task": "confirm-total", "trial": number}))
        for line in journal.lines:
            body = line.body
            if isinstance(body, Observed):
                body = replace(body, text=folder.text_blob(journal.blobs[body.text]), screenshot=picture if body.screenshot else None)
            if isinstance(body, TrialStarted):
                body = replace(body, run_id="run-1", trial=number, manifest=folder.digest)
            writer.append(body)
        writer.close()
    if reason:
        run.append(RunEnded(reason=reason, trials=len(trials) if count is None else count))
    run.close()
    return folder.path


def test_a_run_is_judged_from_its_folder(tmp_path: Path) -> None:
    report = judge_run(run_folder(tmp_path, invoice()))
    (card,) = report.card.trials
    assert (report.card.verdict, report.card.exit_code, card.verdict, card.failure.category) == ("PASS", 0, "PASS", "NONE")
    assert [each.judgement.outcome for each in card.assertions] == ["pass"] * 4
    assert dict(report.facts)["containment"] == "proxy, browser sandbox on"
    assert dict(report.facts)["browser"] == "chromium 1.2"
    assert report.evidence[0].steps[0].number == 1


def test_the_derived_files_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    path = run_folder(tmp_path, invoice(), invoice())
    judge_run(path)
    derived = path / "derived"
    first = {file.relative_to(derived): file.read_bytes() for file in derived.rglob("*") if file.is_file()}
    judge_run(path)
    assert {file.relative_to(derived): file.read_bytes() for file in derived.rglob("*") if file.is_file()} == first
    names = {str(name) for name in first}
    assert {"scorecard.json", "trials/confirm-total/1/trajectory.json", "trials/confirm-total/2/screenshots/step-006.jpg"} <= names
    assert json.loads(first[Path("scorecard.json")])["steps_taken"] == 12
    assert first[Path("trials/confirm-total/1/screenshots/step-001.jpg")] == PICTURE


def test_a_derived_picture_is_no_way_into_the_evidence(tmp_path: Path) -> None:
    path = run_folder(tmp_path, invoice())
    judge_run(path)
    (path / "derived/trials/confirm-total/1/screenshots/step-001.jpg").write_bytes(b"forged")
    assert judge_run(path).card.verdict == "PASS"
    assert (path / "derived/trials/confirm-total/1/screenshots/step-001.jpg").read_bytes() == PICTURE


@pytest.mark.parametrize(
    ("reason", "count", "says"),
    [(None, None, "no end"), ("interrupted", None, "did not finish: interrupted"), ("fault", None, "did not finish: fault"), ("finished", 2, "had 2 trials")],
)
def test_a_run_that_is_not_whole_is_inconclusive(tmp_path: Path, reason: Any, count: int | None, says: str) -> None:
    card = judge_run(run_folder(tmp_path, invoice(), reason=reason, count=count)).card
    assert (card.verdict, card.exit_code) == ("INCONCLUSIVE", 3)
    assert says in card.problems[0]


def test_a_criterion_that_is_not_installed_is_inconclusive(tmp_path: Path) -> None:
    card = judge_run(run_folder(tmp_path, invoice(), asserted=assertions({"no_such_thing": 1}))).card
    assert card.exit_code == 3
    assert "no_such_thing" in card.trials[0].assertions[0].judgement.message


def test_a_criterion_of_another_version_is_inconclusive(tmp_path: Path) -> None:
    for version, code in (("0", 3), ("1", 0)):
        card = judge_run(run_folder(tmp_path / version, invoice(), manifest={"criteria": {"max_steps": version}})).card
        assert card.exit_code == code
    assert judging.load_criteria(["max_steps"], {"max_steps": "0"})[1] == {"max_steps": "the run was made with version 0 of max_steps, installed is 1"}


def test_a_criterion_that_cannot_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(group: str, name: str) -> object:
        raise PluginError("it is broken", hint="repair it")

    monkeypatch.setattr(drivers, "get", broken)
    assert judging.load_criteria(["max_steps"], {}) == ({}, {"max_steps": "it is broken; repair it"})


def test_a_trial_of_an_unknown_task_is_no_evidence(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="confirm-total"):
        judge_run(run_folder(tmp_path, invoice(), tasks=("other",)))


def test_a_changed_journal_is_no_evidence(tmp_path: Path) -> None:
    path = run_folder(tmp_path, invoice())
    journal = path / "trials/confirm-total/1/journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"blocked"', b'"allowed"').replace(b"scripted", b"scribbed"))
    with pytest.raises(EvidenceError, match="journal"):
        judge_run(path)
    assert not (path / "derived").exists()


def test_a_torn_journal_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    path = run_folder(tmp_path, invoice())
    journal = path / "trials/confirm-total/1/journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    card = judge_run(path).card
    assert (card.verdict, card.trials[0].failure.category, card.trials[0].steps_taken) == ("INCONCLUSIVE", "TOOL_EXECUTION_ERROR", 6)


def test_what_a_report_does_not_cover(tmp_path: Path) -> None:
    lines = "\n".join(judge_run(run_folder(tmp_path / "a", invoice(), tasks=("confirm-total", "other"))).card.not_covered)
    for part in ("not run: other", "tried once", "approver auto", "the proxy is its only way out", "no sandbox", "not signed"):
        assert part in lines
    strong = {"approver": "terminal", "containment": "netns", "agent_isolation": "sandbox", "browser": None}
    report = judge_run(run_folder(tmp_path / "b", invoice(), invoice(), manifest=strong))
    assert report.card.not_covered == ("forged evidence: the journals are chained but not signed",)
    assert dict(report.facts)["containment"] == "netns, browser sandbox off"


def test_a_run_without_a_trial(tmp_path: Path) -> None:
    card = judge_run(run_folder(tmp_path)).card
    assert (card.exit_code, card.trials) == (3, ())
