"""Text that was, or was not, to be seen: in what the agent was shown, on the page at the end, in the final answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote_plus

from deskcert_core.api import Evidence, Json, Judgement, Look, Probe
from deskcert_criteria.judgements import absent, failed, passed, unclear

__all__ = ["ContainsText", "NotContainsText"]

TEXT: Json = {"type": "string", "minLength": 1, "pattern": r"\S"}


class ContainsText:
    """`value` was seen; with `new: true` on the page, not from the start, and not put there by what the agent typed or opened."""

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
            if new and evidence.start_look and not evidence.start_look.whole:
                return unclear(f"{value!r} was on the page {place(look)}, but the start page was not read as a whole", evidence.start_look.seq)
            if new and (given := put_in(evidence, look, value)):
                return unclear(f"{value!r} was on the page {place(look)}, but the agent itself {given}: the page may only repeat it", look.seq)
            return passed(f"{value!r} was on the page {place(look)}", look.seq)
        if not new and evidence.answer is not None and holds(evidence.answer, value):
            return passed(f"{value!r} is in the final answer", evidence.end_seq)
        if gap := unread(evidence, value):
            return gap
        return failed(f"{value!r} was never on the page" + ("" if new else ", nor in the final answer"), evidence.end_look.seq if evidence.end_look else -1)


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
        if gap := unread(evidence, value):
            return gap
        return absent(f"{value!r} was never on the page, nor in the final answer", evidence)


def first(evidence: Evidence, value: str) -> Look | None:
    """The first look that shows it, of those the agent was shown and the one at the end."""
    return next((look for look in counted(evidence) if holds(look.text, value)), None)


def counted(evidence: Evidence) -> list[Look]:
    """The looks that say what was seen: those that the agent was shown, and the one at the end."""
    return [look for look in evidence.looks if look.shown_to_agent or look is evidence.end_look]


def unread(evidence: Evidence, value: str) -> Judgement | None:
    """Why nothing follows from not having seen it; None where every page was read as a whole. A dialog on the way showed the agent nothing of its page."""
    if evidence.end_look is None:
        return unclear(f"{value!r} was not seen, but the page at the end was not recorded")
    shown = (look for look in counted(evidence) if look.text or look.screenshot or look is evidence.end_look)
    part = next((look for look in shown if not look.whole), None)
    return unclear(f"{value!r} was not seen, but the page {place(part)} was not read as a whole", part.seq) if part else None


def put_in(evidence: Evidence, look: Look, value: str) -> str:
    """How the agent itself brought the text to the page before this look: in an address, as a value, or piece by piece; empty if it did not.
    How much white space there is does not count here at all: an address writes it in many ways."""
    wanted = "".join(value.split())
    acts = [step for step in evidence.steps if step.intended and step.seqs[0] < look.seq]
    typed = ""
    for step in acts:
        given, url = step.proposal.value or "", step.proposal.url or ""
        typed += "" if step.proposal.action_type == "press" and len(given) > 1 else given
        if any(wanted in "".join(form.split()) for form in (url, unquote_plus(url), unquote_plus(unquote_plus(url)))):
            return f"opened it in an address at step {step.number}"
        if wanted in "".join(given.split()) or wanted in "".join(typed.split()):
            return f"typed it at step {step.number}"
    return ""


def holds(text: str, value: str) -> bool:
    """As a reader sees it: how much white space, and of which kind, does not count."""
    return " ".join(value.split()) in " ".join(text.split())


def place(look: Look) -> str:
    return f"at step {look.step}" if look.shown_to_agent else "at the end"
