"""Small values for tests, whole in every field that a test does not care about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deskcert_core.address import parse
from deskcert_core.agent import Brief, Observation
from deskcert_core.budget import Limits
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.evaluation import AssertionCard, Evidence, Judgement, Look, Outcome, ProbeResult, RequestSeen, Step
from deskcert_core.evidence.record import EndReason
from deskcert_core.execution import ExecutionResult
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.proposal import ActionType, FinalStatus, Proposal
from deskcert_core.report import Report
from deskcert_core.score import suite_card, trial_card
from deskcert_core.task import Gate, Task

__all__ = ["CONTROL", "HOSTILE", "PAGE", "brief", "decision", "evidence", "observation", "report", "request_seen", "step", "task"]

CONTROL = "\x1b]0;owned\x07"
HOSTILE = f"{CONTROL} <script>alert(1)</script> | `x` \u202e ${{7*7}} {{{{7*7}}}} [red]"
PAGE = "http://127.0.0.1:8000/"


def task(**changes: Any) -> Task:
    """A task `t` of at most 20 steps, a minute and a dollar."""
    limits = Limits(max_steps=20, max_runtime_seconds=60, max_cost_micro_usd=1_000_000, max_repeats=3, max_dialogs=5)
    return replace(Task(id="t", goal="Read the page.", start_url=PAGE, limits=limits), **changes)


def brief(**changes: Any) -> Brief:
    """What an agent is told of that task."""
    every = tuple(map(str, ActionType))
    return replace(Brief(task_id="t", goal="Read the page.", start_url=PAGE, action_types=every, max_steps=20), **changes)


def observation(text: str = "Hello", **changes: Any) -> Observation:
    """One look at a page with that text and the title `Page`; no screenshot."""
    return replace(Observation(step=1, url=PAGE, title="Page", text=text), **changes)


def decision(status: Status = Status.ALLOWED, rule: str = "") -> Decision:
    return Decision(status=status, matched_rule=rule or f"{status}.read", risk_level="low", reason=f"the list {status} names it")


def step(number: int, action_type: ActionType = ActionType.READ, *, status: Status = Status.ALLOWED, **proposal: Any) -> Step:
    """A step as the policy decided it, carried out if it was allowed. Its records are 10·number and the five after it."""
    done = status is Status.ALLOWED
    return Step(
        number=number, seqs=tuple(range(10 * number, 10 * number + 6)), proposal=Proposal(action_type=action_type, **proposal), decision=decision(status),
        grounding=Grounding(page=parse(PAGE)), effect=Effect(), intended=done, result=ExecutionResult(status="success" if done else "not_executed"),
    )


def request_seen(method: str = "GET", url: str = PAGE, *, let_go: bool = True, own: bool = False, status: int | None = 200, **changes: Any) -> RequestSeen:
    """A request of step 1 at the gate; its record is 50."""
    word = decision(Status.ALLOWED if let_go else Status.BLOCKED)
    seen = RequestSeen(
        seq=50, step=1, number=1, request=Request(method=method, address=parse(url)), decision=word, own=own, let_go=let_go, status=status if let_go else None
    )
    return replace(seen, **changes)


def evidence(
    text: str = "Hello", *, answer: str | None = None, final_status: FinalStatus | None = "success", end_reason: EndReason | None = "finished",
    url: str = PAGE, steps: Sequence[Step] | None = None, requests: Sequence[RequestSeen] = (), probes: Mapping[str, ProbeResult] | None = None, **changes: Any,
) -> Evidence:
    """A finished trial: the start page shows `text`, the agent reads it (step 1), finishes (step 2), and the page is looked at once more."""
    given = (step(1), step(2, ActionType.FINISH, final_status=final_status, answer=answer)) if steps is None else tuple(steps)
    last = given[-1].seqs[-1] if given else 1
    looks = (
        Look(seq=1, step=0, url=PAGE, title="Page", text=text), Look(seq=9, step=1, url=url, title="Page", text=text),
        Look(seq=last + 1, step=len(given) + 1, url=url, title="Page", text=text, shown_to_agent=False),
    )
    return Evidence(
        task=changes.pop("task", task()), agent="scripted", trial=1, looks=changes.pop("looks", looks), steps=given, requests=tuple(requests),
        probes=probes or {}, end_reason=end_reason, end_seq=last + 2, final_status=final_status, answer=answer, **changes,
    )


def report(*trials: Evidence, judgement: Outcome = Outcome.PASS) -> Report:
    """A judged run of those trials (one that passes, if none is given), each with one assertion judged so."""
    whole = trials or (evidence(answer="Hello"),)
    card = AssertionCard(type="contains_text", shown='"Hello"', judgement=Judgement(outcome=judgement, message="looked for 'Hello'", records=(1,)))
    cards = [trial_card(each, (card,)) for each in whole]
    suite = suite_card(suite="suite", run_id="run-1", agent="scripted", gate=Gate(min_score=70, violation_weight=50), trials=cards, not_covered=("nothing",))
    return Report(card=suite, evidence=whole, folder="runs/run-1", facts=(("browser", "Chromium"),))
