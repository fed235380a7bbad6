"""What is allowed arrives whole and comes back whole."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest
from gate_world import NO, Hit, Told, answering, certificates, in_loop, plain, world

from deskcert_adapters.executors.proxy.server import RequestGate
from deskcert_adapters.executors.proxy.wire import Limits
from deskcert_core.errors import UnavailableError

BIG = 20 << 20


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("secure", [False, True])
@in_loop
async def test_twenty_megabytes_up_and_down_are_bit_exact(secure: bool, tls: tuple[str, str, str]) -> None:
    body = os.urandom(BIG)
    async with world(tls=tls if secure else None, ca=tls[0]) as w:
        client = await w.tunnel() if secure else await w.client()
        raw = (w.inner if secure else w.request)("POST", "/big", "Content-Type: application/octet-stream\r\n", body)
        reply, _ = await asyncio.gather(client.reply(), client.send(raw))
        assert reply is not None
        assert hashlib.sha256(w.origin.hits[0].body).digest() == hashlib.sha256(body).digest()
        assert hashlib.sha256(reply.body).digest() == hashlib.sha256(body).digest()
        assert w.traffic.asked[0][1].body_size == BIG


@in_loop
async def test_a_chunked_upload_and_download_are_bit_exact() -> None:
    body = os.urandom(3 << 20)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[at : at + 70_000]), body[at : at + 70_000]) for at in range(0, len(body), 70_000)) + b"0\r\n\r\n"
    async with world() as w:
        w.origin.answer = answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        client = await w.client()
        reply, _ = await asyncio.gather(client.reply(), client.send(w.request("POST", "/big", "Transfer-Encoding: chunked\r\n") + chunks))
        assert reply is not None
        assert (w.origin.hits[0].body == body, reply.body == body) == (True, True)
        assert "content-length" not in w.origin.hits[0].headers


@in_loop
async def test_https_is_verified_and_decided_on_its_path(tls: tuple[str, str, str]) -> None:
    async with world(Told(says=lambda request, body: NO if request.address.path == "/no" else Told().says(request, body)), tls=tls, ca=tls[0]) as w:
        client = await w.tunnel()
        replies = [await client.ask(w.inner("GET", path)) for path in ("/no", "/yes", "/yes")]
        assert [reply.status for reply in replies if reply] == [403, 200, 200]
        assert [(hit.target, hit.connection) for hit in w.origin.hits] == [("/yes", 1), ("/yes", 1)]
        assert str(w.traffic.asked[0][1].address.origin) == f"https://localhost:{w.origin.port}"


@pytest.mark.parametrize("trusted", [False, True])
@in_loop
async def test_an_origin_that_nobody_vouches_for_gets_nothing(trusted: bool, tls: tuple[str, str, str]) -> None:
    async with world(tls=tls, ca=tls[0] if trusted else None) as w:
        reply = await (await w.tunnel()).ask(w.inner())
        assert reply is not None
        assert (reply.status, len(w.origin.hits)) == ((200, 1) if trusted else (502, 0))
        assert w.traffic.answers == [("p", 1, 200 if trusted else None)]


@in_loop
async def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    other = certificates(tmp_path, "elsewhere.localhost")
    async with world(tls=other, ca=other[0]) as w:
        reply = await (await w.tunnel()).ask(w.inner())
        assert reply is not None
        assert (reply.status, w.origin.hits) == (502, [])
        reply = await (await w.tunnel(host="elsewhere.localhost")).ask(w.inner().replace(b"localhost", b"elsewhere.localhost"))
        assert reply is not None
        assert (reply.status, len(w.origin.hits)) == (200, 1)


def test_a_ca_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(UnavailableError, match=r"ca\.pem cannot be used"):
        RequestGate(Told(), ca=str(tmp_path / "ca.pem"))


@pytest.mark.parametrize(
    ("method", "answer", "expected"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", (200, "1234")),
        ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", (200, None)),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", (204, None)),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: x\r\n\r\n", (304, "1234")),
        ("GET", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (200, "0")),
    ],
)
@in_loop
async def test_answers_without_a_body_leave_the_connection_in_order(method: str, answer: bytes, expected: tuple[int, str | None]) -> None:
    async with world() as w:
        client = await w.client()
        w.origin.answer = answering(answer)
        reply = await client.ask(w.request(method), method)
        assert reply is not None
        assert (reply.status, reply.headers.get("content-length")) == expected
        w.origin.answer = None
        again = await client.ask(w.request("GET", "/again"))
        assert again is not None
        assert again.body == b"ok"


@in_loop
async def test_a_refused_head_request_has_no_body() -> None:
    async with world(Told(says=lambda request, body: NO if request.method == "HEAD" else Told().says(request, body))) as w:
        client = await w.client()
        refused = await client.ask(w.request("HEAD"), "HEAD")
        passed = await client.ask(w.request())
        assert refused is not None
        assert passed is not None
        assert (refused.status, passed.status, passed.body, len(w.origin.hits)) == (403, 200, b"ok", 1)


@pytest.mark.parametrize(
    ("answer", "close"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\na\r\nto the end\r\n0\r\n\r\n", False),
    ],
)
@in_loop
async def test_the_ways_to_end_a_body(answer: bytes, close: bool) -> None:
    async with world() as w:
        client = await w.client()
        w.origin.answer = answering(answer, close=close)
        replies = [await client.ask(w.request()) for _ in range(2)]
        assert [reply.body for reply in replies if reply] == [b"to the end", b"to the end"]


@in_loop
async def test_connections_are_used_again_but_not_for_writes() -> None:
    async with world() as w:
        client = await w.client()
        for method in ("GET", "GET", "POST", "GET"):
            assert await client.ask(w.request(method, body=b"a" if method == "POST" else b"")) is not None
        assert [hit.connection for hit in w.origin.hits] == [1, 1, 2, 2]


@in_loop
async def test_a_connection_that_the_origin_closed_meanwhile_costs_no_request() -> None:
    async with world() as w:
        client = await w.client()
        w.origin.answer = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", close=True)
        replies = [await client.ask(w.request("GET", f"/{n}")) for n in range(5)]
        assert [reply.body for reply in replies if reply] == [b"ok"] * 5
        assert [hit.target for hit in w.origin.hits] == [f"/{n}" for n in range(5)]


@in_loop
async def test_events_come_as_they_are_sent_and_end_with_the_browser() -> None:
    left = asyncio.Event()

    async def events(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await writer.drain()
        assert await hit.reader.read() == b""
        left.set()

    async with world() as w:
        w.origin.answer = events
        client = await w.client()
        await client.send(w.request("GET", "/events"))
        await client.reader.readuntil(b"data: 1")
        await client.close()
        await left.wait()
    assert w.traffic.answers == [("p", 1, 200)]


@in_loop
async def test_an_early_answer_passes_though_the_upload_is_not_over() -> None:
    async with world(limits=Limits(linger=0.2), body_limit=1000) as w:
        w.origin.early = answering(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        client = await w.client()
        await client.send(w.request("POST", "/big", "Content-Length: 900000\r\n") + b"a" * 2000)
        reply = await client.reply()
        assert reply is not None
        assert (reply.status, reply.body, w.traffic.answers) == (413, b"big", [("p", 1, 413)])
        assert await client.reply() is None


@in_loop
async def test_a_client_that_waits_for_100_is_told_to_go_on() -> None:
    async with world() as w:
        client = await w.client()
        await client.send(w.request("POST", "/x", "Content-Length: 3\r\nExpect: 100-continue\r\n"))
        assert (await client.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        reply = await client.ask(b"abc")
        assert reply is not None
        assert (reply.body, "expect" in w.origin.hits[0].headers) == (b"abc", False)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    ],
)
@in_loop
async def test_an_origin_that_speaks_no_http_is_a_502(answer: bytes) -> None:
    async with world(limits=Limits(linger=0.1)) as w:
        w.origin.answer = answering(answer, close=True)
        reply = await (await w.client()).ask(w.request("POST", body=b"a"))
        assert reply is not None
        assert (reply.status, w.traffic.answers, len(w.origin.hits)) == (502, [("p", 1, None)], 1)


@in_loop
async def test_an_answer_cut_short_is_cut_short_for_the_browser_too() -> None:
    async with world(limits=Limits(linger=0.1)) as w:
        w.origin.answer = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close=True)
        assert await (await w.client()).ask(w.request()) is None
        assert w.traffic.answers == [("p", 1, 200)]


@in_loop
async def test_no_origin_is_a_502() -> None:
    async with world(limits=Limits(linger=0.1)) as w:
        dead = b"GET http://localhost:1/ HTTP/1.1\r\nHost: localhost:1\r\n\r\n"
        reply = await (await w.client()).ask(dead)
        assert reply is not None
        assert (reply.status, w.traffic.answers) == (502, [("p", 1, None)])


@in_loop
async def test_hop_by_hop_headers_stay_on_their_hop() -> None:
    async with world() as w:
        w.origin.answer = answering(
            b"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nAlt-Svc: h3=x\r\nSet-Cookie: a=1\r\nX-End: 1\r\nContent-Length: 0\r\n\r\n"
        )
        reply = await (await w.client()).ask(
            w.request("GET", "/", "Connection: keep-alive\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nX-End: 1\r\n")
        )
        assert reply is not None
        assert {"set-cookie", "x-end"} <= reply.headers.keys()
        assert not {"x-hop", "keep-alive", "alt-svc"} & reply.headers.keys()
        assert "x-end" in w.origin.hits[0].headers
        assert not {"connection", "proxy-connection", "te"} & w.origin.hits[0].headers.keys()


@in_loop
async def test_what_is_sent_is_what_was_decided() -> None:
    async with world() as w:
        await (await w.client()).ask(w.request("GET", "/a/../b/%2e%2e/c?q=%41#".rstrip("#")))
        assert (w.traffic.asked[0][1].address.path, w.origin.hits[0].target) == ("/c", "/c?q=%41")


@in_loop
async def test_an_answer_that_nobody_asked_for_is_given_to_nobody() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def kept(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await plain(hit, writer)

    async with world() as w:
        w.origin.answer = kept
        client = await w.client()
        first = await client.ask(w.request())
        writers[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray")
        await asyncio.sleep(0.05)
        second = await client.ask(w.request())
        assert first is not None
        assert second is not None
        assert (first.body, second.body, [hit.connection for hit in w.origin.hits]) == (b"ok", b"ok", [1, 2])
