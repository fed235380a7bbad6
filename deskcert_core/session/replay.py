"""The run that a replay takes its proposals from: read once, chain checked, and never trusted with more than proposing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deskcert_core.drift import facts_of, rebased
from deskcert_core.errors import EvidenceError, UsageError
from deskcert_core.evidence.record import Replayed
from deskcert_core.evidence.store import RunFolder
from deskcert_core.evidence.verify import verify
from deskcert_core.proposal import Proposal
from deskcert_core.task import Task
from deskcert_core.trial import Evidence, read_trial

__all__ = ["Recording"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The recorded trials that a run replays, by task id and number. `base` is the base URL of that run and of this one."""

    run_id: str
    agent: str
    base: tuple[str, str]
    trials: dict[tuple[str, int], Evidence]

    @classmethod
    def open(cls, path: Path, wanted: Sequence[tuple[str, int]], base_url: str) -> Recording:
        """Those trials of the run folder at `path`. Raises UsageError for one that it does not have, EvidenceError where the folder does not hold together."""
        try:
            folder = RunFolder.open(path)
        except EvidenceError as error:
            if (path / "manifest.json").exists():
                raise
            raise UsageError(f"there is no run to replay at {path}", hint="write --agent replay:RUN, the path of a run folder") from error
        verify(folder)
        suite, there = folder.suite, set(folder.trials())
        tasks = {task.id: task for task in suite.tasks}
        if missing := [f"{task} {number}" for task, number in wanted if (task, number) not in there or task not in tasks]:
            raise UsageError(f"run {folder.run_id} has no trial {', '.join(missing)} to replay", hint="choose with --task and --trials")
        trials = {key: read_trial(tasks[key[0]], folder.lines(*key), folder.text, suite.costs) for key in wanted}
        if empty := [f"{task} {number}" for (task, number), evidence in trials.items() if not evidence.steps]:
            raise UsageError(f"run {folder.run_id} has nothing to replay in trial {', '.join(empty)}: its agent proposed nothing")
        agent = str(folder.manifest.get("agent", ""))
        return cls(run_id=folder.run_id, agent=agent, base=(suite.environment.base_url, base_url), trials=trials)

    def scripted(self, task: Task, number: int) -> Task:
        """The task with the recorded proposals as its script."""
        return replace(task, script=tuple(self._again(step.proposal) for step in self.trials[task.id, number].steps))

    def record(self, task_id: str, number: int) -> Replayed:
        """What stands in this run's journal of the recorded one."""
        facts = facts_of(self.trials[task_id, number], self.base)
        return Replayed(run_id=self.run_id, trial=number, agent=self.agent, steps=facts)

    def _again(self, proposal: Proposal) -> Proposal:
        """Its address under this run's base URL; and no usage: no model is called."""
        return replace(proposal, url=rebased(proposal.url, self.base) if proposal.url else proposal.url, usage=None)
