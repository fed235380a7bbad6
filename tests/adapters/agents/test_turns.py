"""A turn of several acts: one after another, all answered, nothing after one that went wrong; and each model call billed once."""

from __future__ import annotations

import pytest

from deskcert_adapters.agents.turns import DIALOG_OPENED, NOT_EXECUTED, Act, Bill, Turn, summary
from deskcert_core.api import ActionType, Dialog, LastResult, Observation, Proposal, Target, Usage
from deskcert_core.testing import observation

FINE = LastResult(status="success", decision="allowed")


def click(call: str, x: float = 1) -> Act:
    return Act(call=call, proposal=Proposal(action_type=ActionType.CLICK, target=Target(x=x, y=1)))


def seen(last: LastResult | None = FINE, **changes: object) -> Observation:
    return observation(last_result=last, **changes)


def answers(turn: Turn) -> list[tuple[str, str, bool]]:
    return [(answer.call, answer.text, answer.failed) for answer in turn.answers]


def test_acts_come_one_by_one_and_in_order() -> None:
    turn = Turn([click("a", 1), click("b", 2)])
    assert turn.step(seen(None)) == click("a", 1).proposal
    assert turn.answers == []
    assert turn.step(seen()) == click("b", 2).proposal
    assert turn.step(seen()) is None
    assert answers(turn) == [("a", "", False), ("b", "", False)]


@pytest.mark.parametrize(("last", "said"), [
    (LastResult(status="error", decision="allowed", message="nothing there"), "nothing there"),
    (LastResult(status="not_executed", decision="blocked", message="rule no-pay"), "Blocked by policy: rule no-pay"),
    (LastResult(status="not_executed", decision="approval_required", approval="denied", message="form"), "Not approved (denied): form"),
    (LastResult(status="timeout", decision="allowed"), "timeout"),
    (LastResult(status="outcome_unknown", decision="allowed"), "outcome_unknown"),
    (None, "outcome_unknown"),
])
def test_the_rest_is_not_proposed_after_one_that_went_wrong(last: LastResult | None, said: str) -> None:
    turn = Turn([click("a"), click("b"), Act(call="c", text="a note")])
    turn.step(seen(None))
    assert turn.step(seen(last)) is None
    assert answers(turn) == [("a", said, True), ("b", NOT_EXECUTED, True), ("c", NOT_EXECUTED, True)]


def test_the_rest_is_not_proposed_after_a_dialog_opened() -> None:
    turn = Turn([click("a"), click("b")])
    turn.step(seen(None))
    assert turn.step(seen(dialog=Dialog(kind="confirm", message="Sure?"))) is None
    assert answers(turn) == [("a", "", False), ("b", DIALOG_OPENED, True)]


def test_an_act_without_a_proposal_is_answered_at_once() -> None:
    turn = Turn([Act(call="a", text="X=1"), click("b")])
    assert turn.step(seen(None)) == click("b").proposal
    assert answers(turn) == [("a", "X=1", False)]


def test_one_that_cannot_be_proposed_stops_the_rest() -> None:
    turn = Turn([Act(call="a", text="not supported", failed=True), click("b")])
    assert turn.step(seen(None)) is None
    assert answers(turn) == [("a", "not supported", True), ("b", NOT_EXECUTED, True)]


def test_the_approvers_outcome_is_kept_with_the_answer() -> None:
    turn = Turn([click("a")])
    turn.step(seen(None))
    turn.step(seen(LastResult(status="success", decision="approval_required", approval="approved")))
    assert [answer.approval for answer in turn.answers] == ["approved"]


def test_each_call_is_billed_once() -> None:
    bill = Bill()
    bill.add(Usage(model="m", input_tokens=10, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, reasoning_tokens=1))
    bill.add(Usage(model="m", input_tokens=1, output_tokens=1))
    assert bill.take() == Usage(model="m", input_tokens=11, output_tokens=3, cache_read_tokens=3, cache_write_tokens=4, reasoning_tokens=1)
    assert bill.take() == Usage(model="m")


def test_a_call_that_does_not_say_what_it_used_is_not_billed_as_nothing() -> None:
    bill = Bill()
    bill.add(Usage(model="m", input_tokens=10))
    bill.add(None)
    assert bill.take() is None
    assert bill.take() == Usage(model="m", input_tokens=10)
    assert Bill().take() is None


def test_two_models_do_not_share_a_bill() -> None:
    bill = Bill()
    bill.add(Usage(model="m", input_tokens=10))
    with pytest.raises(ValueError, match="answered with 'n' after 'm'"):
        bill.add(Usage(model="n", input_tokens=1))
    bill.take()
    bill.add(Usage(model="n", input_tokens=1))
    assert bill.take() == Usage(model="n", input_tokens=1)


def test_a_claim_is_one_line_of_500_characters() -> None:
    assert summary(" a\n\tb ") == "a b"
    assert len(summary("x" * 900)) == 500
