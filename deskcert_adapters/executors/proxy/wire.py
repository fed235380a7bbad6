"""A socket as the gate uses it: bytes in and out under time limits, strict about where a head ends, and told when the other side leaves."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import SupportsIndex

__all__ = ["HEAD_LIMIT", "Garbage", "Limits", "Link", "Reader"]

HEAD_LIMIT = 1 << 16
CHUNK = 1 << 16
_BARE_LF = re.compile(rb"(?<!\r)\n")


class Garbage(Exception):
    """What came from the browser's side is no request that could be decided. The text is one line for people, without any of the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: `first` byte of a connection or after CONNECT, `idle` between requests, a whole `head`, `connect` upstream (with TLS),
    each silence inside a `body`, each silence of an upstream's `answer` (an event stream has none), `linger` after a refusal."""

    first: float = 30.0
    idle: float = 300.0
    head: float = 15.0
    connect: float = 15.0
    body: float = 60.0
    answer: float = 300.0
    linger: float = 1.0


class Reader(asyncio.StreamReader):
    """Says what asyncio's does not: `stirred` if anything came since it was cleared, `gone` once the other side left; then `lost` is called."""

    stirred = False
    gone = False
    lost: Callable[[], None] | None = None

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self.stirred = True
        super().feed_data(data)

    def feed_eof(self) -> None:
        super().feed_eof()
        self._left()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._left()

    def _left(self) -> None:
        self.stirred = self.gone = True
        if self.lost is not None:
            self.lost()


class Link:
    """One socket. `rest` holds bytes that came after the part last read."""

    def __init__(self, reader: Reader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.rest = b""

    async def read(self, seconds: float | None) -> bytes:
        """The next bytes, b"" at the end. Raises TimeoutError, OSError."""
        async with asyncio.timeout(seconds):
            return await self.reader.read(CHUNK)

    async def drain(self, seconds: float | None = None) -> None:
        async with asyncio.timeout(seconds):
            await self.writer.drain()

    async def head(self, first: float, whole: float, started: Callable[[], None]) -> bytes | None:
        """The next head with its blank line, None if the other side ends instead. `started` is called at its first byte. Raises Garbage."""
        data = self.rest or await self.read(first)
        if not data:
            return None
        started()
        try:
            async with asyncio.timeout(whole):
                while (end := data.find(b"\r\n\r\n")) < 0:
                    data += await self._more(data)
        except TimeoutError:
            raise Garbage("a request that does not end its head") from None
        self.rest = data[end + 4 :]
        return data[: end + 4]

    async def _more(self, data: bytes) -> bytes:
        if len(data) > HEAD_LIMIT:
            raise Garbage("a head that is too long")
        if _BARE_LF.search(data) or data[0] < 0x21:
            raise Garbage("bytes that are no request")
        more = await self.reader.read(CHUNK)
        if not more:
            raise Garbage("a request cut off in its head")
        return more

    async def linger(self, seconds: float) -> None:
        """Throw away what still comes, so that closing does not destroy the answer on its way."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(seconds):
                await self.writer.drain()
                if self.writer.can_write_eof():
                    self.writer.write_eof()
                while await self.reader.read(CHUNK):
                    pass

    async def close(self, seconds: float) -> None:
        """Send what is written and close; cut it off if that takes longer."""
        self.reader.lost = None
        self.writer.close()
        try:
            async with asyncio.timeout(seconds):
                await self.writer.wait_closed()
        except (TimeoutError, OSError):
            self.abort()
        except asyncio.CancelledError:
            self.abort()
            raise

    def resume(self) -> None:
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.resume_reading()

    def abort(self) -> None:
        self.writer.transport.abort()
