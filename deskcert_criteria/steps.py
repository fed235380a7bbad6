"""How long the trial was: in steps and in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from deskcert_core.api import Evidence, Json, Judgement, Probe
from deskcert_criteria.judgements import absent, failed

__all__ = ["MaxRuntimeSeconds", "MaxSteps"]


class MaxSteps:
    """The agent proposed at most `value` acts; `finish` counts, opening the start page does not."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"value": {"type": "integer", "minimum": 1}}, "required": ["value"], "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        limit, steps = int(str(params["value"])), evidence.steps
        message = f"{len(steps)} of {limit} steps"
        return failed(message, steps[limit].seqs[0]) if len(steps) > limit else absent(message, evidence)


class MaxRuntimeSeconds:
    """The trial took at most `value` seconds, by the journal's own stamps; waiting for a person does not count."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"value": {"type": "number", "exclusiveMinimum": 0}}, "required": ["value"], "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        limit, took = Decimal(str(params["value"])), Decimal(evidence.runtime_ns).scaleb(-9)
        message = f"{took:.3f} of {limit} seconds"
        return failed(message, evidence.end_seq) if took > limit else absent(message, evidence)
