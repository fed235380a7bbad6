"""The request gate: one forward proxy, the browser's only way out and the one place that decides on the network.

An address for each page, so that it is known which trial asks. It lives in the session's process and event loop: when they die nothing leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from deskcert_adapters.executors.proxy.flights import Flights
from deskcert_adapters.executors.proxy.http import Conversation, Shared
from deskcert_adapters.executors.proxy.tls import RunKey, upstream_context
from deskcert_adapters.executors.proxy.wire import Limits, Link, Reader
from deskcert_core.execution import Traffic

__all__ = ["RequestGate"]


@dataclass(slots=True, kw_only=True)
class _Door:
    """One listening address and what goes on behind it."""

    server: asyncio.Server
    flights: Flights
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def port(self) -> int:
        port: int = self.server.sockets[0].getsockname()[1]
        return port


class RequestGate:
    """Asks `traffic` about every request and forwards what it allows. Raises UnavailableError if the PEM file `ca` cannot be used.

    `body_limit` is in bytes: longer bodies are decided on unread. `on_garbage(page, reason)` is told of bytes that were no request and therefore
    could not be put to `traffic`; `on_fault(page, exception)` of an exception in the gate or in `traffic`, which refuses the request
    (by default it goes to the loop's exception handler). A request that was allowed is `answered` once, unless its page is closed first.
    """

    def __init__(
        self,
        traffic: Traffic,
        *,
        ca: str | None = None,
        body_limit: int = 1 << 20,
        limits: Limits | None = None,
        on_garbage: Callable[[str, str], None] | None = None,
        on_fault: Callable[[str, Exception], None] | None = None,
    ) -> None:
        self._shared = Shared(
            traffic=traffic,
            key=RunKey(),
            context=upstream_context(ca),
            body_limit=body_limit,
            limits=limits or Limits(),
            on_garbage=on_garbage or _ignore,
            on_fault=on_fault or _report,
        )
        self._doors: dict[str, _Door] = {}

    @property
    def spki(self) -> str:
        """For Chromium's --ignore-certificate-errors-spki-list."""
        return self._shared.key.spki

    @property
    def launch_port(self) -> int:
        """The address for the browser as a whole: everything there is asked about with page "" and refused."""
        return self._doors[""].port

    async def start(self) -> None:
        self._doors[""] = await self._listen("")

    async def open(self, page: str) -> int:
        """The port on 127.0.0.1 for this page's context. Raises ValueError if the page has one, or no name."""
        if not page or page in self._doors:
            raise ValueError(f"no new page: {page!r}")
        self._doors[page] = await self._listen(page)
        return self._doors[page].port

    async def close_page(self, page: str) -> None:
        """Stop listening and cut the page's connections, also those that are held. A page that is not open is no error."""
        if (door := self._doors.pop(page, None)) is None:
            return
        door.server.close()
        for task in door.tasks:
            task.cancel()
        await asyncio.gather(*door.tasks, return_exceptions=True)

    async def stop(self) -> None:
        for page in tuple(self._doors):
            await self.close_page(page)

    def busy(self, page: str) -> int:
        """Requests in flight: from the first byte of the head to the end of the response, of an event stream to the end of its head."""
        return door.flights.busy if (door := self._doors.get(page)) else 0

    async def quiet(self, page: str, seconds: float, limit: float) -> bool:
        """True once nothing was in flight for `seconds`, counted from this call at the earliest; False after `limit` seconds."""
        return await door.flights.quiet(seconds, limit) if (door := self._doors.get(page)) else True

    async def _listen(self, page: str) -> _Door:
        loop = asyncio.get_running_loop()
        flights = Flights()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert isinstance(reader, Reader)
            task = loop.create_task(Conversation(self._shared, page, flights, Link(reader, writer)).run())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await loop.create_server(lambda: asyncio.StreamReaderProtocol(Reader(), connected), "127.0.0.1", 0)
        return _Door(server=server, flights=flights, tasks=tasks)


def _ignore(page: str, reason: str) -> None:
    pass


def _report(page: str, fault: Exception) -> None:
    asyncio.get_running_loop().call_exception_handler(
        {"message": f"the request gate refused a request of page {page!r} after an error", "exception": fault}
    )
