"""Assertions judged from evidence alone. Pure: the same evidence gives the same judgement, on any machine, at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from deskcert_core.approval import Approval
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.evidence.record import EndReason, Fault
from deskcert_core.execution import ExecutionResult
from deskcert_core.policy.rules import Decision
from deskcert_core.proposal import FinalStatus, Proposal
from deskcert_core.task import Json, Task

__all__ = ["Criterion", "Evidence", "Judgement", "Look", "Outcome", "Probe", "ProbeResult", "RequestSeen", "Step"]


class Outcome(StrEnum):
    """`inconclusive` means that the evidence is missing or broken: never a pass, never a fail."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a criterion says: one line for people, and the sequence numbers of the records it rests on."""

    outcome: Outcome
    message: str
    records: tuple[int, ...] = ()


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
    """One observation, its text read back. Step 0 is the start page as the trial found it; the last one is the end."""

    seq: int
    step: int
    url: str
    title: str
    text: str
    screenshot: str | None = None
    shown_to_agent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One proposal with all that came of it. `seqs` are the records it was read from."""

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
    """One request at the gate. `status` is the response's, None if refused or unanswered."""

    seq: int
    step: int
    number: int
    request: Request
    decision: Decision
    own: bool
    granted: bool = False
    approval: Approval | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A trial as a judge sees it: built from its journal and blobs, nothing else."""

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
    final_status: FinalStatus | None = None
    answer: str | None = None
    cost_micro_usd: int = 0
    runtime_ns: int = 0

    def probe(self, probe: Probe) -> ProbeResult | None:
        """What was kept for this probe, None if it was never recorded (a trial that ended early)."""
        return self.probes.get(probe_key(probe))


def probe_key(probe: Probe) -> str:
    """One text for one probe: its kind and its parameters in order."""
    return f"{probe.kind} {sorted(probe.params.items())!r}"


class Criterion(Protocol):
    """A type of assertion. Made without arguments; `schema` is the JSON Schema of the parameters (an object, `type` left out).

    `judge` must be pure, and must answer `inconclusive` where the evidence it needs is missing.
    """

    version: str
    schema: Mapping[str, Json]

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]: ...

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement: ...
