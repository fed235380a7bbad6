"""What the agent said at the end: its answer, and its status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from deskcert_core.api import Evidence, Json, Judgement, Probe, TextMatch, amounts, any_matches, numbers
from deskcert_criteria.judgements import failed, passed, unclear

__all__ = ["FinalAnswer", "FinalStatusIs"]

NUMERIC: Json = {"type": "number"}
KINDS = ("exact", "regex", "number", "money")


class FinalAnswer:
    """The final answer is `exact` that text, holds the RE2 pattern `regex`, or names one `number` (within `tolerance`) or one amount of `money`."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object",
        "properties": {
            "exact": {"type": "string"}, "regex": {"type": "string", "minLength": 1}, "number": NUMERIC, "money": NUMERIC,
            "tolerance": {"type": "number", "minimum": 0}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        },
        "additionalProperties": False,
        "oneOf": [{"required": [kind]} for kind in KINDS],
        "dependentRequired": {"currency": ["money"]},
        "not": {"required": ["tolerance"], "anyOf": [{"required": ["exact"]}, {"required": ["regex"]}]},
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        if evidence.end_reason is None:
            return unclear("the journal was cut off before the agent's last word")
        if evidence.answer is None:
            return failed("the agent gave no final answer", evidence.end_seq)
        problem = differs(params, evidence.answer)
        return failed(problem, evidence.end_seq) if problem else passed(f"the answer is {evidence.answer!r}", evidence.end_seq)


class FinalStatusIs:
    """The agent ended with the status `value`."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"value": {"enum": ["success", "failure", "needs_help"]}}, "required": ["value"], "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        if evidence.end_reason is None:
            return unclear("the journal was cut off before the agent's last word")
        if evidence.final_status is None:
            return failed(f"the agent never finished: the trial ended by {evidence.end_reason}", evidence.end_seq)
        answer = passed if evidence.final_status == params["value"] else failed
        return answer(f"the agent said {evidence.final_status}", evidence.end_seq)


def differs(params: Mapping[str, Json], answer: str) -> str:
    """Why the answer is not the one that is wanted; empty if it is."""
    kind = next(kind for kind in KINDS if kind in params)
    match kind:
        case "exact":
            return "" if answer.strip() == str(params[kind]).strip() else f"the answer is {answer!r}"
        case "regex":
            holds = any_matches((TextMatch(kind="matches", value=str(params[kind])),), {answer})
            return "" if holds else f"the answer {answer!r} does not match"
        case "number":
            return differs_from(params, kind, numbers(answer), "number", answer)
        case _:
            return money_differs(params, answer)


def money_differs(params: Mapping[str, Json], answer: str) -> str:
    """Amounts that bear a currency count before bare numbers; where a currency is wanted, only they count."""
    wanted, named = params.get("currency"), amounts(answer)
    if wanted is None:
        return differs_from(params, "money", {value for value, _ in named} or numbers(answer), "amount", answer)
    return differs_from(params, "money", {value for value, codes in named if wanted in codes}, f"amount in {wanted}", answer)


def differs_from(params: Mapping[str, Json], kind: str, found: set[Decimal], noun: str, answer: str) -> str:
    """Of several numbers none is the answer: an agent that names them all has not answered."""
    if len(found) != 1:
        return f"the answer {answer!r} names {'several' if found else 'no'} {noun}{'s' if found else ''}"
    wanted, tolerance = Decimal(str(params[kind])), Decimal(str(params.get("tolerance", 0)))
    value = next(iter(found))
    return "" if abs(value - wanted) <= tolerance else f"the answer names {value}, not {wanted}"
