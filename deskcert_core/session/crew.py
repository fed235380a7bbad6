"""Who does a run's trials: makes page, journal and agent for each, and turns whatever breaks into a record that says whose fault it was."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from deskcert_core.address import parse
from deskcert_core.errors import AgentFault, HarnessFault, PluginError, TrialFault
from deskcert_core.evaluation import Criterion
from deskcert_core.evidence.record import AgentOutput, AgentReady, Fault, Note, TrialEnded, TrialStarted
from deskcert_core.evidence.store import JournalWriter, RunFolder, StoreError
from deskcert_core.execution import Browser, Page, PagePlan, SecretValue
from deskcert_core.plugins import drivers
from deskcert_core.plugins.hooks import TrialSeen
from deskcert_core.policy.engine import selectors
from deskcert_core.policy.rules import Policy
from deskcert_core.session import probes
from deskcert_core.session.act import ActDesk, TrialId
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.application import Application
from deskcert_core.session.desk import Desk
from deskcert_core.session.login import Logins
from deskcert_core.session.progress import Progress, Watcher
from deskcert_core.session.replay import Recording
from deskcert_core.session.sandbox import Cell
from deskcert_core.session.traffic import PageTraffic, SessionTraffic
from deskcert_core.session.trial import Trial
from deskcert_core.task import AgentPlan, Assertion, Suite, Task
from deskcert_core.trial import Probe

__all__ = ["Crew", "stamp"]

AGENT_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class Crew:
    """One per run. Agent processes are kept and used again while they live; at once there are as many as trials run at once."""

    run_id: str
    suite: Suite
    policy: Policy
    folder: RunFolder
    journal: JournalWriter
    browser: Browser
    traffic: SessionTraffic
    desk: Desk
    logins: Logins
    application: Application
    agent: AgentPlan
    adapter: drivers.Found
    criteria: Mapping[str, type[Criterion]]
    env: Mapping[str, str]
    secrets: Mapping[str, SecretValue]
    watch: Watcher
    recording: Recording | None = None
    cell: Cell = field(default_factory=Cell)
    hired: int = 0
    idle: list[AgentProcess] = field(default_factory=list)

    async def trial(self, task: Task, number: int) -> None:
        """One trial, start to end. Raises only if evidence cannot be written, or what is our own bug."""
        journal = self.folder.journal(task.id, number)
        self.journal.append(Note(what="trial", detail={"task": task.id, "trial": number}), sync=True)
        journal.append(
            TrialStarted(
                run_id=self.run_id, task_id=task.id, trial=number, agent=self.agent.name, started_at=stamp(datetime.now(UTC)), manifest=self.folder.digest,
            ),
            sync=True,
        )
        ended = TrialEnded(reason="fault", message="the trial was cut short")
        try:
            ended = await self._guarded(task, number, journal)
        except asyncio.CancelledError:
            ended = TrialEnded(reason="interrupted", message="interrupted by the operator")
            raise
        except StoreError:
            raise
        except Exception as error:  # our bug: recorded as the harness's fault, then shown with its traceback
            journal.append(Fault(whose="harness", message=f"{type(error).__name__}: {error}"))
            raise
        finally:
            self._finish(journal, task, number, ended)

    def _finish(self, journal: JournalWriter, task: Task, number: int, ended: TrialEnded) -> None:
        seen = TrialSeen(
            run_id=self.run_id, task_id=task.id, trial=number, reason=ended.reason, final_status=ended.final_status, answer=ended.answer,
        )
        for problem in self.desk.hooks.trial_ended(seen):
            self.journal.append(Note(what="hook_problem", detail={"message": problem}))
        if not journal.broken:
            journal.append(ended, sync=True)
        journal.close()
        self.watch(Progress(kind="trial_end", task_id=task.id, trial=number, text=ended.message or ended.final_status or ended.reason))

    async def _guarded(self, task: Task, number: int, journal: JournalWriter) -> TrialEnded:
        """The trial, with whatever breaks in it turned into records."""
        try:
            await self.application.reset()
            ended = await self._with_page(self.recording.scripted(task, number) if self.recording else task, number, journal)
            if not self.application.alive:
                said = " ".join(self.application.output()[-200:].split())
                journal.append(Fault(whose="application", message=f"the application that was served ended{': ' + said if said else ''}"))
            return ended
        except StoreError:
            raise
        except TrialFault as fault:
            whose = fault.whose
            if whose != "agent" and not self.application.alive:
                whose = "application"
            journal.append(Fault(whose=whose, message=str(fault)))
            return TrialEnded(reason="agent_fault" if whose == "agent" else "fault", message=str(fault))
        except PluginError as error:
            journal.append(Fault(whose="harness", message=str(error)))
            return TrialEnded(reason="fault", message=str(error))

    async def _with_page(self, task: Task, number: int, journal: JournalWriter) -> TrialEnded:
        state = await self.logins.state(task.session) if task.session else None
        name = f"{task.id}/{number}"
        home = (parse(self.suite.environment.base_url).origin, parse(task.start_url).origin)
        desk = ActDesk(
            id=TrialId(run_id=self.run_id, task_id=task.id, trial=number), policy=self.policy, home=home, desk=self.desk, journal=journal,
        )
        side = self.traffic.pages[name] = PageTraffic(desk=desk, folder=self.folder)
        page = await self.browser.open(PagePlan(name=name, storage_state=state, selectors=selectors(self.policy)))
        try:
            ended = await self._with_agent(task, journal, desk, side, page)
            await self._after(task, page, journal)
            return ended
        finally:
            await page.close()
            del self.traffic.pages[name]

    async def _with_agent(
        self, task: Task, journal: JournalWriter, desk: ActDesk, side: PageTraffic, page: Page,
    ) -> TrialEnded:
        agent = self.idle.pop() if self.idle else await self._hire()
        try:
            journal.append(AgentReady(adapter=str(self.adapter), wants_script=agent.wants_script, isolation=agent.isolation, calls_model=agent.calls_model))
            if self.recording:
                journal.append(self.recording.record(task.id, desk.id.trial))
            trial = Trial(
                task=task, suite=self.suite, policy=self.policy, page=page, agent=agent, traffic=side, desk=desk, journal=journal, folder=self.folder,
                secrets=self.secrets, watch=self.watch,
            )
            return await trial.run()
        finally:
            if agent.alive:
                self.idle.append(agent)
            else:
                journal.append(AgentOutput(text=self.folder.text_blob(await agent.close())))

    async def _hire(self) -> AgentProcess:
        """A process for the next trial. One that cannot start is a broken plug-in; if it could before, the agent broke it."""
        try:
            agent = await AgentProcess.start(self.agent.name, self.adapter.value, self.agent.options, self.env, AGENT_SECONDS, self.cell)
        except PluginError as error:
            if not self.hired:
                raise
            raise AgentFault(f"it started before and does not any more: {error.message}") from error
        self.hired += 1
        return agent

    async def _after(self, task: Task, page: Page, journal: JournalWriter) -> None:
        """What can only be told at the end: is the session still alive, and the facts that criteria asked for."""
        if task.session and not await self.logins.alive(task.session, await page.storage_state()):
            raise HarnessFault(f"session {task.session!r} was gone at the end of the trial", whose="session")
        root, env = Path(self.suite.root), {"DESKCERT_BASE_URL": self.suite.environment.base_url}
        for assertion in task.assertions:
            for probe in self._wanted(assertion):
                journal.append(await probes.take(probe, page, root, env))

    def _wanted(self, assertion: Assertion) -> Sequence[Probe]:
        """What a criterion wants to have kept. A criterion that raises is a broken plug-in, not our bug."""
        try:
            return self.criteria[assertion.type]().probes(assertion.params)
        except Exception as error:
            raise PluginError(f"criterion {assertion.type!r} failed at its probes: {type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """End the agents; what they printed is kept."""
        for agent in self.idle:
            self.journal.append(Note(what="agent_output", detail={"text": self.folder.text_blob(await agent.close())}))
        self.idle.clear()


def stamp(moment: datetime) -> str:
    """A time in UTC, as records and manifest have it for people."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
