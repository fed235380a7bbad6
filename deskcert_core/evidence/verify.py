"""Whether a run folder holds together: manifest, inputs, journals and blobs are those that its chained records name. Unsigned: who rewrites all of it is not found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence.record import AgentOutput, Approved, Line, Note, Observed, Requested, RunStarted, TrialStarted
from deskcert_core.evidence.store import RunFolder

__all__ = ["verify"]

Trial = tuple[str, int]


def verify(folder: RunFolder) -> None:
    """Raises EvidenceError naming the first thing that was changed, added or taken away. What a crash cut off is no fault."""
    run = folder.run_lines()
    starts = [line.body for line in run if isinstance(line.body, RunStarted)]
    if len(starts) > 1:
        raise EvidenceError(f"run.jsonl of run {folder.run_id} starts the run more than once")
    if starts:
        same_manifest(folder, "run.jsonl", starts[0].run_id, starts[0].manifest)
    folder.suite, folder.policy  # noqa: B018 - both are read, each held against its digest
    check_blobs(folder, run)
    noted = started(run)
    found = {trial: folder.lines(*trial) for trial in folder.trials()}
    for (task_id, number), lines in found.items():
        check_trial(folder, (task_id, number), lines, noted=(task_id, number) in noted and bool(starts))
    if missing := [f"{task_id} {number}" for task_id, number in noted if (task_id, number) not in found]:
        raise EvidenceError(f"the journal of trial {', '.join(missing)} is missing: run.jsonl says that it was started")


def check_trial(folder: RunFolder, trial: Trial, lines: Sequence[Line], *, noted: bool) -> None:
    """Its start is noted in run.jsonl before the first record is written; a journal without a record was cut off between the two."""
    name = f"trial {trial[0]} {trial[1]}"
    if not lines:
        return
    if not noted:
        raise EvidenceError(f"{name} has a journal, and run.jsonl does not say that it was started")
    first = lines[0].body
    if not isinstance(first, TrialStarted) or (first.task_id, first.trial) != trial:
        raise EvidenceError(f"the journal of {name} does not begin with the start of that trial")
    same_manifest(folder, f"the journal of {name}", first.run_id, first.manifest)
    check_blobs(folder, lines)


def same_manifest(folder: RunFolder, where: str, run_id: str, digest: str) -> None:
    if run_id != folder.run_id or digest != folder.digest:
        raise EvidenceError(f"manifest.json was changed: its SHA-256 is {folder.digest}, {where} names {digest or 'none'}")


def started(run: Sequence[Line]) -> list[Trial]:
    """The trials that run.jsonl says were started."""
    notes = [line.body.detail for line in run if isinstance(line.body, Note) and line.body.what == "trial"]
    return [(str(detail.get("task")), trial) for detail in notes if isinstance(trial := detail.get("trial"), int)]


def check_blobs(folder: RunFolder, lines: Sequence[Line]) -> None:
    for line in lines:
        for digest in blobs(line):
            folder.data(digest)


def blobs(line: Line) -> Iterator[str]:
    """The digests that a record names."""
    match line.body:
        case Observed(text=text, screenshot=screenshot):
            yield from filter(None, (text, screenshot))
        case Approved(request=request) if request.screenshot:
            yield request.screenshot
        case Requested(body=str(body)):
            yield body
        case AgentOutput(text=text):
            yield text
        case Note(what="agent_output", detail={"text": str(text)}):
            yield text
        case _:
            pass
