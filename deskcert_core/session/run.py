"""One run of a suite: browser, canary, application, trials; every one of them recorded, and closed whatever happens."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets as tokens
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from deskcert_core import __version__
from deskcert_core.approval import Approver
from deskcert_core.errors import HarnessFault, UnavailableError, UsageError
from deskcert_core.evaluation import Criterion
from deskcert_core.evidence.record import Note, RunEnded, RunStarted
from deskcert_core.evidence.store import JournalWriter, RunFolder
from deskcert_core.execution import Browser, BrowserInfo, BrowserPlan, PagePlan, SecretValue
from deskcert_core.loading import Loaded
from deskcert_core.plugins import drivers
from deskcert_core.plugins.hooks import Hooks, RunSeen
from deskcert_core.plugins.provenance import taking_part
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.session import sandbox, secrets
from deskcert_core.session.application import Application
from deskcert_core.session.crew import Crew, stamp
from deskcert_core.session.desk import Classifier, Desk
from deskcert_core.session.endpoint import Endpoint
from deskcert_core.session.login import Logins
from deskcert_core.session.program import placed
from deskcert_core.session.progress import Progress, Watcher
from deskcert_core.session.replay import Recording
from deskcert_core.session.sandbox import Cell, Isolation
from deskcert_core.session.traffic import OpenTraffic, SessionTraffic
from deskcert_core.task import AgentPlan, Task

__all__ = ["RunOptions", "run_suite"]

RunReason = Literal["finished", "interrupted", "fault"]
REPLAY = "replay"
KEYS = Path("~/.config/deskcert")
CANARY = "http://canary.deskcert.invalid/"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line adds to a suite. `agent` is a name of the suite's `agents`, or of an installed adapter. `out` is the folder of runs."""

    agent: str
    out: Path
    approver: str | None = None
    trials: int | None = None
    tasks: tuple[str, ...] = ()
    agent_options: Mapping[str, str] = field(default_factory=dict)
    isolation: Isolation | None = None


async def run_suite(loaded: Loaded, options: RunOptions, watch: Watcher) -> Path:
    """Run the suite and give the run's folder. Whatever the trials do is in there; raises only what keeps a run from starting or recording."""
    started = datetime.now(UTC)
    run = Run(loaded, options, watch, f"{started:%Y%m%dT%H%M%SZ}-{tokens.token_hex(3)}")
    async with AsyncExitStack() as stack:
        await run.open(stack, started)
        await run.trials()
    return run.folder.path


