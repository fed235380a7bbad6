"""Assertions judged from evidence alone. Pure: the same evidence gives the same judgement, on any machine, at any time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deskcert_core.task import Assertion, Json
from deskcert_core.trial import Evidence, Look, Probe, ProbeResult, RequestSeen, Step

__all__ = ["AssertionCard", "Criterion", "Evidence", "Judgement", "Look", "Outcome", "Probe", "ProbeResult", "RequestSeen", "Step", "judge"]


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
class AssertionCard:
    """One assertion and what its criterion said. `shown` is the assertion's parameters on one line."""

    type: str
    shown: str
    judgement: Judgement


class Criterion(Protocol):
    """A type of assertion. Made without arguments; `schema` is the JSON Schema of the parameters (an object, `type` left out).

    `judge` must be pure, and must answer `inconclusive` where the evidence it needs is missing.
    """

    version: str
    schema: Mapping[str, Json]

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]: ...

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement: ...


def judge(
    assertions: Sequence[Assertion], criteria: Mapping[str, Criterion], evidence: Evidence, problems: Mapping[str, str] | None = None
) -> tuple[AssertionCard, ...]:
    """Every assertion with its judgement, in order. `problems` says of a criterion that is not in `criteria` why it is not."""
    return tuple(
        AssertionCard(type=each.type, shown=shown(each), judgement=judge_one(each, criteria.get(each.type), evidence, problems or {}))
        for each in assertions
    )


def judge_one(assertion: Assertion, criterion: Criterion | None, evidence: Evidence, problems: Mapping[str, str]) -> Judgement:
    if criterion is None:
        return unjudged(problems.get(assertion.type, f"no criterion named {assertion.type} is installed"))
    try:
        given: object = criterion.judge(assertion.params, evidence)
    except (Exception, SystemExit) as error:  # a stranger's code: whatever it raises says nothing about the agent
        return unjudged(f"the criterion {assertion.type} broke: {type(error).__name__}: {error}")
    return given if isinstance(given, Judgement) else unjudged(f"the criterion {assertion.type} gave a {type(given).__name__}, no judgement")


def unjudged(message: str) -> Judgement:
    return Judgement(outcome=Outcome.INCONCLUSIVE, message=message)


def shown(assertion: Assertion) -> str:
    """A lone `value` bare, anything else with its key."""
    parts = {key: json.dumps(value, ensure_ascii=False) for key, value in assertion.params.items()}
    return parts["value"] if list(parts) == ["value"] else ", ".join(f"{key}: {value}" for key, value in parts.items())
