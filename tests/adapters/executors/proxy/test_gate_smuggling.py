"""What is no plain request never reaches the origin, though the traffic allows everything; its well-formed twin does."""

from __future__ import annotations

import pytest
from gate_world import World, in_loop, world

from deskcert_adapters.executors.proxy.wire import HEAD_LIMIT, Limits

P = "@PRT@"  # as long as a port, so that lengths stay true
GET = f"GET http://localhost:{P}/x HTTP/1.1\r\nHost: localhost:{P}\r\n"
POST = f"POST http://localhost:{P}/x HTTP/1.1\r\nHost: localhost:{P}\r\n"
INNER = f"GET /inner HTTP/1.1\r\nHost: localhost:{P}\r\n\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
CONNECT = f"CONNECT localhost:{P} HTTP/1.1\r\nHost: localhost:{P}\r\n\r\n"

PROBES = {
    "CL and TE": POST + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    "TE and CL": POST + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
    "two CL": POST + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "two equal CL": POST + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
    "CL list": POST + "Content-Length: 1, 2\r\n\r\nab",
    "CL with sign": POST + "Content-Length: +1\r\n\r\na",
    "CL with space": POST + "Content-Length : 1\r\n\r\na",
    "TE twice": POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "TE unknown": POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "TE with tab": POST + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "TE list": POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "bare LF head": GET.replace("\r\n", "\n") + "\n",
    "bare LF line": GET + "A: 1\nB: 2\r\n\r\n",
    "bare CR": GET + "A: 1\rB: 2\r\n\r\n",
    "LF blank line": GET + "A: 1\n\nGET /inner HTTP/1.1\r\n\r\n",
    "folded": GET + "A: 1\r\n B: 2\r\n\r\n",
    "folded with tab": GET + "A: 1\r\n\tB: 2\r\n\r\n",
    "NUL in value": GET + "A: 1\x002\r\n\r\n",
    "NUL in name": GET + "A\x00: 1\r\n\r\n",
    "control in value": GET + "A: \x01\r\n\r\n",
    "no colon": GET + "nonsense\r\n\r\n",
    "no name": GET + ": 1\r\n\r\n",
    "space in name": GET + "A B: 1\r\n\r\n",
    "bad chunk size": CHUNKED + "zz\r\nab\r\n0\r\n\r\n",
    "negative chunk": CHUNKED + "-1\r\nab\r\n0\r\n\r\n",
    "0x chunk": CHUNKED + "0x1\r\na\r\n0\r\n\r\n",
    "chunk end missing": CHUNKED + "1\r\naXX0\r\n\r\n",
    "chunk LF": CHUNKED + "1\na\n0\n\n",
    "trailers": CHUNKED + "0\r\nX-A: 1\r\n\r\n",
    "GET with body": GET + f"Content-Length: {len(INNER)}\r\n\r\n" + INNER,
    "GET chunked": GET + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "no host": GET.partition("Host")[0] + "\r\n",
    "two hosts": GET + "Host: evil.localhost\r\n\r\n",
    "other host": GET.replace("Host: localhost", "Host: evil.localhost") + "\r\n",
    "other port": GET.replace(f"Host: localhost:{P}", "Host: localhost:1") + "\r\n",
    "host with path": GET.replace(f"Host: localhost:{P}", f"Host: localhost:{P}/x") + "\r\n",
    "host with user": GET.replace("Host: ", "Host: a@") + "\r\n",
    "user in target": GET.replace("http://", "http://a@") + "\r\n",
    "fragment": GET.replace("/x ", "/x#y ") + "\r\n",
    "path alone": GET.replace(f"http://localhost:{P}", "") + "\r\n",
    "https target": GET.replace("http://", "https://") + "\r\n",
    "ftp target": GET.replace("http://", "ftp://") + "\r\n",
    "ws target": GET.replace("http://", "ws://") + "\r\n",
    "star": GET.replace(f"GET http://localhost:{P}/x", "OPTIONS *") + "\r\n",
    "HTTP/1.0": GET.replace("HTTP/1.1", "HTTP/1.0") + "\r\n",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": f"GET http://localhost:{P}/x\r\n\r\n",
    "lower case method": GET.replace("GET", "get") + "\r\n",
    "lower case connect": CONNECT.replace("CONNECT", "connect"),
    "tab in line": GET.replace(" HTTP", "\tHTTP") + "\r\n",
    "method override": POST + "X-HTTP-Method-Override: DELETE\r\nContent-Length: 0\r\n\r\n",
    "path override": GET + "X-Original-URL: /admin/delete\r\n\r\n",
    "connection drops type": POST + "Content-Type: a/b\r\nConnection: content-type\r\nContent-Length: 1\r\n\r\na",
    "two types": POST + "Content-Type: a/b\r\nContent-Type: a/c\r\nContent-Length: 1\r\n\r\na",
    "h2c": GET + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
    "upgrade by POST": POST + "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
    "leading blank line": "\r\n" + GET + "\r\n",
    "TLS at once": "\x16\x03\x01\x02\x00\x01" + "a" * 64,
    "STUN": "\x00\x01\x00\x00\x21\x12\xa4\x42" + "a" * 12,
    "head too long": GET + "A: " + "a" * (2 * HEAD_LIMIT) + "\r\n\r\n",
    "too many headers": GET + "A: 1\r\n" * 300 + "\r\n",
    "bytes after CONNECT": CONNECT + INNER,
    "CONNECT without port": CONNECT.replace(f":{P}", ""),
    "CONNECT other host": CONNECT.replace("Host: localhost", "Host: evil.localhost"),
    "CONNECT with path": CONNECT.replace(" HTTP", "/ HTTP"),
    "CONNECT with user": CONNECT.replace("CONNECT ", "CONNECT a@"),
    "CONNECT with body": CONNECT.replace("\r\n\r\n", "\r\nContent-Length: 4\r\n\r\nabcd"),
}

