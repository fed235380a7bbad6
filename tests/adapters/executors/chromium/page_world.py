"""A loopback world for the executor's tests: sites that log what reaches them, a Traffic that lets everything through, one event loop per module."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from deskcert_adapters.executors.chromium.launch import Chromium
from deskcert_adapters.executors.chromium.page import ChromiumPage
from deskcert_core.effect import Element, Form, Grounding, Request
from deskcert_core.execution import BrowserPlan, ExecutionResult, PagePlan, SecretValue, Seen, Verdict
from deskcert_core.proposal import ActionType, Proposal, Target

T = TypeVar("T")
HANG_SECONDS = 30


@dataclass(frozen=True)
class Hit:
    """One request that reached a site."""

    method: str
    path: str
    body: str = ""


@dataclass
class Site:
    """A web server on a loopback address: `pages` maps a path to HTML, everything else is an empty page; `/hang…` never answers while it lives."""

    host: str = "127.0.0.1"
    pages: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                site.hits.append(Hit(self.command, self.path, body))
                if self.path.startswith("/hang"):
                    site.over.wait(HANG_SECONDS)
                    return
                content = site.pages.get(self.path, "<!doctype html><title>other</title>").encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                for name, value in ({"Content-Type": "text/html; charset=utf-8"} | site.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a browser that hangs up is no failure of the test

        self.server = Server((self.host, 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.server.server_port}"

    def got(self, method: str, path: str) -> list[str]:
        """The bodies of the requests of this kind that arrived."""
        return [hit.body for hit in self.hits if (hit.method, hit.path) == (method, path)]

    def stop(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@dataclass
class AllowAll:
    """Lets every request of a page through and remembers who asked."""

    asked: list[tuple[str, Request]] = field(default_factory=list)

    async def decide(self, page: str, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        self.asked.append((page, request))
        return len(self.asked), Verdict(allow=True)

    def answered(self, page: str, number: int, status: int | None) -> None:
        pass


@dataclass
class Lab:
    """One browser, two sites of different hosts, and the loop in which it all runs."""

    plan: BrowserPlan = field(default_factory=BrowserPlan)
    site: Site = field(default_factory=Site)
    other: Site = field(default_factory=lambda: Site(host="127.0.0.2"))
    traffic: AllowAll = field(default_factory=AllowAll)
    browser: Chromium = field(default_factory=Chromium)
    pages: int = 0

    def __enter__(self) -> Lab:
        self.runner = asyncio.Runner()
        self.info = self.run(self.browser.start(self.plan, self.traffic))
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.browser.close())
        self.runner.close()
        self.site.stop()
        self.other.stop()

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        return self.runner.run(asyncio.wait_for(work, seconds))

    def open(self, **plan: Any) -> Trial:
        self.pages += 1
        return Trial(self, self.run(self.browser.open(PagePlan(name=f"page-{self.pages}", **plan))))

    def show(self, html: str, **plan: Any) -> Trial:
        """A fresh page that shows this document of the first site; the site's log then starts empty."""
        self.site.pages["/"] = "<!doctype html><meta charset=utf-8><title>Test</title>" + html
        trial = self.open(**plan)
        trial.goto(self.site.origin + "/")
        self.site.hits.clear()
        self.other.hits.clear()
        return trial


@dataclass
class Trial:
    """A page with the loop taken out: every call waits."""

    lab: Lab
    page: ChromiumPage

    def ground(self, action: ActionType, target: Target | None = None, **more: Any) -> Grounding:
        return self.lab.run(self.page.ground(Proposal(action_type=action, target=target, **more)))

    def element(self, action: ActionType, target: Target | None = None, **more: Any) -> Element:
        grounding = self.ground(action, target, **more)
        assert isinstance(grounding.element, Element), grounding
        return grounding.element

    def form(self, action: ActionType, target: Target | None = None, **more: Any) -> Form:
        grounding = self.ground(action, target, **more)
        assert isinstance(grounding.form, Form), grounding
        return grounding.form

    def do(self, action: ActionType, target: Target | None = None, secrets: Mapping[str, SecretValue] | None = None, **more: Any) -> ExecutionResult:
        """Ground, act, settle."""
        return self.carry_out(Proposal(action_type=action, target=target, **more), None, secrets)

    def carry_out(self, proposal: Proposal, grounding: Grounding | None, secrets: Mapping[str, SecretValue] | None = None) -> ExecutionResult:
        grounding = grounding or self.lab.run(self.page.ground(proposal))
        result = self.lab.run(self.page.act(proposal, grounding, secrets or {}))
        self.lab.run(self.page.settle())
        return result

    def goto(self, url: str) -> None:
        result = self.do(ActionType.GOTO, url=url)
        assert result.status == "success", result

    def see(self) -> Seen:
        return self.lab.run(self.page.observe())

    def js(self, expression: str) -> Any:
        """In the page's own world."""
        return self.lab.run(self.page.watch.tab.evaluate(expression))

    def close(self) -> None:
        self.lab.run(self.page.close())
