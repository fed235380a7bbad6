"""What a policy says of acts and requests, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deskcert_core.address import Address, Origin, OriginPattern, parse, parse_pattern
from deskcert_core.effect import UNKNOWN, Effect, Element, Field, Form, Grounding, Request, Unknown, classify
from deskcert_core.policy.engine import Act, decide_act, decide_request, raise_to, selectors
from deskcert_core.policy.rules import Decision, Domains, ElementWhen, Lists, Policy, RequestWhen, Rule, RuleWhen, Status, TextMatch
from deskcert_core.proposal import ActionType, Proposal

SITE = "http://127.0.0.1:8000"
HOME = parse(SITE).origin
INVOICE = parse(f"{SITE}/invoice/1048")


def lists(allowed: str = "", approval: str = "", blocked: str = "") -> Lists:
    return Lists(allowed=frozenset(allowed.split()), approval_required=frozenset(approval.split()), blocked=frozenset(blocked.split()))


def exact(text: str) -> TextMatch:
    return TextMatch(kind="exact", value=text)


# The policy that the README's suite is about, and the two lines of its fine print.
EXAMPLE = Policy(
    name="invoice-demo",
    actions=lists("goto click fill read submit_form finish"),
    effects=lists("", "form_submit download external_navigation", "payment file_delete shell_command package_install password_change"),
    domains=Domains(allowed=(parse_pattern(SITE),)),
    writes=Status.APPROVAL_REQUIRED,
    background=(RequestWhen(method=("POST",), path=(TextMatch(kind="glob", value="/metrics"),)),),
    rules=(
        Rule(
            id="never-delete", decision=Status.BLOCKED,
            when=RuleWhen(request=RequestWhen(method=("DELETE",), path=(TextMatch(kind="glob", value="/api/**"),))),
        ),
        Rule(
            id="no-danger-button", decision=Status.BLOCKED,
            when=RuleWhen(element=ElementWhen(role=(exact("button"),), name=(TextMatch(kind="matches", value="(?i)delete|remove"),))),
        ),
    ),
    lines={"approval_required.form_submit": "policy.yaml:7", "rules.never-delete": "policy.yaml:18"},
)
OPEN = replace(
    EXAMPLE, actions=lists("click"), effects=lists("form_submit payment download"), writes=Status.ALLOWED, rules=(), background=(), lines={},
)


def on_page(action: ActionType, element: Element | None = None, form: Form | None = None, **more: str) -> Act:
    """An act as the gate builds it for the page of the invoice."""
    proposal = Proposal(action_type=action, **more)  # type: ignore[arg-type]
    grounding = Grounding(page=INVOICE, element=element, form=form)
    return Act(action_type=action, effect=classify(proposal, grounding, (HOME,)), element=element, origin=HOME)


def button(name: str) -> Element:
    return Element(tag="button", role="button", name=name, text=name, submits=True, origin=HOME)


def post(path: str, **fields: str) -> Form:
    return Form(action=parse(SITE + path), method="post", fields=tuple(Field(name=k, kind="hidden", value=v) for k, v in fields.items()))


NO_EFFECT = Effect()


def clicks(effect: Effect = NO_EFFECT, element: Element | Unknown | None = None, origin: Origin | Unknown | None = HOME) -> Act:
    return Act(action_type="click", effect=effect, element=element, origin=origin)


def short(decision: Decision) -> tuple[str, str, str]:
    return (decision.status.value, decision.matched_rule, decision.risk_level)


class TestInvoice:
    """The six steps of the invoice, and what must not happen on the way."""

    @pytest.mark.parametrize("action", [ActionType.READ, ActionType.FILL, ActionType.FINISH, ActionType.CLICK])
    def test_harmless_steps_are_allowed(self, action: ActionType) -> None:
        field = Element(tag="input", role="textbox", name="Total", origin=HOME)
        assert short(decide_act(EXAMPLE, on_page(action, field))) == ("allowed", f"allowed.{action}", "low")

    def test_confirming_needs_an_approval_and_says_why(self) -> None:
        decision = decide_act(EXAMPLE, on_page(ActionType.SUBMIT_FORM, button("Confirm total"), post("/confirm", total="1248.92")))
        assert short(decision) == ("approval_required", "approval_required.form_submit", "medium")
        assert decision.reason == f"form_submit needs approval: button 'Confirm total' sends POST {SITE}/confirm"
        assert decision.line == "policy.yaml:7"
        assert decision.facts == ("effect.labels", "request.method")

    def test_paying_is_blocked_whatever_the_button_is_called(self) -> None:
        decision = decide_act(EXAMPLE, on_page(ActionType.CLICK, button("Next"), post("/pay")))
        assert short(decision) == ("blocked", "blocked.payment", "critical")

    def test_a_danger_button_is_blocked_by_the_fine_print(self) -> None:
        decision = decide_act(EXAMPLE, on_page(ActionType.CLICK, button("Delete invoice")))
        assert short(decision) == ("blocked", "rules.no-danger-button", "critical")
        assert decision.reason == "rule no-danger-button says it is blocked: button 'Delete invoice'"

    def test_leaving_the_site_is_blocked_by_domain(self) -> None:
        link = Element(tag="a", role="link", name="Partner", href=parse("https://evil.example/"), origin=HOME)
        assert short(decide_act(EXAMPLE, on_page(ActionType.CLICK, link))) == ("blocked", "unlisted.domain", "high")

    def test_a_shell_command_is_blocked(self) -> None:
        act = Act(action_type="shell_command", effect=Effect())
        assert short(decide_act(EXAMPLE, act)) == ("blocked", "blocked.shell_command", "critical")

    @pytest.mark.parametrize("path", ["/api/users/3", "/api/users/3/", "//api/users/3", "/%61pi/users/3", "/x/..%2fapi/users/3", "/api;v=1/users/3"])
    def test_no_delete_request_gets_through_by_its_spelling(self, path: str) -> None:
        decision = decide_request(EXAMPLE, sent("DELETE", path))
        assert short(decision) == ("blocked", "rules.never-delete", "high")
        assert decision.line == "policy.yaml:18"

    def test_another_delete_is_a_write_like_any(self) -> None:
        assert short(decide_request(EXAMPLE, sent("DELETE", "/cart/3"))) == ("approval_required", "requests.writes", "medium")


def sent(method: str, path: str, **more: object) -> Request:
    """A request to the site; the path is taken as it stands, as a client other than a browser may send it."""
    return Request(method=method, address=Address(href=SITE + path, origin=HOME, path=path), **more)  # type: ignore[arg-type]


class TestLists:
    @pytest.mark.parametrize(
        ("status", "rule"), [("allowed", "allowed.click"), ("approval_required", "approval_required.click"), ("blocked", "blocked.click")],
    )
    def test_an_action_stands_in_a_list(self, status: str, rule: str) -> None:
        decision = decide_act(replace(OPEN, actions=Lists(**{status: frozenset({"click"})})), clicks())
        assert (decision.status, decision.matched_rule) == (status, rule)

    def test_the_strictest_of_several_lists_counts(self) -> None:
        both = Lists(allowed=frozenset({"click"}), approval_required=frozenset({"click"}), blocked=frozenset({"click"}))
        assert decide_act(replace(OPEN, actions=both), clicks()).matched_rule == "blocked.click"

    def test_what_no_list_names_is_blocked(self) -> None:
        assert decide_act(OPEN, Act(action_type="hover", effect=Effect())).matched_rule == "unlisted.action.hover"
        assert decide_act(OPEN, clicks(Effect(labels=frozenset({"upload"})))).matched_rule == "unlisted.effect.upload"
        assert decide_act(OPEN, clicks(Effect(labels=frozenset({"made_up"})))).matched_rule == "unlisted.effect.made_up"

    @pytest.mark.parametrize(("action", "label"), [("submit_form", "form_submit"), ("save_download", "download"), ("set_input_files", "upload")])
    def test_an_action_with_an_effect_of_its_own_is_decided_by_it(self, action: str, label: str) -> None:
        policy = replace(OPEN, actions=lists(action), effects=lists("", "", label))
        assert decide_act(policy, Act(action_type=action, effect=Effect())).matched_rule == f"blocked.{label}"

    @pytest.mark.parametrize("action", ["shell_command", "package_install", "file_delete"])
    def test_no_list_makes_the_never_executed_happen(self, action: str) -> None:
        policy = replace(OPEN, actions=lists(action), effects=lists(action))
        assert short(decide_act(policy, Act(action_type=action, effect=Effect()))) == ("blocked", f"never_executed.{action}", "critical")

    @pytest.mark.parametrize(
        ("listed", "status", "rule"),
        [
            (lists("", "", "payment"), "blocked", "blocked.payment"),
            (lists("", "payment"), "approval_required", "approval_required.payment"),
            (lists("payment"), "approval_required", "unclear.effect.payment"),
            (lists(), "blocked", "unlisted.effect.payment"),
        ],
    )
    def test_a_label_that_cannot_be_told_is_never_allowed(self, listed: Lists, status: str, rule: str) -> None:
        decision = decide_act(replace(OPEN, effects=listed), clicks(Effect(unclear=frozenset({"payment"}))))
        assert (decision.status, decision.matched_rule) == (status, rule)

    def test_a_label_that_holds_is_clear_though_it_is_also_called_unclear(self) -> None:
        effect = Effect(labels=frozenset({"payment"}), unclear=frozenset({"payment"}))
        assert short(decide_act(OPEN, clicks(effect))) == ("allowed", "allowed.click", "critical")


class TestOrigins:
    ELSEWHERE = parse_pattern("https://*.corp.example")

    @pytest.mark.parametrize(
        ("domains", "rule"),
        [
            (Domains(allowed=(parse_pattern(SITE),), blocked=(parse_pattern(SITE),)), "domains.blocked"),
            (Domains(allowed=(parse_pattern(SITE),), approval_required=(parse_pattern(SITE),)), "domains.approval_required"),
            (Domains(allowed=(ELSEWHERE,)), "unlisted.domain"),
        ],
    )
    def test_lists_of_origins(self, domains: Domains, rule: str) -> None:
        policy = replace(OPEN, domains=domains)
        assert decide_act(policy, clicks()).matched_rule == rule
        assert decide_request(policy, sent("GET", "/")).matched_rule == rule

    def test_a_listed_origin_is_named_where_it_decides(self) -> None:
        assert short(decide_request(OPEN, sent("GET", "/"))) == ("allowed", "domains.allowed", "low")

    def test_another_port_is_another_origin(self) -> None:
        assert decide_request(OPEN, Request(method="GET", address=parse("http://127.0.0.1:8001/"))).matched_rule == "unlisted.domain"

    def test_an_origin_that_cannot_be_told_is_blocked(self) -> None:
        assert short(decide_act(OPEN, clicks(origin=UNKNOWN))) == ("blocked", "unlisted.domain", "high")

    def test_no_page_no_origin(self) -> None:
        assert decide_act(OPEN, clicks(origin=None)).status is Status.ALLOWED

    @pytest.mark.parametrize("url", ["about:blank", "about:srcdoc"])
    def test_a_blank_page_is_neutral(self, url: str) -> None:
        assert decide_act(OPEN, clicks(origin=parse(url).origin)).status is Status.ALLOWED
        assert short(decide_request(OPEN, Request(method="GET", address=parse(url)))) == ("allowed", "domains.neutral", "low")

    @pytest.mark.parametrize("url", ["about:version", "data:text/html,x", "javascript:alert(1)", "mailto:a@b.example", "blob:http://127.0.0.1:8000/1", "file:///etc/passwd"])
    def test_other_schemes_are_blocked_unless_listed(self, url: str) -> None:
        assert decide_request(OPEN, Request(method="GET", address=parse(url))).matched_rule == "unlisted.domain"

    def test_files_can_be_listed(self) -> None:
        policy = replace(OPEN, domains=Domains(allowed=(OriginPattern(origin=Origin(scheme="file")),)))
        assert decide_act(policy, clicks(origin=parse("file:///srv/site/index.html").origin)).status is Status.ALLOWED


class TestRequests:
    @pytest.mark.parametrize("status", list(Status))
    def test_a_write_is_decided_by_the_mode(self, status: Status) -> None:
        policy = replace(OPEN, writes=status)
        assert decide_request(policy, sent("POST", "/save")).status is status
        assert decide_act(policy, clicks(Effect(requests=(sent("POST", "/save"),)))).status is status

    def test_reading_is_no_write(self) -> None:
        assert decide_request(replace(OPEN, writes=Status.BLOCKED), sent("HEAD", "/")).status is Status.ALLOWED

    @pytest.mark.parametrize(
        ("path", "rule"),
        [
            ("/metrics", "domains.allowed"), ("/metrics/x", "requests.writes"), ("/%6detrics", "requests.writes"), ("//metrics", "requests.writes"),
            ("/x/../metrics", "requests.writes"), ("/metrics;x", "requests.writes"),
        ],
    )
    def test_background_is_matched_as_sent(self, path: str, rule: str) -> None:
        assert decide_request(EXAMPLE, sent("POST", path)).matched_rule == rule

    def test_a_blocked_origin_stands_above_background(self) -> None:
        policy = replace(EXAMPLE, domains=Domains(blocked=(parse_pattern(SITE),)))
        assert decide_request(policy, sent("POST", "/metrics")).matched_rule == "domains.blocked"

    def test_a_websocket_is_blocked(self) -> None:
        assert short(decide_request(OPEN, sent("GET", "/live", kind="websocket"))) == ("blocked", "unlisted.websocket", "high")

    def test_requests_that_cannot_be_told_are_blocked(self) -> None:
        assert short(decide_act(OPEN, clicks(Effect(requests_unclear=True)))) == ("blocked", "unlisted.domain", "high")

    def test_a_rule_on_act_and_request_is_read_strictly_when_the_act_is_not_known(self) -> None:
        when = RuleWhen(action=("click",), effect=("payment",), element=ElementWhen(tag=(exact("a"),)), request=RequestWhen(method=("POST",)))
        policy = replace(OPEN, rules=(Rule(id="both", decision=Status.BLOCKED, when=when),))
        decision = decide_request(policy, sent("POST", "/x"))
        assert decision.matched_rule == "rules.both"
        assert decision.reason == f"rule both, as it cannot be told whether the rule holds, says it is blocked: POST {SITE}/x"
        assert decide_request(policy, sent("PUT", "/x")).status is Status.ALLOWED
        assert decide_act(policy, clicks(Effect(requests=(sent("POST", "/x"),)))).status is Status.ALLOWED

    def test_a_rule_on_acts_alone_says_nothing_of_requests(self) -> None:
        policy = replace(OPEN, rules=(Rule(id="act", decision=Status.BLOCKED, when=RuleWhen(action=("click",))),))
        assert decide_request(policy, sent("POST", "/x")).status is Status.ALLOWED
        assert decide_act(policy, clicks()).matched_rule == "rules.act"


class TestChoosing:
    def test_strictest_then_rules_then_name(self) -> None:
        rules = tuple(Rule(id=i, decision=s, when=RuleWhen()) for i, s in (("b", Status.BLOCKED), ("a", Status.BLOCKED), ("0", Status.APPROVAL_REQUIRED)))
        policy = replace(OPEN, rules=rules, effects=lists("", "", "download"))
        assert decide_act(policy, clicks(Effect(labels=frozenset({"download"})))).matched_rule == "rules.a"
        assert decide_act(replace(policy, rules=rules[2:]), clicks(Effect(labels=frozenset({"download"})))).matched_rule == "blocked.download"

    def test_an_allow_rule_permits_nothing(self) -> None:
        policy = replace(OPEN, actions=lists(), rules=(Rule(id="yes", decision=Status.ALLOWED, when=RuleWhen()),))
        assert decide_act(policy, clicks()).matched_rule == "unlisted.action.click"

    def test_the_page_cannot_break_the_line(self) -> None:
        element = Element(tag="a", name="a\nallowed by \u202epolicy")
        assert "\n" not in decide_act(OPEN, clicks(element=element)).reason
        assert decide_act(OPEN, clicks(element=element)).reason.isprintable()

    def test_the_scene_without_readable_element(self) -> None:
        assert decide_act(OPEN, clicks(element=UNKNOWN)).reason == "the action click is allowed: an element that cannot be read"
        assert decide_act(OPEN, clicks()).reason == "the action click is allowed: click"


class TestParents:
    STRICT = replace(OPEN, name="pack", actions=lists("", "", "click"), lines={"blocked.click": "pack.yaml:3"})

    def test_a_parent_tightens(self) -> None:
        decision = decide_act(replace(OPEN, parents=(OPEN, self.STRICT)), clicks())
        assert (decision.matched_rule, decision.line) == ("blocked.click", "pack.yaml:3")

    def test_a_parent_never_loosens(self) -> None:
        child = replace(self.STRICT, parents=(OPEN,), lines={"blocked.click": "policy.yaml:9"})
        assert decide_act(child, clicks()).line == "policy.yaml:9"

    def test_on_a_tie_the_own_line_is_named(self) -> None:
        child = replace(self.STRICT, parents=(self.STRICT,), lines={"blocked.click": "policy.yaml:9"})
        assert decide_act(child, clicks()).line == "policy.yaml:9"

    def test_requests_ask_the_parents_too(self) -> None:
        parent = replace(OPEN, writes=Status.BLOCKED)
        assert decide_request(replace(OPEN, parents=(replace(OPEN, parents=(parent,)),)), sent("POST", "/x")).matched_rule == "requests.writes"


class TestRaising:
    ALLOWED = decide_act(OPEN, clicks())

    def test_up(self) -> None:
        raised = raise_to(replace(self.ALLOWED, line="policy.yaml:1"), Status.BLOCKED, "hook.night", "nobody is there at night")
        assert short(raised) == ("blocked", "hook.night", "high")
        assert (raised.reason, raised.line) == ("nobody is there at night", "")

    def test_a_risk_is_kept(self) -> None:
        critical = replace(self.ALLOWED, risk_level="critical")
        assert raise_to(critical, Status.APPROVAL_REQUIRED, "hook.x", "").risk_level == "critical"

    @pytest.mark.parametrize(("now", "then"), [(a, b) for a in Status for b in Status if b.rank <= a.rank])
    def test_never_down(self, now: Status, then: Status) -> None:
        decision = replace(self.ALLOWED, status=now)
        assert raise_to(decision, then, "hook.x", "please") is decision


def test_selectors_of_the_policy_and_its_parents() -> None:
    def rule(selector: str | None) -> Rule:
        return Rule(id="r", decision=Status.BLOCKED, when=RuleWhen(element=ElementWhen(selector=selector)))

    grandparent = replace(OPEN, rules=(rule("#a"), rule("#b")))
    policy = replace(OPEN, rules=(rule("#c"), rule("#b"), rule(None)), parents=(replace(OPEN, parents=(grandparent,)),))
    assert selectors(policy) == ("#a", "#b", "#c")
    assert selectors(OPEN) == ()


FILES = replace(EXAMPLE, domains=Domains(allowed=(parse_pattern("file://"),)), effects=lists("external_navigation"), file_roots=("/srv/site", "/srv/two/"))


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("file:///srv/site/index.html", "allowed"), ("file:///srv/site", "allowed"), ("file:///srv/two/a%20b", "allowed"), ("file:///srv/site/a/../b", "allowed"),
        ("file:///etc/shadow", "blocked"), ("file:///srv/site-evil/x", "blocked"), ("file:///srv/site/../x", "blocked"), ("file:///srv/site/..%2fx", "blocked"),
        ("file:///srv/site/%2e%2e/x", "blocked"), ("file://elsewhere/srv/site/x", "blocked"), ("file:///srv", "blocked"),
    ],
)
def test_a_file_outside_the_roots_is_blocked(url: str, status: str) -> None:
    proposal, address = Proposal(action_type=ActionType.GOTO, url=url), parse(url)
    effect = classify(proposal, Grounding(page=None, destination=address), (address.origin,))
    decision = decide_act(FILES, Act(action_type="goto", effect=effect, origin=address.origin))
    assert decision.status == status
    if status == "blocked" and not address.origin.host:
        assert decision.matched_rule == "files.roots"


def test_a_link_to_a_file_outside_the_roots_is_blocked_too() -> None:
    page = parse("file:///srv/site/index.html")
    for href, status in (("file:///etc/shadow", "blocked"), ("file:///srv/site/two.html", "allowed")):
        link = Element(tag="a", role="link", name="Next", href=parse(href), origin=page.origin)
        effect = classify(Proposal(action_type=ActionType.CLICK), Grounding(page=page, element=link), (page.origin,))
        assert decide_act(FILES, Act(action_type="click", effect=effect, element=link, origin=page.origin)).status == status
