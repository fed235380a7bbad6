"""Progress for people: a bar on a terminal, plain lines elsewhere, nothing at all with --json. All of it on standard error.

Words of pages and agents are in it: each event is made one printable line, so that none can steer the terminal or pass for a line of DeskCert's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from deskcert_core.session.progress import Progress, Watcher

__all__ = ["watching"]

LONGEST = 200
SHORT = 46  # beside a bar


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watcher]:
    """A watcher for one run."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with bar() as watcher:
            yield harmless(watcher)
    else:
        yield harmless(line)


def harmless(watcher: Watcher) -> Watcher:
    """The watcher, given printable text alone: no control, escape or bidi character, no line end, LONGEST characters."""
    return lambda progress: watcher(replace(progress, text=printable(progress.text), task_id=printable(progress.task_id)))


def printable(text: str, longest: int = LONGEST) -> str:
    line = "".join(c if c.isprintable() else " " for c in text[: longest + 1])
    return line if len(line) <= longest else line[: longest - 1] + "…"


def line(progress: Progress) -> None:
    match progress.kind:
        case "run":
            click.echo(progress.text, err=True)
        case "trial":
            click.echo(f"[{progress.number}/{progress.total}] {progress.task_id} trial {progress.trial}", err=True)
        case "step":
            click.echo(f"  step {progress.step} {progress.text}", err=True)
        case "ask" | "answer":
            click.echo(f"  {progress.text}", err=True)
        case "trial_end":
            click.echo(f"  ended: {progress.text}", err=True)


@contextmanager
def bar() -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.fields[what]}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        trials = bars.add_task("trials", total=None, what="starting")
        bars.start_task(trials)

        def watcher(progress: Progress) -> None:
            what = printable(progress.text, SHORT)
            match progress.kind:
                case "run":
                    bars.update(trials, what=what)
                case "trial":
                    bars.update(trials, total=progress.total, what=progress.task_id)
                case "step":
                    bars.update(trials, what=f"{progress.task_id} {progress.step}/{progress.max_steps} {what}")
                case "ask":
                    bars.stop()
                case "answer":
                    bars.start()
                case "trial_end":
                    bars.advance(trials)

        yield watcher
