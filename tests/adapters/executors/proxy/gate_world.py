"""A world of loopback for the gate's tests: an origin that counts what reaches it, a Traffic that can be told what to say, and a raw client."""

from __future__ import annotations

import asyncio
import datetime
import functools
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec

import h11
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deskcert_adapters.executors.proxy.server import RequestGate
from deskcert_adapters.executors.proxy.wire import Limits
from deskcert_core.effect import Request
from deskcert_core.execution import Verdict

Answer = Callable[["Hit", asyncio.StreamWriter], Awaitable[None]]
P = ParamSpec("P")
YES = Verdict(allow=True)
NO = Verdict(allow=False, reason="the test says no")


def in_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run an async test in a loop of its own, with an end."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))

    return run


@dataclass
class Hit:
    """One request that reached the origin."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    reader: asyncio.StreamReader


@dataclass
class Origin:
    """Counts connections and whole requests; answers by `answer`, by default 200 with the body it was sent, or `ok`."""

    port: int = 0
    connections: int = 0
    bytes_in: int = 0
    hits: list[Hit] = field(default_factory=list)
    answer: Answer | None = None
    early: Answer | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            conn = h11.Connection(h11.SERVER)
            while (hit := await self._read(conn, reader, writer, number)) is not None:
                await (self.answer or plain)(hit, writer)
                await writer.drain()
                rest = conn.trailing_data[0]
                conn = h11.Connection(h11.SERVER)
                if rest:
                    conn.receive_data(rest)
        except (OSError, h11.RemoteProtocolError):
            pass
        finally:
            writer.close()

    async def _read(self, conn: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> Hit | None:
        hit, body = None, bytearray()
        while True:
            event = conn.next_event()
            if event is h11.NEED_DATA:
                data = await reader.read(65536)
                self.bytes_in += len(data)
                if not data and hit is None:
                    return None
                conn.receive_data(data)
            elif isinstance(event, h11.Request):
                headers = {name.decode(): value.decode() for name, value in event.headers}
                hit = Hit(event.method.decode(), event.target.decode(), headers, b"", number, reader)
                if self.early is not None:
                    await self.early(hit, writer)
                    return None
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and hit is not None:
                hit.body = bytes(body)
                self.hits.append(hit)
                return hit
            else:
                return None


async def plain(hit: Hit, writer: asyncio.StreamWriter) -> None:
    body = hit.body or b"ok"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body))
    writer.write(b"" if hit.method == "HEAD" else body)


def answering(raw: bytes, *, close: bool = False) -> Answer:
    async def answer(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        if close:
            writer.close()

    return answer


@dataclass
class Told:
    """A Traffic: records what it was asked, answers by `says`, by default yes to all (the negative control)."""

    says: Callable[[Request, bytes | None], Verdict] = lambda request, body: YES
    hold: asyncio.Event | None = None
    asked: list[tuple[str, Request, bytes | None]] = field(default_factory=list)
    answers: list[tuple[str, int, int | None]] = field(default_factory=list)
    asking: asyncio.Event = field(default_factory=asyncio.Event)

    async def decide(self, page: str, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        self.asked.append((page, request, body))
        self.asking.set()
        number = len(self.asked)
        if self.hold is not None:
            await self.hold.wait()
        return number, self.says(request, body)

    def answered(self, page: str, number: int, status: int | None) -> None:
        self.answers.append((page, number, status))


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A browser made of bytes: sends what it is given, reads answers as h11 does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._conn = h11.Connection(h11.CLIENT)

    async def send(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def reply(self, method: str = "GET") -> Reply | None:
        """The next final answer, None if the gate closes without one."""
        rest = self._conn.trailing_data[0]
        self._conn = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 17)
        self._conn.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        if method != "CONNECT":
            self._conn.send(h11.EndOfMessage())
        if rest:
            self._conn.receive_data(rest)
        head, body = None, bytearray()
        try:
            while True:
                event = self._conn.next_event()
                if event is h11.NEED_DATA:
                    self._conn.receive_data(await self.reader.read(65536))
                elif isinstance(event, h11.Response):
                    head = event
                    if method == "CONNECT":
                        return Reply(head.status_code, {}, b"")
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage) and head is not None:
                    return Reply(head.status_code, {n.decode(): v.decode() for n, v in head.headers}, bytes(body))
        except (OSError, h11.RemoteProtocolError):
            return None

    async def ask(self, raw: bytes, method: str = "GET") -> Reply | None:
        await self.send(raw)
        return await self.reply(method)

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


@dataclass
class World:
    gate: RequestGate
    traffic: Told
    origin: Origin
    port: int
    garbage: list[tuple[str, str]]
    faults: list[Exception]
    clients: list[Client] = field(default_factory=list)

    async def client(self, port: int | None = None) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", port or self.port, limit=1 << 20))
        self.clients.append(client)
        return client

    async def tunnel(self, ca: str | None = None, host: str = "localhost") -> Client:
        """A client that has asked for a tunnel, with TLS in it that trusts the gate's key whoever signed (Chromium is told so by its SPKI)."""
        client = await self.client()
        place = f"{host}:{self.origin.port}"
        reply = await client.ask(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode(), "CONNECT")
        assert reply is not None
        assert reply.status == 200
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        await client.writer.start_tls(context, server_hostname=host)
        client.reader._transport = client.writer.transport  # type: ignore[attr-defined]  # 3.11 leaves the old one there
        return client

    def request(self, method: str = "GET", path: str = "/", headers: str = "", body: bytes = b"") -> bytes:
        """An absolute-form request to the origin; `headers` with their line ends."""
        place = f"localhost:{self.origin.port}"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        return f"{method} http://{place}{path} HTTP/1.1\r\nHost: {place}\r\n{length}{headers}\r\n".encode("latin-1") + body

    def inner(self, method: str = "GET", path: str = "/", headers: str = "", body: bytes = b"") -> bytes:
        """The same as it stands inside a tunnel."""
        return self.request(method, path, headers, body).replace(f"http://localhost:{self.origin.port}".encode(), b"", 1)


