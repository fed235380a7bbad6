"""How a model that answers in prose says that it has ended: the last line of its last message. Without that line it has not succeeded."""

from __future__ import annotations

import re

from deskcert_core.api import ActionType, FinalStatus, Proposal

__all__ = ["HOW_TO_END", "finish"]

HOW_TO_END = (
    "When you have ended, answer without any action: what was asked for, and as the last line exactly one of "
    "STATUS: success, STATUS: failure, STATUS: needs_help (needs_help if the task cannot be understood or decided without a person)."
)
LINES: dict[str, FinalStatus] = {"success": "success", "failure": "failure", "needs_help": "needs_help"}
LAST_LINE = re.compile(r"(?:\A|\n)[ \t*`]*STATUS:[ \t]*(success|failure|needs_help)[ \t*`]*\Z")


def finish(text: str) -> Proposal:
    """The end that the text states. Without the line, or with another word in it, the status is failure and the summary says so."""
    said = text.strip()
    if found := LAST_LINE.search(said):
        return Proposal(action_type=ActionType.FINISH, final_status=LINES[found[1]], answer=said[: found.start()].strip(), decision_summary=f"ended with {found[1]}")
    return Proposal(action_type=ActionType.FINISH, final_status="failure", answer=said, decision_summary="ended without a STATUS line")
