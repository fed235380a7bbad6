"""One connection of the browser: parse, decide, forward or refuse. Nothing is sent anywhere before the verdict, and every exception refuses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import h11

from deskcert_adapters.executors.proxy import body as form
from deskcert_adapters.executors.proxy.flights import Flight, Flights
from deskcert_adapters.executors.proxy.head import check, connection_options, destination, header, navigates, onward, origin_of
from deskcert_adapters.executors.proxy.relay import Relay
from deskcert_adapters.executors.proxy.tls import RunKey, answer_tls, first_byte
from deskcert_adapters.executors.proxy.upstream import Upstream, UpstreamBroke, UpstreamFault, connect
from deskcert_adapters.executors.proxy.wire import HEAD_LIMIT, Garbage, Limits, Link
from deskcert_core.address import Address, Origin, parse
from deskcert_core.effect import Request
from deskcert_core.execution import Traffic, Verdict

__all__ = ["Conversation", "Shared"]

BODILESS = (b"GET", b"HEAD")
REPEATABLE = (b"GET", b"HEAD", b"OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all connections of a gate share. `on_garbage` is told of what could not be put to `traffic`, `on_fault` of our own faults."""

    traffic: Traffic
    key: RunKey
    context: ssl.SSLContext
    body_limit: int
    limits: Limits
    on_garbage: Callable[[str, str], None]
    on_fault: Callable[[str, Exception], None]


