"""A suite run by the command, and what it left behind: the scorecard, and whether a secret is anywhere in the folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_support import EXAMPLES, deskcert, only_run, scorecard

from deskcert_core.evidence.scrub import Scrubber

__all__ = ["EXAMPLES", "Ran", "deskcert", "files", "holding", "run_suite"]


@dataclass(frozen=True)
class Ran:
    """One call of the command. `folder` is the run it made."""

    code: int
    said: str
    out: Path

    @property
    def folder(self) -> Path:
        return only_run(self.out)

    @property
    def card(self) -> dict[str, Any]:
        return scorecard(self.folder)

    @property
    def trials(self) -> dict[str, dict[str, Any]]:
        return {trial["task_id"]: trial for trial in self.card["trials"]}


def run_suite(suite: Path, out: Path, *words: str, **env: str | Path) -> Ran:
    done = deskcert("run", suite, "--out", out, *words, cwd=out.parent, env={name: str(value) for name, value in env.items()})
    return Ran(code=done.returncode, said=done.stdout + done.stderr, out=out)


def holding(folder: Path, secret: str) -> list[str]:
    """The files below the folder that hold the secret, in any encoding."""
    scrubber = Scrubber({"secret": secret})
    return [str(path) for path in files(folder) if scrubber.holds(path.read_bytes())]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
