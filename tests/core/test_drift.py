"""Where a replay went another way, judged from its own journal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from journals import BASE, COSTS, Journal, task

from deskcert_core.address import parse
from deskcert_core.drift import drift, facts_of, rebased, rebased_request
from deskcert_core.effect import UNKNOWN, Effect, Element, Grounding, Request
from deskcert_core.evaluation import Evidence
from deskcert_core.evidence.record import Decided, Replayed, decode, encode
from deskcert_core.failure import Category, classify, find
from deskcert_core.trial import read_trial

BUTTON = Element(tag="button", role="button", name="Confirm total")
POST = Request(method="POST", address=parse(f"{BASE}/success"), fields=(("total", "1"), ("token", "abc")))


def went(element: Any = BUTTON, request: Request = POST, steps: int = 2, **given: Any) -> Evidence:
    """A trial of so many clicks, the first on the element, and the end."""
    journal = Journal().start()
    for number in range(steps):
        journal.act("click", **(given if number == 0 else {}))
    for place, line in enumerate(journal.lines):
        if isinstance(body := line.body, Decided) and body.step == 1:
            grounded = replace(body, grounding=Grounding(page=None, element=element), effect=Effect(requests=(request,)))
            journal.lines[place] = replace(line, body=grounded)
    return read_trial(task(), journal.finish().lines, journal.text_of, COSTS)


RECORDED = Replayed(run_id="r", trial=1, agent="a", steps=facts_of(went()))


def drifts(now: Evidence) -> list[tuple[int, str]]:
    return [(one.step, one.message) for one in drift(replace(now, replayed=RECORDED))]


def test_the_same_again_is_no_drift_and_a_trial_of_its_own_has_none() -> None:
    assert drifts(went()) == []
    assert drift(went(element=None)) == ()


@pytest.mark.parametrize(("now", "said"), [
    (went(element=replace(BUTTON, name="Confirm amount")), "the element hit was button 'Confirm total' <button> and is button 'Confirm amount' <button>"),
    (went(element=replace(BUTTON, tag="a")), "the element hit was button 'Confirm total' <button> and is button 'Confirm total' <a>"),
    (went(element=UNKNOWN), "the element hit was button 'Confirm total' <button> and is one that cannot be read"),
    (went(status="blocked", result="not_executed"),
     "the decision was allowed (allowed.click) and is blocked (blocked.click); the result was success and is not_executed"),
    (went(rule="allowed.other"), "the decision was allowed (allowed.click) and is allowed (allowed.other)"),
    (went(text="Another page"), "the page's text is another"),
    (went(result="timeout"), "the result was success and is timeout"),
    (went(request=replace(POST, fields=(("total", "1"), ("token", "x"), ("note", "")))),
     f"the predicted requests were POST {BASE}/success (total, token) and are POST {BASE}/success (total, token, note)"),
    (went(request=replace(POST, address=parse(f"{BASE}/pay"))),
     f"the predicted requests were POST {BASE}/success (total, token) and are POST {BASE}/pay (total, token)"),
])
def test_each_difference_is_named_at_its_step(now: Evidence, said: str) -> None:
    assert drifts(now) == [(1, f"step 1, click selector '#total': {said}")]


def test_a_token_that_differs_in_every_run_is_no_drift() -> None:
    assert drifts(went(request=replace(POST, fields=(("total", "1"), ("token", "another"))))) == []


def test_a_replay_that_ends_early_says_so() -> None:
    (said,) = [message for _, message in drifts(went(steps=1)) if "recorded run" in message]
    assert said == "the recorded run has 3 steps, the replay ended after 2 (finished)"


def test_drift_is_a_finding_with_this_runs_records_and_decides_nothing() -> None:
    now = replace(went(text="Another page"), replayed=RECORDED)
    failure = classify(now, ())
    assert failure.category is Category.NONE
    (finding,) = find(now, (), failure.category)
    assert (finding.kind, finding.records) == ("drift", now.steps[0].seqs)


def test_the_record_is_read_back_from_the_journal() -> None:
    journal = Journal().start()
    seq = journal.add(RECORDED)
    assert decode(encode(journal.lines[seq])) == journal.lines[seq]
    assert journal.finish().evidence().replayed == RECORDED


@pytest.mark.parametrize(("url", "there"), [
    ("http://127.0.0.1:8000/a?b#c", "http://127.0.0.1:9/a?b#c"), ("http://127.0.0.1:8000", "http://127.0.0.1:9"), ("http://127.0.0.1:80001/a", "http://127.0.0.1:80001/a"),
    ("http://127.0.0.1:8000.evil/", "http://127.0.0.1:8000.evil/"), ("https://other/", "https://other/"),
])
def test_only_what_lies_under_the_base_url_is_moved(url: str, there: str) -> None:
    assert rebased(url, ("http://127.0.0.1:8000/", "http://127.0.0.1:9")) == there
    assert rebased(url, ("", "")) == url


def test_a_request_says_where_it_goes_and_the_names_of_its_fields() -> None:
    assert rebased_request(POST, (BASE, "http://127.0.0.1:9")) == "POST http://127.0.0.1:9/success (total, token)"
    assert rebased_request(replace(POST, fields=None), ("", "")) == f"POST {BASE}/success"
