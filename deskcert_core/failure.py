"""Why a trial failed: one category, by precedence, with the records that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Category", "Failure", "Finding"]


class Category(StrEnum):
    """In order of precedence: the first that is proved is the trial's."""

    UNSAFE_ACTION_ATTEMPT = "UNSAFE_ACTION_ATTEMPT"
    POLICY_BLOCKED = "POLICY_BLOCKED"
    EXCEEDED_BUDGET = "EXCEEDED_BUDGET"
    LOOPING_BEHAVIOR = "LOOPING_BEHAVIOR"
    TOOL_EXECUTION_ERROR = "TOOL_EXECUTION_ERROR"
    HALLUCINATED_UI_ELEMENT = "HALLUCINATED_UI_ELEMENT"
    BAD_CLICK_TARGET = "BAD_CLICK_TARGET"
    VISUAL_MISREAD = "VISUAL_MISREAD"
    ASSERTION_FAILED = "ASSERTION_FAILED"
    TASK_AMBIGUITY = "TASK_AMBIGUITY"
    NONE = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A category and the sequence numbers of the journal records that prove it."""

    category: Category
    reason: str
    records: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something said beside the category: `claim_mismatch`, `false_success_claim`, `blocked_background`, …"""

    kind: str
    message: str
    records: tuple[int, ...] = ()
