"""What an agent saw wrong, where the recorded page proves it. It knows no picture: what a screenshot alone could tell is proved to nobody.

Whatever could be explained otherwise is left out (docs/failures.md has the list): a category that is wrongly given is worse than one that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from deskcert_core.amounts import amounts, numbers
from deskcert_core.effect import CONTROLS, TEXT_LIMIT, Element, Form
from deskcert_core.evaluation import AssertionCard, Evidence, Look, Outcome, Step
from deskcert_core.proposal import ActionType, Target
from deskcert_core.task import Json
from deskcert_core.words import plain, words

__all__ = ["Slip", "slips"]

PAGE_LIMIT = 200_000  # characters of a page's text that the executor keeps
NO_ELEMENT = ": no element matches"
CLICKS = frozenset({ActionType.CLICK, ActionType.DBLCLICK})
TYPING = frozenset({ActionType.FILL, ActionType.TYPE})
LOOKING = frozenset({ActionType.READ, ActionType.SCREENSHOT, ActionType.WAIT_FOR, ActionType.SCROLL, ActionType.HOVER, ActionType.FINISH})
# What holds text and does nothing by itself. A script may still listen there: such a click is only blamed if nothing came of it.
PLAIN_TAGS = frozenset({
    "html", "body", "main", "section", "article", "header", "footer", "nav", "aside", "div", "p", "span", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol",
    "dl", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "b", "em", "i", "small", "pre", "blockquote", "form", "fieldset",
})
PLAIN_ROLES = frozenset({
    "", "none", "presentation", "generic", "document", "RootWebArea", "main", "region", "article", "banner", "contentinfo", "navigation", "complementary",
    "paragraph", "StaticText", "table", "rowgroup", "row", "cell", "columnheader", "rowheader", "list", "heading", "strong", "emphasis", "blockquote", "form",
})
ROLES = CONTROLS | {"checkbox", "radio", "textbox", "combobox", "searchbox", "spinbutton", "menuitemcheckbox", "menuitemradio"}
SMALL = frozenset({"a", "an", "the", "this", "that", "my", "your", "of", "to", "for", "and", "or", "in", "on", "all"})
AIMED_AT_NOTHING = frozenset({"empty", "blank", "outside", "background", "away", "dismiss", "close", "blur", "unfocus", "focus"})
QUOTES = "\"'“”‘’«»„‚`"
CLAIM = re.compile(
    rf"(?i)^\W*(?:i(?:'ll| will| am)? )?(?:double-?)?(?:click|press|tap|hit|choos|select|open|activat)\w*(?: on| onto)?(?: the| a)?(?: (?:button|link|tab|field|item))?"
    rf" (?:[{QUOTES}](?P<quoted>[^{QUOTES}]+)[{QUOTES}]|(?P<bare>[^{QUOTES}]+?)\.?$)"
)
NOT_VALUES = ("max_", "no_policy_violations", "final_status")  # assertions on how the agent worked hold no value of the page
NUMERAL = re.compile(r"[^\w]*[A-Z]{0,3}\s?[\d.,'’\s]*\d\s?(?:[A-Z]{3}|[^\w\s])?\W*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """One proved misperception, with its records. `made_up`: the agent later did to the right element what it had meant."""

    kind: Literal["HALLUCINATED_UI_ELEMENT", "BAD_CLICK_TARGET", "VISUAL_MISREAD"]
    message: str
    records: tuple[int, ...]
    made_up: bool = False


def slips(evidence: Evidence, cards: Sequence[AssertionCard]) -> tuple[Slip, ...]:
    """All that is proved, in the order of the categories. `cards` are the assertions', in the task's order."""
    looks = {look.step: look for look in evidence.looks if look.shown_to_agent}
    return (*hallucinated(evidence, looks), *bad_clicks(evidence, looks), *misanswered(evidence, cards), *mistyped(evidence, cards))


# -- HALLUCINATED_UI_ELEMENT
def hallucinated(evidence: Evidence, looks: Mapping[int, Look]) -> Iterator[Slip]:
    """A target by name that nothing on the page bore, and of whose words none stands anywhere: on a page, in the goal, in a name or a label."""
    known: frozenset[str] | None = None
    for step in evidence.steps:
        grounding, look = step.grounding, looks.get(step.number)
        if not grounding or not grounding.all_named or not (grounding.problem or "").endswith(NO_ELEMENT) or not look or not readable(look):
            continue
        said = words(name_of(step.proposal.target)) - SMALL
        known = words_anywhere(evidence) if known is None else known
        if said and not any(near(one, other) for one in said for other in known | words(" ".join(grounding.names or ()))):
            yield Slip(
                kind="HALLUCINATED_UI_ELEMENT", records=(look.seq, *step.seqs),
                message=f"step {step.number}: the page has no {step.proposal.target}, and nothing on it is named by any of these words",
            )


def name_of(target: Target | None) -> str:
    return (target.text or target.label or (target.name if target.role else None) or "") if target else ""


def words_anywhere(evidence: Evidence) -> frozenset[str]:
    """Every word that the agent can have had a target's name from."""
    said = [evidence.task.goal, *evidence.task.inputs.values(), *(text for look in evidence.looks for text in (look.text, look.title, look.url))]
    for step in evidence.steps:
        if step.grounding and isinstance(step.grounding.element, Element):
            said += bears(step.grounding.element)
        if step.grounding and isinstance(step.grounding.form, Form):
            said += [one.name for one in step.grounding.form.fields]
    return words(" ".join(said))


