"""Nobody is asked: every request is approved. For test benches; the record says `auto`, and a policy's `min_assurance` can refuse it."""

from __future__ import annotations

from deskcert_core.api import Approval, ApprovalRequest

__all__ = ["Auto"]


class Auto:
    """Approves at once."""

    deskcert_api = 1
    assurance = "auto"

    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(outcome="approved", who="auto", assurance=self.assurance, reason="the approver auto answers every request so")
