"""A run folder becomes scorecards, trajectories and a report: read, judge, write down. Same folder and same criteria in, same bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deskcert_core.errors import EvidenceError, PluginError
from deskcert_core.evaluation import Criterion, judge
from deskcert_core.evidence.record import RunEnded
from deskcert_core.evidence.store import RunFolder
from deskcert_core.evidence.verify import verify
from deskcert_core.plugins import drivers
from deskcert_core.report import Report, screenshots, trajectory_json
from deskcert_core.score import scorecard_json, suite_card, trial_card
from deskcert_core.task import Suite, Task
from deskcert_core.trial import Evidence, read_trial

__all__ = ["judge_run"]

FACTS = (("suite", "suite"), ("environment", "environment"), ("base_url", "application"), ("adapter", "agent adapter"), ("approver", "approver"))


def judge_run(path: Path) -> Report:
    """Judge a run and write `derived/`. Raises EvidenceError for a folder that does not hold together, and StoreError if it cannot be written to."""
    folder = RunFolder.open(path)
    verify(folder)
    suite = folder.suite
    evidence = tuple(read_one(folder, suite, task_id, number) for task_id, number in folder.trials())
    criteria, missing = load_criteria(sorted({each.type for trial in evidence for each in trial.task.assertions}), folder.manifest.get("criteria", {}))
    cards = [trial_card(trial, judge(trial.task.assertions, criteria, trial, missing)) for trial in evidence]
    card = suite_card(
        suite=suite.name, run_id=folder.run_id, agent=str(folder.manifest.get("agent", "")), gate=suite.gate, trials=cards,
        problems=problems(folder, len(cards)), not_covered=not_covered(folder.manifest, suite, evidence),
    )
    report = Report(card=card, evidence=evidence, folder=str(path), facts=facts(folder.manifest))
    write(folder, report)
    return report


def read_one(folder: RunFolder, suite: Suite, task_id: str, number: int) -> Evidence:
    """The number is the folder's, to which the journal's chain is bound."""
    return replace(read_trial(task_of(suite, task_id), folder.lines(task_id, number), folder.text, suite.costs), trial=number)


def task_of(suite: Suite, task_id: str) -> Task:
    for task in suite.tasks:
        if task.id == task_id:
            return task
    raise EvidenceError(f"the run has a trial of task {task_id!r}, which its suite does not know")


def load_criteria(names: Iterable[str], versions: Mapping[str, str]) -> tuple[dict[str, Criterion], dict[str, str]]:
    """The criteria by name, and for those that cannot be used the reason. `versions` are those that the run was made with."""
    criteria, missing = dict[str, Criterion](), dict[str, str]()
    for name in names:
        try:
            criterion = cast("type[Criterion]", drivers.get("deskcert.criteria", name))()  # `get` has checked what a criterion must have
        except PluginError as error:
            missing[name] = str(error)
            continue
        if criterion.version == versions.get(name, criterion.version):
            criteria[name] = criterion
        else:
            missing[name] = f"the run was made with version {versions[name]} of {name}, installed is {criterion.version}"
    return criteria, missing


def problems(folder: RunFolder, found: int) -> list[str]:
    """What keeps a run from being whole: a green scorecard must not come from the trials that never were."""
    ended = next((line.body for line in folder.run_lines() if isinstance(line.body, RunEnded)), None)
    if ended is None:
        return ["the run has no end: it was cut off"]
    if ended.reason != "finished":
        return [f"the run did not finish: {ended.reason}"]
    return [f"the run had {ended.trials} trials, the folder has {found}"] if ended.trials != found else []


def facts(manifest: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The manifest's lines for people."""
    browser = manifest.get("browser") or {}
    sandbox = "on" if browser.get("sandbox") else "off"
    return (
        *((label, str(manifest[key])) for key, label in FACTS if manifest.get(key)),
        ("browser", f"{browser.get('name', 'unknown')} {browser.get('version', '')}".strip()),
        ("containment", f"{manifest.get('containment', 'unknown')}, browser sandbox {sandbox}"),
        ("agent isolation", str(manifest.get("agent_isolation", "unknown"))),
    )


def not_covered(manifest: Mapping[str, Any], suite: Suite, evidence: Sequence[Evidence]) -> list[str]:
    """What a reader could take the card to say and it does not."""
    tried = {trial.task.id for trial in evidence}
    left_out = [task.id for task in suite.tasks if task.id not in tried]
    lines = {
        f"tasks that were not run: {', '.join(left_out)}": bool(left_out),
        "how often the agent would pass: a task was tried once": len(tried) == len(evidence) > 0,
        "what a person would have approved: approver auto says yes to everything": manifest.get("approver") == "auto",
        "a browser that breaks out: the proxy is its only way out by settings, not by the kernel": manifest.get("containment") != "netns",
        "what the agent's own process does outside the browser: it has no sandbox": manifest.get("agent_isolation") != "sandbox",
        "what the agent would do today: its acts are those of another run": bool(manifest.get("replay")),
        "forged evidence: the journals are chained but not signed": True,
    }
    return [line for line, holds in lines.items() if holds]


def write(folder: RunFolder, report: Report) -> None:
    """The derived files. Screenshots are copies, not links: what is done to a derived file must not reach the evidence."""
    folder.write_derived("scorecard.json", scorecard_json(report.card))
    for trial in report.evidence:
        place = f"trials/{trial.task.id}/{trial.trial}"
        folder.write_derived(f"{place}/trajectory.json", trajectory_json(trial))
        for name, digest in screenshots(trial).items():
            folder.write_derived(f"{place}/{name}", folder.data(digest))
