"""`deskcert validate`: checks suites with everything they name, runs nothing, and says every problem with its place."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from deskcert_core.errors import ExitCode, InputError, Problem
from deskcert_core.loading import load_suite

__all__ = ["validate"]


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--env", metavar="NAME", help="Check for this environment of the suite; without it, the first.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of suites, each with its problems, as JSON.")
def validate(paths: tuple[str, ...], env: str | None, as_json: bool) -> None:
    """Check suites, tasks and policies; say every problem with its place.

    PATH is a suite's folder or its deskcert.yaml; without one, the folder you are in. Ends with 65 if there is a problem.
    """
    found = [_checked(path, env) for path in paths or (".",)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for suite in found:
            _print(suite)
    if not all(suite["ok"] for suite in found):
        sys.exit(ExitCode.INPUT)


def _checked(path: str, env: str | None) -> dict[str, Any]:
    try:
        loaded = load_suite(path, env=env)
    except InputError as error:
        return {"path": path, "ok": False, "problems": [asdict(problem) for problem in error.problems]}
    return {"path": path, "ok": True, "problems": [], "suite": loaded.suite.name, "tasks": len(loaded.suite.tasks), "policy": loaded.policy.name}


def _print(suite: dict[str, Any]) -> None:
    if suite["ok"]:
        tasks = "1 task" if suite["tasks"] == 1 else f"{suite['tasks']} tasks"
        click.echo(f"{suite['path']}: {tasks}, policy {suite['policy']}: ok")
    for problem in suite["problems"]:
        click.echo(Problem(**problem))
