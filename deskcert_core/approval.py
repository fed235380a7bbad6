"""The question to a person, and the answer. Anything but a clear yes is not granted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Approval", "ApprovalOutcome", "ApprovalRequest", "Approver"]

ApprovalOutcome = Literal["not_required", "approved", "denied", "expired", "unavailable", "stale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What an approver is shown. `effect` is said in plain words; `form` holds the values that would be sent; `claim` is the agent's own word."""

    run_id: str
    task_id: str
    trial: int
    step: int
    action: str
    effect: str
    claim: str
    matched_rule: str
    risk_level: str
    page: str
    form: tuple[tuple[str, str], ...] = ()
    screenshot: str | None = None
    expires_seconds: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approver's answer; `who` and `assurance` (auto, terminal, …) go into the record."""

    outcome: ApprovalOutcome
    who: str = ""
    assurance: str = "auto"
    reason: str = ""


class Approver(Protocol):
    """Answers one request. Must return within `expires_seconds`; the session stops waiting then anyway (outcome `expired`)."""

    assurance: str

    async def ask(self, request: ApprovalRequest) -> Approval: ...
