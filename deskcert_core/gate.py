"""One act, or one request, from proposal to verdict: pure and without I/O, in the manner of h11.

`act_gate` and `request_gate` are generators. They yield a question, the session answers it with `send`, and what they return is the outcome.
Two rules: every answer can only tighten; and nothing is asked that the decision does not need, so the same answers give the same outcome.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from deskcert_core.address import Origin, bare
from deskcert_core.approval import Approval, ApprovalOutcome
from deskcert_core.effect import UNKNOWN, Effect, Element, Form, Grounding, Request, Unknown, claim_mismatch, classify, crlf
from deskcert_core.policy.engine import Act, decide_act, decide_request, only_origin_asks, raise_to
from deskcert_core.policy.rules import Decision, Policy, Status
from deskcert_core.proposal import ActionType, Proposal

__all__ = [
    "Answer", "Grant", "NeedApproval", "NeedGrounding", "NeedLabels", "NeedVerdicts", "Outcome", "RequestOutcome", "Ruled", "Tightening",
    "act_gate", "changed", "request_gate",
]

T = TypeVar("T")
OF_FORMS = frozenset({"", "application/x-www-form-urlencoded", "multipart/form-data"})


class Tightening(Protocol):
    """A hook's word: a status to raise to, by whom, and why."""

    @property
    def status(self) -> Status: ...
    @property
    def by(self) -> str: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedLabels:
    """Ask the effect classifiers. Answer: a frozenset of further labels."""

    grounding: Grounding
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedVerdicts:
    """Ask the hooks. Answer: a tuple of Tightening."""

    decision: Decision
    grounding: Grounding | None = None
    effect: Effect | None = None
    request: Request | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """The decision stands: record it before anything else happens. Answer: None."""

    decision: Decision
    effect: Effect
    claim_mismatch: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedApproval:
    """Ask the approver. Answer: an Approval."""

    decision: Decision
    effect: Effect | None = None
    request: Request | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedGrounding:
    """Ground the same proposal again, just before the act. Answer: a Grounding."""


Question = NeedLabels | NeedVerdicts | Ruled | NeedApproval | NeedGrounding
Answer = frozenset[str] | tuple[Tightening, ...] | Approval | Grounding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a passed act may send without being asked for again: each predicted request once. It also lets read from the `origins` it was let go to,
    where nothing but the origin asks for an approval."""

    requests: tuple[Request, ...] = ()
    origins: frozenset[Origin] = frozenset()

    def covers(self, request: Request) -> bool:
        """Whether it is one of the predicted requests."""
        return any(same_request(mine, request) for mine in self.requests)

    def reads(self, request: Request) -> bool:
        return not request.writes and request.address.origin in self.origins

    def without(self, request: Request) -> Grant:
        """The same grant with the first request that this one uses up taken out."""
        for place, mine in enumerate(self.requests):
            if same_request(mine, request):
                return replace(self, requests=self.requests[:place] + self.requests[place + 1 :])
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where an act ended. `go` is the only word on which the executor may be called, with `grounding`, for what `grant` covers."""

    go: bool
    decision: Decision
    approval: ApprovalOutcome
    grounding: Grounding
    grant: Grant = Grant()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """Where a request ended. `granted` means that an act's grant stood in for the approval."""

    go: bool
    decision: Decision
    approval: ApprovalOutcome
    granted: bool = False


def act_gate(policy: Policy, proposal: Proposal, grounding: Grounding, home: tuple[Origin, ...]) -> Generator[Question, Answer, Outcome]:
    """One proposal to its outcome. Without a target to act on nobody is asked: the policy still decides, and nothing can happen."""
    effect = classify(proposal, grounding, home)
    more = yield NeedLabels(grounding=grounding, effect=effect)
    effect = replace(effect, labels=effect.labels | expect(more, frozenset))
    decision = decide_act(policy, act_of(proposal, grounding, effect))
    if proposal.safety_checks:
        decision = raise_to(decision, Status.APPROVAL_REQUIRED, "agent.safety_check", f"the model's provider asks for a person: {'; '.join(proposal.safety_checks)}")
    decision = tighten(decision, (yield NeedVerdicts(decision=decision, grounding=grounding, effect=effect)))
    mismatch = claim_mismatch(proposal.decision_summary, proposal.action_type, effect, grounding)
    yield Ruled(decision=decision, effect=effect, claim_mismatch=mismatch)
    if decision.status is Status.BLOCKED or grounding.problem:
        return Outcome(go=False, decision=decision, approval="not_required", grounding=grounding)
    if decision.status is Status.ALLOWED:
        return Outcome(go=True, decision=decision, approval="not_required", grounding=grounding, grant=grant_of(effect, grounding.form))
    approval = expect((yield NeedApproval(decision=decision, effect=effect)), Approval)
    if approval.outcome != "approved":
        return Outcome(go=False, decision=decision, approval=approval.outcome, grounding=grounding)
    again = expect((yield NeedGrounding()), Grounding)
    if changed(grounding, again):
        return Outcome(go=False, decision=decision, approval="stale", grounding=again)
    return Outcome(go=True, decision=decision, approval="approved", grounding=again, grant=grant_of(effect, grounding.form))


