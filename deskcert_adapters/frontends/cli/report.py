"""`deskcert report`: one report of a run that is there already."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "name", default="markdown", show_default=True, help="A reporter: console, json, markdown, or an installed one.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file; standard output by default.")
def report(run: Path, name: str, output: Path | None) -> None:
    """Write a report of RUN."""
    from deskcert_adapters.frontends.cli.reporting import plan_reports, reporter, write
    from deskcert_core.judging import judge_run

    plan_reports((name,), as_json=False)
    judged = judge_run(run)
    if output is None:
        click.echo(reporter(name).render(judged).rstrip("\n"))
    else:
        click.echo(write(name, output, judged))