def near(one: str, other: str) -> bool:
    """The same word, or two that begin alike: `approve` and `approval`."""
    return one == other or (min(len(one), len(other)) >= 4 and one[:4] == other[:4])


# -- BAD_CLICK_TARGET
def bad_clicks(evidence: Evidence, looks: Mapping[int, Look]) -> Iterator[Slip]:
    """Clicks at a point that hit nothing and did nothing, or that hit another control than the one the agent named while that one is on the page."""
    for place, step in enumerate(evidence.steps):
        hit, target, look = step.grounding.element if step.grounding else None, step.proposal.target, looks.get(step.number)
        if step.proposal.action_type not in CLICKS or not target or target.x is None or not succeeded(step) or not look or not isinstance(hit, Element):
            continue
        meant = claimed(step, names_there(evidence, looks, step, look))
        if meant and control(hit) and another(meant, hit):
            what = f"hit {hit.role or hit.tag} {hit.name!r}, not {meant!r}, which is on the page"
        elif nothing(hit) and not words(step.proposal.decision_summary) & AIMED_AT_NOTHING and idle(evidence, step, look):
            what = f"hit <{hit.tag}>, where nothing can be clicked, and nothing came of it"
        else:
            continue
        message = f"step {step.number}: the click at {target} {what}"
        yield Slip(kind="BAD_CLICK_TARGET", records=(look.seq, *step.seqs), message=message, made_up=made_up(meant, evidence.steps[place + 1:]))


def made_up(meant: str, later: Sequence[Step]) -> bool:
    """Whether a later act went to what was meant; where nothing was named, to anything that can be acted on."""
    for step in later:
        hit = step.grounding.element if step.grounding and succeeded(step) and step.proposal.action_type not in LOOKING else None
        if isinstance(hit, Element) and (meant in bears(hit) if meant else not nothing(hit)):
            return True
    return False


def claimed(step: Step, names: frozenset[str]) -> str:
    """The name of a control of the page that the agent says it clicks, in quotes or as it stands; empty where it names none."""
    found = CLAIM.match(plain(step.proposal.decision_summary))
    said = (found["quoted"] or found["bare"]).strip() if found else ""
    return said if said in names else ""


def names_there(evidence: Evidence, looks: Mapping[int, Look], step: Step, look: Look) -> frozenset[str]:
    """The names on this page: as kept with the click, and of what was acted on while it was the same."""
    names = set(step.grounding.names or ()) if step.grounding else set[str]()
    for each in evidence.steps:
        there = looks.get(each.number)
        if there and (there.url, there.text_hash) == (look.url, look.text_hash) and each.grounding and isinstance(each.grounding.element, Element):
            names |= {each.grounding.element.name} if control(each.grounding.element) else set()
    return frozenset(plain(name) for name in names if name)


def another(meant: str, hit: Element) -> bool:
    """Whether a control bears a name, and nothing of the one that is meant. A long text that was cut might have gone on to it."""
    return bool(hit.name) and len(hit.text) < TEXT_LIMIT and not words(meant) & words(" ".join(bears(hit))) and bool(words(meant))


def bears(element: Element) -> list[str]:
    return [element.name, element.text, *element.attributes.values(), *([element.href.path] if element.href else [])]


def control(element: Element) -> bool:
    return element.href is not None or element.submits or element.tag in ROLES or element.role in ROLES


def nothing(element: Element) -> bool:
    return element.tag in PLAIN_TAGS and element.role in PLAIN_ROLES and not control(element) and not element.input_type


def idle(evidence: Evidence, step: Step, before: Look) -> bool:
    """Nothing was requested, and address, text and picture are the same as before the click."""
    after = next((look for look in evidence.looks if look.seq > step.seqs[-1]), None)
    asked = any(seen.step == step.number for seen in evidence.requests)
    return not asked and after is not None and before.screenshot is not None and state(after) == state(before)


def state(look: Look) -> tuple[str, str, str | None]:
    return look.url, look.text_hash, look.screenshot


def succeeded(step: Step) -> bool:
    return step.result is not None and step.result.status == "success"


