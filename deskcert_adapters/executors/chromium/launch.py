"""Starts the browser so that the request gate is its only way out, and opens one fresh context per trial."""

from __future__ import annotations

import contextlib
import os

import msgspec
from playwright.async_api import Browser as Driven
from playwright.async_api import BrowserContext, Error, Playwright, ProxySettings, StorageState, async_playwright

from deskcert_adapters.executors.chromium.files import FileGate
from deskcert_adapters.executors.chromium.find import FoundBrowser, find_browser, install_browser
from deskcert_adapters.executors.chromium.page import ChromiumPage
from deskcert_adapters.executors.chromium.watch import first_line
from deskcert_adapters.executors.proxy.server import RequestGate
from deskcert_core.errors import HarnessFault, UnavailableError
from deskcert_core.execution import BrowserInfo, BrowserPlan, PagePlan, Traffic

__all__ = ["Chromium"]

START_SECONDS = 60.0
FLAGS = (
    "--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--disable-sync", "--disable-auto-reload", "--no-pings", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
)


class Chromium:
    """Implements Browser. One per run: `start`, then `open` for each trial, then `close`."""

    deskcert_api = 1
    find = staticmethod(find_browser)
    install = staticmethod(install_browser)

    def __init__(self) -> None:
        self._pages: set[ChromiumPage] = set()
        self._gate: RequestGate | None = None
        self._playwright: Playwright | None = None
        self._browser: Driven | None = None
        self._plan = BrowserPlan()

    async def start(self, plan: BrowserPlan, traffic: Traffic) -> BrowserInfo:
        """Raises UnavailableError if there is no browser, it does not start, or the containment cannot be had."""
        if plan.containment != "proxy":
            raise UnavailableError(f"containment {plan.containment} is not built in this version", hint="write containment: proxy in the policy")
        self._plan, found = plan, find_browser()
        try:
            self._gate = RequestGate(traffic, ca=plan.ca, on_garbage=self._garbage, on_fault=self._fault)
            await self._gate.start()
            self._playwright = await async_playwright().start()
            self._browser = await self._launch(self._playwright, self._gate, found)
            self._browser.on("disconnected", lambda _: self._died())
            if plan.files:
                await FileGate(plan.files, self._tell).start(await self._browser.new_browser_cdp_session())
        except Error as error:
            await self.close()
            raise UnavailableError(f"{found.path} does not start: {first_line(error)}", hint="try: deskcert doctor") from error
        except BaseException:
            await self.close()
            raise
        return BrowserInfo(name=found.name, version=self._browser.version, path=found.path, containment=plan.containment, sandbox=sandboxed())

    async def _launch(self, playwright: Playwright, gate: RequestGate, found: FoundBrowser) -> Driven:
        return await playwright.chromium.launch(
            executable_path=found.path, headless=True, chromium_sandbox=sandboxed(), proxy=way_out(gate.launch_port), timeout=START_SECONDS * 1000,
            args=[*FLAGS, f"--ignore-certificate-errors-spki-list={gate.spki}"], handle_sigint=False, handle_sigterm=False, handle_sighup=False,
        )

    async def open(self, plan: PagePlan) -> ChromiumPage:
        """A fresh context. Raises HarnessFault if the browser is gone or the storage state is none, InputError for a selector that is no CSS."""
        if self._browser is None or self._gate is None or not self._browser.is_connected():
            raise HarnessFault("the browser is not running", whose="browser")
        port = await self._gate.open(plan.name)
        try:
            return await self._open(plan, self._browser, self._gate, port)
        except BaseException as error:
            await self._gate.close_page(plan.name)
            if isinstance(error, Error):
                raise HarnessFault(f"the browser opens no page: {first_line(error)}", whose="browser") from error
            raise

    async def _open(self, plan: PagePlan, browser: Driven, gate: RequestGate, port: int) -> ChromiumPage:
        context = await self._context(plan, browser, port)
        try:
            tab = await context.new_page()
            page = ChromiumPage(plan, context, tab, gate, files=bool(self._plan.files), closed=self._pages.discard)
            await page.prepare(await context.new_cdp_session(tab))
        except BaseException:
            with contextlib.suppress(Error):
                await context.close()
            raise
        self._pages.add(page)
        return page

    async def _context(self, plan: PagePlan, browser: Driven, port: int) -> BrowserContext:
        width, height = self._plan.viewport
        return await browser.new_context(
            proxy=way_out(port), service_workers="block", accept_downloads=False, viewport={"width": width, "height": height}, device_scale_factor=1,
            storage_state=state_of(plan.storage_state),
        )

    async def close(self) -> None:
        """The browser first, the gate last: until the end nothing gets past it. Never raises for a browser that is already gone."""
        for page in tuple(self._pages):
            await page.close()
        with contextlib.suppress(Error):
            if self._browser:
                await self._browser.close()
        with contextlib.suppress(Error):
            if self._playwright:
                await self._playwright.stop()
        if self._gate:
            await self._gate.stop()
        self._browser = self._playwright = self._gate = None

    def _died(self) -> None:
        for page in tuple(self._pages):
            page.watch.browser_died()

    def _garbage(self, page: str, reason: str) -> None:
        """Bytes that are no request were refused: the page's next observation says so."""
        for one in self._pages:
            if one.name == page:
                one.watch.note(f"refused, no request: {reason}")

    def _fault(self, page: str, error: Exception) -> None:
        """The gate or the session behind it failed, and the request was refused."""
        self._garbage(page, f"the gate failed: {type(error).__name__}: {error}")

    def _tell(self, frame: str, note: str) -> None:
        """A decision on a file: load, to the page whose frame asks; to all where that is not known."""
        owners = [page for page in self._pages if frame in page.watch.frames] or list(self._pages)
        for page in owners:
            page.watch.note(note)


def way_out(port: int) -> ProxySettings:
    """`<-loopback>`: Chromium would leave loopback addresses out of every proxy."""
    return {"server": f"http://127.0.0.1:{port}", "bypass": "<-loopback>"}


def sandboxed() -> bool:
    """Chromium refuses to start its own sandbox as root."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0


def state_of(text: str | None) -> StorageState | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=StorageState)
    except msgspec.MsgspecError as error:
        raise HarnessFault(f"the storage state is not Playwright's JSON: {error}", whose="session") from error
