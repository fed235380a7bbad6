"""The session's side of the request gate: every request of every page is decided and recorded here before it may leave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from deskcert_core.address import Address, Origin
from deskcert_core.approval import Approval
from deskcert_core.effect import Request
from deskcert_core.evidence.record import Answered, Note, Requested
from deskcert_core.evidence.store import JournalWriter, RunFolder
from deskcert_core.execution import Verdict
from deskcert_core.gate import Grant, RequestOutcome
from deskcert_core.policy.engine import decide_request, reaches
from deskcert_core.policy.rules import Decision, Policy, Status
from deskcert_core.session.act import ActDesk

__all__ = ["OpenTraffic", "PageTraffic", "SessionTraffic", "Window"]


@dataclass(slots=True)
class Load:
    """A top document that was let go. `status` is the response's, None if none came; `answered` is false while it is waited for."""

    number: int
    answered: bool = False
    status: int | None = None


@dataclass(slots=True)
class Window:
    """The step that is being executed. Opened with what the act may send, closed when the page has settled."""

    agent: bool
    causes: bool
    grant: Grant


class PageSide(Protocol):
    """What answers for one page."""

    async def decide(self, request: Request, body: bytes | None) -> tuple[int, Verdict]: ...

    def answered(self, number: int, status: int | None) -> None: ...


class PageTraffic:
    """One trial's page. `refused` holds the outcomes of the act's own refused requests since the window was opened, `load` the newest top document."""

    def __init__(self, *, desk: ActDesk, folder: RunFolder) -> None:
        self._desk, self._folder = desk, folder
        self._window: Window | None = None
        self._number = self._held = 0
        self._free = asyncio.Event()
        self._free.set()
        self._let_in, self._kept_out = set[Origin](), set[Origin]()
        self.refused: list[RequestOutcome] = []
        self.load: Load | None = None

    def open(self, *, agent: bool, causes: bool, grant: Grant) -> None:
        """An act begins: the agent's, or (`agent` false) the harness's own opening of the start page. `causes` is false for an act that
        only looks or waits: what the page sends meanwhile is the page's own doing."""
        self._window, self.refused = Window(agent=agent, causes=causes, grant=grant), []

    def close(self) -> None:
        self._window = None

    def nobodys(self, page: Address | None) -> bool:
        """Whether what stands at this address came from no server: the gate's own refusal, as nothing of this origin was ever let in, or the browser's error page."""
        if page is None:
            return False
        return page.origin.scheme == "chrome-error" or (page.origin in self._kept_out and page.origin not in self._let_in)

    @property
    def holding(self) -> bool:
        return self._held > 0

    async def free(self) -> None:
        """Until no request is held for an approval."""
        await self._free.wait()

    async def decide(self, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        self._number += 1
        number, window = self._number, self._window
        agents = window is not None and window.agent
        grant = window.grant if window else Grant()
        if window and grant.covers(request):
            window.grant = grant.without(request)  # used up before anything is awaited: two requests never share one grant
        try:
            outcome = await self._desk.decide_request(request, number, grant, may_ask=agents, hold=self._hold)
        except asyncio.CancelledError:  # the page was closed while a person was asked: it never left, and the record says so
            cut = RequestOutcome(go=False, decision=decide_request(self._desk.policy, request), approval="unavailable")
            self._record(request, number, cut, False, body)
            raise
        (self._let_in if outcome.go else self._kept_out).add(request.address.origin)
        if outcome.go and request.navigation:
            self.load = Load(number)
        own = window is not None and window.causes and (request.navigation or request.writes)
        if own and not outcome.go:
            self.refused.append(outcome)
        self._record(request, number, outcome, own, body)
        return number, Verdict(allow=outcome.go, reason=outcome.decision.reason)

    def answered(self, number: int, status: int | None) -> None:
        if self.load and self.load.number == number:
            self.load.answered, self.load.status = True, status
        self._desk.journal.append(Answered(number=number, status=status))

    def _record(self, request: Request, number: int, outcome: RequestOutcome, own: bool, body: bytes | None) -> None:
        """On the disk before the request may leave, if it writes. Bodies are kept where they are text that policy could read."""
        text = self._folder.text_blob(body.decode("utf-8", "replace")) if body and isinstance(request.fields, tuple) else None
        self._desk.journal.append(
            Requested(
                step=self._desk.step, number=number, request=request, decision=outcome.decision, own=own, let_go=outcome.go, granted=outcome.granted, body=text,
            ),
            sync=request.writes,
        )

    async def _hold(self, asking: Awaitable[Approval]) -> Approval:
        self._held += 1
        self._free.clear()
        try:
            return await asking
        finally:
            self._held -= 1
            if not self._held:
                self._free.set()


class OpenTraffic:
    """A page of the harness itself (log-in, session check, canary): only the hosts are decided. Goes to run.jsonl, without bodies."""

    def __init__(self, *, name: str, policy: Policy, journal: JournalWriter) -> None:
        self._name, self._policy, self._journal, self._number = name, policy, journal, 0
        self.seen = self.let_go = 0

    async def decide(self, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        self.seen += 1
        self._number += 1
        allow = request.kind == "http" and reaches(self._policy, request.address.origin)
        self.let_go += allow
        self._journal.append(Note(what=f"{self._name}_request", detail={"method": request.method, "url": bare_url(request), "allowed": allow}), sync=True)
        return self._number, Verdict(allow=allow, reason="" if allow else "not in the policy's domains")

    def answered(self, number: int, status: int | None) -> None:
        self._journal.append(Note(what=f"{self._name}_response", detail={"number": number, "status": status}))


class SessionTraffic:
    """The one `Traffic` of a run: sends each request to its page. A request of no page is the browser's own: recorded, refused, nobody's fault."""

    def __init__(self, journal: JournalWriter) -> None:
        self._journal, self.pages = journal, dict[str, PageSide]()

    async def decide(self, page: str, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        side = self.pages.get(page)
        if side is not None:
            return await side.decide(request, body)
        self._journal.append(Note(what="browser_request", detail={"method": request.method, "url": bare_url(request), "page": page}))
        return 0, Verdict(allow=False, reason="no trial's request")

    def answered(self, page: str, number: int, status: int | None) -> None:
        if side := self.pages.get(page):
            side.answered(number, status)


def bare_url(request: Request) -> str:
    """The address without its query: log-in links carry tokens there."""
    return f"{request.address.origin}{request.address.path}"


def blocked(outcome: RequestOutcome) -> bool:
    return outcome.decision.status is Status.BLOCKED


def reason_of(decision: Decision) -> str:
    return f"{decision.reason} ({decision.matched_rule}{', ' + decision.line if decision.line else ''})"