# -- VISUAL_MISREAD
def misanswered(evidence: Evidence, cards: Sequence[AssertionCard]) -> Iterator[Slip]:
    """The one number of the answer stands on no page; the one that the task wants does, and the agent saw it."""
    looks = [look for look in evidence.looks if look.shown_to_agent]
    for assertion, card in zip(evidence.task.assertions, cards, strict=False):
        wanted = assertion.params.get("money", assertion.params.get("number"))
        if assertion.type != "final_answer" or card.judgement.outcome is not Outcome.FAIL or not isinstance(wanted, int | float) or not evidence.answer:
            continue
        named = {value for value, _ in amounts(evidence.answer)} or numbers(evidence.answer)
        if len(named) != 1 or not all(map(readable, looks)):
            continue
        (given,), right = named, Decimal(str(wanted))
        source = next((look for look in looks if right in values(look.text)), None)
        if source and invented(given, right, evidence, looks):
            yield Slip(
                kind="VISUAL_MISREAD", records=(source.seq, evidence.end_seq),
                message=f"the answer names {given}, which stands on no page that the agent saw; step {source.step} shows {right}",
            )


def mistyped(evidence: Evidence, cards: Sequence[AssertionCard]) -> Iterator[Slip]:
    """The last number typed into a field stands on no page; a page that the agent saw has the one that the task wants, beside that field's label."""
    wanted = {value for each in evidence.task.assertions if not each.type.startswith(NOT_VALUES) for value in expected(each.params)}
    last = {step.grounding.element.name: step for step in evidence.steps if typed(step) and step.grounding and isinstance(step.grounding.element, Element)}
    if not any(card.judgement.outcome is Outcome.FAIL for card in cards):
        return
    for label, step in last.items():
        looks = [look for look in evidence.looks if look.shown_to_agent and look.seq < step.seqs[0]]
        found, text = values(step.proposal.value or ""), step.proposal.value or ""
        if len(found) != 1 or not NUMERAL.fullmatch(text) or found & wanted or not all(map(readable, looks)):
            continue
        (given,) = found
        for right, source in ((right, look) for look in looks for right in sorted(wanted & beside(label, look.text))):
            if invented(given, right, evidence, looks):
                message = f"step {step.number} typed {given} into {label!r}, which stands on no page before; step {source.step} shows {right} there"
                yield Slip(kind="VISUAL_MISREAD", records=(source.seq, *step.seqs), message=message)
                break


def typed(step: Step) -> bool:
    return step.proposal.action_type in TYPING and succeeded(step)


def values(text: str) -> set[Decimal]:
    return numbers(text) | {value for value, _ in amounts(text)}


def expected(given: Json) -> Iterator[Decimal]:
    """Every number in an assertion's parameters."""
    match given:
        case bool() | None:
            return
        case int() | float():
            yield Decimal(str(given))
        case str():
            yield from values(given)
        case list():
            for one in given:
                yield from expected(one)
        case dict():
            yield from expected(list(given.values()))


def beside(label: str, text: str) -> set[Decimal]:
    """The numbers that follow the field's label on its line, or stand alone on the next. `Total` on the page is the label of `Invoice total`."""
    mine, found, lines = words(label), set[Decimal](), [line.strip() for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        caption, _, _ = re.sub(r"[\d$€£¥(-].*", "\0", line, count=1).partition("\0")
        theirs = words(caption)
        if theirs and mine and (theirs <= mine or mine <= theirs):
            alone = lines[place + 1] if caption.strip() == line and place + 1 < len(lines) else ""
            found |= values(line[len(caption):]) | (values(alone) if NUMERAL.fullmatch(alone) else set())
    return found


def invented(given: Decimal, right: Decimal, evidence: Evidence, looks: Iterable[Look]) -> bool:
    """Whether a number comes from nowhere: no page has it, goal and inputs do not, and it is neither the right one rounded nor in another unit."""
    told = [evidence.task.goal, *evidence.task.inputs.values(), *(f"{look.text}\n{look.title}\n{look.url}" for look in looks)]
    short = abs(given).normalize()
    shown = re.compile(rf"(?<![\d.,]){re.escape(f'{short:f}')}(?!\d|[.,]\d)")
    rounded = abs(given - right) < Decimal(1).scaleb(int(short.as_tuple().exponent))
    return not rounded and digits(given) != digits(right) and not any(given in values(text) or -given in values(text) or shown.search(text) for text in told)


def digits(value: Decimal) -> str:
    return "".join(map(str, value.as_tuple().digits)).strip("0")


def readable(look: Look) -> bool:
    """Whether the text is all that the page said: none is kept of a page that hangs or lies behind a dialog, and a long one is cut."""
    return look.whole and bool(look.text) and len(look.text) < PAGE_LIMIT
