"""Criteria that break one rule each; the rule is in the docstring. `Good` breaks none. The kit must catch every other one, with a line that helps."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deskcert_core.api import Evidence, Json, Judgement, Outcome, Probe

FACT: dict[str, Any] = {"selector": "#done"}


class Good:
    """Passes when the answer is the value."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        if evidence.end_reason is None:
            return Judgement(outcome=Outcome.INCONCLUSIVE, message="cut off")
        met = evidence.answer == params["value"]
        return Judgement(outcome=Outcome.PASS if met else Outcome.FAIL, message=f"it says {evidence.answer}", records=(evidence.end_seq,))


class ReadsTheClock(Good):
    """It does not know what time it is."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        time.monotonic()
        return super().judge(params, evidence)


class ReadsTheDate(Good):
    """It does not know what day it is."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        datetime.now()
        return super().judge(params, evidence)


class RollsDice(Good):
    """It leaves nothing to chance."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        random.choice([1, 2])
        return super().judge(params, evidence)


class ReadsAFile(Good):
    """It opens no file."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        Path(__file__).read_bytes()
        return super().judge(params, evidence)


class ReadsTheEnvironment(Good):
    """It does not know whose machine it is on."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        os.environ.get("HOME")
        return super().judge(params, evidence)


class Calls(Good):
    """It asks nobody."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        socket.socket().close()
        return super().judge(params, evidence)


class Remembers(Good):
    """It judges each time as if it were the first."""

    calls = 0

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        type(self).calls += 1
        said = super().judge(params, evidence)
        return Judgement(outcome=said.outcome, message=f"judged {self.calls} times", records=said.records)


class WritesParameters(Good):
    """The parameters are the task's."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        said = super().judge(params, evidence)
        params["value"] = ""  # type: ignore[index]
        return said


class WritesEvidence(Good):
    """The evidence is what happened."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        said = super().judge(params, evidence)
        evidence.probes.clear()  # type: ignore[attr-defined]
        return said


class HiddenParameter(Good):
    """Its schema has every parameter that it reads."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        params.get("ignore_case")
        return super().judge(params, evidence)


class TakesAnything(Good):
    """It can judge whatever its schema takes."""

    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": {}}, "required": ["value"]}

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        return super().judge({"value": params["value"] + ""}, evidence)  # type: ignore[operator]


class NeedsMoreThanItSays(Good):
    """What it cannot do without is required."""

    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": {"type": "string"}}}


class TakesUnknownKeys(Good):
    """A key that nobody reads is refused."""

    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": {"type": "string"}}, "unevaluatedProperties": True}


class TrustsNothing(Good):
    """A trial of which nothing was recorded is inconclusive."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        met = evidence.answer in (None, params["value"])
        return Judgement(outcome=Outcome.PASS if met else Outcome.FAIL, message="no answer is a good answer")


class TrustsAMissingFact(Good):
    """A fact that could not be had makes the judgement inconclusive."""

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return (Probe(kind="element", params=FACT),)


class InventsRecords(Good):
    """A judgement points at records that there are."""

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        said = super().judge(params, evidence)
        return Judgement(outcome=said.outcome, message=said.message, records=(4711,))
