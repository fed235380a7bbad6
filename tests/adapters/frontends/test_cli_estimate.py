"""`run --estimate`: the money, and nothing started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deskcert_adapters.frontends.cli.estimate import as_table, estimate
from deskcert_core.budget import Costs, Limits
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.task import Task

INVOICE = Path(__file__).parents[3] / "examples" / "invoice"
COSTS = Costs(per_screenshot=4000, per_action=1000)


def call(tmp_path: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deskcert_adapters.frontends.cli", "run", *map(str, words), "--estimate"]
    env = {"PATH": "/nowhere", "DESKCERT_BROWSER": "/nowhere/browser", "PYTHONPATH": str(INVOICE.parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert not (tmp_path / "runs").exists()
    return done


def task(limit: int | None, script: int | None = 6) -> Task:
    limits = Limits(max_steps=20, max_runtime_seconds=9, max_cost_micro_usd=limit, max_repeats=3, max_dialogs=5)
    acts = None if script is None else (Proposal(action_type=ActionType.READ),) * script
    return Task(id="t", goal="g", start_url="u", limits=limits, script=acts)


def test_the_invoice_costs_what_its_scorecard_says(tmp_path: Path) -> None:
    done = call(tmp_path, INVOICE, "--trials", "3", "--json")
    assert done.returncode == 0, done.stderr
    money = {"trials": 3, "script_usd": 0.09, "steps_usd": 0.3, "limit_usd": 3.0}
    assert json.loads(done.stdout) == {"version": 1, "suite": "invoice-demo", "tasks": [{"task_id": "confirm-invoice", **money}], "total": money}


def test_a_table_for_people(tmp_path: Path) -> None:
    done = call(tmp_path, INVOICE / "failures", "--task", "budget", "--task", "loop")
    assert [line.split() for line in done.stdout.splitlines()[:4]] == [
        ["task", "trials", "script", "steps", "limit"], ["budget", "1", "$0.015", "$0.015", "$0.015"], ["loop", "1", "$0.03", "$0.1", "$1"],
        ["all", "2", "$0.045", "$0.115", "$1.015"],
    ]


@pytest.mark.parametrize(("suite", "words", "code"), [("", ["--task", "none"], 64), ("nowhere", [], 65), ("", ["--env", "none"], 64)])
def test_a_mistake_is_one_line(tmp_path: Path, suite: str, words: list[str], code: int) -> None:
    done = call(tmp_path, INVOICE / suite, *words)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_no_script_and_no_limit_are_said_not_guessed() -> None:
    found = estimate(task(None, None), 2, COSTS)
    assert (found.script, found.steps, found.limit) == (None, 200_000, None)
    assert as_table([found]).splitlines()[1].split() == ["t", "2", "none", "$0.2", "none"]
    assert estimate(task(0), 2, COSTS).script == 0