class Conversation:
    """A connection from its first byte to its last. `page` is "" for traffic of no page: asked about, and refused whatever the answer."""

    def __init__(self, shared: Shared, page: str, flights: Flights, link: Link) -> None:
        self._shared = shared
        self._page = page
        self._link = self._plain = link  # the plain socket's writer must outlive the TLS over it
        self._flight = Flight(flights)
        self._tunnel: Origin | None = None
        self._server = h11.Connection(h11.SERVER)
        self._up: Upstream | None = None
        self._patience = shared.limits.first
        self._begun = False
        self._over = False

    async def run(self) -> None:
        try:
            while await self._exchange():
                self._flight.end()
        except asyncio.CancelledError:
            self._link.abort()
            raise
        except Garbage as bad:
            self._shared.on_garbage(self._page, str(bad))
            await self._break_off(400, str(bad))
        except (OSError, TimeoutError):
            self._link.abort()
        except Exception as fault:
            self._shared.on_fault(self._page, fault)
            await self._break_off(502, "the gate failed and sent nothing more")
        finally:
            self._flight.end()
            if self._up is not None:
                self._up.abort()
            await self._link.close(self._shared.limits.linger)

    async def _exchange(self) -> bool:
        """One request. True if another may follow on this connection."""
        raw = await self._link.head(self._patience, self._shared.limits.head, self._flight.start)
        if raw is None:
            return False
        check(raw)
        self._begun = False
        self._server = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT)
        self._server.receive_data(raw + self._link.rest)
        self._link.rest = b""
        request = self._next()
        if not isinstance(request, h11.Request) or request.http_version != b"1.1" or request.method != request.method.upper():
            raise Garbage("not HTTP/1.1, or a method in lower case")
        options = connection_options(request)
        if request.method == b"CONNECT":
            return await self._connect(request)
        self._patience = self._shared.limits.idle
        address = destination(request, self._tunnel)
        if header(request, b"upgrade"):
            return await self._socket(request, address, options)
        await self._ask(request, address)
        if self._server.their_state is h11.SEND_BODY and not self._over:  # answered before the body was sent
            await self._link.linger(self._shared.limits.linger)
        self._link.rest = self._server.trailing_data[0]
        return self._server.their_state is h11.DONE and "close" not in options and not self._over

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._server.next_event()
        except h11.RemoteProtocolError as error:
            raise Garbage("bytes that are no HTTP") from error

    async def _connect(self, request: h11.Request) -> bool:
        """Open a tunnel that ends here: with TLS, or plain as browsers do for ws:. Never passed on unread."""
        if self._tunnel is not None:
            raise Garbage("CONNECT inside a tunnel")
        target = request.target.decode("ascii")
        place = origin_of("https", target)
        if not target.endswith(f":{place.port}") or origin_of("https", header(request, b"host")) != place:
            raise Garbage("CONNECT to no host and port, or Host names another place")
        if self._server.trailing_data[0] or header(request, b"transfer-encoding") or header(request, b"content-length") not in ("", "0"):
            raise Garbage("bytes after CONNECT, before its answer")
        self._link.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        byte = await first_byte(self._link, self._shared.limits.first)
        if byte == b"\x16":
            try:
                self._link = await answer_tls(self._link, self._shared.key.context(place.host), self._shared.limits.first)
            except ssl.SSLError:
                raise Garbage("a TLS handshake with the browser that failed") from None
            self._tunnel = place
        else:
            self._link.resume()
            self._tunnel = origin_of("http", target)
        return bool(byte)

    async def _socket(self, request: h11.Request, address: Address, options: frozenset[str]) -> bool:
        """Sockets are asked about, so that they stand in the record, and refused whatever the answer: their messages could not be decided."""
        if request.method != b"GET" or header(request, b"upgrade").lower() != "websocket" or "upgrade" not in options:
            raise Garbage("an upgrade to something else than a WebSocket")
        there = parse("ws" + address.href.removeprefix("http"))
        number, verdict = await self._shared.traffic.decide(self._page, Request(method="GET", address=there, kind="websocket"), None)
        await self._refuse(number, verdict, "WebSockets are refused", close=True)
        return False

    async def _ask(self, request: h11.Request, address: Address) -> None:
        """Read the body as far as it is decided on, ask, and do as told."""
        body, rest = await self._body()
        if request.method in BODILESS and (body or rest):
            raise Garbage("a body where none belongs")
        sent = onward(request, address, None if rest else body)
        number, verdict = await self._shared.traffic.decide(self._page, _facts(request, address, body, whole=rest is None), None if rest else body)
        if not verdict.allow or not self._page:
            await self._refuse(number, verdict, "traffic of no page", close=rest is not None, silent=request.method == b"HEAD")
        elif self._link.reader.gone:
            self._shared.traffic.answered(self._page, number, None)
        else:
            await self._forward(number, sent, address.origin, body, rest)

    async def _body(self) -> tuple[bytes, AsyncGenerator[bytes, None] | None]:
        """The body, or what of it passed the limit first, and then the rest of it."""
        pieces = self._pieces()
        body = bytearray()
        async for data in pieces:
            body += data
            if len(body) > self._shared.body_limit:
                return bytes(body), pieces
        return bytes(body), None

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        while not isinstance(event := self._next(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)
                continue
            if self._server.they_are_waiting_for_100_continue:
                self._link.writer.write(self._server.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            try:
                self._server.receive_data(await self._link.read(self._shared.limits.body))
            except TimeoutError:
                raise Garbage("a body that does not go on") from None
        if event.headers:
            raise Garbage("headers after the body")

    async def _forward(self, number: int, request: h11.Request, origin: Origin, body: bytes, rest: AsyncGenerator[bytes, None] | None) -> None:
        def answered(status: int, streaming: bool) -> None:
            self._begun = True
            self._shared.traffic.answered(self._page, number, status)
            if streaming:
                self._flight.end()

        relay = Relay(self._link, self._server, self._shared.limits, answered)
        try:
            await self._through(relay, request, origin, body, rest)
        except (UpstreamFault, Garbage, OSError, TimeoutError) as fault:
            if not self._begun:
                self._shared.traffic.answered(self._page, number, None)
            if not isinstance(fault, UpstreamFault):
                raise
            await self._break_off(502, str(fault))

    async def _through(self, relay: Relay, request: h11.Request, origin: Origin, body: bytes, rest: AsyncGenerator[bytes, None] | None) -> None:
        """Over the last connection if it still serves, else over a new one. Only what may be sent twice is risked on an old one."""
        up, self._up = self._up, None
        if up is not None and up.origin == origin and up.fresh and request.method in REPEATABLE and rest is None:
            try:
                await self._run(relay, up, request, body, rest)
                return
            except UpstreamBroke:
                if self._begun or self._link.reader.gone:
                    raise
        elif up is not None:
            up.abort()
        await self._run(relay, await connect(origin, self._shared.context, self._shared.limits), request, body, rest)

    async def _run(self, relay: Relay, up: Upstream, request: h11.Request, body: bytes, rest: AsyncGenerator[bytes, None] | None) -> None:
        try:
            await relay.run(up, request, body, rest)
            if up.ready():
                self._up = up
        finally:
            if self._up is not up:
                up.abort()

    async def _refuse(self, number: int, verdict: Verdict, overruled: str, *, close: bool, silent: bool = False) -> None:
        """`overruled` is the reason where the gate itself refuses what was allowed; `silent` leaves the text out, for HEAD."""
        if verdict.allow:
            self._shared.traffic.answered(self._page, number, None)
        reason = overruled if verdict.allow else verdict.reason or "by the policy"
        if close:
            await self._break_off(403, reason)
        else:
            self._link.writer.write(_refusal(403, reason, close=False, silent=silent))
            await self._link.drain(self._shared.limits.body)

    async def _break_off(self, status: int, reason: str) -> None:
        """Refuse and end the connection; if the browser has part of an answer, cut it so that nobody takes it for the whole."""
        self._over = True
        if self._begun:
            self._link.abort()
        else:
            self._link.writer.write(_refusal(status, reason, close=True, silent=False))
            await self._link.linger(self._shared.limits.linger)


def _refusal(status: int, reason: str, *, close: bool, silent: bool) -> bytes:
    text = f"Refused by DeskCert's request gate: {reason}\n".encode()
    head = (
        f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"
        f"Cache-Control: no-store\r\nContent-Length: {len(text)}\r\n{'Connection: close' if close else 'Connection: keep-alive'}\r\n\r\n"
    )
    return head.encode("ascii") + (b"" if silent else text)


def _facts(request: h11.Request, address: Address, body: bytes, *, whole: bool) -> Request:
    """The request as the policy sees it. No header but the type goes on, so no cookie reaches the record."""
    content_type, length = header(request, b"content-type"), header(request, b"content-length")
    return Request(
        method=request.method.decode("ascii"),
        address=address,
        fields=form.fields(content_type, header(request, b"content-encoding"), body if whole else None),
        content_type=form.essence(content_type),
        body_size=len(body) if whole else int(length) if length else None,
        navigation=navigates(request),
        files=form.has_file(content_type, body),
    )
