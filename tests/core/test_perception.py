"""What is proved against an agent's eyes, and the table of what must not be: each accusation has its twin that is none."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import pytest
from journals import BASE, COSTS, Journal, decision, task

from deskcert_core.address import parse
from deskcert_core.effect import UNKNOWN, Effect, Element, Grounding
from deskcert_core.evaluation import AssertionCard, Evidence, Judgement, Outcome
from deskcert_core.evidence.record import Decided, Observed, Proposed, Resulted
from deskcert_core.execution import ExecutionResult
from deskcert_core.failure import Category, classify, find
from deskcert_core.perception import Slip, beside, slips
from deskcert_core.proposal import ActionType, Proposal, Target
from deskcert_core.task import Assertion
from deskcert_core.trial import read_trial

PAGE = "Invoice #1048\nCustomer\tNorthwind Traders\nTotal\t$1,248.92\nConfirm the total\nPay now"
FORM = "Confirm invoice #1048\nInvoice total\nConfirm total"
NAMES = ("Confirm the total", "Pay now")
MONEY = Assertion(type="final_answer", params={"money": 1248.92})
POSTED = Assertion(type="request_made", params={"fields": {"total": "1248.92"}})
WRONG = "The total is $1,284.92."
PAY = Element(tag="button", role="button", name="Pay now", text="Pay now", submits=True)
CONFIRM = Element(tag="a", role="link", name="Confirm the total", text="Confirm the total", href=parse(f"{BASE}/confirm"))
PARAGRAPH = Element(tag="p", role="paragraph", text="Customer")
FIELD = Element(tag="input", role="textbox", name="Invoice total", input_type="text")


@dataclass
class Trial:
    """A trial in the making; `answer` ends it."""

    journal: Journal
    step: int = 0

    def look(self, text: str, picture: str | None = "a", *, shown: bool = True, step: int | None = None) -> int:
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.journal.blobs[digest] = text
        seen = Observed(step=self.step if step is None else step, url=f"{BASE}/", title="", text=digest, screenshot=picture, shown_to_agent=shown)
        return self.journal.add(seen)

    def act(
        self, action: str, target: Target | None, *, page: str = PAGE, element: Any = None, said: str = "", value: str | None = None, problem: str | None = None,
        kind: Any = "missing", names: tuple[str, ...] | None = NAMES, all_named: bool = True, result: Any = "success", picture: str | None = "a",
    ) -> Trial:
        self.step += 1
        self.journal.step = self.step
        self.look(page, picture)
        self.journal.add(Proposed(step=self.step, proposal=Proposal(action_type=ActionType(action), target=target, value=value, decision_summary=said)))
        grounding = Grounding(
            page=parse(BASE), element=element, problem=f"{target}: {problem}" if problem else None, problem_kind=kind if problem else None, names=names,
            all_named=all_named,
        )
        self.journal.add(Decided(step=self.step, decision=decision(), grounding=grounding, effect=Effect()))
        self.journal.add(Resulted(step=self.step, result=ExecutionResult(status="error" if problem else result)))
        return self

    def evidence(self, answer: str | None = "done", *assertions: Assertion, page: str = PAGE, picture: str | None = "a", goal: str = "Confirm it.") -> Evidence:
        self.step += 1
        self.look(page, picture, shown=False, step=self.step - 1)
        self.journal.end("finished", "success", answer)
        return read_trial(replace(task(*assertions), goal=goal), self.journal.lines, self.journal.text_of, COSTS)


def trial() -> Trial:
    journal = Journal()
    made = Trial(journal)
    made.look(PAGE, shown=False, step=0)
    return made


def cards(evidence: Evidence, outcome: Outcome = Outcome.FAIL) -> list[AssertionCard]:
    return [AssertionCard(type=one.type, shown="", judgement=Judgement(outcome=outcome, message="")) for one in evidence.task.assertions]


def proved(evidence: Evidence, outcome: Outcome = Outcome.FAIL) -> list[Slip]:
    return list(slips(evidence, cards(evidence, outcome)))


# -- HALLUCINATED_UI_ELEMENT

GHOST = Target(role="button", name="Approve everything")


def miss(target: Target = GHOST, action: str = "click", problem: str = "no element matches", goal: str = "Confirm it.", end: str = PAGE, **given: Any) -> Evidence:
    return trial().act(action, target, problem=problem, **given).evidence(page=end, goal=goal)


@pytest.mark.parametrize("target", [GHOST, Target(text="Approve everything"), Target(label="Approve everything")])
def test_a_target_that_the_page_does_not_have_is_proved_with_the_look_and_the_step(target: Target) -> None:
    evidence = miss(target)
    (slip,) = proved(evidence)
    assert slip.kind == "HALLUCINATED_UI_ELEMENT"
    assert slip.records == (evidence.looks[1].seq, *evidence.steps[0].seqs)


@pytest.mark.parametrize("innocent", [
    pytest.param(miss(page=f"{PAGE}\nApprove everything"), id="its words stand on the page"),
    pytest.param(miss(Target(role="button", name="Confirm order")), id="one of its words stands on the page"),
    pytest.param(miss(Target(role="button", name="Confirmation")), id="a word of the page begins like it"),
    pytest.param(miss(end=f"{PAGE}\nApprove everything"), id="it came after the agent had looked"),
    pytest.param(miss(names=(*NAMES, "Approve everything")), id="an icon of another role bears the name"),
    pytest.param(miss(all_named=False), id="a picture, a canvas or a frame may show it"),
    pytest.param(miss(names=None, all_named=False), id="the names were not kept"),
    pytest.param(miss(goal="Press Approve everything"), id="the task itself names it"),
    pytest.param(miss(Target(selector="#approve")), id="a selector says nothing that a page shows"),
    pytest.param(miss(Target(test_id="approve")), id="nor does a test id"),
    pytest.param(miss(Target(role="button")), id="a role without a name"),
    pytest.param(miss(problem="2 elements match", kind="ambiguous"), id="there are several"),
    pytest.param(miss(problem="it is there but not visible", kind="unusable"), id="it is there and hidden"),
    pytest.param(miss(action="select_option", problem="it has no such option"), id="the field is there, the option is not"),
    pytest.param(miss(problem="the page was being replaced"), id="the page was being replaced"),
    pytest.param(miss(page=""), id="a page without text: hung, or behind a dialog"),
    pytest.param(miss(page="x" * 200_000), id="a text that was cut"),
])
def test_no_hallucination_is_claimed(innocent: Evidence) -> None:
    assert proved(innocent) == []


def test_beside_an_unrecovered_tool_error_it_is_a_finding_and_after_a_recovery_the_category() -> None:
    lone = trial().act("click", GHOST, problem="no element matches").evidence("done", MONEY)
    failure = classify(lone, cards(lone))
    assert failure.category is Category.TOOL_EXECUTION_ERROR
    assert [one.kind for one in find(lone, (), failure.category)] == ["hallucinated_ui_element"]
    later = trial().act("click", GHOST, problem="no element matches").act("click", Target(text="Pay now"), element=PAY).evidence("done", MONEY)
    failure = classify(later, cards(later))
    assert failure.category is Category.HALLUCINATED_UI_ELEMENT
    assert [one.kind for one in find(later, (), failure.category)] == ["tool_error"]


# -- BAD_CLICK_TARGET

POINT = Target(x=10, y=20)
SAID = 'Click the "Confirm the total" link'


def click(element: Any = PAY, said: str = SAID, target: Target = POINT, then: Any = None, end: str = PAGE, picture: str | None = "a", **given: Any) -> Evidence:
    made = trial().act("click", target, element=element, said=said, **given)
    if then:
        made.act("click", target, element=then)
    return made.evidence(page=end, picture=picture)


@pytest.mark.parametrize("said", [SAID, "Click Confirm the total", "clicking on the link ‘Confirm the total’ to go on", "I'll press “Confirm the total”."])
def test_another_control_than_the_one_that_is_named_is_proved(said: str) -> None:
    evidence = click(said=said, end="Paid.")
    (slip,) = proved(evidence)
    assert (slip.kind, slip.made_up) == ("BAD_CLICK_TARGET", False)
    assert slip.records == (evidence.looks[1].seq, *evidence.steps[0].seqs)
    assert "hit button 'Pay now', not 'Confirm the total'" in slip.message
    assert classify(evidence, [*cards(evidence), *cards(trial().evidence("", MONEY))]).category is Category.BAD_CLICK_TARGET


def test_a_name_is_also_known_from_what_was_acted_on_while_the_page_was_the_same() -> None:
    made = trial().act("hover", Target(text="Confirm the total"), element=CONFIRM, names=None).act("click", POINT, element=PAY, said=SAID, names=None)
    assert [slip.kind for slip in proved(made.evidence(page="Paid."))] == ["BAD_CLICK_TARGET"]


def test_a_click_on_nothing_of_which_nothing_came_is_proved() -> None:
    (slip,) = proved(click(PARAGRAPH, said="Go on"))
    assert slip.message == "step 1: the click at point 10,20 hit <p>, where nothing can be clicked, and nothing came of it"


@pytest.mark.parametrize("innocent", [
    pytest.param(click(CONFIRM), id="it hit what it named"),
    pytest.param(click(replace(CONFIRM, name="", text="Confirm the total of invoice 1048")), id="what it hit holds the name"),
    pytest.param(click(replace(PAY, name="Pay the total")), id="the two names share a word"),
    pytest.param(click(replace(PAY, name="", text="")), id="a control without a name may be the one"),
    pytest.param(click(UNKNOWN), id="what it hit cannot be read"),
    pytest.param(click(replace(PAY, text="x" * 200)), id="a text that was cut may hold the name"),
    pytest.param(click(said='Click "Confirm all"'), id="what it names is not on the page"),
    pytest.param(click(said="Click Pay now, not Confirm the total"), id="it names another one too"),
    pytest.param(click(said='Pay, since "Confirm the total" is locked'), id="the quoted words are not what it clicks"),
    pytest.param(click(names=("Pay now",)), id="the name is no control of the page"),
    pytest.param(click(names=None), id="the names were not kept"),
    pytest.param(click(target=Target(text="Pay now")), id="no point: the executor chose the place"),
    pytest.param(click(result="error"), id="the click did not succeed"),
    pytest.param(click(PARAGRAPH, said="Click", end=f"{PAGE}\nmore"), id="the text changed: a script listened"),
    pytest.param(click(PARAGRAPH, said="Click", picture="b"), id="the picture changed"),
    pytest.param(click(PARAGRAPH, said="Click", picture=None), id="there is no picture to compare"),
    pytest.param(click(PARAGRAPH, said="Click on an empty place to close the menu"), id="it meant to hit nothing"),
    pytest.param(click(replace(PARAGRAPH, role="button"), said="Click"), id="a paragraph that says it is a button"),
    pytest.param(click(Element(tag="label", text="Total"), said="Click"), id="a label"),
    pytest.param(click(Element(tag="canvas"), said="Click"), id="a canvas"),
    pytest.param(click(Element(tag="div", role="slider"), said="Click"), id="a role that is acted on"),
])
def test_no_bad_click_is_claimed(innocent: Evidence) -> None:
    assert proved(innocent) == []


def test_a_click_that_sent_something_hit_something() -> None:
    made = trial().act("click", POINT, element=PARAGRAPH, said="Click")
    made.journal.request("GET", f"{BASE}/beacon", own=False)
    assert proved(made.evidence()) == []


def test_what_was_made_up_for_is_a_finding_and_no_category() -> None:
    for then, made_up in ((CONFIRM, True), (PAY, False)):
        (first, *_) = proved(click(then=then))
        assert first.made_up is made_up
    for said, then, made_up in (("Go on", CONFIRM, True), ("Go on", PARAGRAPH, False)):
        assert proved(click(PARAGRAPH, said=said, then=then))[0].made_up is made_up
    evidence = replace(click(then=CONFIRM), task=task(MONEY))
    failure = classify(evidence, cards(evidence))
    assert failure.category is Category.ASSERTION_FAILED
    assert "bad_click_target" in [one.kind for one in find(evidence, cards(evidence), failure.category)]


# -- VISUAL_MISREAD


def answer(text: str | None = WRONG, money: Assertion = MONEY, page: str = PAGE, goal: str = "Say the total.") -> Evidence:
    return trial().act("read", None, page=page).evidence(text, money, page=page, goal=goal)


def test_an_answer_that_stands_nowhere_is_proved_where_the_right_one_was_to_be_seen() -> None:
    evidence = answer()
    (slip,) = proved(evidence)
    assert (slip.kind, slip.records) == ("VISUAL_MISREAD", (evidence.looks[1].seq, evidence.end_seq))
    assert slip.message == "the answer names 1284.92, which stands on no page that the agent saw; step 1 shows 1248.92"
    assert classify(evidence, cards(evidence)).category is Category.VISUAL_MISREAD


@pytest.mark.parametrize("innocent", [
    pytest.param(answer("The total is $1,248.92."), id="it is the right one"),
    pytest.param(answer(page=f"{PAGE}\nOld total $1,284.92"), id="the page has it too"),
    pytest.param(answer(page="Invoice #1048"), id="the right one was never to be seen"),
    pytest.param(answer("The total is $1,249."), id="rounded"),
    pytest.param(answer("The total is about $1,250."), id="rounded more"),
    pytest.param(answer("The total is $124,892."), id="in cents"),
    pytest.param(answer("It is $1,284.92, not $1,248.92."), id="two amounts"),
    pytest.param(answer("I could not find it."), id="no amount"),
    pytest.param(answer(None), id="no answer"),
    pytest.param(answer("Invoice 1048", Assertion(type="final_answer", params={"number": 1248.92})), id="a number of the page: 1048"),
    pytest.param(answer(goal="Is the total $1,284.92?"), id="the goal names it"),
    pytest.param(answer(money=Assertion(type="final_answer", params={"exact": "$1,248.92"})), id="no number is wanted"),
    pytest.param(answer(page=PAGE + " " * 200_000), id="a text that was cut"),
])
def test_no_misread_answer_is_claimed(innocent: Evidence) -> None:
    assert proved(innocent) == []


def test_an_answer_that_holds_or_cannot_be_judged_is_no_misread() -> None:
    assert proved(answer(), Outcome.PASS) == proved(answer(), Outcome.INCONCLUSIVE) == []


def fill(
    value: str = "1284.92", label: str = "Invoice total", wanted: Assertion = POSTED, page: str = PAGE, then: str = "", goal: str = "Confirm it.", **given: Any,
) -> Evidence:
    field = replace(FIELD, name=label)
    made = trial().act("read", None, page=page).act("fill", Target(label=label), page=FORM, element=field, value=value, **given)
    if then:
        made.act("fill", Target(label=label), page=FORM, element=field, value=then)
    return made.evidence("done", wanted, page=FORM, goal=goal)


@pytest.mark.parametrize("page", [PAGE, "Total\n$1,248.92", "Total: 1.248,92 €", "The total 1,248.92"])
def test_a_number_typed_wrong_is_proved_where_its_label_has_the_right_one(page: str) -> None:
    evidence = fill(page=page, label="The invoice total")
    (slip,) = proved(evidence)
    assert (slip.kind, slip.records) == ("VISUAL_MISREAD", (evidence.looks[1].seq, *evidence.steps[1].seqs))
    assert "typed 1284.92 into 'The invoice total'" in slip.message


@pytest.mark.parametrize("innocent", [
    pytest.param(fill("1248.92"), id="it is the right one"),
    pytest.param(fill(then="1248.92"), id="it was put right"),
    pytest.param(fill("1248"), id="rounded"),
    pytest.param(fill(wanted=Assertion(type="request_made", params={"path": "/x"})), id="no assertion wants what the page shows"),
    pytest.param(fill(wanted=Assertion(type="max_steps", params={"value": 1248.92})), id="a limit is no value of the page"),
    pytest.param(fill(label="Discount"), id="another field"),
    pytest.param(fill(page=f"{PAGE}\nDiscounted 1284.92"), id="the page has it too"),
    pytest.param(fill(page="Customer\t$1,248.92"), id="the right one stands beside another label"),
    pytest.param(fill(goal="Set it to 1284.92"), id="the goal names it"),
    pytest.param(fill("INV-1284.92-x"), id="no number"),
    pytest.param(fill("call 1284.92 now"), id="a number in a sentence"),
    pytest.param(fill(result="error"), id="it was not typed"),
])
def test_no_mistyping_is_claimed(innocent: Evidence) -> None:
    assert proved(innocent) == []


def test_a_trial_in_which_all_holds_accuses_nobody_of_typing_wrong() -> None:
    assert proved(fill(), Outcome.PASS) == []


@pytest.mark.parametrize(("text", "found"), [
    ("Total\t$5", {5}), ("Total:\n5", {5}), ("Total\nCustomer 5", set()), ("Subtotal 5", set()), ("Total of all invoices 5", set()), ("", set()),
])
def test_a_value_stands_beside_its_label(text: str, found: set[int]) -> None:
    assert beside("Invoice total", text) == found
