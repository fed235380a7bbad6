"""A trial as a judge sees it: the journal read back. Pure, and any prefix of a journal will do: what a crash cut off is missing, never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from deskcert_core.approval import Approval
from deskcert_core.budget import Costs, Spent
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.evidence.record import (
    Answered,
    Approved,
    Body,
    Decided,
    EndReason,
    Fault,
    Intended,
    Line,
    Observed,
    Probed,
    Proposed,
    Replayed,
    Requested,
    Resulted,
    TrialEnded,
    TrialStarted,
)
from deskcert_core.execution import ExecutionResult
from deskcert_core.policy.rules import Decision
from deskcert_core.proposal import FinalStatus, Proposal
from deskcert_core.task import Json, Task

__all__ = ["Evidence", "Look", "Probe", "ProbeResult", "RequestSeen", "Step", "probe_key", "read_trial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A fact to keep at the end of a trial. `kind` is `element` (params selector), `url_json` (params url), `command_json` (params command)."""

    kind: Literal["element", "url_json", "command_json"]
    params: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What came of a probe: `element` gives a bool, the JSON kinds the decoded document. `problem` is set where it could not be had."""

    seq: int
    value: Any = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One observation, its text read back (`text_hash` is the SHA-256 of it). Step 0 is the start page as the trial found it; the last one is the end.
    Not `whole`: the text was cut, the page did not answer, or a dialog stood open, so that nothing can be said of what is not in it."""

    seq: int
    step: int
    url: str
    title: str
    text: str
    text_hash: str = ""
    screenshot: str | None = None
    shown_to_agent: bool = True
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One proposal with all that came of it. `seqs` are the records it was read from: the proposal, its decision, approval, intent, result."""

    number: int
    seqs: tuple[int, ...]
    proposal: Proposal
    decision: Decision | None = None
    grounding: Grounding | None = None
    effect: Effect | None = None
    claim_mismatch: str | None = None
    approval: Approval | None = None
    approvals_asked: int = 0
    intended: bool = False
    result: ExecutionResult | None = None
    latency_ns: int = 0
    cost_micro_usd: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeen:
    """One request at the gate. `own`: an act's own navigation or write. `let_go`: it could leave. `status` is the response's, None if refused or unanswered."""

    seq: int
    step: int
    number: int
    request: Request
    decision: Decision
    own: bool
    let_go: bool
    granted: bool = False
    approval: Approval | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A trial as a judge sees it: built from its journal and blobs, nothing else. Without an `end_reason` the journal was cut off.
    `unpriced` are the models whose calls are not in the cost, because the suite's costs do not know them; `replayed` is what a replay is held against."""

    task: Task
    agent: str
    trial: int
    looks: tuple[Look, ...] = ()
    steps: tuple[Step, ...] = ()
    requests: tuple[RequestSeen, ...] = ()
    probes: Mapping[str, ProbeResult] = field(default_factory=dict)
    faults: tuple[tuple[int, Fault], ...] = ()
    end_reason: EndReason | None = None
    end_seq: int = -1
    end_message: str = ""
    final_status: FinalStatus | None = None
    answer: str | None = None
    cost_micro_usd: int = 0
    unpriced: tuple[str, ...] = ()
    runtime_ns: int = 0
    replayed: Replayed | None = None

    @property
    def start_look(self) -> Look | None:
        """The start page as the trial found it, None if the trial never got there."""
        return self.looks[0] if self.looks and self.looks[0].step == 0 else None

    @property
    def end_look(self) -> Look | None:
        """The page as the trial left it, None if nobody looked (a trial that was cut off, a browser that died)."""
        last = self.looks[-1] if len(self.looks) > 1 else None
        return last if last and not last.shown_to_agent and last.seq > max((step.seqs[-1] for step in self.steps), default=-1) else None

    def probe(self, probe: Probe) -> ProbeResult | None:
        """What was kept for this probe, None if it was never recorded (a trial that ended early)."""
        return self.probes.get(probe_key(probe.kind, probe.params))


def probe_key(kind: str, params: Mapping[str, Any]) -> str:
    """One text for one probe: its kind and its parameters in order."""
    return f"{kind} {json.dumps(params, sort_keys=True)}"


def read_trial(task: Task, lines: Sequence[Line], text_of: Callable[[str], str], costs: Costs) -> Evidence:
    """A trial's chain-checked journal as evidence. `text_of` gives the text behind a blob's digest; what it raises passes through."""
    _, started = next(records(lines, TrialStarted), (-1, None))
    end_seq, ended = next(records(lines, TrialEnded), (-1, None))
    answers = read_approvals(lines)
    return Evidence(
        task=task,
        agent=started.agent if started else "",
        trial=started.trial if started else 0,
        looks=tuple(read_look(seq, seen, text_of(seen.text)) for seq, seen in records(lines, Observed)),
        steps=tuple(read_step(line, line.body, lines, answers, costs) for line in lines if isinstance(line.body, Proposed)),
        requests=tuple(read_requests(lines, answers)),
        probes={probe_key(kept.name, kept.params): ProbeResult(seq=seq, value=kept.value, problem=kept.problem) for seq, kept in records(lines, Probed)},
        faults=tuple(records(lines, Fault)),
        end_reason=ended.reason if ended else None,
        end_seq=end_seq,
        end_message=ended.message if ended else "",
        final_status=ended.final_status if ended else None,
        answer=ended.answer if ended else None,
        cost_micro_usd=cost(lines, costs),
        unpriced=tuple(sorted({used.model for _, made in records(lines, Proposed) if (used := made.proposal.usage) and costs.of_usage(used) is None})),
        runtime_ns=lines[-1].t_ns - lines[0].t_ns - waited_ns(lines) if lines else 0,
        replayed=next((body for _, body in records(lines, Replayed)), None),
    )


