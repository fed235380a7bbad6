"""Decides one act or one request by a policy, from its facts alone. Pure, total, and without an order among rules.

An act has facets: its action type, each effect label, its origin, each request it would send. Each facet and each rule that may hold gives a hit.
Blocked if a block list or block rule holds or cannot be told; else blocked unless every facet stands in an allowed or approval list;
else approval_required if any facet or approval rule says so or cannot be told; else allowed. So the strictest hit decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from posixpath import normpath

from deskcert_core.address import Address, Origin, OriginPattern
from deskcert_core.effect import OWN_LABEL, Effect, Element, Request, Unknown
from deskcert_core.policy.match import Truth, is_background, rule_matches
from deskcert_core.policy.rules import Decision, Lists, Policy, Risk, Rule, Status
from deskcert_core.proposal import NEVER_EXECUTED
from deskcert_core.words import unquoted

__all__ = ["Act", "decide_act", "decide_request", "only_origin_asks", "raise_to", "reaches", "selectors"]

CRITICAL = frozenset({"payment", "password_change", "delete_record", "file_delete", "shell_command", "package_install"})
RISKS: tuple[Risk, ...] = ("low", "medium", "high", "critical")
RISK_OF: dict[Status, Risk] = {Status.ALLOWED: "low", Status.APPROVAL_REQUIRED: "medium", Status.BLOCKED: "high"}
VERB = {Status.ALLOWED: "is allowed", Status.APPROVAL_REQUIRED: "needs approval", Status.BLOCKED: "is blocked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The facts a policy decides an act on. `origin` is where a goto leads, for any other act where it happens; None where it touches no page."""

    action_type: str
    effect: Effect
    element: Element | Unknown | None = None
    origin: Origin | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of the policy that has a say, or a facet that no line allows. `says` is for people."""

    status: Status
    rule: str
    says: str
    facts: tuple[str, ...]

    @property
    def order(self) -> tuple[int, bool, str, str, tuple[str, ...]]:
        """Strictest first, then rules before lists, then by name."""
        return (-self.status.rank, not self.rule.startswith("rules."), self.rule, self.says, self.facts)


def decide_act(policy: Policy, act: Act) -> Decision:
    """Decide what the policy and its parents say of an act, before it happens."""
    critical = not CRITICAL.isdisjoint(labels_of(act))
    return strictest(policy, lambda one: act_hits(one, act), act_scene(act), "critical" if critical else "low")


def decide_request(policy: Policy, request: Request) -> Decision:
    """Decide what the policy and its parents say of a real request. What a rule says of the act behind it cannot be told here: it is read strictly."""
    return strictest(policy, lambda one: met_hits(one, request), request_scene(request), "low")


def only_origin_asks(policy: Policy, request: Request) -> bool:
    """Whether no line but `domains.approval_required` keeps the request from passing: neither the policy's nor a parent's."""
    strict = {hit.rule for hit in met_hits(policy, request) if hit.status is not Status.ALLOWED}
    return strict <= {"domains.approval_required"} and all(only_origin_asks(parent, request) for parent in policy.parents)


def raise_to(decision: Decision, status: Status, by: str, reason: str) -> Decision:
    """The decision raised to a stricter status by a hook or classifier named `by`; the decision itself where that would not be stricter."""
    if status.rank <= decision.status.rank:
        return decision
    risk = max(decision.risk_level, RISK_OF[status], key=RISKS.index)
    return replace(decision, status=status, matched_rule=by, risk_level=risk, reason=reason, line="")


def reaches(policy: Policy, origin: Origin) -> bool:
    """Whether anything may go to an origin, be it with an approval: by the lists of the policy and of each of its parents."""
    return origin_hit(policy, origin, ()).status is not Status.BLOCKED and all(reaches(parent, origin) for parent in policy.parents)


def selectors(policy: Policy) -> tuple[str, ...]:
    """Every element selector of the policy's and its parents' rules, sorted: what the executor must test an element against."""
    own = {rule.when.element.selector for rule in policy.rules if rule.when.element and rule.when.element.selector}
    return tuple(sorted(own.union(*map(selectors, policy.parents))))


def strictest(policy: Policy, hits_of: Callable[[Policy], Iterator[Hit]], scene: str, risk: Risk) -> Decision:
    """The policy alone, then its parents, each alone: on a tie its own word stands."""
    hits = sorted(hits_of(policy), key=lambda hit: hit.order)
    first = hits[0]
    own = Decision(
        status=first.status, matched_rule=first.rule, risk_level=max(risk, RISK_OF[first.status], key=RISKS.index),
        reason=f"{first.says}: {scene}" if scene else first.says,
        facts=tuple(sorted({fact for hit in hits if hit.status is first.status for fact in hit.facts})),
        line=policy.lines.get(first.rule, ""),
    )
    parents = [strictest(parent, hits_of, scene, risk) for parent in policy.parents]
    above = min(parents, key=lambda d: (-d.status.rank, not d.matched_rule.startswith("rules."), d.matched_rule, d.line, d.reason, d.facts), default=own)
    return above if above.status.rank > own.status.rank else own


def labels_of(act: Act) -> frozenset[str]:
    """The labels that hold. An action with an effect of its own has its label whoever built the effect."""
    own = OWN_LABEL.get(act.action_type)
    return act.effect.labels | {own} if own else act.effect.labels


def act_hits(policy: Policy, act: Act) -> Iterator[Hit]:
    yield listed(policy.actions, act.action_type, f"unlisted.action.{act.action_type}", f"the action {act.action_type}", ("action_type",))
    if act.action_type in NEVER_EXECUTED:
        yield Hit(status=Status.BLOCKED, rule=f"never_executed.{act.action_type}", says=f"the action {act.action_type} is never executed", facts=("action_type",))
    for label in labels_of(act):
        yield listed(policy.effects, label, f"unlisted.effect.{label}", label, ("effect.labels",))
    for label in act.effect.unclear - labels_of(act):
        yield unclear_label(policy.effects, label)
    if act.origin is not None:
        yield origin_hit(policy, act.origin, ("origin",))
    for request in act.effect.requests:
        yield from request_hits(policy, request)
    if act.effect.requests_unclear:
        yield Hit(status=Status.BLOCKED, rule="unlisted.domain", says="where it would send a request cannot be told", facts=("effect.requests_unclear",))
    effect = replace(act.effect, labels=labels_of(act))
    for rule in policy.rules:
        yield from rule_hits(rule, rule_matches(rule.when, act.action_type, effect, act.element, effect.requests))


def met_hits(policy: Policy, request: Request) -> Iterator[Hit]:
    yield from request_hits(policy, request)
    if request.kind == "websocket":
        yield Hit(status=Status.BLOCKED, rule="unlisted.websocket", says="no policy can allow a WebSocket yet", facts=("request.kind",))
    for rule in policy.rules:
        if rule.when.request:
            yield from rule_hits(rule, rule_matches(rule.when, None, None, None, (request,)))


def request_hits(policy: Policy, request: Request) -> Iterator[Hit]:
    origin = origin_hit(policy, request.address, ("request.origin",))
    yield origin
    if origin.status is not Status.BLOCKED and request.address.origin.scheme == "file" and not in_roots(policy.file_roots, request.address):
        yield Hit(status=Status.BLOCKED, rule="files.roots", says=f"{request.address.path} is outside files.roots", facts=("request.path",))
    if not request.writes:
        return
    if any(is_background(entry, request) for entry in policy.background):
        yield Hit(status=Status.ALLOWED, rule="requests.background", says="a listed background request", facts=("request",))
    else:
        yield Hit(status=policy.writes, rule="requests.writes", says=f"a {request.method} request {VERB[policy.writes]}", facts=("request.method",))


def in_roots(roots: tuple[str, ...], address: Address) -> bool:
    """Whether a file: address lies in a root as it is written, dots taken out. Links are not followed here: the executor holds each load to its real path."""
    path = normpath(unquoted(address.path))
    return not address.origin.host and any(path == root or path.startswith(root.rstrip("/") + "/") for root in map(normpath, roots))


def rule_hits(rule: Rule, truth: Truth) -> Iterator[Hit]:
    """An `allowed` rule has nothing to say: only lists permit."""
    if truth is Truth.NO or rule.decision is Status.ALLOWED:
        return
    when = rule.when
    named = [name for name in ("action", "effect", "element", "request") if getattr(when, name)]
    doubt = "" if truth is Truth.YES else ", as it cannot be told whether the rule holds,"
    yield Hit(status=rule.decision, rule=f"rules.{rule.id}", says=f"rule {rule.id}{doubt} says it {VERB[rule.decision]}", facts=tuple(named))


def list_status(lists: Lists, name: str) -> Status | None:
    """The strictest list that has the name."""
    if name in lists.blocked:
        return Status.BLOCKED
    if name in lists.approval_required:
        return Status.APPROVAL_REQUIRED
    return Status.ALLOWED if name in lists.allowed else None


def listed(lists: Lists, name: str, unlisted: str, noun: str, facts: tuple[str, ...]) -> Hit:
    status = list_status(lists, name)
    if status is None:
        return Hit(status=Status.BLOCKED, rule=unlisted, says=f"{noun} stands in no list of the policy", facts=facts)
    return Hit(status=status, rule=f"{status}.{name}", says=f"{noun} {VERB[status]}", facts=facts)


def unclear_label(lists: Lists, label: str) -> Hit:
    """A label that cannot be told counts for block and approval, and never as allowed."""
    status = list_status(lists, label)
    says, facts = f"whether it is {label} cannot be told", ("effect.unclear",)
    match status:
        case None:
            return Hit(status=Status.BLOCKED, rule=f"unlisted.effect.{label}", says=says, facts=facts)
        case Status.ALLOWED:
            return Hit(status=Status.APPROVAL_REQUIRED, rule=f"unclear.effect.{label}", says=says, facts=facts)
        case _:
            return Hit(status=status, rule=f"{status}.{label}", says=f"{says}, and {label} {VERB[status]}", facts=facts)


def origin_hit(policy: Policy, where: Origin | Address | Unknown, facts: tuple[str, ...]) -> Hit:
    """The strictest list of `domains` that has the origin. A blank page has none of its own, and no list can name `data:`, `blob:` or `mailto:`."""
    if isinstance(where, Unknown):
        return Hit(status=Status.BLOCKED, rule="unlisted.domain", says="the origin cannot be told", facts=facts)
    origin = where.origin if isinstance(where, Address) else where
    if origin.scheme == "about" and (isinstance(where, Origin) or where.path in ("blank", "srcdoc")):
        return Hit(status=Status.ALLOWED, rule="domains.neutral", says="a blank page", facts=facts)
    ranked: tuple[tuple[Status, tuple[OriginPattern, ...]], ...] = (
        (Status.BLOCKED, policy.domains.blocked),
        (Status.APPROVAL_REQUIRED, policy.domains.approval_required),
        (Status.ALLOWED, policy.domains.allowed),
    )
    for status, patterns in ranked:
        if any(pattern.covers(origin) for pattern in patterns):
            return Hit(status=status, rule=f"domains.{status}", says=f"the origin {origin} {VERB[status]}", facts=facts)
    return Hit(status=Status.BLOCKED, rule="unlisted.domain", says=f"the origin {origin} stands in no list of the policy", facts=facts)


def act_scene(act: Act) -> str:
    """What would be hit and sent, in words. Text of the page is quoted, so that it can neither break the line nor hide in it."""
    what = act.action_type
    if isinstance(act.element, Unknown):
        what = "an element that cannot be read"
    elif act.element:
        what = f"{act.element.role or act.element.tag} {act.element.name!r}"
    sent = sorted({request_scene(request) for request in act.effect.requests})
    return f"{what} sends {' and '.join(sent)}" if sent else what


def request_scene(request: Request) -> str:
    return f"{request.method} {request.address.origin}{request.address.path}"
