"""`deskcert run --estimate`: what a suite's trials would cost, by their scripts and by their limits. Nothing is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from deskcert_core.budget import Costs
from deskcert_core.loading import load_suite
from deskcert_core.score import dollars
from deskcert_core.session.run import chosen
from deskcert_core.task import Task

__all__ = ["Estimate", "estimate", "print_estimate"]

NOTE = "script, steps: without model calls. limit: one model call may go over it, none after that; none: nothing limits the cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What all trials of one task would cost, in micro-dollars: by its `script` (None without one), by `steps` if all that are allowed are taken
    (both without model calls), and by its `limit` (None without one)."""

    task_id: str
    trials: int
    script: int | None
    steps: int
    limit: int | None


def estimate(task: Task, trials: int, costs: Costs) -> Estimate:
    limit, script = task.limits.max_cost_micro_usd, None if task.script is None else costs.of_steps(len(task.script))
    steps = costs.of_steps(task.limits.max_steps)

    def capped(one: int) -> int:
        return trials * (one if limit is None else min(one, limit))

    return Estimate(
        task_id=task.id, trials=trials, script=None if script is None else capped(script), steps=capped(steps), limit=None if limit is None else trials * limit,
    )


def print_estimate(suite: Path, *, env: str | None, tasks: tuple[str, ...], trials: int | None, as_json: bool) -> None:
    """Raises what loading a suite raises, and UsageError for a task that it does not have."""
    loaded = load_suite(suite, env=env).suite
    found = [estimate(task, trials or loaded.trials, loaded.costs) for task in chosen(loaded.tasks, tasks)]
    click.echo(as_document(loaded.name, found) if as_json else as_table(found))


def total(of: Sequence[int | None]) -> int | None:
    """None where one is not known."""
    return None if None in of else sum(each or 0 for each in of)


def as_document(suite: str, found: Sequence[Estimate]) -> str:
    whole = Estimate(
        task_id="", trials=sum(each.trials for each in found), script=total([each.script for each in found]), steps=sum(each.steps for each in found),
        limit=total([each.limit for each in found]),
    )
    document = {"version": 1, "suite": suite, "tasks": [{"task_id": each.task_id, **plain(each)} for each in found], "total": plain(whole)}
    return json.dumps(document, indent=2)


def plain(each: Estimate) -> dict[str, object]:
    money = {"script_usd": each.script, "steps_usd": each.steps, "limit_usd": each.limit}
    return {"trials": each.trials, **{name: None if micro is None else dollars(micro) for name, micro in money.items()}}


def as_table(found: Sequence[Estimate]) -> str:
    rows: list[tuple[str, ...]] = [("task", "trials", "script", "steps", "limit")]
    rows += [(each.task_id, str(each.trials), shown(each.script), shown(each.steps), shown(each.limit)) for each in found]
    sums = (total([each.script for each in found]), total([each.steps for each in found]), total([each.limit for each in found]))
    rows.append(("all", str(sum(each.trials for each in found)), *map(shown, sums)))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [row[0].ljust(widths[0]) + "".join(f"  {row[i].rjust(widths[i])}" for i in range(1, 5)) for row in rows]
    return "\n".join([*lines, NOTE])


def shown(micro: int | None) -> str:
    return "none" if micro is None else f"${dollars(micro):.6f}".rstrip("0").rstrip(".")
