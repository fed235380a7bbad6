"""What the trial cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from deskcert_core.api import Evidence, Json, Judgement, Probe
from deskcert_criteria.judgements import absent, failed, unclear

__all__ = ["MaxCostUsd"]


class MaxCostUsd:
    """The trial cost at most `value` dollars, by the suite's costs."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"value": {"type": "number", "minimum": 0}}, "required": ["value"], "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        limit, cost = Decimal(str(params["value"])), Decimal(evidence.cost_micro_usd).scaleb(-6)
        message = f"${cost.normalize():f} of ${limit}"
        if cost > limit:
            return failed(message, evidence.end_seq)
        if evidence.unpriced:
            return unclear(f"{message}, without the calls of {', '.join(evidence.unpriced)}, which have no price")
        return absent(message, evidence)
