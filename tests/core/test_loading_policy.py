"""Policies become data: every control written, every name known, lines as the engine asks for them, and children that can only tighten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_distributions import Site, on_path
from suite_folder import FILES, SuiteFolder

from deskcert_core.address import parse, parse_pattern
from deskcert_core.effect import Effect, Request
from deskcert_core.errors import PluginError
from deskcert_core.policy.engine import Act, decide_act, decide_request
from deskcert_core.policy.rules import Policy, Status, TextMatch

POLICY = FILES["policy.yaml"]
CONTROLS = [line.partition(":")[0] for line in POLICY.splitlines() if not line.startswith(" ")]
PACK = "class Pack:\n    deskcert_api = 1\n    def text(self):\n        return {!r}\n"


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    return SuiteFolder(tmp_path / "suite")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with on_path(tmp_path / "site", monkeypatch) as made:
        yield made


def policy_of(folder: SuiteFolder) -> Policy:
    return folder.load().policy


def with_rule(folder: SuiteFolder, when: str) -> None:
    folder.change("policy.yaml", "rules:\n", f"rules:\n  - {{id: new, decision: blocked, when: {when}}}\n")


def test_lines_are_those_that_the_engine_asks_for(folder: SuiteFolder) -> None:
    policy = policy_of(folder)
    request = Request(method="POST", address=parse("http://127.0.0.1:8000/buy"))
    found = {
        (decision.matched_rule, decision.line)
        for decision in (
            decide_act(policy, Act(action_type="click", effect=Effect())),
            decide_act(policy, Act(action_type="click", effect=Effect(labels=frozenset({"form_submit"})))),
            decide_act(policy, Act(action_type="click", effect=Effect(labels=frozenset({"payment"})))),
            decide_request(policy, request),
            decide_request(policy, Request(method="GET", address=request.address)),
            decide_request(policy, Request(method="DELETE", address=parse("http://127.0.0.1:8000/api/x/1"))),
        )
    }
    assert found == {
        ("allowed.click", "policy.yaml:5"), ("approval_required.form_submit", "policy.yaml:6"), ("blocked.payment", "policy.yaml:6"),
        ("requests.writes", "policy.yaml:8"), ("domains.allowed", "policy.yaml:7"), ("rules.never-delete", "policy.yaml:18"),
    }


def test_all_shapes_of_a_rule(folder: SuiteFolder) -> None:
    with_rule(folder, """{action: [click, fill], effect: payment, element: {selector: "#a", tag: a, role: [button, link], name: {matches: "^x"}, text: y},
    request: {method: [PUT, DELETE], origin: ["${base_url}", "https://*.example"], path: {matches: "/v[0-9]+/"}, query: {q: x}, form: {a: [b, c], d: {matches: e}}}}""")
    when = policy_of(folder).rules[0].when
    assert (when.action, when.effect) == (("click", "fill"), ("payment",))
    assert when.element is not None
    assert when.request is not None
    exact = [TextMatch(kind="exact", value=text) for text in ("a", "button", "link", "y", "x", "b", "c")]
    assert (when.element.selector, when.element.tag, when.element.role, when.element.text) == ("#a", (exact[0],), (exact[1], exact[2]), (exact[3],))
    assert when.element.name == (TextMatch(kind="matches", value="^x"),)
    assert when.request.method == ("PUT", "DELETE")
    assert when.request.origin == (parse_pattern("http://127.0.0.1:8000"), parse_pattern("https://*.example"))
    assert when.request.path == (TextMatch(kind="matches", value="/v[0-9]+/"),)
    assert when.request.query == {"q": (exact[4],)}
    assert when.request.form == {"a": (exact[5], exact[6]), "d": (TextMatch(kind="matches", value="e"),)}
    globs = policy_of(folder).rules[1].when.request
    assert globs is not None
    assert globs.path == (TextMatch(kind="glob", value="/api/**"), TextMatch(kind="glob", value="/v2/**"))


@pytest.mark.parametrize("control", CONTROLS)
def test_every_control_must_be_written(folder: SuiteFolder, control: str) -> None:
    lines = POLICY.splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if line.startswith(f"{control}:"))
    more = at + 1
    while more < len(lines) and lines[more].startswith(" "):
        more += 1
    folder.write("policy.yaml", "".join(lines[:at] + lines[more:]))
    assert any(line.startswith("policy.yaml:1:1: ") and f"{control!r} is missing" in line for line in folder.problems())


@pytest.mark.parametrize(("control", "part"), [
    ("effects", "allowed: [], "), ("effects", ", blocked: [payment]"), ("domains", "approval_required: [], "), ("requests", "writes: approval_required, "),
    ("network", "private: [], "), ("limits", "max_steps: 20, "), ("limits", ", max_dialogs: 5"), ("approvals", "quorum: 1, "), ("approvals", ", max_wait_seconds: 900"),
])
def test_every_part_of_a_control_must_be_written(folder: SuiteFolder, control: str, part: str) -> None:
    line = next(line for line in POLICY.splitlines() if line.startswith(f"{control}:"))
    folder.change("policy.yaml", line, line.replace(part, ""))
    name = part.strip(", ").partition(":")[0]
    assert any(f" {control}: {name!r} is missing" in told for told in folder.problems())


@pytest.mark.parametrize(("when", "said"), [
    ("{}", "18:40: rules[0].when: is empty"),
    ("{element: {}}", "18:50: rules[0].when.element: is empty"),
    ("{request: {}}", "18:50: rules[0].when.request: is empty"),
    ("{action: []}", "18:49: rules[0].when.action: is empty"),
    ("{element: {name: []}}", "18:57: rules[0].when.element.name: is empty"),
    ("{element: {name: ''}}", "18:57: rules[0].when.element.name: is empty"),
    ("{request: {method: []}}", "18:59: rules[0].when.request.method: is empty"),
    ("{request: {form: {}}}", "18:57: rules[0].when.request.form: is empty"),
    ("{request: {form: {a: []}}}", "18:61: rules[0].when.request.form.a: is empty"),
    ("{request: {method: delete}}", "18:59: rules[0].when.request.method: 'delete' does not fit. A method in capital letters."),
    ("{request: {path: api/x}}", "18:57: rules[0].when.request.path: 'api/x' does not fit."),
    ("{request: {path: '/api?x=1'}}", "18:57: rules[0].when.request.path: '/api?x=1' does not fit."),
    ("{request: {origin: 'https://a.example/x'}}", "18:59: 'https://a.example/x' cannot be used: an origin has no path and no query"),
    ("{request: {path: {matches: '('}}}", "18:67: not an RE2 pattern: missing ): ("),
    ("{element: {name: {matches: '(?=x)'}}}", "18:67: not an RE2 pattern: invalid perl operator: (?="),
    ("{element: {name: {match: x}}}", "18:58: rules[0].when.element.name: unknown key 'match', did you mean 'matches'?"),
    ("{action: clik}", "18:49: rules[0].when.action: 'clik' is not known, did you mean 'click'?"),
    ("{effect: paymnt}", "18:49: no effect is called 'paymnt', and the policy names no classifiers; did you mean 'payment'?"),
    ("{effect: [payment, paymnt]}", "18:59: no effect is called 'paymnt'"),
    ("{elemnt: {role: a}}", "18:41: rules[0].when: unknown key 'elemnt', did you mean 'element'?"),
])
def test_a_bad_rule(folder: SuiteFolder, when: str, said: str) -> None:
    with_rule(folder, when)
    found = folder.problems()
    assert any(line.startswith(f"policy.yaml:{said}") for line in found), found


@pytest.mark.parametrize(("old", "new", "said"), [
    ("decision: blocked, when: {request", "decision: allowed, when: {request", "18:34: rules[0].decision: 'allowed' is not known; allowed here: approval_required, blocked"),
    ("id: no-danger", "id: never-delete", "19:10: the rule 'never-delete' was already given at line 18"),
    ("blocked: [payment]", "blocked: [paymnt]", "6:68: no effect is called 'paymnt', and the policy names no classifiers; did you mean 'payment'?"),
    ("allowed: [goto, click", "allowed: [goto, clik", "5:27: actions.allowed[1]: 'clik' is not known, did you mean 'click'?"),
    ("allowed: [goto, click", "allowed: [goto, goto", "5:20: actions.allowed: says the same twice"),
    ('allowed: ["${base_url}"]', 'allowed: ["${base_ur}"]', "7:21: ${base_ur} is not known: there are ${suite}"),
    ('allowed: ["${base_url}"]', 'allowed: ["app.example"]', "7:21: 'app.example' cannot be used: not an origin"),
    ("private: []", 'private: ["10.0.0.1/8"]', "10:21: is not a network such as 10.0.0.0/8: 10.0.0.1/8 has host bits set"),
    ("upstream_proxy: none", "upstream_proxy: maybe", "10:40: network.upstream_proxy: 'maybe' does not fit. none, or the proxy's URL."),
    ("max_cost_usd: 1.0", "max_cost_usd: unlimited", "11:64: limits.max_cost_usd: must be \"none\" or a number, not 'unlimited'"),
    ("max_cost_usd: 1.0", "max_cost_usd: 0.12345678", "11:64: money has at most six decimals"),
    ("max_steps: 20", "max_steps: 0", "11:21: limits.max_steps: must be at least 1"),
    ("max_steps: 20", "max_steps: many", "11:21: limits.max_steps: must be a whole number, not 'many'"),
    ("min_assurance: auto", "min_assurance: none", "14:28: approvals.min_assurance: 'none' is not known"),
    ("containment: proxy", "containment: none", "4:14: containment: 'none' is not known; allowed here: proxy, netns"),
    ("classifiers: []", "classifiers: [mine]", "16:15: there is no effect classifier 'mine'; there are: none"),
    ("background: [{", "background: [{}, {", "8:52: requests.background[0]: is empty"),
    ("extends: []", "extends: [none.yaml]", "none.yaml: does not exist"),
    ("extends: []", "extends: [policy.yaml]", "3:11: policy.yaml extends this policy in turn: a circle"),
    ("extends: []", "extends: ['pack:strict']", "3:11: there is no policy pack 'strict'; there are: none"),
    ("version: 1", "version: 2", "1:10: version: must be 1, not the number 2"),
])
def test_a_bad_control(folder: SuiteFolder, old: str, new: str, said: str) -> None:
    folder.change("policy.yaml", old, new)
    found = folder.problems()
    assert any(line.removeprefix("policy.yaml:").startswith(said) for line in found), found


def test_a_base_url_with_a_path_gives_its_origin_where_an_origin_stands(folder: SuiteFolder) -> None:
    folder.change("deskcert.yaml", '"http://127.0.0.1:8000"', '"http://127.0.0.1:8000/app/"')
    folder.change("tasks/buy.yaml", "start_url: /shop", "start_url: shop")
    loaded = folder.load()
    assert loaded.policy.domains.allowed == (parse_pattern("http://127.0.0.1:8000"),)
    assert loaded.suite.tasks[0].start_url == "http://127.0.0.1:8000/app/shop"
    assert loaded.suite.environment.base_url == "http://127.0.0.1:8000/app"


def test_roots_are_absolute_and_from_the_policys_own_folder(folder: SuiteFolder) -> None:
    (folder.path / "policy.yaml").unlink()
    folder.write("rules/policy.yaml", POLICY.replace("roots: []", 'roots: ["../site", "${suite}/b c"]'))
    folder.change("deskcert.yaml", "policy: policy.yaml", "policy: rules/policy.yaml")
    policy = policy_of(folder)
    assert policy.file_roots == (f"{folder.path}/site", f"{folder.path}/b c")
    assert policy.lines["requests.writes"] == "rules/policy.yaml:8"


def extend(folder: SuiteFolder, parent: str, *, child: str = POLICY) -> None:
    folder.write("parent.yaml", parent)
    folder.write("policy.yaml", child.replace("extends: []", "extends: [parent.yaml]").replace("name: small", "name: child"))


def test_a_child_can_only_tighten(folder: SuiteFolder) -> None:
    strict = (
        POLICY.replace("max_steps: 20", "max_steps: 7").replace("max_cost_usd: 1.0", "max_cost_usd: none").replace("containment: proxy", "containment: netns")
        .replace("min_assurance: auto", "min_assurance: signed").replace("quorum: 1", "quorum: 2").replace("not_operator: false", "not_operator: true")
        .replace("expires_seconds: 300", "expires_seconds: 30").replace("redact: []", "redact: [card]").replace("blocked: [payment]", "blocked: [payment, download]")
    )
    child = POLICY.replace("on_block: stop", "on_block: tell_agent").replace("allowed: [],", "allowed: [download],")
    extend(folder, strict, child=child)
    loaded = folder.load()
    policy, limits = loaded.policy, loaded.suite.tasks[0].limits
    assert (limits.max_steps, limits.max_cost_micro_usd) == (7, 1_000_000)
    assert (policy.containment, policy.on_block, policy.redact) == ("netns", "stop", ("card",))
    assert (policy.approvals.min_assurance, policy.approvals.quorum, policy.approvals.not_operator, policy.approvals.expires_seconds) == ("signed", 2, True, 30)
    decision = decide_act(policy, Act(action_type="click", effect=Effect(labels=frozenset({"download"}))))
    assert (decision.status, decision.line) == (Status.BLOCKED, "parent.yaml:6")
    assert decide_act(policy_without_parents(folder, child), Act(action_type="click", effect=Effect(labels=frozenset({"download"})))).status is Status.ALLOWED


def policy_without_parents(folder: SuiteFolder, child: str) -> Policy:
    folder.write("policy.yaml", child)
    return policy_of(folder)


@pytest.mark.parametrize(("parent", "child", "said"), [
    (("roots: []", "roots: [site]"), ("roots: []", "roots: [site/a, sites]"), "9:25: is outside the roots of small, which this policy extends"),
    (("private: []", 'private: ["10.0.0.0/8"]'), ("private: []", 'private: ["10.1.0.0/16", "0.0.0.0/0"]'), "10:36: is outside the private networks of small"),
    (("private: []", 'private: ["10.0.0.0/8"]'), ("private: []", 'private: ["::/0"]'), "10:21: is outside the private networks of small"),
    (("proxy: none", 'proxy: "http://a:1"'), ("proxy: none", "proxy: none"), "10:40: must be http://a:1, as in small, which this policy extends"),
])
def test_a_child_that_would_reach_further_is_told(folder: SuiteFolder, parent: tuple[str, str], child: tuple[str, str], said: str) -> None:
    extend(folder, POLICY.replace(*parent), child=POLICY.replace(*child))
    (found,) = folder.problems()
    assert found.startswith(f"policy.yaml:{said}")


def test_a_parents_problems_are_told_with_its_own_name(folder: SuiteFolder) -> None:
    extend(folder, POLICY.replace("on_block: stop", "on_block: stpo"))
    assert [line.split(": ")[0] for line in folder.problems()] == ["parent.yaml:12:11"]


def test_circles_and_towers(folder: SuiteFolder) -> None:
    extend(folder, POLICY.replace("extends: []", "extends: [policy.yaml]"))
    assert folder.problems() == ["parent.yaml:3:11: policy.yaml extends this policy in turn: a circle"]
    for number in range(12):
        folder.write(f"p{number}.yaml", POLICY.replace("extends: []", f"extends: [p{number + 1}.yaml]"))
    folder.write("policy.yaml", POLICY.replace("extends: []", "extends: [p0.yaml]"))
    assert folder.problems() == ["p8.yaml:3:11: policies extend each other more than 10 deep"]


def test_two_children_of_one_parent_are_no_circle(folder: SuiteFolder) -> None:
    extend(folder, POLICY, child=POLICY.replace("extends: []", "extends: [parent.yaml, other.yaml]"))
    folder.write("other.yaml", POLICY.replace("extends: []", "extends: [parent.yaml]"))
    assert [parent.name for parent in policy_of(folder).parents] == ["small", "small"]


def test_a_start_that_a_parent_refuses_is_told(folder: SuiteFolder) -> None:
    extend(folder, POLICY.replace("blocked: []}", 'blocked: ["${base_url}"]}'))
    assert folder.problems()[0].startswith("tasks/buy.yaml:4:12: http://127.0.0.1:8000 is not in the domains of the policy")


def test_a_policy_pack(folder: SuiteFolder, site: Site) -> None:
    site.add("strict-pack", "strict", PACK.format(POLICY.replace("blocked: [payment]", "blocked: [payment, upload]")), attribute="Pack", group="deskcert.policy_packs")
    folder.write("policy.yaml", POLICY.replace("extends: []", "extends: ['pack:strict']"))
    decision = decide_act(policy_of(folder), Act(action_type="click", effect=Effect(labels=frozenset({"upload"}))))
    assert (decision.status, decision.line) == (Status.BLOCKED, "")
    (parent,) = policy_of(folder).parents
    assert parent.lines["blocked.upload"] == "pack:strict:6"


def test_a_policy_pack_with_problems_is_told_by_its_name(folder: SuiteFolder, site: Site) -> None:
    site.add("strict-pack", "strict", PACK.format(POLICY.replace("on_block: stop", "on_block: yes")), attribute="Pack", group="deskcert.policy_packs")
    folder.write("policy.yaml", POLICY.replace("extends: []", "extends: ['pack:strict', 'pack:strcit']"))
    found = folder.problems()
    assert found[1].startswith("pack:strict:12:11: yes is read differently")
    assert found[0].startswith("policy.yaml:3:26: there is no policy pack 'strcit'; did you mean 'strict'?")


def test_a_policy_pack_that_breaks_is_its_own_fault(folder: SuiteFolder, site: Site) -> None:
    site.add("bad-pack", "bad", "class Pack:\n    deskcert_api = 1\n    def text(self):\n        return 1 / 0\n", attribute="Pack", group="deskcert.policy_packs")
    folder.write("policy.yaml", POLICY.replace("extends: []", "extends: ['pack:bad']"))
    with pytest.raises(PluginError, match="policy pack 'bad' gives no policy: ZeroDivisionError"):
        folder.load()


def test_labels_of_a_classifier_are_taken_only_where_one_is_named(folder: SuiteFolder, site: Site) -> None:
    folder.change("policy.yaml", "blocked: [payment]", "blocked: [payment, refund]")
    assert folder.problems()[0].startswith("policy.yaml:6:77: no effect is called 'refund'")
    site.add("shop-effects", "shop", "class Shop:\n    deskcert_api = 1\n    def classify(self): ...\n", attribute="Shop", group="deskcert.effects")
    folder.change("policy.yaml", "classifiers: []", "classifiers: [shop]")
    assert policy_of(folder).effects.blocked == {"payment", "refund"}
