"""The gate: every answer can only tighten, and nothing goes on without the answer that it asked for."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from deskcert_core.address import Origin, parse, parse_pattern
from deskcert_core.approval import Approval
from deskcert_core.effect import UNKNOWN, Element, Field, Form, Grounding, Request
from deskcert_core.gate import Grant, NeedApproval, NeedGrounding, NeedLabels, NeedVerdicts, Ruled, act_gate, changed, request_gate, same_request
from deskcert_core.policy.rules import Domains, Lists, Policy, RequestWhen, Rule, RuleWhen, Status, TextMatch
from deskcert_core.proposal import ActionType, Proposal, Target

HOME = Origin(scheme="http", host="app.test", port=80)
PAGE = parse("http://app.test/form")
FORM = Form(action=parse("http://app.test/pay"), method="POST", fields=(Field(name="amount", kind="text", value="10"), Field(name="pin", kind="password")))
BUTTON = Element(tag="button", role="button", name="Save", submits=True, origin=HOME)
GROUNDED = Grounding(page=PAGE, element=BUTTON, form=FORM)
CLICK = Proposal(action_type=ActionType.CLICK, target=Target(role="button", name="Save"))
POLICY = Policy(
    name="t", actions=Lists(allowed=frozenset({"click", "goto"})), effects=Lists(approval_required=frozenset({"form_submit"}), blocked=frozenset({"payment"})),
    domains=Domains(allowed=(parse_pattern("http://app.test"),)), writes=Status.APPROVAL_REQUIRED,
)
SAFE_FORM = replace(FORM, action=parse("http://app.test/save"), fields=(Field(name="note", kind="text", value="a\nb"),))
SAFE = replace(GROUNDED, form=SAFE_FORM)


def play(gate, *, labels=frozenset(), verdicts=(), approval="approved", again=None):
    """Answer a gate's questions; gives its outcome and the questions in order."""
    asked, answer = [], None
    try:
        while True:
            question = gate.send(answer)
            asked.append(type(question))
            match question:
                case NeedLabels():
                    answer = labels
                case NeedVerdicts():
                    answer = verdicts
                case Ruled():
                    answer = None
                case NeedApproval():
                    answer = Approval(outcome=approval)
                case NeedGrounding():
                    answer = again
    except StopIteration as done:
        return done.value, asked


def raised(status):
    return (SimpleNamespace(status=status, by="hook", reason="because"),)


def test_an_approved_act_goes_on_what_was_seen_again():
    outcome, asked = play(act_gate(POLICY, CLICK, SAFE, (HOME,)), again=SAFE)
    assert (outcome.go, outcome.approval) == (True, "approved")
    assert asked == [NeedLabels, NeedVerdicts, Ruled, NeedApproval, NeedGrounding]
    assert outcome.grant.covers(Request(method="POST", address=parse("http://app.test/save"), fields=(("note", "a\r\nb"),)))


@pytest.mark.parametrize("answer", ["denied", "expired", "unavailable", "stale"])
def test_anything_but_yes_is_no(answer):
    outcome, asked = play(act_gate(POLICY, CLICK, SAFE, (HOME,)), approval=answer)
    assert (outcome.go, outcome.approval) == (False, answer)
    assert NeedGrounding not in asked


@pytest.mark.parametrize(
    "after",
    [
        replace(SAFE, form=replace(SAFE_FORM, fields=(Field(name="note", kind="text", value="9000"),))),
        replace(SAFE, form=replace(SAFE_FORM, action=parse("http://evil.test/save"))),
        replace(SAFE, form=replace(SAFE_FORM, method="GET")),
        replace(SAFE, element=replace(BUTTON, name="Delete")),
        replace(SAFE, element=UNKNOWN),
        replace(SAFE, page=parse("http://app.test/other")),
        replace(SAFE, problem="gone", problem_kind="missing", element=None),
    ],
)
def test_what_changed_while_a_person_looked_is_stale(after):
    outcome, _ = play(act_gate(POLICY, CLICK, SAFE, (HOME,)), again=after)
    assert (outcome.go, outcome.approval) == (False, "stale")


def test_a_box_that_moved_is_the_same_element():
    assert not changed(SAFE, replace(SAFE, element=replace(BUTTON, covered_by="a toast")))


def test_labels_of_classifiers_and_words_of_hooks_only_tighten():
    assert play(act_gate(POLICY, CLICK, SAFE, (HOME,)), labels=frozenset({"payment"}))[0].decision.status is Status.BLOCKED
    assert play(act_gate(POLICY, CLICK, SAFE, (HOME,)), verdicts=raised(Status.BLOCKED))[0].decision.status is Status.BLOCKED
    outcome, _ = play(act_gate(POLICY, CLICK, SAFE, (HOME,)), verdicts=raised(Status.ALLOWED), again=SAFE)
    assert outcome.decision.status is Status.APPROVAL_REQUIRED


def test_the_decision_is_said_before_anybody_is_asked():
    _, asked = play(act_gate(POLICY, CLICK, SAFE, (HOME,)), again=SAFE)
    assert asked.index(Ruled) < asked.index(NeedApproval)


def test_nobody_is_asked_about_what_is_not_there():
    missing = Grounding(page=PAGE, problem="no element matches", problem_kind="missing")
    outcome, asked = play(act_gate(POLICY, CLICK, missing, (HOME,)))
    assert not outcome.go
    assert NeedApproval not in asked


def test_a_wrong_answer_is_our_bug():
    gate = act_gate(POLICY, CLICK, SAFE, (HOME,))
    next(gate)
    with pytest.raises(TypeError):
        gate.send(Approval(outcome="approved"))


