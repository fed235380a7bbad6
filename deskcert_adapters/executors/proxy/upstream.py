"""One connection to an application's server. Opened only for a request that was allowed."""

from __future__ import annotations

import asyncio
import ssl

import h11

from deskcert_adapters.executors.proxy.wire import HEAD_LIMIT, Limits, Link, Reader
from deskcert_core.address import Origin

__all__ = ["Upstream", "UpstreamBroke", "UpstreamFault", "connect"]


class UpstreamFault(Exception):
    """The application's server cannot be reached, or does not speak HTTP. The text is one line for people."""


class UpstreamBroke(UpstreamFault):
    """It closed the connection, or answered in no HTTP."""


class Upstream:
    """A connection and its protocol state. Whatever goes wrong on it is an UpstreamFault."""

    def __init__(self, origin: Origin, link: Link, limits: Limits) -> None:
        self.origin = origin
        self.conn = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
        self._link = link
        self._limits = limits

    async def send(self, *events: h11.Event) -> None:
        try:
            self._link.writer.write(b"".join(self.conn.send(event) or b"" for event in events))
            await self._link.drain(self._limits.body)
        except (OSError, TimeoutError, h11.LocalProtocolError) as error:
            raise UpstreamBroke("the application's server does not take the request") from error

    async def receive(self, seconds: float | None) -> None:
        try:
            self.conn.receive_data(await self._link.read(seconds))
        except TimeoutError as error:
            raise UpstreamFault("the application's server does not answer in time") from error
        except OSError as error:
            raise UpstreamBroke("the application's server broke off") from error

    def event(self) -> h11.Event | None:
        """The next event of what was received, None if more has to be."""
        try:
            event = self.conn.next_event()
        except h11.RemoteProtocolError as error:
            raise UpstreamBroke("the application's server broke off or answered in no HTTP") from error
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, h11.Event) or isinstance(event, h11.ConnectionClosed):
            raise UpstreamBroke("the application's server closed without an answer")
        return event

    def ready(self) -> bool:
        """Make it ready for another request, if both sides left it so."""
        if self.conn.our_state is not h11.DONE or self.conn.their_state is not h11.DONE or self.conn.trailing_data[0]:
            return False
        self.conn.start_next_cycle()
        self._link.reader.stirred = False
        return not self._link.reader.gone

    @property
    def fresh(self) -> bool:
        """Nothing came since `ready`: neither its end nor an answer that nobody asked for."""
        return not self._link.reader.stirred

    def abort(self) -> None:
        self._link.abort()


async def connect(origin: Origin, context: ssl.SSLContext, limits: Limits) -> Upstream:
    """A new connection, verified if the origin is https. Names under localhost are 127.0.0.1 and nothing else. Raises UpstreamFault."""
    loop = asyncio.get_running_loop()
    reader = Reader()
    protocol = asyncio.StreamReaderProtocol(reader)
    name = origin.host.strip("[]")
    local = name.rstrip(".") == "localhost" or name.rstrip(".").endswith(".localhost")
    secure = origin.scheme == "https"
    try:
        async with asyncio.timeout(limits.connect):
            transport, _ = await loop.create_connection(
                lambda: protocol,
                "127.0.0.1" if local else name,
                origin.port or 0,
                ssl=context if secure else None,
                server_hostname=name if secure else None,
            )
    except ssl.SSLCertVerificationError as error:
        raise UpstreamFault(f"the certificate of {origin} is not trusted: {error.verify_message}") from error
    except (OSError, TimeoutError, UnicodeError, ValueError) as error:
        raise UpstreamFault(f"no connection to {origin}") from error
    return Upstream(origin, Link(reader, asyncio.StreamWriter(transport, protocol, reader, loop)), limits)
