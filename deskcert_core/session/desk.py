"""Where a run's questions are answered: hooks, effect classifiers, and the approver. Every answer is recorded by who asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from deskcert_core.approval import Approval, ApprovalRequest, Approver
from deskcert_core.effect import Grounding
from deskcert_core.plugins.hooks import Hooks
from deskcert_core.policy.rules import ASSURANCE, Approvals
from deskcert_core.proposal import Proposal
from deskcert_core.session.progress import Progress, Watcher

__all__ = ["Classifier", "Desk", "Waited"]


class Classifier(Protocol):
    """An effect classifier (group deskcert.effects): further labels of an act. It can add, never take away."""

    def classify(self, proposal: Proposal, grounding: Grounding) -> frozenset[str]: ...


@dataclass(slots=True)
class Waited:
    """How long a trial has waited for people, in seconds: it stops the trial's clock and has a limit of its own."""

    seconds: float = 0.0


class Desk:
    """One per run. The approver is asked one question at a time, whatever runs at once."""

    def __init__(self, *, hooks: Hooks, classifiers: Sequence[Classifier], approver: Approver, rules: Approvals, watch: Watcher) -> None:
        self.hooks, self._classifiers, self._approver, self._rules, self._watch = hooks, classifiers, approver, rules, watch
        self._turn = asyncio.Lock()

    def labels(self, proposal: Proposal, grounding: Grounding) -> frozenset[str]:
        """What the policy's classifiers add. An exception is not an answer: it goes up and ends the trial as the harness's fault."""
        return frozenset[str]().union(*(classifier.classify(proposal, grounding) for classifier in self._classifiers))

    async def approve(self, request: ApprovalRequest, waited: Waited) -> Approval:
        """The approver's answer, or why there is none. Never raises, never waits longer than the policy says."""
        if problem := self._unfit():
            return Approval(outcome="unavailable", who="deskcert", reason=problem)
        limit = min(self._rules.expires_seconds, self._rules.max_wait_seconds - waited.seconds)
        async with self._turn:
            began = time.monotonic()
            self._watch(Progress(kind="ask", task_id=request.task_id, step=request.step, text=f"approval asked for: {request.action}"))
            try:
                answer = await asyncio.wait_for(self._approver.ask(replace(request, expires_seconds=int(limit))), limit)
            except TimeoutError:
                answer = Approval(outcome="expired", who="deskcert", reason=f"no answer within {limit:.0f} s")
            except Exception as error:  # a broken approver is no yes
                answer = Approval(outcome="unavailable", who="deskcert", reason=f"the approver failed: {type(error).__name__}: {error}")
            waited.seconds += time.monotonic() - began
            self._watch(Progress(kind="answer", task_id=request.task_id, step=request.step, text=f"approval: {answer.outcome}"))
        if answer.outcome in ("approved", "denied", "expired", "unavailable"):
            return replace(answer, assurance=self._approver.assurance)
        return Approval(outcome="unavailable", who="deskcert", reason=f"the approver answered {answer.outcome!r}")

    def _unfit(self) -> str:
        rules, mine = self._rules, self._approver.assurance
        if mine not in ASSURANCE or ASSURANCE.index(mine) < ASSURANCE.index(rules.min_assurance):
            return f"the policy wants assurance {rules.min_assurance}, the approver has {mine}"
        if rules.quorum > 1:
            return f"the policy wants {rules.quorum} approvers, the approver is one"
        if rules.not_operator:
            return "the policy wants an approver who is not the operator, and this approver cannot tell"
        return ""
