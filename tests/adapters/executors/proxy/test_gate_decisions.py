"""What was refused, held or cut off never reaches the origin. Every test has the same request let through as its control."""

from __future__ import annotations

import asyncio

import pytest
from gate_world import NO, YES, Client, Told, World, answering, in_loop, world

from deskcert_adapters.executors.proxy.wire import Limits
from deskcert_core.effect import UNKNOWN, Request
from deskcert_core.execution import Verdict

FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def no_delete(request: Request, body: bytes | None) -> Verdict:
    return NO if request.method == "DELETE" else YES


def no_payment(request: Request, body: bytes | None) -> Verdict:
    return NO if request.fields is UNKNOWN or ("kind", "payment") in (request.fields or ()) else YES


@pytest.mark.parametrize("allow_all", [False, True])
@in_loop
async def test_a_method_is_refused(allow_all: bool) -> None:
    async with world(Told() if allow_all else Told(says=no_delete)) as w:
        client = await w.client()
        first = await client.ask(w.request("GET", "/row/1"))
        second = await client.ask(w.request("DELETE", "/row/1"))
        assert first is not None
        assert second is not None
        assert first.status == 200
        assert [hit.method for hit in w.origin.hits] == (["GET", "DELETE"] if allow_all else ["GET"])
        assert second.status == (200 if allow_all else 403)
        if not allow_all:
            assert b"the test says no" in second.body
            assert second.headers["cache-control"] == "no-store"
            assert w.origin.connections == 1
            assert (await client.ask(w.request("GET", "/row/2"))) is not None  # the connection goes on
            assert [hit.target for hit in w.origin.hits] == ["/row/1", "/row/2"]


@pytest.mark.parametrize("allow_all", [False, True])
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (FORM, b"to=x&kind=p%61yment"),
        ("Content-Type: multipart/form-data; boundary=b\r\n", b'--b\r\nContent-Disposition: form-data; name="kind"\r\n\r\npayment\r\n--b--\r\n'),
        (FORM + "Content-Encoding: gzip\r\n", b"\x1f\x8bnot read"),
        (FORM.replace("\r\n", "; charset=utf-7\r\n"), b"kind=+AHA-ayment"),
        (FORM, b"pad=" + b"x" * 2000 + b"&kind=payment"),
    ],
)
@in_loop
async def test_a_body_is_refused_by_its_fields(allow_all: bool, headers: str, body: bytes) -> None:
    async with world(Told() if allow_all else Told(says=no_payment), body_limit=1000) as w:
        client = await w.client()
        await client.ask(w.request("POST", "/send", headers, body))
        assert [hit.body for hit in w.origin.hits] == ([body] if allow_all else [])
        assert w.origin.connections == (1 if allow_all else 0)


@in_loop
async def test_a_body_above_the_limit_is_not_handed_on_but_its_length_is() -> None:
    async with world(body_limit=1000) as w:
        client = await w.client()
        await client.ask(w.request("POST", "/long", FORM, b"a" * 5000))
        await client.ask(w.request("POST", "/chunked", "Transfer-Encoding: chunked\r\n") + b"1388\r\n" + b"a" * 5000 + b"\r\n0\r\n\r\n")
        await client.ask(w.request("POST", "/short", FORM, b"a=1"))
        facts = [(request.fields, request.body_size, body) for _, request, body in w.traffic.asked]
        assert facts == [(UNKNOWN, 5000, None), (UNKNOWN, None, None), ((("a", "1"),), 3, b"a=1")]
        assert [hit.body for hit in w.origin.hits] == [b"a" * 5000, b"a" * 5000, b"a=1"]


@pytest.mark.parametrize("verdict", [YES, NO])
@in_loop
async def test_nothing_arrives_while_a_request_is_held(verdict: Verdict) -> None:
    hold = asyncio.Event()
    async with world(Told(hold=hold, says=lambda request, body: verdict)) as w:
        client = await w.client()
        await client.send(w.request("POST", "/pay", FORM, b"a=1"))
        await w.traffic.asking.wait()
        await asyncio.sleep(0.05)
        assert (w.origin.connections, w.gate.busy("p")) == (0, 1)
        hold.set()
        reply = await client.reply()
        assert reply is not None
        assert (reply.status, len(w.origin.hits)) == ((200, 1) if verdict.allow else (403, 0))
        assert await w.gate.quiet("p", 0.01, 5)


@pytest.mark.parametrize("way", ["stop", "close_page", "browser leaves", "none"])
@in_loop
async def test_what_is_held_when_all_ends_never_arrives(way: str) -> None:
    hold = asyncio.Event()
    async with world(Told(hold=hold)) as w:
        client = await w.client()
        await client.send(w.request("POST", "/pay", FORM, b"a=1"))
        await w.traffic.asking.wait()
        if way == "stop":
            await w.gate.stop()
        elif way == "close_page":
            await w.gate.close_page("p")
        elif way == "browser leaves":
            await client.close()
            await asyncio.sleep(0.05)
        hold.set()
        if way in ("none", "stop", "close_page"):
            assert ((await client.reply()) is None) == (way != "none")
        await asyncio.sleep(0.05)
        assert len(w.origin.hits) == (1 if way == "none" else 0)
        assert w.origin.connections == (1 if way == "none" else 0)
        assert w.traffic.answers == {"none": [("p", 1, 200)], "browser leaves": [("p", 1, None)]}.get(way, [])


