"""A task file becomes a Task: addresses absolute, limits merged with the policy's, the script as proposals."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from deskcert_core.address import Address
from deskcert_core.budget import Limits
from deskcert_core.document import Place
from deskcert_core.loading.costs import micro_usd
from deskcert_core.loading.policy import PolicyRead
from deskcert_core.loading.source import ABSOLUTE, Source, did_you_mean, file_path
from deskcert_core.loading.tightening import stricter_limits
from deskcert_core.loading.when import check_pattern
from deskcert_core.policy.engine import reaches
from deskcert_core.policy.rules import Policy
from deskcert_core.proposal import Proposal
from deskcert_core.task import Assertion, Task

__all__ = ["Known", "task_of"]

HANDLE = re.compile(r"\{\{secret:([A-Za-z0-9][A-Za-z0-9._-]*)\}\}")
LIKE_A_HANDLE = re.compile(r"\{\{\s*secret")
PATTERNS = ("matches", "regex")
TYPED = ("fill", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a task may name: the suite's sessions and secrets, and the policy it runs under (None if that has problems of its own)."""

    sessions: Collection[str]
    secrets: Collection[str]
    policy: PolicyRead | None


def task_of(source: Source, known: Known) -> Task | None:
    """The task, None where its file or the policy is not fit. Notes what does not agree with suite and policy."""
    if not source.valid:
        return None
    data = source.data
    session = data.get("session")
    if session is not None and session not in known.sessions:
        source.note(("session",), f"the suite has no session {session!r}" + did_you_mean(session, sorted(known.sessions)))
    start = source.url(("start_url",))
    script = tuple(_proposal(source, ("script", index), known.secrets) for index in range(len(data["script"]))) if "script" in data else None
    assertions = tuple(_assertion(source, ("assertions", index)) for index in range(len(data.get("assertions", ()))))
    own = data.get("limits", {})
    cost = micro_usd(source, ("limits", "max_cost_usd")) if "max_cost_usd" in own else None
    if start is None or known.policy is None:
        return None
    _check_start(source, start, known.policy.policy)
    return Task(
        id=data["id"], goal=data["goal"], start_url=start.href, limits=_limits(own, cost, known.policy.limits), session=session, script=script,
        assertions=assertions, inputs=data.get("inputs", {}), tags=tuple(data.get("tags", ())), retries=data.get("retries", 0),
    )


def _limits(own: dict[str, Any], cost: int | None, policy: Limits) -> Limits:
    """The stricter of both, limit by limit."""
    mine = Limits(
        max_steps=own.get("max_steps", policy.max_steps), max_runtime_seconds=own.get("max_runtime_seconds", policy.max_runtime_seconds),
        max_cost_micro_usd=cost, max_repeats=own.get("max_repeats", policy.max_repeats), max_dialogs=own.get("max_dialogs", policy.max_dialogs),
    )
    return stricter_limits([mine, policy])


def _check_start(source: Source, start: Address, policy: Policy) -> None:
    """A trial whose first page the policy refuses could never run: say so now."""
    if not reaches(policy, start.origin):
        source.note(("start_url",), f"{start.origin} is not in the domains of the policy {policy.name}, allowed or approval_required, or it is blocked")
    if start.origin.scheme == "file" and not any(_inside(file_path(start), root) for root in policy.file_roots):
        source.note(("start_url",), f"{file_path(start)} is outside files.roots of the policy {policy.name}")


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _assertion(source: Source, path: Place) -> Assertion:
    whole = source.deep(path)
    _check_patterns(source, path, whole)
    return Assertion(type=whole["type"], params={key: value for key, value in whole.items() if key != "type"})


def _check_patterns(source: Source, path: Place, value: Any) -> None:
    """In every criterion's parameters `matches` and `regex` name an RE2 pattern: one that is none is told here, not when it is judged."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key in PATTERNS and isinstance(inner, str):
                check_pattern(source, (*path, key), inner)
            _check_patterns(source, (*path, key), inner)


def _proposal(source: Source, path: Place, secrets: Collection[str]) -> Proposal:
    data = dict(source.at(path))
    _check_handles(source, path, secrets)
    if "url" in data:
        data["url"] = _destination(source, (*path, "url"))
    return msgspec.convert(data, Proposal)


def _destination(source: Source, path: Place) -> str:
    """An absolute address stands as it was written, however odd: a script may propose what a policy must refuse."""
    text = source.text(path) or ""
    if ABSOLUTE.match(text):
        return text
    found = source.url(path)
    return found.href if found else ""


def _check_handles(source: Source, proposal: Place, secrets: Collection[str]) -> None:
    """A secret's handle may stand where a text is typed, and nowhere else."""
    typed = (*proposal, "value") if source.at(proposal)["action_type"] in TYPED else None
    for path in source.texts(proposal):
        _check_handle(source, path, path == typed, secrets)


def _check_handle(source: Source, path: Place, typed: bool, secrets: Collection[str]) -> None:
    value: str = source.at(path)
    if len(LIKE_A_HANDLE.findall(value)) != len(HANDLE.findall(value)):
        source.note(path, "a secret is written {{secret:NAME}}")
    for name in HANDLE.findall(value):
        if not typed:
            source.note(path, "a secret may only be typed: in the value of fill or type")
        elif name not in secrets:
            source.note(path, f"the suite has no secret {name!r}" + did_you_mean(name, sorted(secrets)))