WELL_FORMED = {
    "GET": GET + "\r\n",
    "POST": POST + "Content-Length: 1\r\n\r\na",
    "chunked": CHUNKED + "1;x=y\r\na\r\n0\r\n\r\n",
    "header without a value": GET + "A:\r\n\r\n",
    "upper case host": GET.replace("Host: localhost", "Host: LOCALHOST") + "\r\n",
}


def raw(w: World, probe: str) -> bytes:
    return probe.replace(P, str(w.origin.port)).encode("latin-1")


@pytest.mark.parametrize("name", PROBES)
@in_loop
async def test_a_probe_never_reaches_the_origin(name: str) -> None:
    async with world(limits=Limits(linger=0.1, body=0.5)) as w:  # some wait for bytes that never come
        client = await w.client()
        reply = await client.ask(raw(w, PROBES[name]))
        assert reply is not None
        assert reply.status == 400
        assert (w.origin.connections, w.origin.hits, w.traffic.asked) == (0, [], [])
        assert [page for page, _ in w.garbage] == ["p"]
        assert w.faults == []


@pytest.mark.parametrize("name", WELL_FORMED)
@in_loop
async def test_a_plain_request_does(name: str) -> None:
    async with world() as w:
        reply = await (await w.client()).ask(raw(w, WELL_FORMED[name]))
        assert reply is not None
        assert (reply.status, len(w.origin.hits), w.garbage) == (200, 1, [])


@pytest.mark.parametrize(
    ("name", "probe"),
    {
        "nested CONNECT": CONNECT,
        "absolute target": GET + "\r\n",
        "other host": INNER.replace("Host: localhost", "Host: evil.localhost"),
        "other port": INNER.replace(f"Host: localhost:{P}", "Host: localhost:1"),
        "TURN": "\x00\x03\x00\x08\x21\x12\xa4\x42" + "a" * 20,
        "no path": INNER.replace("/inner", "inner"),
        "the plain one": INNER,
    }.items(),
)
@in_loop
async def test_a_tunnel_is_never_passed_on_unread(name: str, probe: str) -> None:
    async with world(limits=Limits(linger=0.1)) as w:
        client = await w.client()
        assert await client.ask(raw(w, CONNECT), "CONNECT") is not None
        assert w.origin.connections == 0
        reply = await client.ask(raw(w, probe))
        assert reply is not None
        fine = name == "the plain one"
        assert (reply.status, w.origin.connections, len(w.garbage)) == ((200, 1, 0) if fine else (400, 0, 1))


@in_loop
async def test_bytes_after_a_request_are_a_request_of_their_own() -> None:
    async with world() as w:
        client = await w.client()
        await client.send(w.request("POST", "/one", "", b"a") + w.request("DELETE", "/two"))
        assert await client.reply() is not None
        assert await client.reply() is not None
        assert [request.method for _, request, _ in w.traffic.asked] == ["POST", "DELETE"]
        assert [(hit.method, hit.body) for hit in w.origin.hits] == [("POST", b"a"), ("DELETE", b"")]


@in_loop
async def test_a_bad_chunk_in_the_middle_of_a_streamed_body_cuts_it_off() -> None:
    async with world(limits=Limits(linger=0.1), body_limit=1000) as w:
        client = await w.client()
        reply = await client.ask(raw(w, CHUNKED) + b"7d0\r\n" + b"a" * 2000 + b"\r\nzz\r\n")
        assert reply is not None
        assert (reply.status, w.origin.hits, w.traffic.answers) == (400, [], [("p", 1, None)])


@in_loop
async def test_what_stalls_ends() -> None:
    async with world(limits=Limits(first=0.1, head=0.1, body=0.1, linger=0.1)) as w:
        silent, half, bodiless = await w.client(), await w.client(), await w.client()
        await half.send(b"GET http://localhost")
        await bodiless.send(w.request("POST", "/x", "Content-Length: 5\r\n") + b"a")
        assert [await client.reply() for client in (silent,)] == [None]
        statuses = [reply.status for client in (half, bodiless) if (reply := await client.reply()) is not None]
        assert statuses == [400, 400]
        assert w.origin.connections == 0
        assert len(w.garbage) == 2
