"""An adapter around an adapter: the conformance kit uses it to see, in the agent's own process, what the inner one reaches for. It stops nothing."""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from deskcert_adapters.agents.host import load, says
from deskcert_core.api import ActionType, Brief, Observation, Proposal

__all__ = ["Watched"]

INNER = "deskcert.kit.adapter"
REPORT = "deskcert-kit-report"
OURS = ("deskcert_core", "deskcert_adapters", "deskcert_criteria")
POWER = re.compile(
    r"(deskcert_core\.(session|plugins|gate|judging|loading|evidence\.store|testing)|deskcert_adapters\.(executors|frontends)|playwright)(\.|$)"
)
ALLOWED = {"deskcert_core", "deskcert_core.api", "deskcert_core.__version__"}


class Watched:
    """Does as the adapter of its option `deskcert.kit.adapter` does. A trial of the task `deskcert-kit-report` answers with what was seen, as JSON."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._reached: list[str] = []
        self._descriptors: list[list[str]] = []
        self._import, self._parent = builtins.__import__, os.getppid()
        builtins.__import__ = self._imports
        sys.addaudithook(self._audit)
        self._inner = load(options[INNER])({name: value for name, value in options.items() if name != INNER})
        self.wants_script, self.calls_model = says(self._inner, "wants_script"), says(self._inner, "calls_model")
        self._reports = False

    def start(self, brief: Brief) -> Awaitable[None] | None:
        self._descriptors.append(descriptors())
        self._reports = brief.task_id == REPORT
        started: Awaitable[None] | None = None if self._reports else self._inner.start(brief)
        return started

    def propose(self, observation: Observation) -> Proposal | Awaitable[Proposal]:
        if self._reports:
            seen = {"reached": sorted(set(self._reached)), "descriptors": self._descriptors[1:]}
            return Proposal(action_type=ActionType.FINISH, final_status="success", answer=json.dumps(seen))
        proposed: Proposal | Awaitable[Proposal] = self._inner.propose(observation)
        return proposed

    def _imports(
        self, name: str, globals: Mapping[str, object] | None = None, locals: Mapping[str, object] | None = None, fromlist: Sequence[str] | None = (), level: int = 0,
    ) -> ModuleType:
        """What strangers import of DeskCert by an import statement, loaded already or not."""
        by = str((globals or {}).get("__name__", "?"))
        if not level and name.partition(".")[0] in OURS and by.partition(".")[0] not in (*OURS, "importlib"):
            asked = {f"{name}.{each}" for each in fromlist} if name == "deskcert_core" and fromlist else {name}
            self._reached.extend(f"imports {each} (in {by})" for each in sorted(asked - ALLOWED))
        return self._import(name, globals, locals, fromlist or (), level)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What is loaded for the first time, and what is done to other processes."""
        if event == "import" and POWER.match(str(arguments[0])):
            self._reached.append(f"loads {arguments[0]}")
        elif event == "open" and isinstance(arguments[0], str) and (found := re.match(r"/proc/(\d+)/", arguments[0])) and int(found[1]) != os.getpid():
            self._reached.append(f"opens /proc/…/{arguments[0].removeprefix(found[0])} of another process")
        elif event in ("os.kill", "os.killpg") and arguments[0] in (self._parent, -1):
            self._reached.append("sends a signal to DeskCert")


def descriptors() -> list[str]:
    """What each open descriptor is."""
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
    return sorted(str(link.readlink()) for link in links if link.is_symlink())