Kind = TypeVar("Kind", bound=Body)
Answers = Mapping[tuple[int, int | None], Sequence[Approval]]


def records(lines: Sequence[Line], kind: type[Kind]) -> Iterator[tuple[int, Kind]]:
    return ((line.seq, line.body) for line in lines if isinstance(line.body, kind))


def read_approvals(lines: Sequence[Line]) -> Answers:
    """The answers by step and request number (None: the act itself), in order."""
    found: dict[tuple[int, int | None], list[Approval]] = {}
    for _, body in records(lines, Approved):
        found.setdefault((body.step, body.number), []).append(body.approval)
    return found


def last_answer(given: Sequence[Approval], *, intended: bool, result: ExecutionResult | None) -> Approval | None:
    """What became of an act's approval. A yes after which the act was not even begun was stale: the page had changed meanwhile."""
    last = given[-1] if given else None
    if last and last.outcome == "approved" and not intended and result and result.status == "not_executed":
        return replace(last, outcome="stale", reason="the page changed while the approval was asked for")
    return last


def read_look(seq: int, seen: Observed, text: str) -> Look:
    return Look(
        seq=seq, step=seen.step, url=seen.url, title=seen.title, text=text, text_hash=seen.text, screenshot=seen.screenshot,
        shown_to_agent=seen.shown_to_agent, whole=seen.whole,
    )


def read_step(line: Line, proposed: Proposed, lines: Sequence[Line], answers: Answers, costs: Costs) -> Step:
    number = proposed.step
    looks = [each for each in lines if isinstance(each.body, Observed) and each.body.step == number and each.body.shown_to_agent and each.seq < line.seq]
    rest = [each for each in lines if each.seq > line.seq and of_act(each.body, number)]
    _, decided = next(records(rest, Decided), (-1, None))
    _, resulted = next(records(rest, Resulted), (-1, None))
    intended = any(isinstance(each.body, Intended) for each in rest)
    lost = ExecutionResult(status="outcome_unknown", message="the act was begun, and no result of it was recorded") if intended else None
    result = resulted.result if resulted else lost
    return Step(
        number=number,
        seqs=(line.seq, *(each.seq for each in rest)),
        proposal=proposed.proposal,
        decision=decided.decision if decided else None,
        grounding=decided.grounding if decided else None,
        effect=decided.effect if decided else None,
        claim_mismatch=decided.claim_mismatch if decided else None,
        approval=last_answer(answers.get((number, None), ()), intended=intended, result=result),
        approvals_asked=sum(len(given) for (step, _), given in answers.items() if step == number),
        intended=intended,
        result=result,
        latency_ns=line.t_ns - looks[-1].t_ns if looks else 0,
        cost_micro_usd=cost([*looks, line], costs),
    )


def of_act(body: Body, step: int) -> bool:
    """Whether a record is the decision, approval, intent or result of this step's act (an answer to one of its requests is not)."""
    match body:
        case Decided() | Intended() | Resulted():
            return body.step == step
        case Approved():
            return body.step == step and body.number is None
        case _:
            return False


def read_requests(lines: Sequence[Line], answers: Answers) -> Iterator[RequestSeen]:
    statuses = {body.number: body.status for _, body in records(lines, Answered)}
    for seq, body in records(lines, Requested):
        yield RequestSeen(
            seq=seq, step=body.step, number=body.number, request=body.request, decision=body.decision, own=body.own, let_go=body.let_go,
            granted=body.granted, approval=next(reversed(answers.get((body.step, body.number), ())), None), status=statuses.get(body.number),
        )


def cost(lines: Sequence[Line], costs: Costs) -> int:
    """Micro-dollars: every screenshot shown to the agent, every proposal, every model call with a price."""
    spent = Spent()
    for line in lines:
        match line.body:
            case Observed(shown_to_agent=True, screenshot=str()):
                spent = spent.look(costs)
            case Proposed(proposal=proposal):
                spent = spent.act(costs, proposal.usage)
            case _:
                pass
    return spent.cost_micro_usd


def waited_ns(lines: Sequence[Line]) -> int:
    """How long approvers were waited for; what overlaps counts once.

    The question on an act is put when its decision is recorded. A held request is recorded only after the answer: its question is counted from the
    record before the answer, so never longer than it was.
    """
    decided: dict[int, int] = {}
    total = before = until = 0
    for line in lines:
        match line.body:
            case Decided(step=step):
                decided[step] = line.t_ns
            case Approved(step=step, number=number):
                since = max(decided.get(step, before) if number is None else before, until)
                total, until = total + line.t_ns - since, line.t_ns
            case _:
                pass
        before = line.t_ns
    return total
