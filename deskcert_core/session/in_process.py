"""The agent in DeskCert's own process, for a debugger: the host in a thread, at the same two pipes. Nothing is kept from it and nothing can end it."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from asyncio import Runner
from collections.abc import Mapping
from contextlib import suppress

from deskcert_core.session.pipes import Pipes

__all__ = ["InProcess"]

TICK_SECONDS = 0.01


class Silent:
    """The output of a process that has none of its own: it goes where DeskCert's goes."""

    text = last_line = ""

    def drain(self) -> None:
        """There is nothing to take."""


class InProcess:
    """As `Child`, without a process. `env` is set in this one. A hanging adapter keeps its thread until DeskCert ends."""

    def __init__(self, host: str, env: Mapping[str, str]) -> None:
        os.environ.update(env)
        self.stdout = self.stderr = Silent()
        self._pipes = Pipes(self.ended)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, args=(importlib.import_module(host).Host,), name="agent", daemon=True)
        self._thread.start()

    def _serve(self, host: type) -> None:
        try:
            with Runner() as runner:
                host(*self._pipes.theirs, runner).serve()
        finally:
            self._pipes.close_theirs()

    def ended(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    async def send(self, data: bytes) -> None:
        await self._pipes.send(data)

    async def receive(self, count: int) -> bytes:
        return await self._pipes.receive(count)

    async def gone(self, seconds: float) -> bool:
        import asyncio

        for _ in range(round(seconds / TICK_SECONDS)):
            if self.ended():
                break
            await asyncio.sleep(TICK_SECONDS)
        return self.ended()

    def hit(self, number: signal.Signals) -> None:
        """A thread cannot be ended from outside; its pipe can."""

    async def stop(self) -> int | None:
        return None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with suppress(OSError):
                self._pipes.close()
