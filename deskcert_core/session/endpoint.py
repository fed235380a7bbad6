"""The one way out of a sandboxed agent's network: a proxy on a unix socket that goes to the endpoint its suite declares, and nowhere else.

TLS passes through unread: the key in it is the user's. Only host and port are held, so names that share an address behind TLS are not told apart.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deskcert_core.address import Origin, parse
from deskcert_core.errors import HarnessFault

__all__ = ["Endpoint"]

HEAD_LIMIT = 1 << 16
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 15.0
CHUNK = 1 << 16
MOST_NOTES = 100
REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.1")
OURS_TO_WRITE = (b"connection", b"host", b"keep-alive", b"proxy-authorization", b"proxy-connection")


class Refused(Exception):
    """Not for the endpoint. The text is what was asked for."""


class Endpoint:
    """One per run. `refused` is told each address that was asked for and is not the endpoint's, at most `MOST_NOTES` of them."""

    def __init__(self, url: str, refused: Callable[[str], object]) -> None:
        """`url` is absolute, http or https. Raises ValueError for one that is not."""
        self.origin = parse(url).origin
        if self.origin.scheme not in ("http", "https"):
            raise ValueError(f"an endpoint is http or https, not {self.origin.scheme}")
        self._refused, self._notes = refused, 0
        self._folder = tempfile.TemporaryDirectory(prefix="deskcert-endpoint-", ignore_cleanup_errors=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.socket = str(Path(self._folder.name) / "endpoint.sock")

    async def start(self) -> None:
        try:
            self._server = await asyncio.start_unix_server(self._accept, self.socket, limit=HEAD_LIMIT)
        except OSError as error:
            raise HarnessFault(f"no socket for the agent's endpoint: {error}") from error

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        self._folder.cleanup()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._forward(self._first(head), reader, writer)
        except Refused as asked:
            self._note(str(asked))
            await answer(writer, b"403 Forbidden")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await answer(writer, b"502 Bad Gateway")
        finally:
            writer.close()

    def _first(self, head: bytes) -> bytes:
        """What goes to the endpoint first: nothing for a tunnel, else the request as a server knows it. Raises Refused."""
        line, *fields = head[:-4].split(b"\r\n")
        match = REQUEST.fullmatch(line)
        if match is None or any(b"\n" in one or b"\r" in one for one in (line, *fields)):
            raise Refused(shown(line))
        method, target = match[1], match[2]
        tunnel = method == b"CONNECT"
        scheme = self.origin.scheme if tunnel else "http"
        try:
            asked = parse(f"{scheme}://{target.decode('ascii')}/" if tunnel else target.decode("ascii"))
        except ValueError:
            raise Refused(shown(line)) from None
        if asked.origin != Origin(scheme=scheme, host=self.origin.host, port=self.origin.port) or scheme != self.origin.scheme or (tunnel and asked.path != "/"):
            raise Refused(shown(line))
        if tunnel:
            return b""
        path = asked.href[len(str(asked.origin)):].partition("#")[0] or "/"
        kept = [one for one in fields if one.partition(b":")[0].strip().lower() not in OURS_TO_WRITE]
        host = str(self.origin).partition("://")[2].encode()
        return b"\r\n".join([b"%s %s HTTP/1.1" % (method, path.encode()), b"Host: " + host, b"Connection: close", *kept, b"", b""])

    async def _forward(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            far_reader, far_writer = await asyncio.open_connection(self.origin.host.strip("[]"), self.origin.port)
        try:
            if first:
                far_writer.write(first)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                out = both.create_task(pump(reader, far_writer))
                await pump(far_reader, writer)
                out.cancel()
        finally:
            far_writer.close()

    def _note(self, asked: str) -> None:
        self._notes += 1
        if self._notes <= MOST_NOTES:
            self._refused(asked)


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()


async def answer(writer: asyncio.StreamWriter, status: bytes) -> None:
    with suppress(OSError):
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        await writer.drain()


def shown(line: bytes) -> str:
    """A stranger's request line for the record: printable, without the query, which may hold a key."""
    return "".join(c if c.isprintable() else "?" for c in line.partition(b"?")[0].decode("latin-1"))[:200]
