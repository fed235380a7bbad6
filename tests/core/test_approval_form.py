"""What an approver is shown of a form: never the value of a field that must not be read, also where the real request carries it."""

from deskcert_core.address import parse
from deskcert_core.effect import Field, Form, Grounding, Request
from deskcert_core.gate import NeedApproval
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.session.act import form_of

DECISION = Decision(status=Status.APPROVAL_REQUIRED, matched_rule="requests.writes", risk_level="medium", reason="a write")
FORM = Form(action=None, method="POST", fields=(Field(name="user", kind="text", value="ann"), Field(name="pin", kind="password")))


def test_a_password_is_not_shown_neither_from_the_page_nor_from_the_request():
    grounding = Grounding(page=None, form=FORM)
    assert form_of(NeedApproval(decision=DECISION), grounding, frozenset()) == (("user", "ann"), ("pin", "(password)"))
    sent = Request(method="POST", address=parse("http://app.test/"), fields=(("user", "ann"), ("pin", "hunter2")))
    assert form_of(NeedApproval(decision=DECISION, request=sent), None, frozenset({"pin"})) == (("user", "ann"), ("pin", "(not shown)"))


def test_without_knowing_the_field_it_would_be_shown():
    """The control."""
    sent = Request(method="POST", address=parse("http://app.test/"), fields=(("pin", "hunter2"),))
    assert form_of(NeedApproval(decision=DECISION, request=sent), None, frozenset()) == (("pin", "hunter2"),)
