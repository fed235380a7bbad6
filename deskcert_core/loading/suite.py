"""A suite's folder becomes a Suite and its Policy, resolved for one environment. Every file is read, however many problems the others have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from deskcert_core import schemas
from deskcert_core.budget import Costs
from deskcert_core.document import Document
from deskcert_core.errors import InputError, Problem
from deskcert_core.evaluation import Criterion
from deskcert_core.loading import parts
from deskcert_core.loading.costs import costs_of
from deskcert_core.loading.criteria import schema_for
from deskcert_core.loading.policy import Policies, PolicyRead
from deskcert_core.loading.source import Files, Source
from deskcert_core.loading.task import Known, task_of
from deskcert_core.policy.rules import Policy
from deskcert_core.task import Suite, Task

__all__ = ["SUITE_FILE", "Loaded", "load_suite"]

SUITE_FILE = "deskcert.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A suite and the policy it runs under."""

    suite: Suite
    policy: Policy


def load_suite(path: Path | str, *, env: str | None = None, criteria: Mapping[str, Criterion] | None = None) -> Loaded:
    """The suite at `path`, a folder with a deskcert.yaml or such a file, for the environment `env` (None: the first).

    `criteria` replaces those installed, for tests. Raises InputError with every problem of every file, UsageError for an environment that
    does not exist, PluginError for a criterion or policy pack that is named and broken.
    """
    file = _suite_file(Path(path))
    files = Files(root=file.absolute().parent, shown=str(file.parent))
    document = files.read(file.absolute())
    if document is None:
        raise InputError(files.problems)
    source = files.source(document, file.absolute(), schemas.named("suite"))
    name = parts.chosen(source, env)
    files.variables = parts.variables(source, name)
    policy = _policy(source)
    costs = _costs(source)
    setups = _setups(source)
    read = _read_all(source, setups)
    known = Known(sessions=_keys(source, "sessions"), secrets=_keys(source, "secrets"), policy=policy)
    schema = schema_for([found for found in read.values() if found], criteria)
    tasks = {where: task_of(files.source(found, where, schema), known) for where, found in read.items() if found and where not in setups}
    logins = {where: task_of(files.source(found, where, schemas.setup_schema()), known) for where, found in read.items() if found and where in setups}
    _unique(files, read, tasks)
    suite = _suite(source, name, tasks, logins, costs)
    if files.problems or suite is None or policy is None:
        raise InputError(list(set(files.problems)))
    return Loaded(suite=suite, policy=policy.policy)


def _suite_file(path: Path) -> Path:
    try:
        if not path.is_dir():
            return path
        if (path / SUITE_FILE).exists():
            return path / SUITE_FILE
    except OSError as error:
        raise InputError([Problem(file=str(path), message=f"cannot be read: {error.strerror}")]) from error
    raise InputError([Problem(file=str(path), message=f"has no {SUITE_FILE}: `deskcert init` writes one")])


def _keys(source: Source, name: str) -> list[str]:
    """The names that a part of the suite defines, as far as it can be read."""
    found = source.data.get(name) if isinstance(source.data, dict) else None
    return list(found) if isinstance(found, dict) else []


def _named(source: Source, name: str) -> str | None:
    """The file that the suite names there, as far as it can be read."""
    found = source.data.get(name) if isinstance(source.data, dict) else None
    return found if isinstance(found, str) and found else None


def _policy(source: Source) -> PolicyRead | None:
    name = _named(source, "policy")
    return Policies(files=source.files).load(source.near(name)) if name else None


def _costs(source: Source) -> Costs | None:
    name = _named(source, "costs")
    document = source.files.read(source.near(name)) if name else None
    return costs_of(source.files.source(document, source.near(name or ""), schemas.named("costs"))) if document else None


def _setups(source: Source) -> set[Path]:
    sessions: Any = source.data.get("sessions") if isinstance(source.data, dict) else None
    found = [one.get("setup") for one in sessions.values() if isinstance(one, dict)] if isinstance(sessions, dict) else []
    return {source.near(name) for name in found if isinstance(name, str) and name}


def _read_all(source: Source, setups: set[Path]) -> dict[Path, Document | None]:
    """Every task and set-up file of the suite, sorted. A glob that finds nothing is a problem."""
    found: set[Path] = set(setups)
    patterns: Any = source.data.get("tasks") if isinstance(source.data, dict) else None
    for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
        if not isinstance(pattern, str) or not pattern:
            continue
        if pattern.startswith("/") or pattern.count("**") > 1:
            source.note(("tasks", index), f"{pattern!r:.100} must be relative to the suite's folder, with at most one **")
        else:
            here = {source.near(name) for name in glob(pattern, root_dir=source.files.root, recursive=True)}  # noqa: PTH207 (Path.glob raises on some)
            found |= here
            if not here - setups:
                source.note(("tasks", index), f"{pattern!r:.100} finds no task")
    return {path: source.files.read(path) for path in sorted(found)}


def _unique(files: Files, read: Mapping[Path, Document | None], tasks: Mapping[Path, Task | None]) -> None:
    """An id names a folder of the evidence: twice the same, and two trials would write into one."""
    first: dict[str, Path] = {}
    for path, task in tasks.items():
        document = read[path]
        if task and document and first.setdefault(task.id.lower(), path) != path:
            files.problems.append(document.problem(("id",), f"{task.id!r} is already the id of {files.name(first[task.id.lower()])}"))


def _suite(
    source: Source, used: str | None, tasks: Mapping[Path, Task | None], setups: Mapping[Path, Task | None], costs: Costs | None,
) -> Suite | None:
    """None if any part is not fit; its problems are noted."""
    if not source.valid:
        return None
    data = source.data
    environments = {name: parts.environment(source, name, used=name == used) for name in data["environments"]}
    environment = environments[used or ""]
    logins = {name: parts.login(source, name, setups) for name in data.get("sessions", {})}
    secrets = {name: parts.secret(source, name) for name in data.get("secrets", {})}
    agents = {name: parts.agent(source, name) for name in data.get("agents", {})}
    if environment is None or costs is None:
        return None
    return Suite(
        name=data["name"], root=str(source.files.root), tasks=tuple(task for task in tasks.values() if task), environment=environment,
        gate=parts.gate(source), costs=costs, agents=agents, logins=logins, secrets=secrets, trials=data.get("trials", 1),
        concurrency=data.get("concurrency", "serial"), approver=data.get("approver", "deny"), plugins=tuple(data.get("plugins", ())),
    )
