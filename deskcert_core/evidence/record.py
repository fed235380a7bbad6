"""The records of a journal, one frozen dataclass a kind, and their bytes. A line is {seq, prev, t_ns, kind, body}.

Two rules: a record says what was seen or decided, never what it means; and nothing in it is a float that a judge would compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from deskcert_core.agent import Dialog
from deskcert_core.approval import Approval, ApprovalRequest
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.errors import Whose
from deskcert_core.execution import BrowserInfo, ExecutionResult
from deskcert_core.policy.rules import Decision
from deskcert_core.proposal import FinalStatus, Proposal

__all__ = ["Body", "Line", "Note", "Replayed", "StepFacts", "decode", "encode"]

EndReason = Literal[
    "finished", "blocked", "denied", "step_limit", "repeat_limit", "dialog_limit", "cost_limit", "runtime_limit", "agent_fault", "fault", "interrupted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStarted:
    """Opens a trial's journal. `started_at` is UTC, for people; every duration comes from `t_ns`. `manifest` is the SHA-256 of manifest.json's bytes."""

    run_id: str
    task_id: str
    trial: int
    agent: str
    started_at: str
    manifest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReady:
    """The agent's process said hello. `wants_script` means that it replays the task's own script."""

    adapter: str
    wants_script: bool
    isolation: str
    calls_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """What a replayed step is held against: facts of the step that was recorded. Addresses are already under the replaying suite's base URL.

    `text` is the digest of the visible text, `decision` its status and rule, `requests` those that the act was predicted to send, with the names of their fields.
    """

    act: str
    page: str
    text: str
    decision: str
    element: str
    requests: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """This trial's agent proposes what was recorded in another run; `steps` are the facts of that run, so that drift is judged from this folder alone."""

    run_id: str
    trial: int
    agent: str
    steps: tuple[StepFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One look, before the proposal of the same step. `text` and `screenshot` are blob digests (sha256 hex); `whole`: the text is all that the page said."""

    step: int
    url: str
    title: str
    text: str
    screenshot: str | None = None
    dialog: Dialog | None = None
    fell_back: bool = False
    shown_to_agent: bool = True
    events: tuple[str, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What the agent asked for in this step."""

    step: int
    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision on the act of a step, with what it was decided on. `claim_mismatch` says how claim and effect differ."""

    step: int
    decision: Decision
    grounding: Grounding
    effect: Effect
    claim_mismatch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """An approver's answer (whatever it was) to the act of a step, or to request `number` of it."""

    step: int
    request: ApprovalRequest
    approval: Approval
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """Written and synced before the executor is called. Without a `Resulted` after it the outcome is unknown."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resulted:
    """How the act of a step ended, and how the page stood after it settled."""

    step: int
    result: ExecutionResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """One request at the gate, decided before it left. `own` means the act's own navigation or write, `let_go` that it could leave
    (allowed, granted or approved); `body` is a blob digest."""

    step: int
    number: int
    request: Request
    decision: Decision
    own: bool
    let_go: bool
    granted: bool = False
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The status that came back for a request; None if the upstream failed."""

    number: int
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A fact that a criterion asked to have kept. Exactly one of value and problem is there."""

    name: str
    params: dict[str, Any]
    value: Any = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something broke. `whose` decides between FAIL (agent) and INCONCLUSIVE (everybody else)."""

    whose: Whose
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutput:
    """What the agent's process printed, as a blob."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded:
    """Closes a trial's journal. `final_status` is what the agent said at `finish`; `answer` its final answer."""

    reason: EndReason
    final_status: FinalStatus | None = None
    answer: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """Opens run.jsonl: only notes on the browser's own start stand before it. `manifest` is the SHA-256 of manifest.json's bytes."""

    run_id: str
    started_at: str
    browser: BrowserInfo | None = None
    manifest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A line of run.jsonl: serve, reset, login, canary, the browser's own traffic, ends of trials."""

    what: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """Closes run.jsonl."""

    reason: Literal["finished", "interrupted", "fault"]
    trials: int


Body = (
    TrialStarted | AgentReady | Replayed | Observed | Proposed | Decided | Approved | Intended | Resulted | Requested | Answered
    | Probed | Fault | AgentOutput | TrialEnded | RunStarted | Note | RunEnded
)
KINDS: dict[str, type[Body]] = {
    "trial_started": TrialStarted, "agent_ready": AgentReady, "replay": Replayed, "observation": Observed, "proposal": Proposed, "decision": Decided,
    "approval": Approved, "intent": Intended, "result": Resulted, "request": Requested, "response": Answered, "probe": Probed,
    "fault": Fault, "agent_output": AgentOutput, "trial_ended": TrialEnded, "run_started": RunStarted, "note": Note, "run_ended": RunEnded,
}
KIND_OF = {body: kind for kind, body in KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a journal: its place, the hash of the line before, nanoseconds since the journal was opened, and the record."""

    seq: int
    prev: str
    t_ns: int
    body: Body


def encode(line: Line, clean: Callable[[Any], Any] = lambda body: body) -> bytes:
    """The bytes of a line, without line end: keys sorted, UTF-8, lone surrogates replaced. `clean` takes secrets out of the body, as JSON values."""
    kind = KIND_OF[type(line.body)]
    whole = {"seq": line.seq, "prev": line.prev, "t_ns": line.t_ns, "kind": kind, "body": clean(msgspec.to_builtins(line.body, order="deterministic"))}
    try:
        return msgspec.json.encode(whole, order="deterministic")
    except UnicodeEncodeError:
        return msgspec.json.encode(well_formed(msgspec.to_builtins(whole)), order="deterministic")


def decode(raw: bytes) -> Line:
    """The line behind the bytes. Raises ValueError if they are none of ours."""
    try:
        whole = msgspec.json.decode(raw)
        body = msgspec.convert(whole["body"], KINDS[whole["kind"]])
        seq, prev, t_ns = msgspec.convert((whole["seq"], whole["prev"], whole["t_ns"]), tuple[int, str, int])
        return Line(seq=seq, prev=prev, t_ns=t_ns, body=body)
    except (msgspec.MsgspecError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a journal line: {error}") from error


def well_formed(value: Any) -> Any:
    """The same value with text that is valid Unicode."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {well_formed(k): well_formed(v) for k, v in value.items()}
        case list() | tuple():
            return [well_formed(v) for v in value]
        case _:
            return value
