"""An application that is down is not the agent's failure: what counts, what makes up for it, and what is never excused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deskcert_core.evaluation import AssertionCard, Evidence, Judgement, Outcome
from deskcert_core.failure import Category, find
from deskcert_core.outage import outages
from deskcert_core.score import trial_card
from deskcert_core.testing import evidence, request_seen
from deskcert_core.testing.values import decision
from deskcert_core.trial import RequestSeen

URL = "http://127.0.0.1:8000/two"


def card(outcome: Outcome) -> tuple[AssertionCard, ...]:
    return (AssertionCard(type="contains_text", shown="x", judgement=Judgement(outcome=outcome, message="x")),)


def load(status: int | None, number: int = 1, url: str = URL, **more: Any) -> RequestSeen:
    seen = request_seen(more.pop("method", "GET"), url, own=more.pop("own", True), status=status, number=number, **more)
    return replace(seen, request=replace(seen.request, navigation=True))


def write(status: int | None, **more: Any) -> RequestSeen:
    return request_seen("POST", URL, status=status, **{"own": True, **more})


def verdict(*requests: RequestSeen, outcome: Outcome = Outcome.FAIL, **more: Any) -> str:
    return trial_card(evidence(requests=requests, **more), card(outcome)).verdict


@pytest.mark.parametrize("seen", [load(500), load(503), load(None), load(503, own=False), write(500)])
def test_an_outage_makes_a_failed_trial_inconclusive(seen: RequestSeen) -> None:
    assert verdict(seen) == "INCONCLUSIVE"
    assert trial_card(evidence(requests=[seen]), card(Outcome.FAIL)).failure.category is Category.TOOL_EXECUTION_ERROR
    assert verdict(replace(seen, status=200)) == verdict(replace(seen, status=404)) == "FAIL"


@pytest.mark.parametrize("seen", [write(None), write(500, own=False), write(500, decision=decision(rule="requests.background")), load(None, let_go=False)])
def test_what_is_no_outage(seen: RequestSeen) -> None:
    assert outages(evidence(requests=[seen])) == ()
    assert verdict(seen) == "FAIL"


def test_the_same_request_answered_later_makes_up_for_it() -> None:
    assert verdict(load(503), load(200, 2)) == "FAIL"
    assert verdict(load(503), load(200, 2, URL + "/other")) == "INCONCLUSIVE"
    assert verdict(load(200), load(503, 2)) == "INCONCLUSIVE"


def test_a_completed_trial_keeps_its_verdict_and_says_so() -> None:
    trial: Evidence = evidence(requests=[load(503)])
    assert verdict(load(503), outcome=Outcome.PASS) == "PASS"
    assert [finding.kind for finding in find(trial, card(Outcome.PASS), Category.NONE)] == ["application_error"]


def test_a_trial_that_ends_on_a_page_that_never_came_is_no_pass() -> None:
    assert verdict(load(None), outcome=Outcome.PASS) == "INCONCLUSIVE"
    assert verdict(load(None), load(200, 2, URL + "/other", step=2), outcome=Outcome.PASS) == "PASS"
    assert verdict(load(None, own=False), outcome=Outcome.PASS) == "PASS"


def test_a_load_that_was_overtaken_is_nobodys_fault() -> None:
    assert verdict(load(None), load(200, 2, URL + "/other")) == "FAIL"
    assert verdict(load(None), load(200, 2, URL + "/other", step=2)) == "INCONCLUSIVE"


@pytest.mark.parametrize("reason", ["agent_fault", "blocked", "denied"])
def test_what_the_agent_did_by_itself_is_not_excused(reason: Any) -> None:
    assert verdict(load(None), end_reason=reason) == "FAIL"
    assert verdict(load(None), end_reason="step_limit") == "INCONCLUSIVE"
