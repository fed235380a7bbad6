"""The command as a user calls it, and the run that it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def deskcert(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 180) -> subprocess.CompletedProcess[str]:
    """One call, with `env` over the test's own environment. In a session of its own: no approver finds the terminal of whoever runs the tests."""
    command = [sys.executable, "-m", "deskcert_adapters.frontends.cli", *map(str, words)]
    whole = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **(env or {})}
    return subprocess.run(
        command, cwd=cwd, env=whole, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, start_new_session=True,
    )


def only_run(runs: Path) -> Path:
    """The one run's folder among the runs."""
    (run,) = [path for path in runs.iterdir() if path.is_dir()]
    return run


def scorecard(run: Path) -> dict[str, Any]:
    return json.loads((run / "derived" / "scorecard.json").read_text())