@in_loop
async def test_a_redirect_hop_is_decided_with_its_body() -> None:
    def no_other(request: Request, body: bytes | None) -> Verdict:
        return NO if request.address.path == "/other" else YES

    async with world(Told(says=no_other)) as w:
        w.origin.answer = answering(b"HTTP/1.1 307 Away\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        client = await w.client()
        hop = await client.ask(w.request("POST", "/first", FORM, b"a=1"))
        assert hop is not None
        assert (hop.status, hop.headers["location"]) == (307, "/other")
        await client.ask(w.request("POST", hop.headers["location"], FORM, b"a=1"))
        assert [(request.address.path, request.fields) for _, request, _ in w.traffic.asked] == [("/first", (("a", "1"),)), ("/other", (("a", "1"),))]
        assert [hit.target for hit in w.origin.hits] == ["/first"]


@in_loop
async def test_an_exception_refuses() -> None:
    def raising(request: Request, body: bytes | None) -> Verdict:
        if request.address.path == "/boom":
            raise RuntimeError("policy broke")
        return YES

    async with world(Told(says=raising)) as w:
        refused = await (await w.client()).ask(w.request("GET", "/boom"))
        passed = await (await w.client()).ask(w.request("GET", "/fine"))
        assert refused is not None
        assert passed is not None
        assert (refused.status, passed.status) == (502, 200)
        assert [hit.target for hit in w.origin.hits] == ["/fine"]
        assert [str(fault) for fault in w.faults] == ["policy broke"]
        assert b"policy broke" not in refused.body


@in_loop
async def test_the_launch_address_refuses_whatever_the_traffic_says() -> None:
    async with world() as w:
        refused = await (await w.client(w.gate.launch_port)).ask(w.request())
        assert refused is not None
        assert (refused.status, w.origin.connections, w.traffic.asked[0][0]) == (403, 0, "")
        assert w.traffic.answers == [("", 1, None)]
        passed = await (await w.client()).ask(w.request())
        assert passed is not None
        assert (passed.status, w.origin.connections) == (200, 1)


@in_loop
async def test_an_address_tells_the_page() -> None:
    async with world() as w:
        other = await w.gate.open("q")
        await (await w.client(other)).ask(w.request("GET", "/q"))
        await (await w.client()).ask(w.request("GET", "/p"))
        assert [(page, request.address.path) for page, request, _ in w.traffic.asked] == [("q", "/q"), ("p", "/p")]
        await w.gate.close_page("q")
        with pytest.raises(OSError, match=r".*"):
            await w.client(other)
        with pytest.raises(ValueError, match="no new page"):
            await w.gate.open("p")


async def upgrade(w: World, client: Client, *, tunnel: bool) -> int:
    headers = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    reply = await client.ask(w.inner("GET", "/ws", headers) if tunnel else w.request("GET", "/ws", headers))
    assert reply is not None
    return reply.status


@pytest.mark.parametrize("tunnel", [False, True])
@in_loop
async def test_a_socket_is_asked_about_and_refused_on_an_allowed_host(tunnel: bool) -> None:
    async with world() as w:
        client = await w.client()
        if tunnel:  # as a browser does for ws:
            place = f"localhost:{w.origin.port}"
            assert await client.ask(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode(), "CONNECT") is not None
        assert await upgrade(w, client, tunnel=tunnel) == 403
        _, request, _ = w.traffic.asked[0]
        assert (request.kind, request.address.href) == ("websocket", f"ws://localhost:{w.origin.port}/ws")
        assert w.origin.connections == 0
        passed = await (await w.client()).ask(w.request("GET", "/ws"))
        assert passed is not None
        assert (passed.status, w.origin.connections) == (200, 1)


@in_loop
async def test_navigation_is_told_from_what_the_browser_sets() -> None:
    async with world() as w:
        client = await w.client()
        for headers in ("Sec-Fetch-Dest: document\r\n", "Sec-Fetch-Dest: empty\r\n", "Sec-Fetch-Dest: iframe\r\nUpgrade-Insecure-Requests: 1\r\n", "Upgrade-Insecure-Requests: 1\r\n", ""):
            await client.ask(w.request("GET", "/", headers))
        assert [request.navigation for _, request, _ in w.traffic.asked] == [True, False, False, True, False]


@in_loop
async def test_cookies_reach_the_origin_and_not_the_traffic() -> None:
    async with world() as w:
        await (await w.client()).ask(w.request("GET", "/", "Cookie: session=hush\r\nProxy-Authorization: Basic aGk=\r\nKeep-Alive: 5\r\n"))
        assert "hush" not in repr(w.traffic.asked)
        assert w.origin.hits[0].headers["cookie"] == "session=hush"
        assert not {"proxy-authorization", "keep-alive"} & w.origin.hits[0].headers.keys()


@in_loop
async def test_busy_counts_requests_and_not_open_event_streams_or_idle_connections() -> None:
    async with world(limits=Limits(linger=0.1)) as w:
        w.origin.answer = answering(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        client = await w.client()
        assert w.gate.busy("p") == 0
        await client.send(w.request("GET", "/events"))
        await client.reader.readuntil(b"data: 1")
        assert w.gate.busy("p") == 0
        assert await w.gate.quiet("p", 0.01, 5)
        w.origin.answer = None
        w.traffic.hold = asyncio.Event()
        w.traffic.asking.clear()
        held = await w.client()
        await held.send(w.request("GET", "/held"))
        await w.traffic.asking.wait()
        assert not await w.gate.quiet("p", 0.01, 0.05)
        w.traffic.hold.set()
        assert await held.reply() is not None
        assert await w.gate.quiet("p", 0.01, 5)
