"""What reporters and approvers must be."""

from __future__ import annotations

import asyncio
from typing import Any

from deskcert_core.approval import Approval, ApprovalRequest
from deskcert_core.evaluation import Evidence, Outcome
from deskcert_core.evidence.record import Fault
from deskcert_core.policy.rules import Status
from deskcert_core.proposal import ActionType
from deskcert_core.testing.expect import conforms, expect, gives
from deskcert_core.testing.values import CONTROL, HOSTILE, PAGE, evidence, report, step, task

__all__ = ["check_approver", "check_reporter"]


def check_reporter(reporter: Any) -> None:
    """A reporter's class: it words any run, the same twice, says the verdict, and passes no control characters of a page on."""
    conforms(reporter, "deskcert.reporters")
    made = reporter()
    expect(isinstance(made.suffix, str) and made.suffix.isidentifier(), f"suffix is the ending of a file name without the dot, not {made.suffix!r}")
    blocked = evidence(steps=(step(1, ActionType.CLICK, status=Status.BLOCKED, decision_summary=HOSTILE),), end_reason="blocked", final_status=None)
    broken = evidence(end_reason="fault", faults=((70, Fault(whose="browser", message=HOSTILE)),))
    runs = (
        report(), report(evidence(HOSTILE, answer=HOSTILE), blocked, judgement=Outcome.FAIL), report(broken), report(Evidence(task=task(), agent="x", trial=1)),
    )
    for run in runs:
        said = made.render(run)
        expect(isinstance(said, str) and said != "", f"render gives a text, not {said!r:.80}")
        expect(reporter().render(run) == said, "render gives the same twice")
        expect(run.card.verdict in said, f"the report says the verdict {run.card.verdict}")
        expect(CONTROL not in said and "\x07" not in said, "control characters of a page stay out of the report")


def check_approver(approver: Any) -> Approval:
    """An approver's class: with nobody there it answers in time, in words that are defined, under its own assurance. Gives the answer."""
    conforms(approver, "deskcert.approvers")
    made = approver()
    asked = ApprovalRequest(
        run_id="run-1", task_id="t", trial=1, step=1, action="submit_form", effect="sends a form", claim=HOSTILE, matched_rule="approval_required.form_submit",
        risk_level="medium", page=PAGE, form=(("total", "1"),), expires_seconds=2,
    )
    said = gives(asyncio.run(asyncio.wait_for(made.ask(asked), 10)), Approval, "ask")
    expect(said.outcome in ("approved", "denied", "expired", "unavailable"), f"the outcome is approved, denied, expired or unavailable, not {said.outcome!r}")
    expect(said.assurance == made.assurance != "", f"the answer's assurance is the approver's, {made.assurance!r}, not {said.assurance!r}")
    return said
