"""One turn of a model that asks for several acts at once: given out one by one, each of them answered, nothing proposed after one that went wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from deskcert_core.api import LastResult, Observation, Proposal, Usage

__all__ = ["NOT_EXECUTED", "Act", "Answer", "Bill", "Turn", "summary"]

NOT_EXECUTED = "Not executed: an earlier action in this turn failed."
DIALOG_OPENED = "Not executed: a dialog opened after an earlier action in this turn."
SUMMARY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act of a turn. `call` is the provider's id of the tool call; acts that follow each other may share it.

    Without a proposal it is answered at once, by `text`: as an error if it `failed`, and then the rest of the turn is not executed.
    """

    call: str
    proposal: Proposal | None = None
    text: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How an act ended, and the page as it was seen afterwards. `approval` is the approver's outcome."""

    call: str
    text: str
    failed: bool
    observation: Observation
    approval: str = "not_required"


class Turn:
    """The acts of one turn, in order. Used up once `step` gives None; then every act has its answer."""

    def __init__(self, acts: Iterable[Act] = ()) -> None:
        self._left = deque(acts)
        self._out: Act | None = None
        self._stopped = ""
        self.answers: list[Answer] = []

    def step(self, observation: Observation) -> Proposal | None:
        """Take how the proposal given out last ended, and give the next one; None if there is none."""
        if self._out is not None:
            self._take(self._out, observation)
            self._out = None
        while self._left:
            act = self._left.popleft()
            if self._stopped:
                self.answers.append(Answer(call=act.call, text=self._stopped, failed=True, observation=observation))
            elif act.proposal is None:
                self.answers.append(Answer(call=act.call, text=act.text, failed=act.failed, observation=observation))
                self._stopped = NOT_EXECUTED if act.failed else ""
            else:
                self._out = act
                return act.proposal
        return None

    def _take(self, act: Act, observation: Observation) -> None:
        """No word of the outcome counts as a failure."""
        last = observation.last_result or LastResult(status="outcome_unknown", decision="unknown")
        failed = last.status != "success"
        self.answers.append(Answer(call=act.call, text=told(last), failed=failed, observation=observation, approval=last.approval))
        self._stopped = NOT_EXECUTED if failed else DIALOG_OPENED if observation.dialog else ""


class Bill:
    """What calls of the model used and no proposal has carried yet: each call is billed once."""

    def __init__(self) -> None:
        self._due: Usage | None = None
        self._unsaid = False

    def add(self, used: Usage | None) -> None:
        """One call's usage; None where the service did not say, which must not pass as nothing. Raises ValueError if another
        model answers before the last call was carried: one proposal names one model."""
        if used is None:
            self._unsaid = True
            return
        due = self._due or Usage(model=used.model)
        if due.model != used.model and due != Usage(model=due.model):
            raise ValueError(f"the service answered with {used.model!r} after {due.model!r}: one proposal cannot carry the cost of both")
        self._due = replace(
            used, input_tokens=due.input_tokens + used.input_tokens, output_tokens=due.output_tokens + used.output_tokens,
            cache_read_tokens=due.cache_read_tokens + used.cache_read_tokens, cache_write_tokens=due.cache_write_tokens + used.cache_write_tokens,
            reasoning_tokens=due.reasoning_tokens + used.reasoning_tokens,
        )

    def take(self) -> Usage | None:
        """What is due, and from then on zero tokens of the same model; None where a call did not say what it used, or none was made."""
        if self._unsaid:
            self._unsaid = False
            return None
        due = self._due
        self._due = Usage(model=due.model) if due else None
        return due


def told(last: LastResult) -> str:
    """The outcome in words for the model."""
    if last.status == "success":
        return last.message
    why = last.message or last.status
    if last.decision == "blocked":
        return f"Blocked by policy: {why}"
    return f"Not approved ({last.approval}): {why}" if last.approval not in ("not_required", "approved") else why


def summary(text: str) -> str:
    """A model's words as a `decision_summary`: one line of at most 500 characters."""
    return " ".join(text.split())[:SUMMARY]