@asynccontextmanager
async def world(
    traffic: Told | None = None,
    *,
    tls: tuple[str, str, str] | None = None,
    limits: Limits | None = None,
    ca: str | None = None,
    body_limit: int = 1 << 20,
) -> AsyncIterator[World]:
    """An origin (with TLS if `tls` = its authority, certificate, key as paths), a gate before it, and a page `p`."""
    told = traffic or Told()
    origin = Origin()
    context = None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls[1], tls[2])
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0, ssl=context, limit=1 << 20)
    origin.port = server.sockets[0].getsockname()[1]
    garbage: list[tuple[str, str]] = []
    faults: list[Exception] = []
    gate = RequestGate(
        told,
        ca=ca,
        body_limit=body_limit,
        limits=limits,
        on_garbage=lambda page, reason: garbage.append((page, reason)),
        on_fault=lambda page, fault: faults.append(fault),
    )
    await gate.start()
    made = World(gate, told, origin, await gate.open("p"), garbage, faults)
    try:
        yield made
    finally:
        await gate.stop()
        for client in made.clients:
            await client.close()
        server.close()
        await asyncio.sleep(0.05)  # the origin's handlers see their ends


def certificates(folder: Path, host: str = "localhost") -> tuple[str, str, str]:
    """An authority and a certificate of its for `host` and 127.0.0.1, as PEM files: authority, certificate, key."""
    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("a test's authority", "a test's origin")]
    made = []
    for index in (0, 1):
        builder = x509.CertificateBuilder().subject_name(names[index]).issuer_name(names[0]).public_key(keys[index].public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=index == 0, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(keys[index].public_key()), critical=False)
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[0].public_key()), critical=False)
        if index == 0:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        else:
            names_of = [x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names_of), critical=False)
        made.append(builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    private = keys[1].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    paths = [folder / "authority.pem", folder / "origin.pem", folder / "origin.key"]
    for path, data in zip(paths, (made[0], made[1], private), strict=True):
        path.write_bytes(data)
    return str(paths[0]), str(paths[1]), str(paths[2])
