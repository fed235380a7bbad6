"""One trial: look, ask the agent, let the gate decide, record, act, settle; until the agent finishes or something stops it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal

from deskcert_core.address import Address, parse
from deskcert_core.agent import Brief, LastResult, Observation
from deskcert_core.budget import Limits, Spent
from deskcert_core.effect import Grounding, Request
from deskcert_core.errors import AgentFault, HarnessFault
from deskcert_core.evidence.record import Intended, Observed, Proposed, Resulted, TrialEnded
from deskcert_core.evidence.store import JournalWriter, RunFolder
from deskcert_core.execution import ExecutionResult, Page, SecretValue, Seen
from deskcert_core.gate import Grant, Outcome
from deskcert_core.policy.rules import Policy, Status
from deskcert_core.proposal import NEVER_EXECUTED, ActionType, Proposal
from deskcert_core.session.act import ActDesk
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.progress import Progress, Watcher
from deskcert_core.session.traffic import Load, PageTraffic, blocked, reason_of
from deskcert_core.task import Suite, Task

__all__ = ["Trial"]

PROPOSAL_SECONDS = 300.0
BROKEN, GONE = 500, (404, 410)  # of a start page: the status of an application, or of a suite, that is not in order
UNCHANGING = frozenset({ActionType.READ, ActionType.SCREENSHOT})
WAITING = UNCHANGING | {ActionType.WAIT_FOR}
AWAY = WAITING | {ActionType.GOTO, ActionType.GO_BACK, ActionType.GO_FORWARD}
BLANK = parse("about:blank")
MOVING = frozenset({ActionType.SCROLL, ActionType.WAIT_FOR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The newest observation as it was recorded."""

    seen: Seen
    text: str
    screenshot: str | None


