"""How many requests of a page are under way, and when there was silence."""

from __future__ import annotations

import asyncio
import contextlib

__all__ = ["Flight", "Flights"]


class Flights:
    """The requests in flight of one page. Lives in one event loop."""

    def __init__(self) -> None:
        self.busy = 0
        self._ended = 0.0
        self._changed = asyncio.Event()

    def change(self, by: int) -> None:
        self.busy += by
        self._ended = asyncio.get_running_loop().time()
        self._changed.set()
        self._changed = asyncio.Event()

    async def quiet(self, seconds: float, limit: float) -> bool:
        """True once nothing was in flight for `seconds`, counted from this call; False after `limit` seconds."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            silent = max(start, self._ended) + seconds
            now = loop.time()
            if not self.busy and now >= silent:
                return True
            if now >= start + limit:
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(start + limit if self.busy else min(silent, start + limit)):
                    await self._changed.wait()


class Flight:
    """One request, or one CONNECT until its handshake is over. `start` and `end` count once each."""

    def __init__(self, flights: Flights) -> None:
        self._flights = flights
        self._flying = False

    def start(self) -> None:
        if not self._flying:
            self._flying = True
            self._flights.change(1)

    def end(self) -> None:
        if self._flying:
            self._flying = False
            self._flights.change(-1)