def request_gate(policy: Policy, request: Request, grant: Grant, *, may_ask: bool) -> Generator[Question, Answer, RequestOutcome]:
    """One request to its outcome; outside a step (`may_ask` false) nobody is asked. A grant stands in for an approval, never against a block,
    and where it lets read only for the approval of the origin itself, never for a rule's or a hook's."""
    decision = decide_request(policy, request)
    said = expect((yield NeedVerdicts(decision=decision, request=request)), tuple)
    decision = tighten(decision, said)
    match decision.status:
        case Status.BLOCKED:
            return RequestOutcome(go=False, decision=decision, approval="not_required")
        case Status.ALLOWED:
            return RequestOutcome(go=True, decision=decision, approval="not_required")
    by_origin = only_origin_asks(policy, request) and all(one.status is Status.ALLOWED for one in said)
    if grant.covers(request) or (by_origin and grant.reads(request)):
        return RequestOutcome(go=True, decision=decision, approval="not_required", granted=True)
    if not may_ask:
        return RequestOutcome(go=False, decision=decision, approval="unavailable")
    approval = expect((yield NeedApproval(decision=decision, request=request)), Approval)
    return RequestOutcome(go=approval.outcome == "approved", decision=decision, approval=approval.outcome)


def act_of(proposal: Proposal, grounding: Grounding, effect: Effect) -> Act:
    """The facts a policy decides an act on. A goto is judged where it goes, any other act where its element stands."""
    page = grounding.page.origin if grounding.page else UNKNOWN
    if proposal.action_type is ActionType.FINISH:  # acts on no page
        return Act(action_type=proposal.action_type, effect=effect)
    if proposal.action_type is ActionType.GOTO:
        origin = grounding.destination.origin if grounding.destination else UNKNOWN
        return Act(action_type=proposal.action_type, effect=effect, origin=origin)
    element = grounding.element
    own = element.origin if isinstance(element, Element) else None
    return Act(action_type=proposal.action_type, effect=effect, element=element, origin=own or page)


def grant_of(effect: Effect, form: Form | Unknown | None) -> Grant:
    """What is sent of a form with a value that nobody saw is no part of it, passwords apart: the real request is judged by itself."""
    unseen = isinstance(form, Form) and any(one.value is None and one.kind != "password" for one in form.fields)
    requests = tuple(one for one in effect.requests if not (unseen and one.writes))
    return Grant(requests=requests, origins=frozenset(one.address.origin for one in effect.requests))


def tighten(decision: Decision, answers: Answer) -> Decision:
    for answer in expect(answers, tuple):
        decision = raise_to(decision, answer.status, answer.by, answer.reason)
    return decision


def changed(before: Grounding, after: Grounding) -> bool:
    """Whether what would be hit or sent is no longer what was decided on. Place and covering may move: the executor checks them itself."""
    return after.problem is not None or identity(before) != identity(after)


def identity(grounding: Grounding) -> tuple[object, ...]:
    element, form = grounding.element, grounding.form
    thing = replace(element, box=None, covered_by=None) if isinstance(element, Element) else element
    return (grounding.page and grounding.page.href, thing, form if not isinstance(form, Form) else form_identity(form), grounding.destination)


def form_identity(form: Form) -> tuple[object, ...]:
    return (form.action and form.action.href, form.method, form.enctype, form.new_window, form.fields)


def same_request(granted: Request, seen: Request) -> bool:
    """The same method, the same address without its fragment, and the same fields of a form, be they none; a password, predicted without a value,
    may hold any. A file's content is in no prediction."""
    if granted.method != seen.method or bare(granted.address) != bare(seen.address):
        return False
    if not granted.writes:
        return True
    mine, theirs = granted.fields or (), seen.fields or ()
    if isinstance(mine, Unknown) or isinstance(theirs, Unknown) or len(mine) != len(theirs) or seen.files or seen.content_type not in OF_FORMS:
        return False
    return all(a == b and (said is None or (sent is not None and crlf(said) == crlf(sent))) for (a, said), (b, sent) in zip(mine, theirs, strict=True))


def expect(answer: object, kind: type[T]) -> T:
    if not isinstance(answer, kind):
        raise TypeError(f"the gate asked for {kind.__name__} and was given {type(answer).__name__}")
    return answer
