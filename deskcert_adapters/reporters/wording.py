"""What both text reporters say in the same words. Text of pages and agents is made harmless here: it may try to steer a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from deskcert_core.api import Evidence, Step, TrialCard

__all__ = ["clean", "dollars", "figures", "heading", "passed_of", "records", "row_of", "seconds", "shown_steps"]

LONGEST = 400
SHOWN_STEPS = 30


def clean(text: str) -> str:
    """One line without control characters, cut at LONGEST."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def passed_of(trials: Sequence[TrialCard]) -> str:
    return f"{sum(trial.verdict == 'PASS' for trial in trials)} of {count(len(trials), 'trial')} passed"


def heading(trial: TrialCard) -> str:
    """The verdict, with the category where there is one."""
    category = trial.failure.category
    return trial.verdict if category == "NONE" else f"{trial.verdict} · {category}"


def figures(trial: TrialCard) -> str:
    parts = [
        f"score {trial.score:g}", count(trial.steps_taken, "step"), count(trial.approval_requests, "approval request"),
        count(trial.policy_violations, "violation"), seconds(trial.runtime_ns), dollars(trial.cost_micro_usd),
    ]
    return " · ".join(parts)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1_000_000_000:.1f} s"


def dollars(micro_usd: int) -> str:
    text = f"{micro_usd / 1_000_000:.6f}".rstrip("0")
    return "$" + (text + "00" if text.endswith(".") else text + "0" if text[-2] == "." else text)


def records(seqs: Sequence[int]) -> str:
    """Where in the journal it is proved."""
    if not seqs:
        return ""
    first = ", ".join(map(str, seqs[:6])) + (", …" if len(seqs) > 6 else "")
    return f"record{'s' * (len(seqs) > 1)} {first}"


def shown_steps(evidence: Evidence) -> tuple[int, Sequence[Step]]:
    """How many steps are left out at the start, and the rest: the end is where a trial is decided."""
    left_out = max(0, len(evidence.steps) - SHOWN_STEPS)
    return left_out, evidence.steps[left_out:]


def row_of(step: Step) -> tuple[str, str, str, str]:
    """A step's line: number, act, decision (by its rule and with the approval where it is not plainly allowed), result."""
    act = step.proposal
    selector = act.target.selector if act.target else None
    target = clean(str(selector or act.target or act.url or act.final_status or act.value or ""))
    return str(step.number), f"{act.action_type} {target}".rstrip(), decided(step), step.result.status if step.result else "not_executed"


def decided(step: Step) -> str:
    if step.decision is None:
        return "none"
    status, rule = step.decision.status, step.decision.matched_rule
    if status == "allowed":
        return "allowed"
    answer = f", {step.approval.outcome}" if step.approval else ""
    return (rule if rule.startswith(status) else f"{status} by {rule}") + answer
