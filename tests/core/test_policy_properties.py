"""What holds for every policy and every act: totality, no order, tightening only, and the same answer as a model written from the design alone."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from urllib.parse import unquote

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deskcert_core.address import Address, Origin, OriginPattern
from deskcert_core.effect import OWN_LABEL, UNKNOWN, Effect, Element, Request
from deskcert_core.policy.engine import Act, decide_act, decide_request, raise_to, selectors
from deskcert_core.policy.rules import Decision, Domains, ElementWhen, Lists, Policy, RequestWhen, Rule, RuleWhen, Status, TextMatch

ACTIONS = ("click", "fill", "submit_form", "shell_command")
LABELS = ("form_submit", "payment", "download", "shell_command")
ORIGINS = tuple(Origin(scheme="http", host=host, port=80) for host in ("a.example", "b.a.example", "c.example"))
PATTERNS = (OriginPattern(origin=ORIGINS[0]), OriginPattern(origin=ORIGINS[0], subdomains=True), OriginPattern(origin=ORIGINS[2]))
PATHS = ("/a", "/api/a", "/%61pi/a", "/x/..%2fapi/a", "/a//")
NAMES = ("Save", "Delete")
VALUES = ("1", "2")

many = settings(deadline=None, max_examples=60, database=None)


def some(of: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(of), max_size=2, unique=True).map(tuple)


def texts(of: tuple[str, ...]) -> st.SearchStrategy[tuple[TextMatch, ...]]:
    return some(of).map(lambda values: tuple(TextMatch(kind="exact", value=value) for value in values))


def lists(of: tuple[str, ...]) -> st.SearchStrategy[Lists]:
    names = st.frozensets(st.sampled_from(of))
    return st.builds(Lists, allowed=st.one_of(st.just(frozenset(of)), names), approval_required=names, blocked=st.frozensets(st.sampled_from(of), max_size=1))


patterns = st.lists(st.sampled_from(PATTERNS), max_size=2).map(tuple)
forms = st.dictionaries(st.just("amount"), texts(VALUES).filter(bool), max_size=1)
request_whens = st.builds(RequestWhen, method=some(("GET", "POST")), origin=patterns, path=texts(("/a", "/api/a")), form=forms)
element_whens = st.builds(ElementWhen, selector=st.sampled_from([None, "#x"]), name=texts(NAMES))
whens = st.builds(
    RuleWhen, action=some(ACTIONS), effect=some(LABELS), element=st.none() | element_whens, request=st.none() | request_whens,
)
rules = st.builds(Rule, id=st.sampled_from("abc"), decision=st.sampled_from([Status.APPROVAL_REQUIRED, Status.BLOCKED]), when=whens)
plain_policies = st.builds(
    Policy, name=st.just("p"), actions=lists(ACTIONS), effects=lists(LABELS),
    domains=st.builds(Domains, allowed=st.just(PATTERNS) | patterns, approval_required=patterns, blocked=patterns.map(lambda some: some[:1])),
    writes=st.sampled_from(Status), background=st.lists(request_whens, max_size=1).map(tuple), rules=st.lists(rules, max_size=3).map(tuple),
)
policies = st.builds(lambda own, parents: replace(own, parents=tuple(parents)), plain_policies, st.lists(plain_policies, max_size=1))
requests = st.builds(
    lambda method, origin, path, fields: Request(method=method, address=Address(href=str(origin) + path, origin=origin, path=path), fields=fields),
    st.sampled_from(["GET", "POST"]), st.sampled_from(ORIGINS), st.sampled_from(PATHS),
    st.none() | st.just(UNKNOWN) | st.lists(st.tuples(st.just("amount"), st.sampled_from([*VALUES, None])), max_size=2).map(tuple),
)
elements = st.builds(Element, tag=st.just("a"), name=st.sampled_from(NAMES), selectors=st.sampled_from([(), ("#x",)]))
effects = st.builds(
    Effect, labels=st.frozensets(st.sampled_from(LABELS), max_size=2), unclear=st.frozensets(st.sampled_from(LABELS), max_size=1),
    requests=st.lists(requests, max_size=2).map(tuple), requests_unclear=st.sampled_from([False, False, False, True]),
)
acts = st.builds(
    Act, action_type=st.sampled_from(ACTIONS), effect=effects, element=st.none() | st.just(UNKNOWN) | elements,
    origin=st.none() | st.just(UNKNOWN) | st.sampled_from(ORIGINS),
)


# The model: DESIGN's one sentence, with None for what cannot be told. It shares no code with the engine.


def model(policy: Policy, act: Act | None, requests: tuple[Request, ...]) -> Status:
    block, unlisted, ask = [], [], []
    facets: list[tuple[object, Lists]] = []
    holding = set(act.effect.labels) if act else set()
    if act:
        holding |= {OWN_LABEL[act.action_type]} if act.action_type in OWN_LABEL else set()
        facets = [(act.action_type, policy.actions), *((label, policy.effects) for label in holding | act.effect.unclear)]
        block.append(act.action_type == "shell_command")
        ask += [label not in holding for label in act.effect.unclear]
        unlisted.append(act.effect.requests_unclear or act.origin is UNKNOWN)
    for name, where in facets:
        block.append(name in where.blocked)
        ask.append(name in where.approval_required)
        unlisted.append(name not in where.allowed | where.approval_required)
    for origin in [r.address.origin for r in requests] + ([act.origin] if act and isinstance(act.origin, Origin) else []):
        block.append(within(origin, policy.domains.blocked))
        ask.append(within(origin, policy.domains.approval_required))
        unlisted.append(not within(origin, policy.domains.allowed + policy.domains.approval_required))
    for request in requests:
        if request.method == "POST" and not any(sure(entry, request) for entry in policy.background):
            block.append(policy.writes is Status.BLOCKED)
            ask.append(policy.writes is Status.APPROVAL_REQUIRED)
    for rule in policy.rules:
        if (act or rule.when.request) and holds(rule.when, act, holding, requests) is not False:
            (block if rule.decision is Status.BLOCKED else ask).append(True)
    own = Status.BLOCKED if any(block) or any(unlisted) else Status.APPROVAL_REQUIRED if any(ask) else Status.ALLOWED
    return max([own, *(model(parent, act, requests) for parent in policy.parents)], key=list(Status).index)


def within(origin: Origin, patterns: tuple[OriginPattern, ...]) -> bool:
    return any(origin.host.endswith("." + p.origin.host) if p.subdomains else origin == p.origin for p in patterns)


def conjunction(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def disjunction(parts: list[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def holds(when: RuleWhen, act: Act | None, holding: set[str], requests: tuple[Request, ...]) -> bool | None:
    parts: list[bool | None] = []
    if when.action:
        parts.append(act.action_type in when.action if act else None)
    if when.effect:
        parts.append(disjunction([label in holding or (None if label in act.effect.unclear else False) for label in when.effect]) if act else None)
    if when.element:
        parts.append(element_holds(when.element, act) if act else None)
    if when.request:
        unseen: list[bool | None] = [None] if act and act.effect.requests_unclear else []
        parts.append(disjunction([request_holds(when.request, request) for request in requests] + unseen))
    return conjunction(parts)


def element_holds(when: ElementWhen, act: Act) -> bool | None:
    if not isinstance(act.element, Element):
        return False if act.element is None else None
    return (when.selector is None or when.selector in act.element.selectors) and (not when.name or act.element.name in {m.value for m in when.name})


def request_holds(when: RequestWhen, request: Request) -> bool | None:
    path = request.address.path
    normal = posixpath.normpath(unquote(path))
    forms = {path, normal, f"{normal}/"}
    parts: list[bool | None] = [
        not when.method or request.method in when.method,
        not when.origin or within(request.address.origin, when.origin),
        not when.path or any(match.value in forms for match in when.path),
    ]
    for name, values in when.form.items():
        pairs = () if request.fields is None else request.fields
        wanted = {value.value for value in values}
        parts.append(None if pairs is UNKNOWN else disjunction([None if v is None else v in wanted for n, v in pairs if n == name]))
    return conjunction(parts)


def sure(when: RequestWhen, request: Request) -> bool:
    path = request.address.path
    return request_holds(when, request) is True and (not when.path or (path in {m.value for m in when.path} and unquote(path) == posixpath.normpath(path)))


@many
@given(policies, acts)
def test_an_act_is_decided_as_the_design_says(policy: Policy, act: Act) -> None:
    decision = decide_act(policy, act)
    assert decision.status is model(policy, act, act.effect.requests)
    assert decision.reason.isprintable()
    assert (decision.risk_level == "low") <= (decision.status is Status.ALLOWED)


@many
@given(policies, requests)
def test_a_request_is_decided_as_the_design_says(policy: Policy, request: Request) -> None:
    assert decide_request(policy, request).status is model(policy, None, (request,))


def as_strict(stricter: Decision, than: Decision) -> bool:
    return stricter.status.rank >= than.status.rank


@many
@given(policies, acts, requests, st.randoms(use_true_random=False))
def test_order_and_duplicates_change_nothing(policy: Policy, act: Act, request: Request, random: object) -> None:
    def mixed(items: tuple[object, ...]) -> tuple[object, ...]:
        again = [*items, *items]
        random.shuffle(again)  # type: ignore[attr-defined]
        return tuple(again)

    domains = Domains(**{name: mixed(getattr(policy.domains, name)) for name in ("allowed", "approval_required", "blocked")})  # type: ignore[arg-type]
    shuffled = replace(policy, rules=mixed(policy.rules), background=mixed(policy.background), domains=domains, parents=mixed(policy.parents))  # type: ignore[arg-type]
    effect = replace(act.effect, requests=mixed(act.effect.requests))  # type: ignore[arg-type]
    assert decide_act(shuffled, replace(act, effect=effect)) == decide_act(policy, act)
    assert decide_request(shuffled, request) == decide_request(policy, request)
    assert selectors(shuffled) == selectors(policy)


@many
@given(policies, acts, requests, rules)
def test_another_rule_never_permits_more(policy: Policy, act: Act, request: Request, rule: Rule) -> None:
    more = replace(policy, rules=(*policy.rules, rule))
    assert as_strict(decide_act(more, act), than=decide_act(policy, act))
    assert as_strict(decide_request(more, request), than=decide_request(policy, request))


@many
@given(policies, acts, requests, whens)
def test_an_allow_rule_changes_nothing(policy: Policy, act: Act, request: Request, when: RuleWhen) -> None:
    more = replace(policy, rules=(*policy.rules, Rule(id="yes", decision=Status.ALLOWED, when=when)))
    assert decide_act(more, act) == decide_act(policy, act)
    assert decide_request(more, request) == decide_request(policy, request)


@many
@given(policies, acts, requests, st.sampled_from(["actions", "effects", "domains"]), st.sampled_from(ACTIONS + LABELS), st.sampled_from(PATTERNS), st.booleans())
def test_a_stricter_list_never_permits_more(policy: Policy, act: Act, request: Request, which: str, name: str, pattern: OriginPattern, ban: bool) -> None:
    """A further name in a block list; in an approval list one that was allowed; one less in an allowed list."""
    mine = getattr(policy, which)
    if which == "domains":
        banned, moved = replace(mine, blocked=(*mine.blocked, pattern)), replace(mine, approval_required=mine.approval_required + mine.allowed, allowed=())
    else:
        banned = replace(mine, blocked=mine.blocked | {name})
        moved = replace(mine, allowed=mine.allowed - {name}, approval_required=mine.approval_required | (mine.allowed & {name}))
    stricter = replace(policy, **{which: banned if ban else moved})
    assert as_strict(decide_act(stricter, act), than=decide_act(policy, act))
    assert as_strict(decide_request(stricter, request), than=decide_request(policy, request))


@many
@given(policies, acts, requests)
def test_the_other_switches_only_tighten(policy: Policy, act: Act, request: Request) -> None:
    for stricter in (replace(policy, background=()), replace(policy, writes=Status.BLOCKED)):
        assert as_strict(decide_act(stricter, act), than=decide_act(policy, act))
        assert as_strict(decide_request(stricter, request), than=decide_request(policy, request))


@many
@given(policies, plain_policies, acts, requests)
def test_a_parent_only_tightens(policy: Policy, parent: Policy, act: Act, request: Request) -> None:
    child = replace(policy, parents=(*policy.parents, parent))
    for one in (policy, parent):
        assert as_strict(decide_act(child, act), than=decide_act(one, act))
        assert as_strict(decide_request(child, request), than=decide_request(one, request))
    assert decide_act(replace(policy, parents=(*policy.parents, policy)), act) == decide_act(policy, act)


def hidden(act: Act, what: int) -> Act:
    """The act with one fact less."""
    effect = act.effect
    match what:
        case 0:
            return replace(act, element=UNKNOWN)
        case 1:
            return replace(act, origin=UNKNOWN)
        case 2:
            return replace(act, effect=replace(effect, unclear=effect.unclear | effect.labels, labels=frozenset()))
        case 3:
            return replace(act, effect=replace(effect, requests=(), requests_unclear=True))
        case 4:
            return replace(act, effect=replace(effect, requests=tuple(replace(request, fields=UNKNOWN) for request in effect.requests)))
        case _:
            return replace(act, effect=replace(effect, unclear=effect.unclear | set(LABELS)))


@many
@given(policies, acts, st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=3))
def test_hiding_a_fact_never_permits_more(policy: Policy, act: Act, what: list[int]) -> None:
    less = act
    for one in what:
        less = hidden(less, one)
    assert as_strict(decide_act(policy, less), than=decide_act(policy, act))


@many
@given(policies, requests)
def test_hiding_a_body_never_permits_more(policy: Policy, request: Request) -> None:
    assert as_strict(decide_request(policy, replace(request, fields=UNKNOWN)), than=decide_request(policy, request))


@many
@given(policies, acts, requests)
def test_more_effect_never_permits_more(policy: Policy, act: Act, request: Request) -> None:
    assume("payment" not in act.effect.unclear)  # there a label that holds is not more: it ends a doubt
    for more in (replace(act.effect, labels=act.effect.labels | {"payment"}), replace(act.effect, requests=(*act.effect.requests, request))):
        assert as_strict(decide_act(policy, replace(act, effect=more)), than=decide_act(policy, act))


@many
@given(policies, acts, st.lists(st.sampled_from(Status), max_size=3))
def test_raising_ends_at_the_strictest_word(policy: Policy, act: Act, said: list[Status]) -> None:
    decision = decide_act(policy, act)
    raised = decision
    for status in said:
        raised = raise_to(raised, status, "hook.x", "because")
    assert raised.status is max([decision.status, *said], key=list(Status).index)
