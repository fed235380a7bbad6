"""The command as a user calls it, and what it left behind: the run folder, the scorecard, and whether a secret is anywhere in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskcert_core.evidence.scrub import Scrubber

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Ran:
    """One call of the command. `folder` is the run it made."""

    code: int
    said: str
    out: Path

    @property
    def folder(self) -> Path:
        (run,) = [path for path in self.out.iterdir() if path.is_dir()]
        return run

    @property
    def card(self) -> dict[str, Any]:
        return json.loads((self.folder / "derived" / "scorecard.json").read_text())

    @property
    def trials(self) -> dict[str, dict[str, Any]]:
        return {trial["task_id"]: trial for trial in self.card["trials"]}


def deskcert(*words: str | Path, cwd: Path, timeout: float = 180, **env: str | Path) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **{name: str(value) for name, value in env.items()}}
    command = [sys.executable, "-m", "deskcert_adapters.frontends.cli", *map(str, words)]
    return subprocess.run(  # in a session of its own: no approver finds the terminal of whoever runs the tests
        command, cwd=cwd, env=whole, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, start_new_session=True,
    )


def run_suite(suite: Path, out: Path, *words: str, **env: str | Path) -> Ran:
    done = deskcert("run", suite, "--out", out, *words, cwd=out.parent, **env)
    return Ran(code=done.returncode, said=done.stdout + done.stderr, out=out)


def holding(folder: Path, secret: str) -> list[str]:
    """The files below the folder that hold the secret, in any encoding."""
    scrubber = Scrubber({"secret": secret})
    return [str(path) for path in files(folder) if scrubber.holds(path.read_bytes())]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
