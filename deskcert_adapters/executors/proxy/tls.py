"""TLS on both sides: one key for the run, a leaf certificate for each host, and the contexts made of them."""

from __future__ import annotations

import asyncio
import base64
import datetime
import hashlib
import ipaddress
import os
import socket
import ssl
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from deskcert_adapters.executors.proxy.wire import Link, Reader
from deskcert_core.errors import UnavailableError

__all__ = ["RunKey", "answer_tls", "first_byte", "upstream_context"]

HOSTS_KEPT = 256


class RunKey:
    """A key that lives as long as this object and is never written to a disk. `spki` is what Chromium is told to trust."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        public = self._key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.spki = base64.b64encode(hashlib.sha256(public).digest()).decode("ascii")
        self.context = lru_cache(maxsize=HOSTS_KEPT)(self._context)  # a page may ask for hosts without end

    def _context(self, host: str) -> ssl.SSLContext:
        """The server's side for a host (as in a URL). Only http/1.1 is offered, whatever the browser asks for."""
        private = self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        memory = os.memfd_create("leaf")  # the ssl module loads from a file only; this one is in memory
        try:
            os.write(memory, private + self._leaf(host))
            context.load_cert_chain(f"/proc/self/fd/{memory}")
        finally:
            os.close(memory)
        return context

    def _leaf(self, host: str) -> bytes:
        try:
            name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
        except ValueError:
            name = x509.DNSName(host)
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "DeskCert, this run only")])
        builder = x509.CertificateBuilder().subject_name(issuer).issuer_name(issuer).public_key(self._key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def upstream_context(ca: str | None) -> ssl.SSLContext:
    """Verifies by the system's authorities, and by those in the PEM file `ca`. Raises UnavailableError if that file cannot be used."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca is not None:
        try:
            context.load_verify_locations(cafile=ca)
        except OSError as error:  # ssl.SSLError is one
            raise UnavailableError(f"the CA file {ca} cannot be used: {error}", hint="give a PEM file with the application's authorities") from error
    return context


async def first_byte(link: Link, seconds: float) -> bytes:
    """What comes next on a plain socket, left where it is; b"" if the other side ends. Leaves reading paused. Raises TimeoutError, OSError."""
    transport = link.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    with link.writer.get_extra_info("socket").dup() as peeked:  # the loop does not lend the transport's own descriptor
        loop.add_reader(peeked, _arrived, ready)
        try:
            async with asyncio.timeout(seconds):
                await ready
        finally:
            loop.remove_reader(peeked)
        byte: bytes = peeked.recv(1, socket.MSG_PEEK)
        return byte


def _arrived(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def answer_tls(link: Link, context: ssl.SSLContext, seconds: float) -> Link:
    """The same connection with TLS ended here. Raises OSError (ssl.SSLError is one).

    `StreamWriter.start_tls` leaves the old transport in its reader on Python 3.11, so back-pressure would pause the wrong one: both are made anew.
    """
    loop = asyncio.get_running_loop()
    reader = Reader()
    protocol = asyncio.StreamReaderProtocol(reader)
    old: Any = link.writer.transport
    transport = await loop.start_tls(old, protocol, context, server_side=True, ssl_handshake_timeout=seconds, ssl_shutdown_timeout=1)
    if transport is None:
        raise ConnectionResetError
    protocol.connection_made(transport)
    return Link(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
