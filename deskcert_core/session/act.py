"""The imperative half of the gate for one trial: asks hooks, classifiers, approver and page what the gate wants to know, and records each answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from deskcert_core.address import Origin
from deskcert_core.approval import Approval, ApprovalRequest
from deskcert_core.effect import Effect, Element, Form, Grounding, Request
from deskcert_core.evidence.record import Approved, Decided
from deskcert_core.evidence.store import JournalWriter
from deskcert_core.gate import (
    Grant,
    NeedApproval,
    NeedGrounding,
    NeedLabels,
    NeedVerdicts,
    Outcome,
    RequestOutcome,
    Ruled,
    act_gate,
    request_gate,
)
from deskcert_core.plugins.hooks import ActSeen, RequestSeenByHook
from deskcert_core.policy.rules import Decision, Policy
from deskcert_core.proposal import Proposal
from deskcert_core.session.desk import Desk, Waited

__all__ = ["ActDesk", "TrialId"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialId:
    """Which trial of which run."""

    run_id: str
    task_id: str
    trial: int


@dataclass(slots=True, kw_only=True)
class ActDesk:
    """One per trial. `step`, `page_url` and `screenshot` are kept up by the trial: they are what an approver is shown."""

    id: TrialId
    policy: Policy
    home: tuple[Origin, ...]
    desk: Desk
    journal: JournalWriter
    waited: Waited = field(default_factory=Waited)
    step: int = 0
    page_url: str = ""
    screenshot: str | None = None
    claim: str = ""
    unseen: frozenset[str] = frozenset()

    async def decide(self, proposal: Proposal, grounding: Grounding, ground: Callable[[], Awaitable[Grounding]]) -> Outcome:
        """Run the act gate to its outcome. The decision is recorded before anybody is asked for an approval."""
        self.claim = proposal.decision_summary
        form = grounding.form
        self.unseen = frozenset(field.name for field in form.fields if field.value is None) if isinstance(form, Form) else frozenset()
        gate = act_gate(self.policy, proposal, grounding, self.home)
        try:
            question = next(gate)
            while True:
                match question:
                    case NeedLabels():
                        question = gate.send(self.desk.labels(proposal, grounding))
                    case NeedVerdicts(effect=effect, decision=decision) if effect is not None:
                        seen = self._act_seen(proposal, grounding, effect, decision)
                        question = gate.send(self.desk.hooks.verdicts(seen))
                    case Ruled(decision=decision, effect=effect, claim_mismatch=mismatch):
                        ruled = Decided(step=self.step, decision=decision, grounding=grounding, effect=effect, claim_mismatch=mismatch)
                        self.journal.append(ruled)
                        question = gate.send(None)
                    case NeedApproval():
                        question = gate.send(await self._approve(question, grounding, None))
                    case NeedGrounding():
                        question = gate.send(await ground())
                    case _:
                        raise TypeError(f"the act gate asked {question!r}")
        except StopIteration as done:
            outcome: Outcome = done.value
            return outcome

    async def decide_request(
        self, request: Request, number: int, grant: Grant, *, may_ask: bool, hold: Callable[[Awaitable[Approval]], Awaitable[Approval]],
    ) -> RequestOutcome:
        """Run the request gate to its outcome; `hold` is told while a person is asked."""
        gate = request_gate(self.policy, request, grant, may_ask=may_ask)
        try:
            question = next(gate)
            while True:
                match question:
                    case NeedVerdicts(decision=decision):
                        seen = self._request_seen(request, decision)
                        question = gate.send(self.desk.hooks.request_verdicts(seen))
                    case NeedApproval():
                        question = gate.send(await hold(self._approve(question, None, number)))
                    case _:
                        raise TypeError(f"the request gate asked {question!r}")
        except StopIteration as done:
            outcome: RequestOutcome = done.value
            return outcome

    def _act_seen(self, proposal: Proposal, grounding: Grounding, effect: Effect, decision: Decision) -> ActSeen:
        of = self.id
        return ActSeen(
            run_id=of.run_id, task_id=of.task_id, trial=of.trial, step=self.step, proposal=proposal, grounding=grounding, effect=effect, decision=decision,
        )

    def _request_seen(self, request: Request, decision: Decision) -> RequestSeenByHook:
        of = self.id
        return RequestSeenByHook(run_id=of.run_id, task_id=of.task_id, trial=of.trial, step=self.step, request=request, decision=decision)

    async def _approve(self, question: NeedApproval, grounding: Grounding | None, number: int | None) -> Approval:
        request = self.journal.shown(self._request(question, grounding))
        approval = await self.desk.approve(request, self.waited)
        self.journal.append(Approved(step=self.step, request=request, approval=approval, number=number), sync=True)
        return approval

    def _request(self, question: NeedApproval, grounding: Grounding | None) -> ApprovalRequest:
        decision, of = question.decision, self.id
        return ApprovalRequest(
            run_id=of.run_id, task_id=of.task_id, trial=of.trial, step=self.step, action=action_of(question, grounding), effect=decision.reason,
            claim=self.claim, matched_rule=decision.matched_rule, risk_level=decision.risk_level, page=self.page_url, form=form_of(question, grounding, self.unseen),
            screenshot=self.screenshot, expires_seconds=self.policy.approvals.expires_seconds,
        )


def action_of(question: NeedApproval, grounding: Grounding | None) -> str:
    """What would happen, in one line, from the effect: never from the claim."""
    if question.request is not None:
        return f"{question.request.method} {question.request.address}"
    element = grounding.element if grounding else None
    hit = f"{element.role or element.tag} {element.name!r}" if isinstance(element, Element) else "the page"
    sends = ", ".join(f"{r.method} {r.address}" for r in (question.effect.requests if question.effect else ()))
    return f"{hit} → {sends}" if sends else hit


def form_of(question: NeedApproval, grounding: Grounding | None, unseen: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The values that would be sent; one that must not be shown (`unseen`: the fields of the act's form without a value, such as passwords) is not."""
    if question.request is not None:
        fields = question.request.fields
        return tuple((name, "(not shown)" if name in unseen else value or "") for name, value in fields) if isinstance(fields, tuple) else ()
    form = grounding.form if grounding else None
    return tuple((f.name, f.value if f.value is not None else f"({f.kind})") for f in form.fields) if isinstance(form, Form) else ()
