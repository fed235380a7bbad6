"""An element that is, or is not, on the page when the trial ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Probe
from deskcert_criteria.judgements import failed, passed, unclear

__all__ = ["ElementAbsent", "ElementExists"]

SCHEMA: Mapping[str, Json] = {
    "type": "object", "properties": {"selector": {"type": "string", "minLength": 1}}, "required": ["selector"], "additionalProperties": False,
}


class ElementExists:
    """`selector` (CSS) matches something."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = SCHEMA

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return (element(params),)

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        return judge_element(params, evidence, wanted=True)


class ElementAbsent:
    """`selector` (CSS) matches nothing."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = SCHEMA

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return (element(params),)

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        return judge_element(params, evidence, wanted=False)


def element(params: Mapping[str, Json]) -> Probe:
    return Probe(kind="element", params={"selector": params["selector"]})


def judge_element(params: Mapping[str, Json], evidence: Evidence, *, wanted: bool) -> Judgement:
    selector, kept = params["selector"], evidence.probe(element(params))
    if kept is None:
        return unclear("the trial ended before the page was asked")
    if not isinstance(kept.value, bool):
        return unclear(f"the page could not be asked: {kept.problem or 'no answer'}", kept.seq)
    message = f"{selector} is {'' if kept.value else 'not '}on the page at the end"
    return passed(message, kept.seq) if kept.value is wanted else failed(message, kept.seq)
