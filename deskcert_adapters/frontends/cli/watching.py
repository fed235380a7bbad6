"""Progress for people: a bar on a terminal, plain lines elsewhere, nothing at all with --json. All of it on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from deskcert_core.session.progress import Progress, Watcher

__all__ = ["watching"]


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watcher]:
    """A watcher for one run."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with bar() as watcher:
            yield watcher
    else:
        yield line


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

    columns = (TextColumn("{task.fields[what]}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        trials = bars.add_task("trials", total=None, what="starting")
        bars.start_task(trials)

        def watcher(progress: Progress) -> None:
            what = progress.text if len(progress.text) <= 46 else progress.text[:45] + "…"
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
