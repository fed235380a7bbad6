"""Reports of a judged run: which were asked for, where they go."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import click

from deskcert_core.errors import UsageError
from deskcert_core.plugins import drivers
from deskcert_core.report import Report, Reporter

__all__ = ["Plan", "plan_reports", "write_reports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Reporters to files; and, unless `as_json`, the console report on standard output."""

    files: tuple[tuple[str, Path | None], ...]
    as_json: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.files)


def plan_reports(given: tuple[str, ...], *, as_json: bool) -> Plan:
    """`NAME` or `NAME=PATH`. Raises PluginError for a reporter that is not installed, before anything is run."""
    files: list[tuple[str, Path | None]] = []
    for each in given:
        name, mark, path = each.partition("=")
        if mark and not path:
            raise UsageError(f"--report {each!r} has no path", hint="write NAME or NAME=PATH")
        drivers.pick("deskcert.reporters", name)
        files.append((name, Path(path) if path else None))
    return Plan(files=tuple(files), as_json=as_json)


def write_reports(plan: Plan, report: Report) -> None:
    """A report without a path goes into the run's derived folder. The paths are printed."""
    written = [write(name, path, report) for name, path in plan.files]
    lines = [reporter("json").render(report).rstrip("\n")] if plan.as_json else [console(report), *(f"report: {path}" for path in written)]
    say("\n".join(lines))


def say(text: str) -> None:
    """Onto standard output. One that is closed or full costs the report there, never the verdict: the exit code still comes."""
    try:
        click.echo(text)
        if sys.stdout is not None:  # None: it was closed before Python started
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - else Python's own flush at the end would fail again
        click.echo(f"deskcert: nothing can be written to standard output: {error}", err=True)


def write(name: str, path: Path | None, report: Report) -> Path:
    made = reporter(name)
    target = path or Path(report.folder) / "derived" / f"report.{made.suffix}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(made.render(report), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot write report {target}: {error.strerror}") from error
    return target


def reporter(name: str) -> Reporter:
    return cast("type[Reporter]", drivers.get("deskcert.reporters", name))()


def console(report: Report) -> str:
    """The console report; with colours only on a terminal, and never against NO_COLOR."""
    made = reporter("console")
    colour = getattr(made, "render_colour", None)
    if colour is not None and sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return str(colour(report)).rstrip("\n")
    return made.render(report).rstrip("\n")
