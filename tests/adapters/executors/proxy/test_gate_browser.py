"""A real browser behind the gate: what was refused never reaches the origin, the page loads all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from gate_world import NO, YES, Hit, Told, World, certificates, in_loop, plain, world
from playwright.async_api import Page, async_playwright

from deskcert_adapters.executors.chromium.find import find_browser
from deskcert_core.effect import Request
from deskcert_core.execution import Verdict

pytestmark = pytest.mark.browser
HTML = b"<!doctype html><title>Rows</title><h1>rows</h1>"
WAYS = """async () => {
  const tell = promise => promise.then(r => r.status, () => 'failed');
  const socket = await new Promise(done => {
    const ws = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
    ws.onopen = () => done('open'); ws.onerror = () => done('failed');
  });
  const form = new FormData(); form.append('kind', 'payment'); form.append('paper', new Blob(['x']), 'p.txt');
  return [await tell(fetch('/row/1', {method: 'DELETE'})), await tell(fetch('/pay', {method: 'POST', body: form})),
          await tell(fetch('/note', {method: 'POST', body: new URLSearchParams({text: 'hé'})})), socket];
}"""


def strict(request: Request, body: bytes | None) -> Verdict:
    pays = isinstance(request.fields, tuple) and ("kind", "payment") in request.fields
    return NO if request.method == "DELETE" or pays else YES


async def rows(hit: Hit, writer: object) -> None:
    if hit.target == "/":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(HTML) + HTML)  # type: ignore[attr-defined]
    else:
        await plain(hit, writer)  # type: ignore[arg-type]


@asynccontextmanager
async def page_behind(w: World) -> AsyncIterator[Page]:
    w.origin.answer = rows
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser().path,
            args=[f"--ignore-certificate-errors-spki-list={w.gate.spki}"],
            proxy={"server": f"http://127.0.0.1:{w.gate.launch_port}", "bypass": "<-loopback>"},
        )
        try:
            context = await browser.new_context(proxy={"server": f"http://127.0.0.1:{w.port}", "bypass": "<-loopback>"})
            yield await context.new_page()
        finally:
            await browser.close()


@pytest.mark.parametrize("allow_all", [False, True])
@pytest.mark.parametrize("secure", [False, True])
@in_loop
async def test_refused_requests_of_a_page_never_arrive(secure: bool, allow_all: bool, tmp_path: Path) -> None:
    tls = certificates(tmp_path) if secure else None
    async with world(Told() if allow_all else Told(says=strict), tls=tls, ca=tls[0] if tls else None) as w, page_behind(w) as page:
        await page.goto(f"http{'s' if secure else ''}://localhost:{w.origin.port}/")
        assert await page.title() == "Rows"
        seen = await page.evaluate(WAYS)
        assert seen == ([200, 200, 200, "failed"] if allow_all else [403, 403, 200, "failed"])
        arrived = [(hit.method, hit.target) for hit in w.origin.hits if hit.target != "/favicon.ico"]
        refused = [("DELETE", "/row/1"), ("POST", "/pay")] if allow_all else []
        assert arrived == [("GET", "/"), *refused, ("POST", "/note")]
        asked = {(request.kind, request.address.path): request for _, request, _ in w.traffic.asked}
        assert asked["http", "/"].navigation
        assert not asked["http", "/row/1"].navigation
        assert asked["http", "/pay"].fields == (("kind", "payment"), ("paper", "p.txt"))
        assert asked["http", "/note"].fields == (("text", "hé"),)
        assert asked["websocket", "/socket"].address.origin.scheme == ("wss" if secure else "ws")
        assert {name for name, _, _ in w.traffic.asked} == {"p"}
        assert await w.gate.quiet("p", 0.1, 10)
        assert (w.garbage, w.faults) == ([], [])
