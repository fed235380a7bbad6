"""Logging in, outside the agent: a setup script or a storage-state file gives a session, and a check proves that it is alive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from deskcert_core.errors import HarnessFault
from deskcert_core.evidence.record import Note
from deskcert_core.evidence.store import JournalWriter
from deskcert_core.execution import Browser, Page, PagePlan, SecretValue
from deskcert_core.policy.rules import Policy
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.session.traffic import OpenTraffic, SessionTraffic
from deskcert_core.task import Login

__all__ = ["Logins"]


class Logins:
    """One per run. A session's cookies stay in memory: no run folder ever holds them."""

    def __init__(
        self, *, logins: Mapping[str, Login], root: Path, browser: Browser, traffic: SessionTraffic, policy: Policy, journal: JournalWriter,
        secrets: Mapping[str, SecretValue],
    ) -> None:
        self._logins, self._root, self._browser, self._traffic = logins, root, browser, traffic
        self._policy, self._journal, self._secrets = policy, journal, secrets
        self._made: dict[str, tuple[str, float]] = {}
        self._turn = asyncio.Lock()

    async def state(self, name: str) -> str:
        """Playwright's storage state for a session that is alive now. Raises HarnessFault (whose: session)."""
        login = self._logins[name]
        async with self._turn:
            state, made = self._made.get(name, ("", 0.0))
            if not state or (login.max_age_seconds is not None and time.monotonic() - made > login.max_age_seconds):
                state = await self._make(login)
            if not await self.alive(login.name, state):
                state = await self._make(login)
                if not await self.alive(login.name, state):
                    raise HarnessFault(f"session {name!r}: after the log-in, {login.check_url} does not show {login.check_selector!r}", whose="session", hint="a wrong password, or another selector?")
            return state

    async def alive(self, name: str, state: str) -> bool:
        """Whether the check page shows what only a logged-in user sees; true where the suite has no check."""
        login = self._logins[name]
        if login.check_url is None or login.check_selector is None:
            return True
        page = await self._open(f"check-{name}", state)
        try:
            await step(page, Proposal(action_type=ActionType.GOTO, url=login.check_url), name, {})
            found = await page.exists(login.check_selector)
        finally:
            await self._close(f"check-{name}", page)
        self._journal.append(Note(what="session_check", detail={"session": name, "alive": found}))
        return found

    async def _make(self, login: Login) -> str:
        if login.setup is None:
            return self._from_file(login)
        self._journal.append(Note(what="login", detail={"session": login.name, "task": login.setup.id}), sync=True)
        page = await self._open(f"login-{login.name}", None)
        try:
            await step(page, Proposal(action_type=ActionType.GOTO, url=login.setup.start_url), login.name, {})
            for proposal in login.setup.script or ():
                if proposal.action_type is not ActionType.FINISH:
                    await step(page, proposal, login.name, self._secrets)
            state = await page.storage_state()
        finally:
            await self._close(f"login-{login.name}", page)
        self._made[login.name] = state, time.monotonic()
        return state

    def _from_file(self, login: Login) -> str:
        try:
            state = (self._root / (login.storage_state or "")).read_text()
        except OSError as error:
            raise HarnessFault(f"session {login.name!r}: {login.storage_state}: {error.strerror}", whose="session") from error
        self._made[login.name] = state, time.monotonic()
        return state

    async def _open(self, page_name: str, state: str | None) -> Page:
        self._traffic.pages[page_name] = OpenTraffic(name=page_name.partition("-")[0], policy=self._policy, journal=self._journal)
        return await self._browser.open(PagePlan(name=page_name, storage_state=state))

    async def _close(self, page_name: str, page: Page) -> None:
        await page.close()
        del self._traffic.pages[page_name]


async def step(page: Page, proposal: Proposal, session: str, secrets: Mapping[str, SecretValue]) -> None:
    """One step of a log-in. Raises HarnessFault naming the step, never a value."""
    what = f"session {session!r}: {proposal.action_type} {proposal.target or proposal.url or ''}".rstrip()
    grounding = await page.ground(proposal)
    if grounding.problem:
        raise HarnessFault(f"{what}: {grounding.problem}", whose="session")
    result = await page.act(proposal, grounding, secrets)
    if result.status != "success":
        raise HarnessFault(f"{what}: {result.status}: {result.message}", whose="session")
    await page.settle()
