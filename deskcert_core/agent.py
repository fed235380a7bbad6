"""What an agent sees and the one protocol it speaks. It runs in a process of its own (session/agent_process.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from deskcert_core.proposal import Proposal

__all__ = ["AgentAdapter", "Brief", "Dialog", "LastResult", "Observation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the agent is told once, before the first observation. `script` is given only to an adapter that says `wants_script`."""

    task_id: str
    goal: str
    start_url: str
    inputs: dict[str, str] = field(default_factory=dict)
    action_types: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    max_steps: int
    viewport: tuple[int, int] = (1280, 720)
    script: tuple[Proposal, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """A native dialog that is open: `kind` is alert, confirm, prompt or beforeunload."""

    kind: str
    message: str
    default_value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastResult:
    """How the agent's last proposal ended. `status` is the execution's; `decision` the policy's, `approval` the approver's outcome; `message` is for the model."""

    status: Literal["success", "error", "not_executed", "timeout", "outcome_unknown"]
    decision: str
    approval: str = "not_required"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at the page: the visible text, and a JPEG screenshot of the viewport (None while a dialog is open)."""

    step: int
    url: str
    title: str
    text: str
    screenshot: bytes | None = None
    dialog: Dialog | None = None
    last_result: LastResult | None = None


class AgentAdapter(Protocol):
    """An agent, as DeskCert drives it. Made once per process as `Adapter(options: dict[str, str])`, then used for one trial after another.

    An adapter that replays the task's own `script` sets `wants_script = True`; the journal says so. One that calls a model sets
    `calls_model = True` and gives every proposal a `usage` (of zero tokens where no call was made): under a cost limit a missing one stops the trial.
    Any exception is the agent's fault, except `ModelServiceError` (api): that makes the trial INCONCLUSIVE.
    """

    def start(self, brief: Brief) -> None: ...

    def propose(self, observation: Observation) -> Proposal: ...


class ModelServiceError(Exception):
    """Raised by an adapter when the model service, not the agent, failed (429, 5xx, time-out after the SDK's own retries)."""
