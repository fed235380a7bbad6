"""Requests that left the browser, matched as the policy matches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from deskcert_core.api import Evidence, Json, Judgement, Probe, RequestSeen, RequestWhen, TextMatch, Truth, parse_pattern, request_matches
from deskcert_criteria.judgements import absent, failed, passed, unclear

__all__ = ["RequestMade", "RequestNotMade"]

Kind = Literal["exact", "glob", "matches"]
ONE_TEXT: Json = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"matches": {"type": "string"}}, "required": ["matches"], "additionalProperties": False},
    ]
}
TEXTS: Json = {"anyOf": [ONE_TEXT, {"type": "array", "items": ONE_TEXT, "minItems": 1}]}
STRINGS: Json = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}]}
PAIRS: Json = {"type": "object", "additionalProperties": TEXTS, "minProperties": 1}
ORIGIN: Json = {"type": "string", "pattern": r"^\$\{|^[A-Za-z][A-Za-z0-9+.-]*://.", "description": "An origin is written scheme://host:port."}
ORIGINS: Json = {"anyOf": [ORIGIN, {"type": "array", "items": ORIGIN, "minItems": 1}]}
WHEN: dict[str, Json] = {"method": STRINGS, "origin": ORIGINS, "path": TEXTS, "query": PAIRS, "form": PAIRS}
STATUS: Json = {"type": "integer", "minimum": 100, "maximum": 599}


class RequestMade:
    """A request that matches left and was answered, with `status` by one of these codes."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "additionalProperties": False, "anyOf": [{"required": [key]} for key in WHEN],
        "properties": {**WHEN, "status": {"anyOf": [STATUS, {"type": "array", "items": STATUS, "minItems": 1}]}},
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        met, hidden = left(params, evidence)
        statuses = as_list(params["status"]) if "status" in params else None
        for seen in met:
            if seen.status is not None and (statuses is None or seen.status in statuses):
                return passed(f"{say(seen)} left and was answered by {seen.status}", seen.seq)
        if waiting := [seen for seen in met if seen.status is None]:
            return unclear(f"{say(waiting[0])} left, and no answer to it was recorded", waiting[0].seq)
        if hidden:
            return unclear(f"{say(hidden[0])} left, and what it sent cannot be read", hidden[0].seq)
        if met:
            return failed(f"{say(met[-1])} was answered by {met[-1].status}", met[-1].seq)
        return failed("no such request left", evidence.end_seq) if evidence.end_reason else unclear("no such request left, but the journal was cut off")


class RequestNotMade:
    """No request that matches left, answered or not. One that was refused did not leave."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "additionalProperties": False, "anyOf": [{"required": [key]} for key in WHEN], "properties": WHEN,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        met, hidden = left(params, evidence)
        if met:
            return failed(f"{say(met[0])} left", *(seen.seq for seen in met))
        if hidden:
            return unclear(f"{say(hidden[0])} left, and what it sent cannot be read", hidden[0].seq)
        return absent("no such request left", evidence)


def left(params: Mapping[str, Json], evidence: Evidence) -> tuple[list[RequestSeen], list[RequestSeen]]:
    """The requests that left and are meant, and those of which it cannot be told."""
    when = when_of(params)
    told = [(seen, request_matches(when, seen.request)) for seen in evidence.requests if seen.let_go]
    return [seen for seen, truth in told if truth is Truth.YES], [seen for seen, truth in told if truth is Truth.UNKNOWN]


def when_of(params: Mapping[str, Json]) -> RequestWhen:
    return RequestWhen(
        method=tuple(map(str, as_list(params.get("method")))),
        origin=tuple(parse_pattern(str(each)) for each in as_list(params.get("origin"))),
        path=texts(params.get("path"), "glob"),
        query=pairs(params.get("query")),
        form=pairs(params.get("form")),
    )


def pairs(value: Json) -> dict[str, tuple[TextMatch, ...]]:
    return {name: texts(wanted, "exact") for name, wanted in value.items()} if isinstance(value, dict) else {}


def texts(value: Json, plain: Kind) -> tuple[TextMatch, ...]:
    return tuple(
        TextMatch(kind="matches", value=str(each["matches"])) if isinstance(each, dict) else TextMatch(kind=plain, value=str(each))
        for each in as_list(value)
    )


def as_list(value: Json) -> list[Json]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def say(seen: RequestSeen) -> str:
    return f"{seen.request.method} {seen.request.address}"
