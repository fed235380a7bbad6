"""Where the trial ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Probe, TextMatch, any_matches, parse
from deskcert_criteria.judgements import failed, passed, unclear

__all__ = ["UrlMatches"]

KINDS = ("value", "glob", "matches")


class UrlMatches:
    """The URL at the end: exactly `value` (may be relative to the start URL), or `glob`, or the RE2 pattern `matches`. A glob that begins with `/` is of the path."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object",
        "properties": {key: {"type": "string", "minLength": 1} for key in KINDS},
        "additionalProperties": False, "oneOf": [{"required": [key]} for key in KINDS],
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        look = evidence.end_look
        if look is None:
            return unclear("the page at the end was not recorded")
        kind, wanted = next((key, str(params[key])) for key in KINDS if key in params)
        answer = passed if ends_at(kind, wanted, look.url, evidence.task.start_url) else failed
        return answer(f"the trial ended at {look.url}", look.seq)


def ends_at(kind: str, wanted: str, url: str, base: str) -> bool:
    if kind == "value":
        return parse(url).href == parse(wanted, base).href
    if kind == "glob":
        return any_matches((TextMatch(kind="glob", value=wanted),), {parse(url).path if wanted.startswith("/") else url})
    return any_matches((TextMatch(kind="matches", value=wanted),), {url})
