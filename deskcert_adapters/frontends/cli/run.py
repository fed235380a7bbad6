"""`deskcert run` and `deskcert ci`: load, run, judge, report, exit by verdict."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deskcert_core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from deskcert_core.session.sandbox import Isolation
    from deskcert_core.task import AgentPlan

OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("suite", type=click.Path(path_type=Path), default=Path()),
    click.option("--agent", default="scripted", show_default=True, help="A name of the suite's agents, or of an installed adapter; replay:RUN proposes what was recorded in that run folder."),
    click.option("--agent-option", "agent_options", multiple=True, metavar="KEY=VALUE", help="An option for the adapter; may be given more than once."),
    click.option("--env", metavar="NAME", help="The environment; the suite's first by default."),
    click.option("--task", "tasks", multiple=True, metavar="ID", help="Only this task; may be given more than once."),
    click.option("--trials", type=click.IntRange(min=1), help="Trials of each task; the suite's number by default."),
    click.option("--approver", metavar="NAME", help="Who answers approval requests; the suite's by default."),
    click.option("--agent-isolation", type=click.Choice(["sandbox", "process"]), help="What the agent's process must run in; a sandbox where there is one by default."),
    click.option("--agent-in-process", is_flag=True, help="Run the adapter in DeskCert's own process, for a debugger. Not for ci."),
    click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="The folder of runs."),
    click.option("--report", "reports", multiple=True, metavar="NAME[=PATH]", help="A reporter; may be given more than once."),
    click.option("--json", "as_json", is_flag=True, help="Print the scorecard as JSON and nothing else."),
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@options
@click.option("--estimate", is_flag=True, help="Print what the trials would cost, by script and by limit, and run nothing.")
def run(suite: Path, estimate: bool, **given: Any) -> None:
    """Run SUITE (a folder or deskcert.yaml) with an agent, judge the evidence, print the verdict."""
    if estimate:
        from deskcert_adapters.frontends.cli.estimate import print_estimate

        print_estimate(suite, env=given["env"], tasks=given["tasks"], trials=given["trials"], as_json=given["as_json"])
        return
    sys.exit(run_and_report(suite, strict=False, **given))


@click.command()
@options
def ci(suite: Path, **given: Any) -> None:
    """Run SUITE in a pipeline. Like run, but only plug-ins that the suite's `plugins:` lists may take part."""
    sys.exit(run_and_report(suite, strict=True, **given))


def run_and_report(
    suite: Path, *, strict: bool, agent: str, agent_options: tuple[str, ...], env: str | None, tasks: tuple[str, ...], trials: int | None,
    approver: str | None, out: Path, reports: tuple[str, ...], as_json: bool, agent_isolation: str | None = None, agent_in_process: bool = False,
) -> int:
    """The exit code of a whole run. Raises DeskCertError for what keeps it from starting."""
    from deskcert_adapters.frontends.cli.reporting import plan_reports, write_reports
    from deskcert_adapters.frontends.cli.strangers import refuse_unlisted, strangers
    from deskcert_adapters.frontends.cli.watching import watching
    from deskcert_core.judging import judge_run
    from deskcert_core.loading import load_suite
    from deskcert_core.session.run import RunOptions, run_suite

    loaded = load_suite(suite, env=env)
    plan = plan_reports(reports, as_json=as_json)
    if strict:
        part = strangers(loaded, adapters=[agent_of(loaded.suite.agents, agent)], approver=approver, reporters=plan.names)
        refuse_unlisted(loaded.suite.plugins, part)
    given = RunOptions(
        agent=agent, out=out, approver=approver, trials=trials, tasks=tasks, agent_options=pairs(agent_options),
        isolation=isolation(loaded.suite.agents.get(agent), agent_isolation, in_process=agent_in_process, strict=strict),
    )
    with watching(quiet=as_json) as watcher:
        folder, interrupted = interruptible(run_suite(loaded, given, watcher), out)
    report = judge_run(folder)
    write_reports(plan, report)
    return ExitCode.INTERRUPTED if interrupted else report.card.exit_code


def isolation(plan: AgentPlan | None, given: str | None, *, in_process: bool, strict: bool) -> Isolation | None:
    """What the command line demands of the agent's process; None leaves it to the suite. `ci` takes less than a sandbox from the suite alone."""
    if strict and (in_process or given == "process"):
        raise UsageError("ci runs agents in a sandbox", hint="a suite that does without one says so: isolation: process in its agent")
    if in_process and given:
        raise UsageError("--agent-in-process and --agent-isolation exclude each other")
    if in_process:
        return "none"
    if given is not None:
        return "sandbox" if given == "sandbox" else "process"
    return "sandbox" if strict and (plan is None or plan.isolation is None) else None


def interruptible(work: Any, out: Path) -> tuple[Path, bool]:
    """Run to the end, or until Ctrl-C: then the trials are closed, and what is recorded so far is judged."""
    before = set(out.glob("*")) if out.is_dir() else set()

    async def guarded() -> Path | None:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            return Path(await task)
        return None

    folder = asyncio.run(guarded())
    if folder is not None:
        return folder, False
    new = [path for path in set(out.glob("*")) - before if (path / "manifest.json").is_file()] if out.is_dir() else []
    if not new:
        raise click.Abort
    return new[0], True


def pairs(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in given:
        key, mark, value = pair.partition("=")
        if not mark or not key:
            raise UsageError(f"--agent-option {pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def agent_of(agents: Any, name: str) -> str:
    return str(agents[name].adapter) if name in agents else name.partition(":")[0]
