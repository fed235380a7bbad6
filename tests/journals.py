"""Journals for the tests of judging: written line by line as a session writes them, without a session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deskcert_core.address import parse
from deskcert_core.approval import Approval, ApprovalRequest
from deskcert_core.budget import Costs, Limits, Usage
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.evidence.record import (
    AgentReady,
    Answered,
    Approved,
    Body,
    Decided,
    EndReason,
    Fault,
    Intended,
    Line,
    Observed,
    Probed,
    Proposed,
    Requested,
    Resulted,
    TrialEnded,
    TrialStarted,
)
from deskcert_core.execution import ExecutionResult
from deskcert_core.policy.rules import Decision, Risk, Status
from deskcert_core.proposal import ActionType, FinalStatus, Proposal, Target
from deskcert_core.task import Assertion, Task
from deskcert_core.trial import Evidence, read_trial

BASE = "http://127.0.0.1:8000"
MS = 1_000_000
COSTS = Costs(per_screenshot=4000, per_action=1000)
RISK: dict[Status, Risk] = {Status.ALLOWED: "low", Status.APPROVAL_REQUIRED: "medium", Status.BLOCKED: "high"}
TOTAL = "Invoice #1048\nTotal $1,248.92"
SUCCESS = "Success: invoice total confirmed."


def task(*assertions: Assertion, max_steps: int = 20) -> Task:
    limits = Limits(max_steps=max_steps, max_runtime_seconds=60, max_cost_micro_usd=1_000_000, max_repeats=3, max_dialogs=5)
    return Task(id="confirm-total", goal="Confirm the total of invoice 1048.", start_url=f"{BASE}/", limits=limits, assertions=assertions)


def decision(status: str = "allowed", rule: str = "", reason: str = "") -> Decision:
    given = Status(status)
    return Decision(status=given, matched_rule=rule or f"{status}.click", risk_level=RISK[given], reason=reason or f"click is {status}")


def approval(outcome: Any = "approved", reason: str = "") -> Approval:
    return Approval(outcome=outcome, who="auto", assurance="auto", reason=reason)


@dataclass(slots=True)
class Journal:
    """A trial's journal in the making. Every record is 10 ms after the one before, unless `wait` says otherwise."""

    lines: list[Line] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)
    now: int = 0
    step: int = 0
    number: int = 0

    def add(self, body: Body) -> int:
        self.now += 10 * MS
        self.lines.append(Line(seq=len(self.lines), prev="", t_ns=self.now, body=body))
        return len(self.lines) - 1

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def start(self, text: str = "Invoices") -> Journal:
        self.add(TrialStarted(run_id="run", task_id="confirm-total", trial=1, agent="scripted", started_at="2026-01-01T00:00:00Z"))
        self.add(AgentReady(adapter="scripted", wants_script=True, isolation="process"))
        self.look(text, shown=False)
        return self

    def look(self, text: str, *, url: str = f"{BASE}/", shown: bool = True, screenshot: str | None = "a" * 64) -> int:
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.blobs[digest] = text
        return self.add(Observed(step=self.step, url=url, title="", text=digest, screenshot=screenshot, shown_to_agent=shown))

    def act(
        self, action: str = "click", *, text: str = "Invoices", selector: str | None = "#total", status: str = "allowed", rule: str = "", reason: str = "",
        answer: Approval | None = None, waited: float = 0, result: str | None = "success", message: str = "", intent: bool = True,
        problem: str | None = None, mismatch: str | None = None, usage: Usage | None = None, value: str | None = None,
    ) -> Journal:
        """A step as far as it went: with `result` None it ends after the intent (or after the decision, without one)."""
        self.step += 1
        self.look(text)
        target = Target(selector=selector) if selector else None
        self.add(Proposed(step=self.step, proposal=Proposal(action_type=ActionType(action), target=target, value=value, usage=usage, decision_summary="see")))
        grounding = Grounding(page=parse(BASE), problem=problem, problem_kind="missing" if problem else None)
        ruled = decision(status, rule or f"{status}.{action}", reason)
        self.add(Decided(step=self.step, decision=ruled, grounding=grounding, effect=Effect(), claim_mismatch=mismatch))
        if answer:
            self.wait(waited)
            self.approved(answer)
        if intent and (result is None or result not in ("not_executed",)) and not problem:
            self.add(Intended(step=self.step))
        if result is not None:
            self.add(Resulted(step=self.step, result=ExecutionResult(status=result, message=message or problem or "")))  # type: ignore[arg-type]
        return self

    def approved(self, answer: Approval, number: int | None = None) -> int:
        request = ApprovalRequest(
            run_id="run", task_id="confirm-total", trial=1, step=self.step, action="button", effect="", claim="", matched_rule="", risk_level="", page=BASE,
        )
        return self.add(Approved(step=self.step, request=request, approval=answer, number=number))

    def request(
        self, method: str = "GET", url: str = f"{BASE}/", *, own: bool = True, let_go: bool = True, status: str = "allowed", answered: int | None = 200,
        granted: bool = False, fields: Any = None, answer: Approval | None = None,
    ) -> int:
        self.number += 1
        if answer:
            self.approved(answer, self.number)
        sent = Request(method=method, address=parse(url), fields=fields)
        seq = self.add(Requested(
            step=self.step, number=self.number, request=sent, decision=decision(status, f"{status}.domain", f"{method} is {status}"), own=own, let_go=let_go,
            granted=granted,
        ))
        if answered is not None:
            self.add(Answered(number=self.number, status=answered))
        return seq

    def finish(self, status: FinalStatus = "success", answer: str | None = "The total of invoice #1048 is $1,248.92.", *, text: str = SUCCESS) -> Journal:
        self.step += 1
        self.look(text)
        self.add(Proposed(step=self.step, proposal=Proposal(action_type=ActionType.FINISH, final_status=status, answer=answer)))
        self.add(Decided(step=self.step, decision=decision("allowed", "allowed.finish"), grounding=Grounding(page=None), effect=Effect()))
        self.add(Resulted(step=self.step, result=ExecutionResult(status="success")))
        self.look(text, shown=False)
        return self.end("finished", status, answer)

    def probe(self, kind: str, params: dict[str, Any], value: Any = None, problem: str | None = None) -> Journal:
        self.add(Probed(name=kind, params=params, value=value, problem=problem))
        return self

    def fault(self, whose: Any, message: str = "broke") -> Journal:
        self.add(Fault(whose=whose, message=message))
        return self

    def end(self, reason: EndReason, status: FinalStatus | None = None, answer: str | None = None, message: str = "") -> Journal:
        self.add(TrialEnded(reason=reason, final_status=status, answer=answer, message=message))
        return self

    def text_of(self, digest: str) -> str:
        return self.blobs[digest]

    def evidence(self, of: Task | None = None, costs: Costs = COSTS, upto: int | None = None) -> Evidence:
        return read_trial(of or task(), self.lines[:upto], self.text_of, costs)


def invoice(before_end: Callable[[Journal], object] = lambda journal: None) -> Journal:
    """The whole invoice trial: read, click, fill, submit with an approval, read, finish."""
    journal = Journal().start()
    journal.act("read").act("click", text=TOTAL).act("fill", text=TOTAL, value="1,248.92")
    journal.act("submit_form", text=TOTAL, status="approval_required", rule="approval_required.form_submit", answer=approval(), waited=30)
    journal.request("POST", f"{BASE}/confirm", status="approval_required", granted=True, fields=(("total", "1248.92"),))
    journal.act("read", text=SUCCESS)
    before_end(journal)
    return journal.finish()


def assertions(given: Mapping[str, Any]) -> tuple[Assertion, ...]:
    """`{type: params}`; a value that is no dict is the parameter `value`."""
    return tuple(Assertion(type=name, params=params if isinstance(params, dict) else {"value": params}) for name, params in given.items())
