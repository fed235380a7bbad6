"""What follows from a proposal and the facts of the page: labels, predicted requests, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskcert_core.address import Address, parse, parse_pattern
from deskcert_core.effect import OF_FORM, UNKNOWN, Effect, Element, Field, Form, Grounding, Request, Unknown, claim_mismatch, classify
from deskcert_core.policy.engine import Act, decide_act
from deskcert_core.policy.rules import Domains, ElementWhen, Lists, Policy, RequestWhen, Rule, RuleWhen, Status, TextMatch
from deskcert_core.proposal import ActionType, Proposal

SITE = "http://127.0.0.1:8000"
PAGE = parse(f"{SITE}/list?page=1")
HOME = (PAGE.origin, parse_pattern("https://*.corp.example"))


def effect_of(action: str, element: Element | Unknown | None = None, form: Form | Unknown | None = None, *, goto: str | None = None, **more: object) -> Effect:
    proposal = Proposal(action_type=ActionType(action), **more)  # type: ignore[arg-type]
    return classify(proposal, Grounding(page=PAGE, element=element, form=form, destination=parse(goto) if goto else None), HOME)


def link(href: str = "/x", name: str = "Next", **more: object) -> Element:
    return Element(tag="a", role="link", name=name, href=parse(href, PAGE.href), **more)  # type: ignore[arg-type]


def button(name: str = "OK", **more: object) -> Element:
    return Element(tag="button", role="button", name=name, input_type="submit", **more)  # type: ignore[arg-type]


def textbox(kind: str = "text", **more: object) -> Element:
    return Element(tag="input", role="textbox", input_type=kind, **more)  # type: ignore[arg-type]


def form(action: str | None = "/save", method: str = "POST", *fields: Field, **more: object) -> Form:
    return Form(action=parse(action, PAGE.href) if action else None, method=method, fields=fields, **more)  # type: ignore[arg-type]


def hidden(name: str, value: str, kind: str = "hidden") -> Field:
    return Field(name=name, kind=kind, value=value)


class TestNavigation:
    @pytest.mark.parametrize("url", [f"{SITE}/other", "https://app.corp.example/", "about:blank"])
    def test_home_is_not_external(self, url: str) -> None:
        effect = effect_of("goto", goto=url)
        assert effect.labels == frozenset()
        assert effect.requests == (Request(method="GET", address=parse(url), navigation=True),)

    @pytest.mark.parametrize("url", ["http://127.0.0.1:8001/", "https://corp.example/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "about:version"])
    def test_elsewhere_is(self, url: str) -> None:
        assert effect_of("goto", goto=url).labels == {"external_navigation"}
        assert effect_of("goto", goto=url).requests[0].address == parse(url)

    @pytest.mark.parametrize("action", ["click", "dblclick", "press"])
    def test_a_link_is_followed(self, action: str) -> None:
        effect = effect_of(action, link("https://else.example/x"))
        assert effect.labels == {"external_navigation"}
        assert effect.requests == (Request(method="GET", address=parse("https://else.example/x"), navigation=True),)

    @pytest.mark.parametrize("action", ["hover", "scroll", "read", "right_click", "fill", "drag_to"])
    def test_a_link_is_not_followed_by_looking_at_it(self, action: str) -> None:
        assert effect_of(action, link("https://else.example/x", "Delete")) == Effect()

    @pytest.mark.parametrize("href", ["javascript:go()", "#top", "/list?page=1#row", "blob:http://127.0.0.1:8000/1"])
    def test_what_stays_on_the_page_sends_nothing(self, href: str) -> None:
        assert effect_of("click", link(href)) == Effect()

    @pytest.mark.parametrize("href", ["mailto:a@b.example", "blob:https://else.example/1", "data:text/html,x"])
    def test_what_leaves_it_by_another_scheme_is_a_request_to_be_judged(self, href: str) -> None:
        assert effect_of("click", link(href)).requests[0].address.href == href

    def test_without_a_page_every_link_leads_away(self) -> None:
        grounding = Grounding(page=None, element=link("/list?page=1#row"))
        assert len(classify(Proposal(action_type=ActionType.CLICK), grounding, HOME).requests) == 1

    def test_download_and_new_window(self) -> None:
        assert effect_of("click", link("/a.csv", download=True)).labels == {"download"}
        assert effect_of("click", link("data:text/csv,1", download=True)) == Effect(labels=frozenset({"download"}))
        assert effect_of("click", link(new_window=True)).labels == {"popup"}
        assert effect_of("click", button(), form(new_window=True)).labels == {"popup", "form_submit"}


class TestForms:
    FIELDS = (hidden("name", "Zoë & Co", "text"), hidden("note", "a\nb", "textarea"), Field(name="pin", kind="password"))

    @pytest.mark.parametrize(
        ("action", "element", "value"),
        [("click", button(), None), ("submit_form", button(), None), ("press", textbox(submits=True), "Enter"), ("press", button(), " "), ("type", textbox(), "x\n"), ("press", textbox(), None)],
    )
    def test_a_form_is_sent(self, action: str, element: Element, value: str | None) -> None:
        effect = effect_of(action, element, form("/save", "post", *self.FIELDS), value=value)
        assert "form_submit" in effect.labels
        pairs = (("name", "Zoë & Co"), ("note", "a\nb"), ("pin", None))
        assert effect.requests == (
            Request(
                method="POST", address=parse(f"{SITE}/save"), fields=pairs, content_type="application/x-www-form-urlencoded", body_size=None, navigation=True,
            ),
        )

    @pytest.mark.parametrize(("action", "value"), [("press", "Tab"), ("press", "Control+A"), ("press", "Space"), ("type", "x"), ("fill", "x\n"), ("hover", None)])
    def test_a_form_is_not_sent(self, action: str, value: str | None) -> None:
        assert effect_of(action, textbox(), form(), value=value) == Effect()

    def test_a_form_sent_by_get_becomes_its_address_as_a_browser_writes_it(self) -> None:
        effect = effect_of("click", button(), form("/find?old=1#x", "get", *self.FIELDS))
        [request] = effect.requests
        assert request.address.href == f"{SITE}/find?name=Zo%C3%AB+%26+Co&note=a%0D%0Ab&pin="
        assert request.address == parse(request.address.href)
        assert (request.method, request.fields, request.navigation) == ("GET", None, True)

    def test_its_action_may_lead_away(self) -> None:
        effect = effect_of("click", button("View"), form("https://else.example/collect"))
        assert effect.labels == {"external_navigation", "form_submit"}

    def test_a_script_as_action_sends_nothing(self) -> None:
        assert effect_of("click", button(), form("javascript:go()")) == Effect(labels=frozenset({"form_submit"}))

    def test_a_dialog_form_sends_nothing(self) -> None:
        assert effect_of("click", button(), form("/x", "dialog")) == Effect()

    def test_an_action_that_is_no_address_cannot_be_told(self) -> None:
        assert effect_of("click", button(), form(None)) == Effect(labels=frozenset({"form_submit"}), requests_unclear=True)


class TestUnclear:
    @pytest.mark.parametrize(("action", "value"), [("click", None), ("dblclick", None), ("press", "Enter"), ("press", "Space"), ("check", None), ("uncheck", None)])
    def test_an_unreadable_element_may_do_anything(self, action: str, value: str | None) -> None:
        effect = effect_of(action, UNKNOWN, value=value)
        assert effect.unclear >= OF_FORM | {"download"}
        assert effect.requests_unclear
        assert effect.labels == frozenset()

    @pytest.mark.parametrize(("action", "value"), [("fill", "x"), ("type", "x"), ("press", "a"), ("press", "Control+v")])
    def test_typing_into_an_unreadable_element(self, action: str, value: str) -> None:
        assert effect_of(action, UNKNOWN, value=value) == Effect(unclear=frozenset({"credential_entry"}))

    @pytest.mark.parametrize("action", ["hover", "scroll", "read", "finish"])
    def test_looking_at_it_does_nothing(self, action: str) -> None:
        assert effect_of(action, UNKNOWN) == Effect()

    def test_an_unreadable_form(self) -> None:
        effect = effect_of("click", button("Pay"), UNKNOWN)
        assert effect.labels == {"payment"}
        assert effect.unclear == OF_FORM - {"payment"}
        assert effect.requests_unclear

    def test_submitting_a_form_that_was_not_found(self) -> None:
        effect = effect_of("submit_form", button())
        assert effect.labels == {"form_submit"}
        assert effect.requests_unclear
        missing = Grounding(page=PAGE, problem="no form", problem_kind="missing")
        assert classify(Proposal(action_type=ActionType.SUBMIT_FORM), missing, HOME) == Effect(labels=frozenset({"form_submit"}))


class TestOwnEffects:
    @pytest.mark.parametrize(
        ("action", "label"),
        [
            ("save_download", "download"), ("set_input_files", "upload"), ("shell_command", "shell_command"), ("package_install", "package_install"),
            ("file_delete", "file_delete"),
        ],
    )
    def test_by_action(self, action: str, label: str) -> None:
        assert effect_of(action).labels == {label}

    @pytest.mark.parametrize(("accept", "labels"), [(True, {"dialog"}), (None, {"dialog"}), (False, set())])
    def test_dialogs(self, accept: bool | None, labels: set[str]) -> None:
        assert effect_of("handle_dialog", accept=accept).labels == labels

    @pytest.mark.parametrize(
        ("element", "labels"),
        [
            (textbox("password"), {"credential_entry"}), (textbox(autocomplete="current-password"), {"credential_entry"}),
            (textbox(autocomplete="section-a one-time-code"), {"credential_entry"}), (textbox(), set()), (None, set()),
        ],
    )
    def test_filling_a_password(self, element: Element | None, labels: set[str]) -> None:
        assert effect_of("fill", element, value="x").labels == labels
        assert effect_of("press", element, value="Tab").labels == frozenset()


class TestWords:
    @pytest.mark.parametrize(
        ("element", "label"),
        [
            (button("Delete"), "delete_record"),
            (button("deleteUser"), "delete_record"),
            (button("De\u200blete"), "delete_record"),
            (button("", text="Remove"), "delete_record"),
            (button("View", attributes={"id": "btn-purge"}), "delete_record"),
            (link("/users/3/delete/", "View"), "delete_record"),
            (link("/users/3/%64elete", "View"), "delete_record"),
            (link("/x", "Destroy"), "delete_record"),
            (Element(tag="div", text="Drop table"), "delete_record"),
            (button("Pay now"), "payment"),
            (button("Confirm payment"), "payment"),
            (link("javascript:void(0)", "Make payment"), "payment"),
            (link("/checkout", "Continue"), "payment"),
            (button("Send"), "send_message"),
            (button("Change password"), "password_change"),
            (link("/password/reset", "View"), "password_change"),
            (Element(tag="input", input_type="submit", name="Delete"), "delete_record"),
        ],
    )
    def test_a_control_says_it(self, element: Element, label: str) -> None:
        assert effect_of("click", element).labels == {label}

    @pytest.mark.parametrize(
        "element",
        [
            button("Confirm total"), link("/payments", "Payments"), link("/messages", "Messages"), link("/x", "Password policy"),
            textbox(name="Reason to delete", submits=True), Element(tag="textarea", name="Send a message"), button(attributes={"class": "delete"}),
            Element(tag="main", text="How to delete a user, in a text that is far longer than any caption"), button("Undeletable"),
        ],
    )
    def test_another_does_not(self, element: Element) -> None:
        assert effect_of("click", element).labels == frozenset()

    @pytest.mark.parametrize(
        ("sent", "label"),
        [
            (form("/users/3/delete"), "delete_record"),
            (form("/users/3/%64elete"), "delete_record"),
            (form("/users", "POST", hidden("_method", "delete")), "delete_record"),
            (form("/users", "POST", hidden("action", "delete_selected", "select")), "delete_record"),
            (form("/users", "POST", hidden("go", "Purge 3 users!", "submit")), "delete_record"),
            (form("/users", "POST", hidden("form-0-DELETE", "on", "checkbox")), "delete_record"),
            (form("/pay"), "payment"),
            (form("/payments"), "payment"),
            (form("/next", "POST", Field(name="n", kind="text", autocomplete="billing cc-number")), "payment"),
            (form("/next", "POST", Field(name="CVV", kind="text")), "payment"),
            (form("/messages"), "send_message"),
            (form("/account", "POST", Field(name="p", kind="password", autocomplete="new-password")), "password_change"),
            (form("/account", "POST", Field(name="p1", kind="password"), Field(name="p2", kind="password")), "password_change"),
            (form("/password/change"), "password_change"),
        ],
    )
    def test_a_form_says_it_whatever_its_button_is_called(self, sent: Form, label: str) -> None:
        assert effect_of("click", button("View details"), sent).labels == {"form_submit", label}
        assert effect_of("press", textbox(submits=True), sent, value="Enter").labels == {"form_submit", label}

    @pytest.mark.parametrize(
        "sent",
        [
            form("/confirm", "POST", hidden("total", "1248.92")), form("/payments", "GET"), form("/login", "POST", Field(name="password", kind="password")),
            form("/notes", "POST", hidden("text", "please delete and pay", "textarea")), form("/save", "POST", hidden("csrf", "x9PayQ7DeleteBuy0sendAAAAAAAAAAAAAA")),
        ],
    )
    def test_another_form_does_not(self, sent: Form) -> None:
        assert effect_of("click", button(), sent).labels == {"form_submit"}


class TestClaims:
    def said(self, claim: str, element: Element | None, sent: Form | None = None, action: str = "click") -> str | None:
        grounding = Grounding(page=PAGE, element=element, form=sent)
        return claim_mismatch(claim, action, classify(Proposal(action_type=ActionType(action)), grounding, HOME), grounding)

    def test_viewing_by_deleting(self) -> None:
        assert self.said("View the user's details", button("Delete"), form("/users/3/delete")) == (
            """the agent says "View the user's details", but click on button 'Delete' is delete_record"""
        )

    def test_an_act_without_an_element(self) -> None:
        assert self.said("Look at the log", None, action="shell_command") == "the agent says 'Look at the log', but shell_command is shell_command"

    def test_opening_by_writing(self) -> None:
        assert self.said("Open the\nnext page", button("Next"), form("/save")) == "the agent says 'Open the next page', but click on button 'Next' is write"

    @pytest.mark.parametrize(
        ("claim", "element", "sent"),
        [
            ("", button("Delete"), None),
            ("Delete the user", button("Delete"), form("/users/3/delete")),
            ("Open the delete page", link("/users/3/delete"), None),
            ("Check the box and save", button(), form("/save")),
            ("Confirm total", button(), form("/confirm")),
            ("Search for bob", button("Search"), form("/find", "GET")),
            ("View the list", link("/list"), None),
        ],
    )
    def test_no_mismatch(self, claim: str, element: Element, sent: Form | None) -> None:
        assert self.said(claim, element, sent) is None

    def test_naming_the_submit_is_not_naming_the_payment(self) -> None:
        assert self.said("Submit to view the cart", button(), form("/pay")) is not None


# Whatever a page says, there is an effect; and the less of it can be read, the stricter is what follows.

texts = st.text(max_size=12) | st.sampled_from(["Delete", "Pay", "View", "/users/3/delete", "\ud800"])
kinds = st.sampled_from(["text", "password", "hidden", "submit", "select", "file"])
addresses = st.none() | st.sampled_from([f"{SITE}/x", f"{SITE}/pay?a=1", "https://else.example/delete", "javascript:x", "mailto:a@b.c"]).map(parse)
forms = st.builds(
    Form, action=addresses, method=st.sampled_from(["GET", "post", "dialog"]), new_window=st.booleans(),
    fields=st.lists(st.builds(Field, name=texts, kind=kinds, autocomplete=texts, value=st.none() | texts), max_size=3).map(tuple),
)
elements = st.builds(
    Element, tag=st.sampled_from(["a", "button", "input", "div"]), name=texts, text=texts, input_type=kinds, href=addresses, download=st.booleans(),
    new_window=st.booleans(), submits=st.booleans(), attributes=st.dictionaries(st.sampled_from(["id", "class"]), texts, max_size=1),
)
proposals = st.builds(Proposal, action_type=st.sampled_from(ActionType), value=st.none() | texts | st.sampled_from(["Enter", "Shift+a", " ", "+"]), accept=st.none() | st.booleans())
groundings = st.builds(Grounding, page=st.none() | st.just(PAGE), element=st.none() | elements, form=st.none() | forms, destination=addresses)

EVERYTHING = frozenset({*OF_FORM, "download", "upload", "dialog", "credential_entry"})
name = st.frozensets(st.sampled_from(sorted(EVERYTHING)))
block_rules = st.builds(
    Rule, id=st.just("r"), decision=st.sampled_from([Status.APPROVAL_REQUIRED, Status.BLOCKED]),
    when=st.builds(
        RuleWhen, element=st.none() | st.just(ElementWhen(name=(TextMatch(kind="matches", value="(?i)delete"),))),
        request=st.none() | st.just(RequestWhen(path=(TextMatch(kind="glob", value="/pay"),))),
    ),
)
policies = st.builds(
    lambda ask, ban, wide, rules, writes: Policy(
        name="p", actions=Lists(allowed=frozenset(ActionType)), effects=Lists(allowed=EVERYTHING - ask, approval_required=ask, blocked=ban),
        domains=Domains(allowed=tuple(parse_pattern(text) for text in wide)), writes=writes, rules=tuple(rules),
    ),
    name, st.frozensets(st.sampled_from(sorted(EVERYTHING)), max_size=1), st.sampled_from([(SITE,), (SITE, "https://else.example")]),
    st.lists(block_rules, max_size=1), st.sampled_from(Status),
)


@settings(deadline=None, max_examples=100, database=None)
@given(proposals, groundings, policies, st.booleans())
def test_hiding_what_the_page_says_never_permits_more(proposal: Proposal, grounding: Grounding, policy: Policy, whole: bool) -> None:
    def status(seen: Grounding) -> Status:
        effect = classify(proposal, seen, HOME)
        assert not effect.labels & effect.unclear
        assert (claim_mismatch("view", proposal.action_type, effect, seen) or "x").isprintable()
        return decide_act(policy, Act(action_type=proposal.action_type, effect=effect, element=seen.element, origin=PAGE.origin)).status

    less = replace(grounding, form=UNKNOWN if grounding.form else None)
    if whole and grounding.element:
        less = replace(less, element=UNKNOWN)
    assert status(less).rank >= status(grounding).rank


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=3))
@settings(deadline=None, max_examples=100, database=None)
def test_an_address_composed_from_a_form_is_canonical(pairs: list[tuple[str, str]]) -> None:
    fields = tuple(Field(name=name, kind="text", value=value) for name, value in pairs)
    [request] = effect_of("click", button(), form("/find?old=1", "GET", *fields)).requests
    again: Address = parse(request.address.href)
    assert (request.address.href, request.address.path, request.address.origin) == (again.href, again.path, again.origin)
    assert request.address.query == again.query
