"""The three answers of a criterion, in one word each."""

from __future__ import annotations

from deskcert_core.api import Evidence, Judgement, Outcome

__all__ = ["absent", "failed", "passed", "unclear"]


def passed(message: str, *records: int) -> Judgement:
    return Judgement(outcome=Outcome.PASS, message=message, records=records)


def failed(message: str, *records: int) -> Judgement:
    return Judgement(outcome=Outcome.FAIL, message=message, records=records)


def unclear(message: str, *records: int) -> Judgement:
    return Judgement(outcome=Outcome.INCONCLUSIVE, message=message, records=records)


def absent(message: str, evidence: Evidence) -> Judgement:
    """A pass because nothing was found: worth something only where the journal is whole."""
    if evidence.end_reason is None:
        return unclear(f"{message}, but the journal was cut off")
    return passed(message, evidence.end_seq)