class Run:
    """One run while it goes on. `open` puts everything on the stack that must be closed."""

    def __init__(self, loaded: Loaded, options: RunOptions, watch: Watcher, run_id: str) -> None:
        self.suite, self.policy, self.options, self.watch = loaded.suite, loaded.policy, options, watch
        self.run_id, self.root = run_id, Path(loaded.suite.root)
        refuse_unbuilt(loaded)
        self.tasks = chosen(loaded.suite.tasks, options.tasks)
        self.agent = agent_plan(loaded.suite.agents, options, self.root)
        self.adapter = drivers.pick("deskcert.adapters", self.agent.adapter)
        self.todo = [(task, number) for task in self.tasks for number in range(1, (options.trials or loaded.suite.trials) + 1)]
        self.recording = self._recording()
        self.env = {name: os.environ[name] for name in self.agent.env if name in os.environ}
        self.isolation = sandbox.chosen(options.isolation, self.agent.isolation)
        self.ran = 0
        self.ended: RunEnded | None = None

    async def open(self, stack: AsyncExitStack, started: datetime) -> None:
        approver, browser = self._drivers()
        values = await secrets.fetch(self.suite.secrets, self.root)
        self.folder = RunFolder.create(self.options.out / self.run_id, secrets={name: secret.value for name, secret in values.items()})
        self.watch = unseen(self.watch, self.folder)
        self.journal = self.folder.run_journal()
        stack.callback(self._close)
        stack.enter_context(sandbox.unreadable())
        self.traffic = SessionTraffic(self.journal)
        self.say("starting the browser")
        stack.push_async_callback(browser.close)
        info = await browser.start(self._browser_plan(), self.traffic)
        self._check_containment(info)
        self.folder.write_manifest(self._manifest(info, started), self.suite, self.policy)
        self.journal.append(RunStarted(run_id=self.run_id, started_at=stamp(started), browser=info, manifest=self.folder.digest), sync=True)
        await canary(browser, self.traffic, self.journal, self)
        await self._application(stack)
        self.crew = self._crew(approver, browser, values, await self._cell(stack))

    async def trials(self) -> None:
        """Every task as often as asked for, serial or so many at once. A broken trial does not stop the next; evidence that cannot be written does."""
        at_once = 1 if self.suite.concurrency == "serial" else int(self.suite.concurrency)
        turn = asyncio.Semaphore(at_once)

        async def one(place: int, task: Task, number: int) -> None:
            async with turn:
                self.ran += 1
                self.watch(Progress(kind="trial", text=task.goal, task_id=task.id, trial=number, number=place, total=len(self.todo)))
                await self.crew.trial(task, number)

        reason: RunReason = "fault"
        try:
            async with asyncio.TaskGroup() as group:
                for place, (task, number) in enumerate(self.todo, 1):
                    group.create_task(one(place, task, number))
            reason = "finished"
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        except asyncio.CancelledError:
            reason = "interrupted"
            raise
        finally:
            await self._end(reason)

    async def _end(self, reason: RunReason) -> None:
        await self.crew.close()
        for problem in self.crew.desk.hooks.run_ended(RunSeen(run_id=self.run_id, reason=reason, trials=self.ran)):
            self.journal.append(Note(what="hook_problem", detail={"message": problem}))
        self.ended = RunEnded(reason=reason, trials=self.ran)

    def _close(self) -> None:
        """The last record, once browser and application are closed: they too leave records. A run that never came to its trials has none."""
        try:
            if self.ended:
                self.journal.append(self.ended, sync=True)
        finally:
            self.journal.close()

    def say(self, text: str) -> None:
        self.watch(Progress(kind="run", text=text))

    # -- putting it together
    def _recording(self) -> Recording | None:
        if self.agent.adapter != REPLAY:
            return None
        if "run" not in self.agent.options:
            raise UsageError("a replay needs the run that it replays", hint="write --agent replay:RUN, the path of a run folder")
        wanted = [(task.id, number) for task, number in self.todo]
        return Recording.open(self.root / self.agent.options["run"], wanted, self.suite.environment.base_url)

    def _drivers(self) -> tuple[Approver, Browser]:
        """The approver and the browser; `load` has checked what they must have, and their protocols are this code's own."""
        self.approver = self.options.approver or self.suite.approver
        approver = cast("type[Approver]", drivers.get("deskcert.approvers", self.approver))()
        return approver, cast("type[Browser]", drivers.get("deskcert.executors", "chromium"))()

    def _browser_plan(self) -> BrowserPlan:
        starts = [self.suite.environment.base_url, *(task.start_url for task in self.suite.tasks)]
        files = self.policy.file_roots if any(url.startswith("file:") for url in starts) else ()
        return BrowserPlan(containment=self.policy.containment, files=files, ca=self.suite.environment.ca)

    def _check_containment(self, info: BrowserInfo) -> None:
        if self.policy.containment == "netns" and info.containment != "netns":
            raise UnavailableError(f"the policy wants containment netns, this machine gives {info.containment}", hint="see: deskcert doctor")

    def _manifest(self, info: BrowserInfo, started: datetime) -> dict[str, object]:
        hooks = self.hooks = Hooks.load()
        part = [self.adapter, drivers.pick("deskcert.approvers", self.approver), *hooks.plugins]
        names = sorted({assertion.type for task in self.tasks for assertion in task.assertions})
        self.criteria = {name: cast("type[Criterion]", drivers.get("deskcert.criteria", name)) for name in names}
        part += [drivers.pick("deskcert.criteria", name) for name in names]
        part += [drivers.pick("deskcert.effects", name) for name in self.policy.classifiers]
        return {
            "deskcert": __version__, "started_at": stamp(started), "suite": self.suite.name, "environment": self.suite.environment.name,
            "base_url": self.suite.environment.base_url, "agent": self.agent.name, "adapter": str(self.adapter), "agent_env": sorted(self.env),
            "agent_options": dict(self.agent.options), "agent_isolation": self.isolation, "approver": self.approver, "browser": asdict(info),
            "containment": info.containment, "python": sys.version.split()[0], "system": platform.system(),
            "criteria": {name: criterion.version for name, criterion in self.criteria.items()},
            "plugins": [asdict(one) for one in taking_part(part)], "tasks": [task.id for task in self.tasks],
            "replay": {"run_id": self.recording.run_id, "agent": self.recording.agent} if self.recording else None,
        }

    async def _application(self, stack: AsyncExitStack) -> None:
        self.application = Application(self.suite.environment, self.root, {"DESKCERT_BASE_URL": self.suite.environment.base_url})
        stack.push_async_callback(self.application.stop)
        if self.suite.environment.serve:
            self.say("starting the application")
        await self.application.start()
        self.journal.append(Note(what="serve", detail={"base_url": self.suite.environment.base_url, "ours": self.suite.environment.serve is not None}))

    async def _cell(self, stack: AsyncExitStack) -> Cell:
        """Where the agents run: what they are never shown, and their one way out."""
        gate = None
        if self.isolation == "sandbox" and self.agent.endpoint:
            endpoint = Endpoint(self.agent.endpoint, lambda asked: self.journal.append(Note(what="agent_egress_refused", detail={"asked": asked})))
            stack.push_async_callback(endpoint.close)
            await endpoint.start()
            gate = endpoint.socket
        hidden = (str(self.options.out.absolute()), str(self.root.absolute()), str(KEYS.expanduser()))  # noqa: ASYNC240 - reads nothing
        return Cell(isolation=self.isolation, memory_mb=self.agent.memory_mb, files=self.agent.files, hidden=hidden, gate=gate)

    def _crew(self, approver: Approver, browser: Browser, values: Mapping[str, SecretValue], cell: Cell) -> Crew:
        names = self.policy.classifiers
        classifiers = [cast("type[Classifier]", drivers.get("deskcert.effects", name))() for name in names]
        desk = Desk(hooks=self.hooks, classifiers=classifiers, approver=approver, rules=self.policy.approvals, watch=self.watch)
        logins = Logins(
            logins=self.suite.logins, root=self.root, browser=browser, traffic=self.traffic, policy=self.policy, journal=self.journal, secrets=values,
        )
        return Crew(
            run_id=self.run_id, suite=self.suite, policy=self.policy, folder=self.folder, journal=self.journal, browser=browser, traffic=self.traffic,
            desk=desk, logins=logins, application=self.application, agent=self.agent, adapter=self.adapter, criteria=self.criteria,
            env=self.env, secrets=values, watch=self.watch, recording=self.recording, cell=cell,
        )


