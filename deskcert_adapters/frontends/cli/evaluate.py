"""`deskcert evaluate`: judge a run folder again, from its evidence alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the scorecard as JSON and nothing else.")
def evaluate(run: Path, as_json: bool) -> None:
    """Judge RUN again. Needs no browser and no model; writes the same bytes into RUN/derived every time."""
    from deskcert_adapters.frontends.cli.reporting import plan_reports, write_reports
    from deskcert_core.judging import judge_run

    report = judge_run(run)
    write_reports(plan_reports((), as_json=as_json), report)
    sys.exit(report.card.exit_code)
