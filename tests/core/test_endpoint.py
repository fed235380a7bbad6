"""The agents' way out: to the declared endpoint it works, tunnelled and plain, and to nothing else, whatever the words. What arrived is what counts."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from deskcert_core.agent import Brief, Observation
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.endpoint import MOST_NOTES, Endpoint
from deskcert_core.session.sandbox import Cell


class Server:
    """An HTTP server on loopback that keeps what it was asked."""

    def __init__(self) -> None:
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                asked.append({"path": self.path, "host": self.headers["Host"], "body": body, "key": self.headers.get("X-Key"), "proxy": self.headers.get("Proxy-Authorization")})
                answer = b"the model's answer"
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST

            def log_message(self, *words: object) -> None:
                """Silent."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    """The declared one, and another."""
    both = Server(), Server()
    yield both
    for server in both:
        server.close()


def said(url: str, *requests: bytes) -> tuple[list[bytes], list[str]]:
    """What the proxy answers to each, on a connection of its own, and what it noted."""
    notes: list[str] = []

    async def run() -> list[bytes]:
        gate = Endpoint(url, notes.append)
        await gate.start()
        try:
            return [await one(gate.socket, request) for request in requests]
        finally:
            await gate.close()

    async def one(path: str, request: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request)
        writer.write_eof()
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        return answer

    return asyncio.run(run()), notes


def test_plain_http_reaches_the_endpoint_as_a_server_knows_it(servers: tuple[Server, Server]) -> None:
    declared, _ = servers
    head = f"POST http://127.0.0.1:{declared.port}/v1/x?a=1 HTTP/1.1\r\nHost: elsewhere.example\r\nX-Key: k\r\nProxy-Authorization: p\r\nContent-Length: 4\r\n\r\nbody"
    (answer,), notes = said(f"http://127.0.0.1:{declared.port}/v1", head.encode())
    assert answer.endswith(b"the model's answer")
    assert declared.asked == [{"path": "/v1/x?a=1", "host": f"127.0.0.1:{declared.port}", "body": "body", "key": "k", "proxy": None}]
    assert notes == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_tunnel_reaches_the_endpoint_unread(scheme: str, servers: tuple[Server, Server]) -> None:
    declared, _ = servers
    tunnel = f"CONNECT 127.0.0.1:{declared.port} HTTP/1.1\r\nHost: x\r\n\r\nGET /through HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n"
    (answer,), _ = said(f"{scheme}://127.0.0.1:{declared.port}", tunnel.encode())
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert answer.endswith(b"the model's answer")
    assert (declared.asked[0]["path"], declared.asked[0]["host"]) == ("/through", "inner")


REFUSED = (
    "CONNECT 127.0.0.1:{other} HTTP/1.1", "CONNECT localhost:{declared} HTTP/1.1", "CONNECT user@127.0.0.1:{declared} HTTP/1.1",
    "CONNECT 127.0.0.1:{declared}@127.0.0.1:{other} HTTP/1.1", "CONNECT 127.0.0.1 HTTP/1.1", "CONNECT 127.0.0.1:{declared}/x HTTP/1.1",
    "GET http://127.0.0.1:{other}/ HTTP/1.1", "GET http://127.0.0.1:{declared}@127.0.0.1:{other}/ HTTP/1.1", "GET https://127.0.0.1:{declared}/ HTTP/1.1",
    "GET ftp://127.0.0.1:{declared}/ HTTP/1.1", "GET / HTTP/1.1", "GET //127.0.0.1:{declared}/ HTTP/1.1", "\x16\x03\x01 garbage", "connect 127.0.0.1:{declared} HTTP/1.1",
    "GET http://127.0.0.1:{declared}/\nHost: x HTTP/1.1", "GET http://127.0.0.1:{declared}/ HTTP/1.1\r\nX: a\nGET http://127.0.0.1:{other}/ HTTP/1.1",
)


@pytest.mark.parametrize("line", REFUSED)
def test_whatever_is_not_the_endpoint_is_refused_and_noted(line: str, servers: tuple[Server, Server]) -> None:
    declared, other = servers
    request = line.format(declared=declared.port, other=other.port) + f"\r\nHost: 127.0.0.1:{declared.port}\r\n\r\n"
    (answer,), notes = said(f"http://127.0.0.1:{declared.port}", request.encode("latin-1"))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert declared.asked == other.asked == []
    assert len(notes) == 1
    assert notes[0].isprintable()


def test_a_tls_endpoint_takes_no_plain_request(servers: tuple[Server, Server]) -> None:
    declared, _ = servers
    (answer,), notes = said(f"https://127.0.0.1:{declared.port}", f"GET http://127.0.0.1:{declared.port}/?key=secret HTTP/1.1\r\n\r\n".encode())
    assert (answer[:12], declared.asked) == (b"HTTP/1.1 403", [])
    assert notes == [f"GET http://127.0.0.1:{declared.port}/"], "without the query, which may hold a key"


def test_an_endpoint_that_is_not_there_and_a_head_without_end_are_bad_gateways() -> None:
    answers, notes = said("http://127.0.0.1:9", b"GET http://127.0.0.1:9/ HTTP/1.1\r\n\r\n", b"GET http://127.0.0.1:9/", b"x" * 200_000)
    assert [one[:12] for one in answers] == [b"HTTP/1.1 502"] * 3
    assert notes == []


def test_a_flood_of_refusals_does_not_fill_the_record() -> None:
    _, notes = said("http://127.0.0.1:9", *[b"GET / HTTP/1.1\r\n\r\n"] * (MOST_NOTES + 5))
    assert len(notes) == MOST_NOTES


def test_an_endpoint_is_a_web_address() -> None:
    with pytest.raises(ValueError, match="http or https"):
        Endpoint("file:///etc/passwd", print)


async def asked_by_an_agent(url: str, wanted: str, notes: list[str]) -> Any:
    gate = Endpoint(url, notes.append)
    await gate.start()
    agent = await AgentProcess.start("caller", "calling_agent:Calling", {"url": wanted}, {}, 60, Cell(isolation="sandbox", gate=gate.socket))
    try:
        await agent.begin(Brief(task_id="t", goal="", start_url="", max_steps=1))
        return (await agent.propose(Observation(step=1, url="", title="", text=""), 60)).answer
    finally:
        await agent.close()
        await gate.close()


@pytest.mark.sandbox
def test_a_sandboxed_agent_reaches_its_model_and_nothing_else(servers: tuple[Server, Server]) -> None:
    declared, other = servers
    notes: list[str] = []
    good = asyncio.run(asked_by_an_agent(f"http://127.0.0.1:{declared.port}/v1", f"http://127.0.0.1:{declared.port}/v1/m", notes))
    assert (good, [one["path"] for one in declared.asked], notes) == ("200 200", ["/v1/m", "/v1/m"], [])
    bad = asyncio.run(asked_by_an_agent(f"http://127.0.0.1:{declared.port}/v1", f"http://127.0.0.1:{other.port}/v1/m", notes))
    assert (bad, other.asked, len(notes)) == ("403 403", [], 2)
