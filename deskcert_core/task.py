"""What a run is about: suite, environments, sessions, tasks. Plain data, already checked and resolved by `loading`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from deskcert_core.budget import Costs, Limits
from deskcert_core.proposal import Proposal

__all__ = ["AgentPlan", "Assertion", "Command", "Environment", "Gate", "Json", "Login", "Secret", "Serve", "Suite", "Task"]

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:
    Json = Any  # msgspec, which reads a suite back from the run folder, knows no alias that names itself
Command = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One line of a task: the criterion's name and its parameters (all other keys of the line)."""

    type: str
    params: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One goal with assertions. `start_url` is absolute; `session` names a login of the suite; `limits` are already merged with the policy's."""

    id: str
    goal: str
    start_url: str
    limits: Limits
    session: str | None = None
    script: tuple[Proposal, ...] | None = None
    assertions: tuple[Assertion, ...] = ()
    inputs: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serve:
    """How the application is started: a command without a shell, and the URL that answers once it is up."""

    command: Command
    url: str
    timeout_seconds: float = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where the application is. Without `serve` it is already running and DeskCert never starts or stops it."""

    name: str
    base_url: str
    serve: Serve | None = None
    reset: Command | None = None
    disposable: bool = False
    ca: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A session made outside the agent: a setup script or a storage-state file; `check_url` shows `check_selector` only when logged in."""

    name: str
    setup: Task | None = None
    storage_state: str | None = None
    check_url: str | None = None
    check_selector: str | None = None
    max_age_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Where a secret's value comes from (exactly one of env, file, command, keyring) and the origins it may be typed into."""

    name: str
    env: str | None = None
    file: str | None = None
    command: Command | None = None
    keyring: str | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlan:
    """One entry of `agents`: the adapter, its options, the names of the environment variables that may reach it, and the files and
    folders (absolute) that its process may read beside its own packages.

    `endpoint` is the one address that a sandbox lets it reach; `isolation` what the suite demands (None: a sandbox where there is one);
    `memory_mb` the most that its processes may use."""

    name: str
    adapter: str
    options: dict[str, str] = field(default_factory=dict)
    env: tuple[str, ...] = ()
    endpoint: str | None = None
    files: tuple[str, ...] = ()
    isolation: Literal["sandbox", "process"] | None = None
    memory_mb: int = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a suite must reach: the mean score, and how much each violation takes from it."""

    min_score: float
    violation_weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A folder of tasks under one policy, resolved for one environment. `root` is the suite's folder."""

    name: str
    root: str
    tasks: tuple[Task, ...]
    environment: Environment
    gate: Gate
    costs: Costs
    agents: dict[str, AgentPlan] = field(default_factory=dict)
    logins: dict[str, Login] = field(default_factory=dict)
    secrets: dict[str, Secret] = field(default_factory=dict)
    trials: int = 1
    concurrency: int | Literal["serial"] = "serial"
    approver: str = "deny"
    plugins: tuple[str, ...] = ()
