"""Nobody is asked: every request is denied. The approver of a suite that names none."""

from __future__ import annotations

from deskcert_core.api import Approval, ApprovalRequest

__all__ = ["Deny"]


class Deny:
    """Denies at once."""

    deskcert_api = 1
    assurance = "auto"

    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(outcome="denied", who="deny", assurance=self.assurance, reason="the approver deny answers every request so")
