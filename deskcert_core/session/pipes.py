"""Two pipes to an agent: bytes out and in, watched for its end. It knows no message."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

__all__ = ["Pipes"]

LOOK_SECONDS = 0.1
MOST = 1 << 20


class Pipes:
    """The parent's ends. `ended` says whether the other side has gone: it may have, while somebody else still holds its ends."""

    def __init__(self, ended: Callable[[], bool]) -> None:
        self._ended = ended
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        self.theirs = (theirs_in, theirs_out)
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    async def send(self, data: bytes) -> None:
        """Raises EOFError if the other side has gone."""
        left, loop = memoryview(data), asyncio.get_running_loop()
        while left:
            gone = self._ended()
            try:
                left = left[os.write(self._write, left):]
            except BlockingIOError:
                if gone:
                    raise EOFError from None
                await self._ready(self._write, loop.add_writer, loop.remove_writer)
            except BrokenPipeError as error:
                raise EOFError from error

    async def receive(self, count: int) -> bytes:
        """Exactly `count` bytes. Raises EOFError if the other side has gone, even where a grandchild still holds the pipe."""
        parts, loop = bytearray(), asyncio.get_running_loop()
        while len(parts) < count:
            gone = self._ended()
            try:
                part = os.read(self._read, min(count - len(parts), MOST))
            except BlockingIOError:
                if gone:
                    raise EOFError from None
                await self._ready(self._read, loop.add_reader, loop.remove_reader)
                continue
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    async def _ready(self, fd: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
        """Until the pipe is ready, but look up now and then: the other side may have ended without closing it."""
        ready = asyncio.Event()
        add(fd, ready.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await ready.wait()
        finally:
            remove(fd)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)

    def close_theirs(self) -> None:
        for fd in self.theirs:
            os.close(fd)