POST = Request(method="POST", address=parse("http://app.test/save"), fields=(("note", "a"),))


def test_a_request_without_a_grant_is_asked_for_in_a_step_and_refused_outside():
    assert play(request_gate(POLICY, POST, Grant(), may_ask=True))[0].go
    assert not play(request_gate(POLICY, POST, Grant(), may_ask=True), approval="denied")[0].go
    outcome, asked = play(request_gate(POLICY, POST, Grant(), may_ask=False))
    assert not outcome.go
    assert NeedApproval not in asked


def test_a_grant_stands_for_an_approval_once_and_never_against_a_block():
    grant = Grant(requests=(POST,))
    outcome, asked = play(request_gate(POLICY, POST, grant, may_ask=False))
    assert outcome.go
    assert outcome.granted
    assert NeedApproval not in asked
    assert not play(request_gate(POLICY, POST, grant.without(POST), may_ask=False))[0].go
    assert not play(request_gate(POLICY, POST, grant, may_ask=True), verdicts=raised(Status.BLOCKED))[0].go
    foreign = replace(POST, address=parse("http://evil.test/save"))
    assert not play(request_gate(POLICY, foreign, Grant(requests=(foreign,)), may_ask=True))[0].go


@pytest.mark.parametrize(
    "seen",
    [
        replace(POST, fields=(("note", "b"),)),
        replace(POST, fields=(("note", "a"), ("more", ""))),
        replace(POST, fields=()),
        replace(POST, fields=UNKNOWN),
        replace(POST, fields=None),
        replace(POST, files=True),
        replace(POST, content_type="application/json"),
        replace(POST, method="PUT"),
        replace(POST, address=parse("http://app.test/save?x=1")),
        replace(POST, address=parse("http://app.test:81/save")),
    ],
)
def test_what_was_not_predicted_is_not_covered(seen):
    assert not same_request(POST, seen)
    assert same_request(POST, replace(POST, body_size=9, navigation=True))


def test_a_form_without_fields_is_the_one_without_a_body():
    granted = replace(POST, fields=())
    assert same_request(granted, replace(POST, fields=None))
    assert not same_request(granted, replace(POST, fields=UNKNOWN))
    assert not same_request(granted, POST)


def test_a_value_that_was_hidden_may_be_any_and_a_fragment_is_not_sent():
    granted = replace(POST, address=parse("http://app.test/save#top"), fields=(("note", "a"), ("pin", None)))
    assert same_request(granted, replace(POST, fields=(("note", "a"), ("pin", "1234"))))


GET = Request(method="GET", address=parse("http://app.test/danger/x"))
ASKED_ORIGIN = Domains(approval_required=(parse_pattern("http://app.test"),))
DANGER = Rule(id="ask", decision=Status.APPROVAL_REQUIRED, when=RuleWhen(request=RequestWhen(path=(TextMatch(kind="glob", value="/danger/**"),))))


@pytest.mark.parametrize(
    ("policy", "said", "go"),
    [
        (replace(POLICY, domains=ASKED_ORIGIN), (), True),
        (replace(POLICY, domains=ASKED_ORIGIN, rules=(DANGER,)), (), False),
        (replace(POLICY, rules=(DANGER,)), (), False),
        (replace(POLICY, domains=ASKED_ORIGIN, parents=(replace(POLICY, rules=(DANGER,)),)), (), False),
        (replace(POLICY, domains=ASKED_ORIGIN, parents=(replace(POLICY, domains=ASKED_ORIGIN),)), (), True),
        (replace(POLICY, domains=ASKED_ORIGIN), raised(Status.APPROVAL_REQUIRED), False),
        (POLICY, raised(Status.APPROVAL_REQUIRED), False),
    ],
)
def test_an_origin_that_was_let_go_stands_for_the_approval_of_the_origin_alone(policy, said, go):
    reading = Grant(origins=frozenset({HOME}))
    assert play(request_gate(policy, GET, reading, may_ask=False), verdicts=said)[0].go is go
    assert play(request_gate(policy, GET, Grant(requests=(GET,)), may_ask=False), verdicts=said)[0].go


@pytest.mark.parametrize(
    ("extra", "covered"),
    [
        (Field(name="extra", kind="password"), True), (Field(name="extra", kind="file", value=""), True), (Field(name="extra", kind="text", value=""), True),
        (Field(name="extra", kind="file"), False), (Field(name="extra", kind="x-amount"), False), (Field(name="extra", kind="image"), False),
    ],
)
def test_a_value_that_nobody_saw_is_granted_of_passwords_alone(extra, covered):
    seen_form = replace(SAFE, form=replace(SAFE_FORM, fields=(*SAFE_FORM.fields, extra)))
    outcome, _ = play(act_gate(POLICY, CLICK, seen_form, (HOME,)), again=seen_form)
    sent = Request(method="POST", address=parse("http://app.test/save"), fields=(("note", "a\r\nb"), ("extra", "")))
    assert outcome.go
    assert outcome.grant.covers(sent) is covered
    assert outcome.grant.origins == {HOME}


@pytest.mark.parametrize("seen", [replace(POST, fields=(("note", "9000"),)), replace(POST, method="PUT"), replace(POST, address=parse("http://app.test/other"))])
def test_a_grant_for_something_else_lets_nothing_go(seen):
    """The whole way through the gate: what was approved is not what is sent, so it is asked for, and without a yes it stays here."""
    grant = Grant(requests=(POST,))
    assert play(request_gate(POLICY, POST, grant, may_ask=False))[0].granted
    outcome, asked = play(request_gate(POLICY, seen, grant, may_ask=True), approval="denied")
    assert (outcome.go, outcome.granted) == (False, False)
    assert NeedApproval in asked
