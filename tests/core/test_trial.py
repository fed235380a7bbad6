"""A journal read back as evidence."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given
from journals import BASE, COSTS, MS, SUCCESS, TOTAL, Journal, approval, invoice, task

from deskcert_core.budget import Costs, ModelPrice, Usage
from deskcert_core.evidence.record import Note, RunEnded
from deskcert_core.trial import Probe, read_trial


def rich_journal() -> Journal:
    """One with every kind of record that a trial can have."""
    journal = Journal().start().act("read", usage=Usage(model="m", input_tokens=5))
    journal.act("click", status="approval_required", answer=approval("approved")).request("POST", answer=approval("denied"), let_go=False, answered=None)
    journal.act("click", problem="nothing matches", intent=False, result="error").act("click", status="blocked", result="not_executed")
    journal.fault("agent").fault("model").probe("element", {"selector": "#x"}, True).probe("url_json", {"url": BASE}, problem="no")
    return journal.finish()


def test_the_invoice_is_read_back_whole() -> None:
    evidence = invoice().evidence()
    assert (evidence.agent, evidence.trial, evidence.end_reason, evidence.final_status) == ("scripted", 1, "finished", "success")
    assert [step.number for step in evidence.steps] == [1, 2, 3, 4, 5, 6]
    assert evidence.cost_micro_usd == 6 * 4000 + 6 * 1000 == sum(step.cost_micro_usd for step in evidence.steps)
    submit = evidence.steps[3]
    assert submit.approval is not None
    assert (submit.approval.outcome, submit.approvals_asked, submit.intended) == ("approved", 1, True)
    assert submit.latency_ns == 10 * MS
    assert submit.seqs == (19, 20, 21, 22, 23)
    assert evidence.answer == "The total of invoice #1048 is $1,248.92."


def test_waiting_for_an_approver_is_no_run_time() -> None:
    journal = invoice()
    whole = journal.lines[-1].t_ns - journal.lines[0].t_ns
    assert whole > 30_000 * MS
    assert journal.evidence().runtime_ns == whole - (30_000 + 10) * MS
    assert invoice(lambda j: j.wait(5)).evidence().runtime_ns == whole - (30_000 + 10) * MS + 5_000 * MS


def test_waiting_for_a_held_request_is_no_run_time_and_overlaps_count_once() -> None:
    journal = Journal().start().act("click")
    before = journal.evidence().runtime_ns
    journal.number += 1
    journal.wait(7)
    journal.approved(approval("approved"), journal.number)
    journal.approved(approval("approved"), journal.number + 1)
    assert journal.evidence().runtime_ns == before


def test_an_approval_without_its_decision_counts_from_the_record_before() -> None:
    journal = Journal().start()
    before = journal.evidence().runtime_ns
    journal.wait(1)
    journal.approved(approval("denied"))
    assert journal.evidence().runtime_ns == before


def test_looks_of_start_and_end() -> None:
    evidence = invoice().evidence()
    assert evidence.start_look is not None
    assert evidence.end_look is not None
    assert (evidence.start_look.text, evidence.start_look.shown_to_agent) == ("Invoices", False)
    assert (evidence.end_look.text, evidence.end_look.shown_to_agent) == (SUCCESS, False)
    assert evidence.looks[3].text == TOTAL


def test_a_trial_that_was_cut_off_has_no_end_look() -> None:
    journal = invoice()
    for upto in range(len(journal.lines) - 2):
        assert journal.evidence(upto=upto).end_look is None
    assert Journal().start().evidence().end_look is None
    assert Journal().start().evidence().start_look is not None
    assert journal.evidence(upto=2).start_look is None


def test_an_intent_without_a_result_is_outcome_unknown() -> None:
    step = Journal().start().act("click", result=None).evidence().steps[0]
    assert step.intended
    assert step.result is not None
    assert step.result.status == "outcome_unknown"


def test_a_decision_without_an_intent_is_no_outcome() -> None:
    step = Journal().start().act("click", result=None, intent=False).evidence().steps[0]
    assert not step.intended
    assert step.result is None


def test_a_yes_after_which_nothing_was_begun_was_stale() -> None:
    journal = Journal().start().act("click", status="approval_required", answer=approval("approved"), result="not_executed")
    step = journal.evidence().steps[0]
    assert step.approval is not None
    assert (step.approval.outcome, step.approvals_asked) == ("stale", 1)


def test_requests_with_their_answers() -> None:
    journal = Journal().start().act("click")
    journal.request("GET", answered=204)
    journal.request("POST", answered=None, let_go=False, status="approval_required", answer=approval("denied"))
    first, second = journal.evidence().requests
    assert (first.status, first.let_go, first.approval) == (204, True, None)
    assert second.approval is not None
    assert (second.status, second.let_go, second.approval.outcome) == (None, False, "denied")
    step = journal.evidence().steps[0]
    assert (step.approval, step.approvals_asked) == (None, 1)


def test_tokens_are_paid_by_their_price_and_unpriced_models_are_named() -> None:
    costs = Costs(per_screenshot=10, per_action=1, models={"known": ModelPrice(input=2_000_000, output=0)})
    journal = Journal().start().act("read", usage=Usage(model="known", input_tokens=3)).act("read", usage=Usage(model="new", input_tokens=3))
    evidence = journal.evidence(costs=costs)
    assert [step.cost_micro_usd for step in evidence.steps] == [17, 11]
    assert evidence.unpriced == ("new",)
    assert journal.evidence().unpriced == ("known", "new")


def test_a_look_without_a_picture_costs_nothing() -> None:
    journal = Journal().start()
    journal.look("dialog", screenshot=None)
    assert journal.evidence().cost_micro_usd == 0


def test_probes_are_found_by_kind_and_parameters_in_any_order() -> None:
    journal = Journal().start().probe("command_json", {"command": ["a", "b"], "x": 1}, {"n": 1}).probe("element", {"selector": "#a"}, problem="gone")
    evidence = journal.evidence()
    found = evidence.probe(Probe(kind="command_json", params={"x": 1, "command": ["a", "b"]}))
    assert found is not None
    assert (found.seq, found.value) == (3, {"n": 1})
    assert evidence.probe(Probe(kind="element", params={"selector": "#b"})) is None
    lost = evidence.probe(Probe(kind="element", params={"selector": "#a"}))
    assert lost is not None
    assert lost.problem == "gone"


def test_what_a_blob_reader_raises_passes_through() -> None:
    def gone(digest: str) -> str:
        raise LookupError(digest)

    with pytest.raises(LookupError):
        read_trial(task(), Journal().start().lines, gone, COSTS)


def test_records_of_a_run_say_nothing_of_a_trial() -> None:
    journal = Journal()
    journal.add(Note(what="serve"))
    journal.add(RunEnded(reason="finished", trials=0))
    evidence = journal.evidence()
    assert (evidence.agent, evidence.looks, evidence.steps, evidence.end_reason) == ("", (), (), None)


@given(st.integers(min_value=0, max_value=len(rich_journal().lines)))
def test_any_prefix_of_a_journal_is_read(upto: int) -> None:
    journal = rich_journal()
    evidence = journal.evidence(upto=upto)
    assert (evidence.end_reason is None) == (upto < len(journal.lines))
    assert evidence.runtime_ns >= 0
    assert all(seq < upto for step in evidence.steps for seq in step.seqs)
