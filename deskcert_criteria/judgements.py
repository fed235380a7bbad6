"""The three answers of a criterion, in one word each."""

from __future__ import annotations

from deskcert_core.api import Evidence, Judgement, Outcome

__all__ = ["absent", "failed", "passed", "unclear"]


def passed(message: str, *records: int) -> Judgement:
    return judgement(Outcome.PASS, message, records)


def failed(message: str, *records: int) -> Judgement:
    return judgement(Outcome.FAIL, message, records)


def unclear(message: str, *records: int) -> Judgement:
    return judgement(Outcome.INCONCLUSIVE, message, records)


def judgement(outcome: Outcome, message: str, records: tuple[int, ...]) -> Judgement:
    """One line; an end that was never recorded (-1) is no record to point at."""
    return Judgement(outcome=outcome, message=" ".join(message.split()), records=tuple(seq for seq in records if seq >= 0))


def absent(message: str, evidence: Evidence) -> Judgement:
    """A pass because nothing was found: worth something only where the journal is whole."""
    if evidence.end_reason is None:
        return unclear(f"{message}, but the journal was cut off")
    return passed(message, evidence.end_seq)
