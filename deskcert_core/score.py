"""One card for each trial, one for the suite. A completed trial has 70 + 30·max(0, 1 - steps/max_steps), any other 0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskcert_core.evaluation import Judgement
from deskcert_core.failure import Failure, Finding

__all__ = ["AssertionCard", "SuiteCard", "TrialCard", "Verdict"]

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionCard:
    """One assertion and what its criterion said."""

    type: str
    shown: str
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCard:
    """What one trial is worth. Money in micro-dollars and time in nanoseconds until it is written down."""

    task_id: str
    trial: int
    verdict: Verdict
    score: float
    steps_taken: int
    policy_violations: int
    approval_requests: int
    blocked_actions: int
    runtime_ns: int
    cost_micro_usd: int
    failure: Failure
    findings: tuple[Finding, ...] = ()
    assertions: tuple[AssertionCard, ...] = ()
    final_answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCard:
    """The suite's card: the mean of the trials' scores less the weight of each violation, floor 0; and the gate's word."""

    suite: str
    run_id: str
    agent: str
    verdict: Verdict
    score: float
    exit_code: int
    trials: tuple[TrialCard, ...] = ()
    not_covered: tuple[str, ...] = field(default_factory=tuple)
