"""An allowed request on its way up and its response on its way down, both as streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import h11

from deskcert_adapters.executors.proxy.head import header, returned
from deskcert_adapters.executors.proxy.upstream import Upstream, UpstreamFault
from deskcert_adapters.executors.proxy.wire import Limits, Link

__all__ = ["Relay"]

SMALL = 1 << 14


class Relay:
    """One exchange. `answered` is told of the status and whether events stream, before the browser sees any of it."""

    def __init__(self, client: Link, server: h11.Connection, limits: Limits, answered: Callable[[int, bool], None]) -> None:
        self._client = client
        self._server = server
        self._limits = limits
        self._answered = answered
        self._ready = bytearray()  # for the browser, sent once nothing more waits to be read

    async def run(self, up: Upstream, request: h11.Request, body: bytes, rest: AsyncIterator[bytes] | None) -> None:
        """Send `request`, `body` and then `rest` (None if `body` is all), hand the answer to the browser.

        Raises UpstreamFault, and what `rest` raises; the upstream's connection is then no longer of use.
        """
        self._client.reader.lost = up.abort  # a browser that leaves takes its request with it
        sender = asyncio.create_task(self._upload(up, request, body, rest)) if rest or len(body) > SMALL else None
        try:
            if sender is None:
                await up.send(request, h11.Data(data=body), h11.EndOfMessage())
            await self._download(up)
        except UpstreamFault:
            if sender is not None and sender.done() and not sender.cancelled() and (error := sender.exception()):
                raise error from None  # the browser's side broke first
            raise
        finally:
            self._client.reader.lost = None
            if sender is not None:
                sender.cancel()
                await asyncio.gather(sender, return_exceptions=True)

    async def _upload(self, up: Upstream, request: h11.Request, body: bytes, rest: AsyncIterator[bytes] | None) -> None:
        try:
            await up.send(request, h11.Data(data=body))
            if rest is not None:
                async for data in rest:
                    await up.send(h11.Data(data=data))
            await up.send(h11.EndOfMessage())
        except UpstreamFault:
            return  # it may have answered before it stopped listening; if not, the download says so
        except BaseException:
            up.abort()
            raise

    async def _download(self, up: Upstream) -> None:
        silence: float | None = self._limits.answer
        while True:
            match event := up.event():
                case None:
                    await self._flush()
                    await up.receive(silence)
                case h11.InformationalResponse():
                    if event.status_code == 103:  # 100 is settled between browser and gate
                        self._write(h11.InformationalResponse(status_code=103, headers=list(event.headers.raw_items())))
                case h11.Response():
                    if event.status_code == 407:
                        raise UpstreamFault("the application's server asks for a proxy's password")
                    streaming = header(event, b"content-type").lower().startswith("text/event-stream")
                    silence = None if streaming else silence
                    self._answered(event.status_code, streaming)
                    self._write(returned(event))
                case h11.Data():
                    self._write(h11.Data(data=event.data))
                case h11.EndOfMessage():
                    self._write(h11.EndOfMessage())
                    return await self._flush()

    def _write(self, event: h11.Event) -> None:
        self._ready += self._server.send(event) or b""

    async def _flush(self) -> None:
        self._client.writer.write(bytes(self._ready))
        self._ready.clear()
        await self._client.drain(self._limits.answer)  # a browser may pause a download