@dataclass(slots=True, kw_only=True)
class Trial:
    """Everything one trial needs, and what it has used so far. `run` is called once."""

    task: Task
    suite: Suite
    policy: Policy
    page: Page
    agent: AgentProcess
    traffic: PageTraffic
    desk: ActDesk
    journal: JournalWriter
    folder: RunFolder
    secrets: Mapping[str, SecretValue]
    watch: Watcher
    spent: Spent = field(default_factory=Spent)
    started: float = 0.0
    dialogs: int = 0
    look: Look | None = None
    stood: Address | None = None
    fresh: bool = True

    async def run(self) -> TrialEnded:
        """From the start page to the end; gives the closing record. Raises AgentFault and HarnessFault."""
        self.started = time.monotonic()
        await self.open_start()
        await self.agent.begin(self.brief())
        ended = await self.steps()
        await self.see(self.desk.step, shown=False)
        return ended

    async def open_start(self) -> None:
        """Step 0: the harness opens the start page; the agent is not charged for it."""
        proposal = Proposal(action_type=ActionType.GOTO, url=self.task.start_url)
        grounding = await self.page.ground(proposal)
        if grounding.problem or grounding.destination is None:
            raise HarnessFault(f"the start page cannot be opened: {grounding.problem}", whose="application")
        start = Request(method="GET", address=grounding.destination, navigation=True)
        self.traffic.open(agent=False, causes=False, grant=Grant(requests=(start,), origins=frozenset({start.address.origin})))
        result = await self.page.act(proposal, grounding, {})
        await self.page.settle()
        self.traffic.close()
        if result.status != "success":
            raise HarnessFault(f"the start page did not open: {result.message}", whose="application")
        if problem := absent(self.traffic.load):
            raise HarnessFault(f"the start page is not there: {problem}", whose="application")
        await self.see(0, shown=False)

    async def steps(self) -> TrialEnded:
        """One step after another; the limits stand before the look, before the act, and while the agent thinks."""
        seen_before: Counter[tuple[object, ...]] = Counter()
        last: LastResult | None = None
        for number in count(1):
            if ended := self.may_go_on(number):
                return ended
            self.desk.step = number
            look = await self.see(number, shown=True)
            if self.dialogs > self.limits.max_dialogs:
                return TrialEnded(reason="dialog_limit", message=f"more than {self.limits.max_dialogs} dialogs")
            proposal = await self.ask_agent(number, look, last)
            if isinstance(proposal, TrialEnded):
                return proposal
            self.journal.append(Proposed(step=number, proposal=proposal))
            if ended := self.may_act(proposal, look, seen_before):
                return ended
            self.watch(self.progress(number, proposal))
            last_or_end = await self.act(number, proposal)
            if isinstance(last_or_end, TrialEnded):
                return last_or_end
            last = last_or_end
        raise AssertionError("count() never ends")

    # -- the limits
    @property
    def limits(self) -> Limits:
        return self.task.limits

    @property
    def left(self) -> float:
        """Seconds of run time left; waiting for people does not count."""
        return self.limits.max_runtime_seconds - (time.monotonic() - self.started) + self.desk.waited.seconds

    def may_go_on(self, number: int) -> TrialEnded | None:
        if number > self.limits.max_steps:
            return TrialEnded(reason="step_limit", message=f"the agent wanted more than {self.limits.max_steps} steps")
        if self.left <= 0:
            return TrialEnded(reason="runtime_limit", message=f"more than {self.limits.max_runtime_seconds:g} s")
        if not self.spent.ahead(self.suite.costs).within(self.limits):
            return TrialEnded(reason="cost_limit", message="the next step would cost more than the limit")
        return None

    def may_act(self, proposal: Proposal, look: Look, before: Counter[tuple[object, ...]]) -> TrialEnded | None:
        """Money and loops, once the proposal is known."""
        costs = self.suite.costs
        if proposal.usage is None and self.agent.calls_model and self.limits.max_cost_micro_usd is not None:
            return TrialEnded(reason="cost_limit", message="the agent calls a model and did not say what the call used")
        if proposal.usage and (unpriced := costs.unpriced(proposal.usage)) and self.limits.max_cost_micro_usd is not None:
            return TrialEnded(reason="cost_limit", message=unpriced)
        self.spent = self.spent.act(costs, proposal.usage)
        if not self.spent.within(self.limits):
            return TrialEnded(reason="cost_limit", message="the model call cost more than was left")
        picture = look.screenshot if proposal.action_type in MOVING else None
        key = (proposal.action_type, proposal.target, proposal.value, proposal.url, look.seen.url, look.text, picture)
        before[key] += 1
        if before[key] > self.limits.max_repeats:
            return TrialEnded(reason="repeat_limit", message=f"{proposal.action_type} on the same page for the {before[key]}th time")
        return None

    # -- looking and asking
    async def see(self, step: int, *, shown: bool) -> Look:
        """Look, store, record. No new picture where nothing was executed and the page says the same as before."""
        old = self.look
        seen = await self.page.observe(picture=self.fresh or old is None)
        text = self.folder.text_blob(seen.text)
        if seen.screenshot is None and not self.fresh and old and seen.dialog is None:
            if (old.text, old.seen.url) == (text, seen.url):
                screenshot = old.screenshot
                seen = replace(seen, screenshot=old.seen.screenshot)
            else:
                self.fresh = True
                return await self.see(step, shown=shown)
        else:
            screenshot = self.folder.blob(seen.screenshot) if seen.screenshot else None
        self.journal.append(Observed(
            step=step, url=seen.url, title=seen.title, text=text, screenshot=screenshot, dialog=seen.dialog, fell_back=seen.fell_back,
            shown_to_agent=shown, events=seen.events, whole=seen.whole,
        ))
        if shown and screenshot:
            self.spent = self.spent.look(self.suite.costs)
        self.dialogs += seen.dialog is not None
        self.look, self.fresh = Look(seen=seen, text=text, screenshot=screenshot), False
        self.desk.page_url, self.desk.screenshot = seen.url, screenshot
        return self.look

    def brief(self) -> Brief:
        actions = sorted(self.policy.actions.allowed | self.policy.actions.approval_required)
        return Brief(
            task_id=self.task.id, goal=self.task.goal, start_url=self.task.start_url, inputs=self.task.inputs, action_types=tuple(actions),
            secrets=tuple(sorted(self.secrets)), max_steps=self.limits.max_steps, script=self.task.script if self.agent.wants_script else None,
        )

    async def ask_agent(self, number: int, look: Look, last: LastResult | None) -> Proposal | TrialEnded:
        seen = look.seen
        observation = self.folder.shown(Observation(
            step=number, url=seen.url, title=seen.title, text=seen.text, screenshot=seen.screenshot, dialog=seen.dialog, last_result=last,
        ))
        patience = min(PROPOSAL_SECONDS, self.left)
        try:
            return await self.agent.propose(observation, patience)
        except AgentFault:
            if self.left <= 0:
                return TrialEnded(reason="runtime_limit", message=f"more than {self.limits.max_runtime_seconds:g} s, spent waiting for the agent")
            raise

    # -- acting
    async def act(self, number: int, proposal: Proposal) -> LastResult | TrialEnded:
        """One proposal through the gate and, if it may, into the page."""
        outcome = await self.desk.decide(proposal, await self.ground(proposal), lambda: self.ground(proposal))
        if not outcome.go:
            return self.not_done(number, outcome)
        if proposal.action_type is ActionType.FINISH:
            self.journal.append(Resulted(step=number, result=ExecutionResult(status="success")))
            return TrialEnded(reason="finished", final_status=proposal.final_status or "success", answer=proposal.answer)
        if proposal.action_type in NEVER_EXECUTED:
            result = ExecutionResult(status="not_executed", message=f"nothing executes {proposal.action_type}")
        else:
            result = await self.execute(number, proposal, outcome)
        self.journal.append(Resulted(step=number, result=result), sync=True)
        return self.after(outcome, result)

    async def ground(self, proposal: Proposal) -> Grounding:
        """As the page says; but what only looks at, or leaves, a page that never came touches no origin: the agent may not have gone there itself."""
        grounding = await self.page.ground(proposal)
        self.stood = grounding.page
        if proposal.action_type in AWAY and grounding.element is None and self.traffic.nobodys(grounding.page):
            return replace(grounding, page=BLANK)
        return grounding

    async def execute(self, number: int, proposal: Proposal, outcome: Outcome) -> ExecutionResult:
        """The one place where the executor is called for an agent. The intent is on the disk before it."""
        self.journal.append(Intended(step=number), sync=True)
        self.traffic.open(agent=True, causes=proposal.action_type not in WAITING, grant=outcome.grant)
        result = await self.page.act(proposal, replace(outcome.grounding, page=self.stood), self.secrets)
        if proposal.action_type not in UNCHANGING:
            self.fresh = True
            await self.page.settle()
        while self.traffic.holding:
            await self.traffic.free()
            await self.page.settle()
        self.traffic.close()
        return result

    def not_done(self, number: int, outcome: Outcome) -> LastResult | TrialEnded:
        """An act that did not pass the gate, or had nothing to act on."""
        problem, decision = outcome.grounding.problem, outcome.decision
        if problem and decision.status is not Status.BLOCKED and outcome.approval == "not_required":
            result = ExecutionResult(status="error", message=problem)
            self.journal.append(Resulted(step=number, result=result))
            return LastResult(status="error", decision=decision.status.value, message=problem)
        self.journal.append(Resulted(step=number, result=ExecutionResult(status="not_executed", message=decision.reason)))
        if decision.status is Status.BLOCKED:
            return self.stop_or_tell(self.policy.on_block, "blocked", reason_of(decision), decision.status)
        return self.stop_or_tell(self.policy.on_denied, "denied", f"approval {outcome.approval}: {reason_of(decision)}", decision.status, outcome.approval)

    def after(self, outcome: Outcome, result: ExecutionResult) -> LastResult | TrialEnded:
        """What an executed act leaves: its own refused requests count as much as a refused act."""
        for refused in self.traffic.refused:
            if blocked(refused):
                return self.stop_or_tell(self.policy.on_block, "blocked", f"its request was blocked: {reason_of(refused.decision)}", Status.BLOCKED)
            text = f"its request was not approved ({refused.approval}): {reason_of(refused.decision)}"
            return self.stop_or_tell(self.policy.on_denied, "denied", text, Status.APPROVAL_REQUIRED, refused.approval)
        return LastResult(status=result.status, decision=outcome.decision.status.value, approval=outcome.approval, message=result.message)

    def stop_or_tell(self, how: str, reason: Literal["blocked", "denied"], message: str, status: Status, approval: str = "not_required") -> LastResult | TrialEnded:
        if how == "tell_agent":
            return LastResult(status="not_executed", decision=status.value, approval=approval, message=message)
        return TrialEnded(reason=reason, message=message)

    def progress(self, number: int, proposal: Proposal) -> Progress:
        what = proposal.target or proposal.url or proposal.final_status or ""
        return Progress(kind="step", task_id=self.task.id, text=f"{proposal.action_type} {what}".rstrip(), step=number, max_steps=self.limits.max_steps)


def absent(load: Load | None) -> str:
    """Why a top document is no page of the application; empty where it is one, or came without a request (a file)."""
    if load is None:
        return ""
    if load.status is None:
        return "the application broke off" if load.answered else "the application did not answer in time"
    return f"the application answered with {load.status}" if load.status >= BROKEN or load.status in GONE else ""
