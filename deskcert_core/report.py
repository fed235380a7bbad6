"""What a reporter is given. Everything in it is recomputed from the run folder; a reporter only words it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import rfc8785

from deskcert_core.evaluation import Evidence, Look, Step
from deskcert_core.score import SuiteCard, dollars, scorecard_json

__all__ = ["Report", "Reporter", "scorecard_json", "screenshots", "trajectory_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One judged run. `evidence` holds a trial each, in the order of `card.trials`; `folder` is the run's path; `facts` are the manifest's lines for people."""

    card: SuiteCard
    evidence: tuple[Evidence, ...]
    folder: str
    facts: tuple[tuple[str, str], ...] = ()


class Reporter(Protocol):
    """Made without arguments. `render` gives the whole report as text; `suffix` is the file name's ending (`md`, `json`)."""

    suffix: str

    def render(self, report: Report) -> str: ...


def screenshots(evidence: Evidence) -> dict[str, str]:
    """Where each step's screenshot goes in the trial's derived folder, with its blob's digest."""
    return {picture_path(look.step): look.screenshot for look in evidence.looks if look.shown_to_agent and look.screenshot}


def trajectory_json(evidence: Evidence) -> bytes:
    """`schema/trajectory.schema.json`, canonical (RFC 8785): the trial step by step, as its user knows it."""
    looks = {look.step: look for look in evidence.looks if look.shown_to_agent}
    whole: dict[str, Any] = {
        "version": 1,
        "task_id": evidence.task.id,
        "trial": evidence.trial,
        "agent": evidence.agent,
        "end_reason": evidence.end_reason,
        "final_status": evidence.final_status,
        "steps": [step_json(step, looks.get(step.number)) for step in evidence.steps],
    }
    return bytes(rfc8785.dumps(whole))


def step_json(step: Step, look: Look | None) -> dict[str, Any]:
    act, decision = step.proposal, step.decision
    return {
        "step_id": step.number,
        "observation": {
            "current_url": look.url, "visible_text_hash": look.text_hash, "screenshot_path": picture_path(look.step) if look.screenshot else None,
        } if look else None,
        "proposed_action": {
            "action_type": str(act.action_type), "target": str(act.target) if act.target else None, "decision_summary": act.decision_summary,
        },
        "policy_decision": {
            "status": str(decision.status), "matched_rule": decision.matched_rule, "risk_level": decision.risk_level,
        } if decision else None,
        "approval_outcome": step.approval.outcome if step.approval else "not_required",
        "execution_result": {"status": executed(step)},
        "latency_ms": (step.latency_ns + 500_000) // 1_000_000,
        "estimated_cost_usd": dollars(step.cost_micro_usd),
    }


def executed(step: Step) -> str:
    return step.result.status if step.result else "not_executed"


def picture_path(step: int) -> str:
    return f"screenshots/step-{step:03d}.jpg"
