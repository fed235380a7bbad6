"""One trial's page: a fresh context behind an address of its own on the request gate. The calls of the core's protocol `Page`, each within its time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import TypeVar

from playwright.async_api import BrowserContext, CDPSession, Error
from playwright.async_api import Page as Tab

from deskcert_adapters.executors.chromium.act import Actor
from deskcert_adapters.executors.chromium.observe import observe
from deskcert_adapters.executors.chromium.resolve import Resolver
from deskcert_adapters.executors.chromium.watch import DialogOpened, Late, Watch, first_line
from deskcert_adapters.executors.chromium.world import World
from deskcert_adapters.executors.proxy.server import RequestGate
from deskcert_core.effect import Grounding
from deskcert_core.errors import HarnessFault, InputError
from deskcert_core.errors import Problem as FileProblem
from deskcert_core.execution import ExecutionResult, PagePlan, SecretValue, Seen
from deskcert_core.proposal import Proposal

__all__ = ["ChromiumPage"]

T = TypeVar("T")
ANSWER_SECONDS = 5.0
SETTLE_SECONDS = 5.0
QUIET_SECONDS = 0.025
REST_SECONDS = 1.0


class ChromiumPage:
    """Implements Page. Made by Chromium.open; `closed` is called once, when the page is closed."""

    def __init__(self, plan: PagePlan, context: BrowserContext, tab: Tab, gate: RequestGate, *, files: bool, closed: Callable[[ChromiumPage], None]) -> None:
        self.name = plan.name
        self.watch = Watch(context, tab)
        self._plan, self._context, self._gate, self._files, self._closed = plan, context, gate, files, closed
        self._last: Grounding | None = None
        self._world: World
        self._resolver: Resolver
        self._actor: Actor

    async def prepare(self, cdp: CDPSession) -> None:
        """Before the first act. Raises InputError for a selector of the policy that is no CSS: it would never match, and so never restrict."""
        self._world = world = World(cdp, await self.watch.listen(cdp))
        await cdp.send("Network.enable")
        await cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
        bad = await world.text("selectorFault", list(self._plan.selectors))
        if bad is not None:
            raise InputError([FileProblem(file="policy", message=f"{bad!r} is not a CSS selector")])
        self._resolver = Resolver(self.watch, world, self._plan.selectors, self._files)
        self._actor = Actor(self.watch, world)

    async def observe(self, *, picture: bool = True) -> Seen:
        return await observe(self.watch, self._world, picture=picture)

    async def ground(self, proposal: Proposal) -> Grounding:
        self._last = await self._resolver.ground(proposal)
        return self._last

    async def act(self, proposal: Proposal, grounding: Grounding, secrets: Mapping[str, SecretValue]) -> ExecutionResult:
        """Only the newest grounding can be acted on: an older one may speak of another element."""
        if grounding != self._last:
            return ExecutionResult(status="error", message="not done: the page was grounded anew since")
        return await self._actor.act(proposal, grounding, secrets)

    async def settle(self) -> None:
        """Until the navigation that an act started is over and the gate is silent, at most SETTLE_SECONDS. A dialog, a crash, a hang end the wait."""
        clock = asyncio.get_running_loop().time
        end = clock() + SETTLE_SECONDS
        try:
            while clock() < end:
                with contextlib.suppress(Error, Late):
                    await self.watch.race(self._world.call("rest", into=bool), min(REST_SECONDS, end - clock()))
                await self.watch.race(self.watch.loaded(), max(0.01, end - clock()))
                quiet = await self.watch.race(self._gate.quiet(self.name, QUIET_SECONDS, max(0.01, end - clock())), SETTLE_SECONDS)
                if quiet and not self.watch.loading:
                    return
        except (DialogOpened, Late):
            return
        except HarnessFault as fault:
            if fault.whose == "browser":
                raise

    async def exists(self, selector: str) -> bool:
        """Raises HarnessFault if the page does not answer or the selector is no CSS."""
        return await self._bounded(self._world.call("exists", selector, into=bool))

    async def storage_state(self) -> str:
        """Playwright's JSON: cookies and local storage of this context."""
        return json.dumps(await self._bounded(self._context.storage_state()))

    async def _bounded(self, work: Coroutine[object, object, T]) -> T:
        try:
            return await self.watch.race(work, ANSWER_SECONDS)
        except (Late, DialogOpened) as error:
            raise HarnessFault("the page does not answer", whose="application") from error
        except Error as error:
            raise HarnessFault(f"the page does not answer: {first_line(error)}", whose="application") from error

    async def close(self) -> None:
        """Never raises: a page that cannot be closed goes with its browser."""
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._context.close()
        await self.watch.drop()
        await self._gate.close_page(self.name)
        self._closed(self)
