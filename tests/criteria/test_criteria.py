"""Every criterion: a pass, a fail, missing evidence (by the conformance kit), and what is peculiar to each."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from journals import SUCCESS, TOTAL, Journal, approval, invoice

from deskcert_core import schemas
from deskcert_core.address import parse
from deskcert_core.amounts import amounts, numbers
from deskcert_core.effect import UNKNOWN, Request
from deskcert_core.evaluation import Evidence, Outcome, Probe, ProbeResult
from deskcert_core.evidence.record import Observed
from deskcert_core.plugins import drivers
from deskcert_core.policy.rules import Status
from deskcert_core.proposal import ActionType
from deskcert_core.testing import check_criterion, evidence, request_seen, step
from deskcert_core.trial import probe_key

URL = "http://127.0.0.1:8000/api/users"
UNKNOWN_BODY = Request(method="POST", address=parse(URL), fields=UNKNOWN)
BLOCKED = step(1, ActionType.CLICK, status=Status.BLOCKED)


def probed(kind: Any, params: dict[str, Any], value: Any) -> Evidence:
    return evidence(probes={probe_key(kind, params): ProbeResult(seq=60, value=value)})


def selector(found: bool) -> Evidence:
    return probed("element", {"selector": "#x"}, found)


def served(document: Any) -> Evidence:
    return probed("url_json", {"url": URL}, document)


def printed(document: Any) -> Evidence:
    return probed("command_json", {"command": ["python", "q.py"]}, document)


CASES: dict[str, tuple[dict[str, Any], Evidence, Evidence]] = {
    "contains_text": ({"value": "Hello"}, evidence("Well, Hello"), evidence("Bye")),
    "not_contains_text": ({"value": "Hello"}, evidence("Bye"), evidence("Hello")),
    "element_exists": ({"selector": "#x"}, selector(True), selector(False)),
    "element_absent": ({"selector": "#x"}, selector(False), selector(True)),
    "url_matches": ({"glob": "/done/*"}, evidence(url="http://127.0.0.1:8000/done/1"), evidence(url="http://127.0.0.1:8000/done")),
    "final_answer": ({"money": 1248.92, "currency": "USD"}, evidence(answer="It is $1,248.92."), evidence(answer="It is $1,248.93.")),
    "final_status": ({"value": "success"}, evidence(), evidence(final_status="failure")),
    "max_steps": ({"value": 2}, evidence(), evidence(steps=[step(1), step(2), step(3)])),
    "max_cost_usd": ({"value": 0.03}, evidence(cost_micro_usd=30_000), evidence(cost_micro_usd=30_001)),
    "max_runtime_seconds": ({"value": 2}, evidence(runtime_ns=2_000_000_000), evidence(runtime_ns=2_000_000_001)),
    "no_policy_violations": ({"value": True}, evidence(), evidence(steps=[BLOCKED])),
    "request_made": ({"method": "POST", "path": "/api/**"}, evidence(requests=[request_seen("POST", URL)]), evidence(requests=[request_seen("GET", URL)])),
    "request_not_made": ({"method": ["DELETE", "POST"]}, evidence(requests=[request_seen("GET", URL)]), evidence(requests=[request_seen("POST", URL)])),
    "backend_json": ({"url": URL, "path": "/0/name", "equals": "Ann"}, served([{"name": "Ann"}]), served([{"name": "Bob"}])),
}


def made(name: str) -> Any:
    return drivers.get("deskcert.criteria", name)()  # type: ignore[operator]


def judged(name: str, params: dict[str, Any], given: Evidence) -> Outcome:
    outcome: Outcome = made(name).judge(params, given).outcome
    return outcome


def test_every_criterion_of_ours_is_here() -> None:
    assert {found.name for found in drivers.find("deskcert.criteria") if found.distribution == "deskcert"} == set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_it_conforms(name: str) -> None:
    params, good, bad = CASES[name]
    check_criterion(drivers.get("deskcert.criteria", name), params, passes=good, fails=bad)


@pytest.mark.parametrize("name", ["not_contains_text", "request_not_made", "no_policy_violations", "max_steps", "max_cost_usd", "max_runtime_seconds"])
def test_absence_is_proved_by_a_whole_journal_only(name: str) -> None:
    params, good, bad = CASES[name]
    assert judged(name, params, replace(good, end_reason=None)) is Outcome.INCONCLUSIVE
    assert judged(name, params, replace(bad, end_reason=None)) is Outcome.FAIL


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("contains_text", {}), ("contains_text", {"value": " "}), ("contains_text", {"value": "x", "new": 1}), ("element_exists", {"selector": ""}),
        ("url_matches", {}), ("url_matches", {"value": "/", "glob": "/"}), ("final_answer", {}), ("final_answer", {"exact": "a", "number": 1}),
        ("final_answer", {"exact": "a", "tolerance": 1}), ("final_answer", {"number": 1, "currency": "USD"}), ("final_answer", {"money": 1, "currency": "usd"}),
        ("final_status", {"value": "done"}), ("max_steps", {"value": 0}), ("max_steps", {"value": "3"}), ("no_policy_violations", {"value": False}),
        ("request_made", {}), ("request_made", {"status": 200}), ("request_made", {"path": "/", "status": 99}), ("request_not_made", {"path": "/", "status": 200}),
        ("backend_json", {"url": URL}), ("backend_json", {"equals": 1}), ("backend_json", {"url": URL, "command": ["x"], "equals": 1}),
        ("backend_json", {"url": URL, "equals": 1, "contains": 1}), ("backend_json", {"url": "file:///x", "equals": 1}), ("backend_json", {"url": URL, "absent": True}),
    ],
)
def test_what_a_schema_refuses(name: str, params: dict[str, Any]) -> None:
    assert schemas.Schema(dict(made(name).schema)).holds(CASES[name][0])
    assert not schemas.Schema(dict(made(name).schema)).holds(params)


# -- text


def test_text_counts_where_it_may_be_seen() -> None:
    trial = invoice().evidence()
    assert judged("contains_text", {"value": "$1,248.92"}, trial) is Outcome.PASS
    assert judged("contains_text", {"value": "The total of"}, trial) is Outcome.PASS
    assert judged("contains_text", {"value": "#1048\u00a0 Total"}, trial) is Outcome.PASS
    assert judged("contains_text", {"value": "the total of"}, trial) is Outcome.FAIL
    assert judged("not_contains_text", {"value": "The total of"}, trial) is Outcome.FAIL
    assert judged("not_contains_text", {"value": "$1,248.92"}, trial) is Outcome.FAIL


def test_text_at_the_end_counts_though_the_agent_never_saw_it() -> None:
    journal = Journal().start().act("click")
    journal.look("Deleted", shown=False)
    assert judged("contains_text", {"value": "Deleted"}, journal.end("step_limit").evidence()) is Outcome.PASS


def unread(journal: Journal, text: str, *, shown: bool = False, screenshot: str | None = None) -> Journal:
    """One more look, at a page that was not read as a whole."""
    journal.look(text, shown=shown, screenshot=screenshot)
    last = journal.lines[-1]
    assert isinstance(last.body, Observed)
    journal.lines[-1] = replace(last, body=replace(last.body, whole=False))
    return journal


@pytest.mark.parametrize("text", ["", "word word"])
def test_nothing_follows_from_a_page_that_was_not_read_as_a_whole(text: str) -> None:
    cut = unread(Journal().start().act("read"), text).end("step_limit").evidence()
    assert judged("not_contains_text", {"value": "overdrawn"}, cut) is Outcome.INCONCLUSIVE
    assert judged("contains_text", {"value": "overdrawn"}, cut) is Outcome.INCONCLUSIVE
    assert judged("not_contains_text", {"value": "Invoices"}, cut) is Outcome.FAIL
    assert judged("contains_text", {"value": "Invoices"}, cut) is Outcome.PASS
    whole = Journal().start().act("read")
    whole.look(text, shown=False)
    assert judged("not_contains_text", {"value": "overdrawn"}, whole.end("step_limit").evidence()) is Outcome.PASS


def test_a_page_on_the_way_counts_as_far_as_the_agent_was_shown_it() -> None:
    dialog = unread(Journal().start().act("click"), "", shown=True).finish().evidence()
    assert judged("not_contains_text", {"value": "overdrawn"}, dialog) is Outcome.PASS
    cut = unread(Journal().start().act("click"), "word word", shown=True).finish().evidence()
    assert judged("not_contains_text", {"value": "overdrawn"}, cut) is Outcome.INCONCLUSIVE
    hung = unread(Journal().start().act("click"), "", shown=True, screenshot="b" * 64).finish().evidence()
    assert judged("not_contains_text", {"value": "overdrawn"}, hung) is Outcome.INCONCLUSIVE


def put_in(*acts: dict[str, str]) -> Evidence:
    """A trial whose acts put something in, and whose last page then shows the message."""
    steps = [step(number, ActionType(act.pop("act", "fill")), **act) for number, act in enumerate(acts, 1)]
    given = evidence("Invoices", steps=[*steps, step(len(steps) + 1, ActionType.FINISH)])
    return replace(given, looks=(*given.looks[:-1], replace(given.looks[-1], text=SUCCESS)))


@pytest.mark.parametrize(
    "acts",
    [
        [{"value": f"I say: {SUCCESS}"}], [{"act": "goto", "url": "/search?q=Success:+invoice%20total+confirmed."}],
        [{"act": "goto", "url": "/search?q=Success%253A%2520invoice%2520total%2520confirmed."}], [{"act": "goto", "url": f"/#{SUCCESS}"}],
        [{"act": "type", "value": "Success: invoice "}, {"act": "press", "value": "Space"}, {"act": "type", "value": "total confirmed."}],
    ],
)
def test_what_the_agent_itself_put_in_is_no_new_text(acts: list[dict[str, str]]) -> None:
    trial = put_in(*acts)
    said = made("contains_text").judge({"value": SUCCESS, "new": True}, trial)
    assert said.outcome is Outcome.INCONCLUSIVE
    assert "the agent itself" in said.message
    assert judged("contains_text", {"value": SUCCESS}, trial) is Outcome.PASS


def test_what_the_application_answers_is_new_text() -> None:
    assert judged("contains_text", {"value": SUCCESS, "new": True}, put_in({"value": "invoice total"}, {"act": "goto", "url": "/?q=confirmed."})) is Outcome.PASS
    refused = put_in({"value": SUCCESS})
    refused = replace(refused, steps=(replace(refused.steps[0], intended=False), *refused.steps[1:]))
    assert judged("contains_text", {"value": SUCCESS, "new": True}, refused) is Outcome.PASS
    after = put_in({"value": "x"}, {"value": SUCCESS})
    shown = replace(after, looks=(after.looks[0], replace(after.looks[1], seq=15, text=SUCCESS), after.looks[2]))
    assert judged("contains_text", {"value": SUCCESS, "new": True}, shown) is Outcome.PASS


def test_new_text_needs_a_start_page_that_was_read() -> None:
    trial = invoice().evidence()
    part = replace(trial, looks=(replace(trial.looks[0], whole=False), *trial.looks[1:]))
    assert judged("contains_text", {"value": SUCCESS, "new": True}, trial) is Outcome.PASS
    assert judged("contains_text", {"value": SUCCESS, "new": True}, part) is Outcome.INCONCLUSIVE
    assert judged("contains_text", {"value": SUCCESS}, part) is Outcome.PASS


def test_new_text_must_come_up_on_the_page() -> None:
    trial = invoice().evidence()
    assert judged("contains_text", {"value": SUCCESS, "new": True}, trial) is Outcome.PASS
    assert judged("contains_text", {"value": "Invoices", "new": True}, trial) is Outcome.FAIL
    assert judged("contains_text", {"value": "Invoices", "new": False}, trial) is Outcome.PASS
    said = Journal().start().act("read").finish(answer="Saved", text=TOTAL).evidence()
    assert judged("contains_text", {"value": "Saved"}, said) is Outcome.PASS
    assert judged("contains_text", {"value": "Saved", "new": True}, said) is Outcome.FAIL


def test_text_without_a_look_at_the_end_is_unclear() -> None:
    cut = Journal().start().act("read").end("agent_fault").evidence()
    assert judged("contains_text", {"value": "Saved"}, cut) is Outcome.INCONCLUSIVE
    assert judged("not_contains_text", {"value": "Saved"}, cut) is Outcome.INCONCLUSIVE
    assert judged("contains_text", {"value": "Invoices"}, cut) is Outcome.PASS
    assert judged("contains_text", {"value": "Invoices", "new": True}, Journal().evidence()) is Outcome.INCONCLUSIVE


# -- url


@pytest.mark.parametrize(
    ("params", "url", "holds"),
    [
        ({"value": "/a?b=1"}, "http://127.0.0.1:8000/a?b=1", True), ({"value": "HTTP://127.0.0.1:8000/a/../b"}, "http://127.0.0.1:8000/b", True),
        ({"value": "/a"}, "http://127.0.0.1:8000/a?b=1", False), ({"value": "/a"}, "http://127.0.0.1:9000/a", False),
        ({"glob": "/a/*"}, "http://127.0.0.1:8000/a/b?c=/d", True), ({"glob": "/a/*"}, "http://127.0.0.1:8000/a/b/c", False),
        ({"glob": "http://127.0.0.1:8000/**"}, "http://127.0.0.1:8000/a/b", True), ({"glob": "http://127.0.0.1:8000/**"}, "http://evil.example/", False),
        ({"matches": r"/users/\d+$"}, "http://127.0.0.1:8000/users/12", True), ({"matches": r"/users/\d+$"}, "http://127.0.0.1:8000/users/new", False),
    ],
)
def test_urls(params: dict[str, Any], url: str, holds: bool) -> None:
    assert judged("url_matches", params, evidence(url=url)) is (Outcome.PASS if holds else Outcome.FAIL)


def test_the_url_is_the_last_one() -> None:
    journal = Journal().start().act("click")
    journal.look("End", url="http://127.0.0.1:8000/end", shown=False)
    trial = journal.end("step_limit").evidence()
    assert judged("url_matches", {"value": "/end"}, trial) is Outcome.PASS
    assert judged("url_matches", {"value": "/"}, trial) is Outcome.FAIL


# -- the answer


@pytest.mark.parametrize(
    ("params", "answer", "holds"),
    [
        ({"exact": "42"}, " 42\n", True), ({"exact": "42"}, "42.", False), ({"regex": "^[A-Z]{2}$"}, "AB", True), ({"regex": "^[A-Z]{2}$"}, "ABC", False),
        ({"number": 42}, "There are 42 of them.", True), ({"number": 42}, "42 of 43", False), ({"number": 42}, "none", False),
        ({"number": 42}, "42, so 42", True), ({"number": 3.1, "tolerance": 0.05}, "about 3.14", True), ({"number": 3.1}, "about 3.14", False),
        ({"number": -3}, "-3", True), ({"number": 3}, "-3", False), ({"number": 1048}, "invoice #1048", False), ({"number": 1000}, "1,000", True),
        ({"money": 1248.92}, "Invoice 1048: $1,248.92", True), ({"money": 1248.92}, "1.248,92 €", True), ({"money": 1248.92}, "1248.92", True),
        ({"money": 1248.92, "currency": "USD"}, "1248.92", False), ({"money": 1248.92, "currency": "USD"}, "€1,248.92", False),
        ({"money": 1248.92, "currency": "EUR"}, "1 248,92 EUR", True), ({"money": 1248.92}, "$1,248.92 or $1,249.92", False),
        ({"money": 1248.92, "currency": "USD"}, "$1,248.92, that is €1,150.00", True), ({"money": 5, "tolerance": 1}, "$5.50", True),
        ({"money": -5}, "-$5.00", True), ({"money": 5}, "-$5.00", False),
    ],
)
def test_answers(params: dict[str, Any], answer: str, holds: bool) -> None:
    assert judged("final_answer", params, evidence(answer=answer)) is (Outcome.PASS if holds else Outcome.FAIL)


def test_no_answer_is_no_pass() -> None:
    assert judged("final_answer", {"regex": ".*"}, evidence(answer=None)) is Outcome.FAIL
    assert judged("final_answer", {"regex": ".*"}, evidence(answer="x", end_reason=None)) is Outcome.INCONCLUSIVE


def test_a_trial_that_never_finished_has_no_status() -> None:
    assert judged("final_status", {"value": "success"}, evidence(final_status=None, end_reason="blocked")) is Outcome.FAIL


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-01-05", ()), ("v1.2.3", ()), ("12:30", ()), ("1,234,567.8", ("1234567.8",)), ("1.234.567", ("1234567",)), ("12,5", ("12.5",)), ("0.1", ("0.1",)),
        ("1'000.50", ("1000.50",)), ("−3", ("-3",)), ("abc12", ()), ("3 and 4", ("3", "4")),
    ],
)
def test_numbers(text: str, found: tuple[str, ...]) -> None:
    assert numbers(text) == set(map(Decimal, found))


def test_amounts() -> None:
    assert {value for value, _ in amounts("CHF 1'000.50, USD1,248.92 and 5€, not 7")} == {Decimal("1000.50"), Decimal("1248.92"), Decimal(5)}
    assert amounts("PDF 12, XUSD 5") == set()


# -- cost


def test_a_model_without_a_price_leaves_the_cost_open() -> None:
    assert judged("max_cost_usd", {"value": 1}, evidence(cost_micro_usd=1, unpriced=("new",))) is Outcome.INCONCLUSIVE
    assert judged("max_cost_usd", {"value": 1}, evidence(cost_micro_usd=1_000_001, unpriced=("new",))) is Outcome.FAIL


# -- policy


def test_a_denied_approval_is_no_violation_and_a_blocked_own_request_is() -> None:
    denied = Journal().start().act("click", status="approval_required", answer=approval("denied"), result="not_executed").end("denied")
    assert judged("no_policy_violations", {"value": True}, denied.evidence()) is Outcome.PASS
    for own, outcome in ((True, Outcome.FAIL), (False, Outcome.PASS)):
        journal = Journal().start().act("click")
        journal.request("POST", own=own, let_go=False, status="blocked", answered=None)
        assert judged("no_policy_violations", {"value": True}, journal.finish().evidence()) is outcome


# -- requests


@pytest.mark.parametrize(
    ("params", "holds"),
    [
        ({"origin": "http://127.0.0.1:8000"}, True), ({"origin": ["http://127.0.0.1:9000"]}, False), ({"path": {"matches": "^/api"}}, True),
        ({"path": "/api"}, False), ({"form": {"name": "Ann"}}, True), ({"form": {"name": ["Bob", {"matches": "^A"}]}}, True), ({"form": {"name": "Bob"}}, False),
        ({"query": {"q": "1"}}, False), ({"method": "post"}, True), ({"method": "POST", "status": 201}, True), ({"method": "POST", "status": [200, 204]}, False),
    ],
)
def test_requests_are_matched_as_the_policy_does(params: dict[str, Any], holds: bool) -> None:
    sent = Request(method="POST", address=parse(URL), fields=(("name", "Ann"),))
    given = evidence(requests=[request_seen("POST", URL, request=sent, status=201)])
    assert judged("request_made", params, given) is (Outcome.PASS if holds else Outcome.FAIL)
    if "status" not in params:
        assert judged("request_not_made", params, given) is (Outcome.FAIL if holds else Outcome.PASS)


def test_a_refused_request_did_not_leave() -> None:
    given = evidence(requests=[request_seen("POST", URL, let_go=False)])
    assert judged("request_made", {"method": "POST"}, given) is Outcome.FAIL
    assert judged("request_not_made", {"method": "POST"}, given) is Outcome.PASS


def test_a_request_without_an_answer_left_and_may_not_have_arrived() -> None:
    given = evidence(requests=[request_seen("POST", URL, status=None)])
    assert judged("request_made", {"method": "POST"}, given) is Outcome.INCONCLUSIVE
    assert judged("request_not_made", {"method": "POST"}, given) is Outcome.FAIL


def test_a_body_that_cannot_be_read_may_be_the_one() -> None:
    hidden = evidence(requests=[request_seen("POST", URL, request=UNKNOWN_BODY)])
    for name in ("request_made", "request_not_made"):
        assert judged(name, {"form": {"name": "Ann"}}, hidden) is Outcome.INCONCLUSIVE
    assert judged("request_made", {"method": "POST"}, hidden) is Outcome.PASS


# -- the application


@pytest.mark.parametrize(
    ("check", "document", "holds"),
    [
        ({"equals": {"a": [1]}}, {"a": [1.0]}, True), ({"equals": {"a": 1}}, {"a": True}, False), ({"equals": {"a": 1}}, {"a": 1, "b": 2}, False),
        ({"equals": None}, None, True), ({"equals": [1]}, [1, 2], False), ({"path": "users.1.name", "equals": "B"}, {"users": [{}, {"name": "B"}]}, True),
        ({"path": "/a~1b/~0", "equals": 1}, {"a/b": {"~": 1}}, True), ({"path": "/x", "equals": None}, {}, False), ({"path": "/0", "equals": 1}, [], False),
        ({"path": "/x", "contains": "b"}, {"x": "abc"}, True), ({"path": "/x", "contains": 2}, {"x": [1, 2]}, True), ({"contains": {"n": 1}}, [{"n": 1, "m": 2}], True),
        ({"contains": {"n": 1}}, {"n": 1, "m": 2}, True), ({"contains": {"n": 1}}, {"n": 2}, False), ({"contains": 1}, "1", False), ({"contains": 1}, 1, False),
        ({"path": "/x", "absent": True}, {}, True), ({"path": "/x", "absent": True}, {"x": None}, False), ({"path": "/x/y", "absent": True}, {"x": 1}, True),
    ],
)
def test_documents(check: dict[str, Any], document: Any, holds: bool) -> None:
    assert judged("backend_json", {"url": URL, **check}, served(document)) is (Outcome.PASS if holds else Outcome.FAIL)


def test_a_command_is_asked_as_well() -> None:
    params = {"command": ["python", "q.py"], "equals": 3}
    assert made("backend_json").probes(params) == (Probe(kind="command_json", params={"command": ["python", "q.py"]}),)
    assert judged("backend_json", params, printed(3)) is Outcome.PASS
    assert judged("backend_json", params, served(3)) is Outcome.INCONCLUSIVE


def test_a_long_document_is_not_shown_whole() -> None:
    message = made("backend_json").judge({"url": URL, "equals": 1}, served(["x" * 500])).message
    assert len(message) < 200
