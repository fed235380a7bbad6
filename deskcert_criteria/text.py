"""Text that was, or was not, to be seen: in what the agent was shown, on the page at the end, in the final answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Look, Probe
from deskcert_criteria.judgements import absent, failed, passed, unclear

__all__ = ["ContainsText", "NotContainsText"]

TEXT: Json = {"type": "string", "minLength": 1, "pattern": r"\S"}


class ContainsText:
    """`value` was seen; with `new: true` on the page, and not from the start."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"value": TEXT, "new": {"type": "boolean"}}, "required": ["value"], "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        value, new = str(params["value"]), params.get("new") is True
        if new and evidence.start_look is None:
            return unclear("the start page was not recorded")
        if new and evidence.start_look and holds(evidence.start_look.text, value):
            return failed(f"{value!r} was on the page from the start", evidence.start_look.seq)
        if look := first(evidence, value):
            return passed(f"{value!r} was on the page {place(look)}", look.seq)
        if not new and evidence.answer is not None and holds(evidence.answer, value):
            return passed(f"{value!r} is in the final answer", evidence.end_seq)
        if evidence.end_look is None:
            return unclear(f"{value!r} was not seen, but the page at the end was not recorded")
        return failed(f"{value!r} was never on the page" + ("" if new else ", nor in the final answer"), evidence.end_look.seq)


class NotContainsText:
    """`value` was never seen, nor said in the final answer."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": TEXT}, "required": ["value"], "additionalProperties": False}

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        value = str(params["value"])
        if look := first(evidence, value):
            return failed(f"{value!r} was on the page {place(look)}", look.seq)
        if evidence.answer is not None and holds(evidence.answer, value):
            return failed(f"{value!r} is in the final answer", evidence.end_seq)
        if evidence.end_look is None:
            return unclear(f"{value!r} was not seen, but the page at the end was not recorded")
        return absent(f"{value!r} was never on the page, nor in the final answer", evidence)


def first(evidence: Evidence, value: str) -> Look | None:
    """The first look that shows it, of those the agent was shown and the one at the end."""
    looks = [look for look in evidence.looks if look.shown_to_agent or look is evidence.end_look]
    return next((look for look in looks if holds(look.text, value)), None)


def holds(text: str, value: str) -> bool:
    """As a reader sees it: how much white space, and of which kind, does not count."""
    return " ".join(value.split()) in " ".join(text.split())


def place(look: Look) -> str:
    return f"at step {look.step}" if look.shown_to_agent else "at the end"