def unseen(watch: Watcher, folder: RunFolder) -> Watcher:
    """The watcher, shown no secret."""
    return lambda progress: watch(folder.shown(progress))


async def canary(browser: Browser, traffic: SessionTraffic, journal: JournalWriter, run: Run) -> None:
    """One forbidden request must be refused by the gate, else no trial starts: the gate is alive and on the only way out."""
    side = OpenTraffic(name="canary", policy=run.policy, journal=journal)
    traffic.pages["canary"] = side
    page = await browser.open(PagePlan(name="canary"))
    try:
        proposal = Proposal(action_type=ActionType.GOTO, url=CANARY + run.run_id)
        await page.act(proposal, await page.ground(proposal), {})
    except HarnessFault as fault:
        raise UnavailableError(f"the browser does not work: {fault}") from fault
    finally:
        await page.close()
        del traffic.pages["canary"]
    journal.append(Note(what="canary", detail={"asked": side.seen, "let_go": side.let_go}), sync=True)
    if side.seen == 0 or side.let_go:
        raise UnavailableError("the request gate did not refuse its canary: nothing would be stopped", hint="see: deskcert doctor")


def agent_plan(agents: Mapping[str, AgentPlan], options: RunOptions, root: Path) -> AgentPlan:
    """The suite's entry with the command line's options over it, or `replay:RUN`; a command from there names files as they are seen where it was typed."""
    name, mark, run = options.agent.partition(":")
    if name == REPLAY and mark and options.agent not in agents:
        return AgentPlan(name=REPLAY, adapter=REPLAY, options={**options.agent_options, "run": str(Path(run).absolute())})
    plan = agents.get(options.agent) or AgentPlan(name=options.agent, adapter=options.agent)
    merged = {**plan.options, **options.agent_options}
    return placed(replace(plan, options=merged), Path.cwd() if {"command", "path"} & set(options.agent_options) else root)


def chosen(tasks: tuple[Task, ...], wanted: tuple[str, ...]) -> tuple[Task, ...]:
    missing = sorted(set(wanted) - {task.id for task in tasks})
    if missing:
        raise UsageError(f"the suite has no task {', '.join(map(repr, missing))}", hint=f"it has {', '.join(task.id for task in tasks)}")
    return tuple(task for task in tasks if not wanted or task.id in wanted)


def refuse_unbuilt(loaded: Loaded) -> None:
    """What a file may say and this version does not do yet is refused, never passed over. Raises UnavailableError."""
    policy, suite = loaded.policy, loaded.suite
    said = {
        "redact in the policy": bool(policy.redact), "network.upstream_proxy in the policy": policy.upstream_proxy != "none",
        "network.private in the policy": bool(policy.private_networks), "retries in a task": any(task.retries for task in suite.tasks),
    }
    if unbuilt := [what for what, is_said in said.items() if is_said]:
        raise UnavailableError(f"{' and '.join(unbuilt)}: not built in this version", hint="write [], none or 0 there")
