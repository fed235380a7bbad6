"""What happens to one page beside the call under way: dialogs, crash, browser death, loading, popups, downloads. Every wait goes through `race`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import TypeVar

from playwright.async_api import BrowserContext, CDPSession, Dialog, Download, Error
from playwright.async_api import Page as Tab

from deskcert_core.errors import HarnessFault

__all__ = ["DialogOpened", "Late", "Watch", "first_line"]

T = TypeVar("T")
AFTERMATH_SECONDS = 3.0
DEATH_SECONDS = 1.0
UNSEEN = ("data:", "blob:")
DISMISS_SECONDS = 2.0


class DialogOpened(Exception):
    """A native dialog opened (or stands open) while work was under way; the work goes on once it is answered."""


class Late(Exception):
    """The work did not end in its time."""


class Watch:
    """One page's events. `dialog` is the one that stands open; `events` are notes for the next look; `frames` are the ids of its frames."""

    def __init__(self, context: BrowserContext, tab: Tab) -> None:
        self.tab = tab
        self.dialog: Dialog | None = None
        self.dialogs = 0
        self.events: list[str] = []
        self.frames: set[str] = set()
        self.crashed = self.closed = self.dead = False
        self.loading = False
        self._stir = asyncio.Event()
        self._left: set[asyncio.Task[object]] = set()
        context.on("dialog", self._on_dialog)
        context.on("page", self._on_popup)
        tab.on("crash", lambda _: self._end("crashed"))
        tab.on("close", lambda _: self._on_close())
        tab.on("download", self._on_download)

    async def listen(self, cdp: CDPSession) -> str:
        """Follow the main frame's loading; gives the main frame's id."""
        tree = await cdp.send("Page.getFrameTree")
        main: str = tree["frameTree"]["frame"]["id"]
        self.frames.add(main)
        for name, loading in (("Page.frameStartedLoading", True), ("Page.frameRequestedNavigation", True), ("Page.frameStoppedLoading", False)):
            cdp.on(name, lambda event, loading=loading: self._on_loading(main, event["frameId"], loading))
        cdp.on("Page.frameNavigated", lambda event: self._on_navigated(event["frame"]["url"]))
        cdp.on("Page.frameAttached", lambda event: self.frames.add(event["frameId"]))
        await cdp.send("Page.enable")
        return main

    def note(self, event: str) -> None:
        self.events.append(event)

    def _wake(self) -> None:
        stir, self._stir = self._stir, asyncio.Event()
        stir.set()

    def take_events(self) -> tuple[str, ...]:
        events, self.events = tuple(self.events), []
        return events

    # -- what arrives
    def browser_died(self) -> None:
        self._end("dead")

    def _end(self, how: str) -> None:
        if how == "crashed":
            self.note("page crashed")
        setattr(self, how, True)
        self._wake()

    def _on_close(self) -> None:
        """A page also closes because its browser died, and that is told a moment later."""
        asyncio.get_running_loop().call_later(DEATH_SECONDS, self._end, "closed")

    def _on_loading(self, main: str, frame: str, loading: bool) -> None:
        if frame == main:
            self.loading = loading
            self._wake()

    def _on_navigated(self, url: str) -> None:
        if url.startswith(UNSEEN):
            self.note(f"a frame opened {url[:200]}, which passes no gate")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.dialogs += 1
        if dialog.page is not None and dialog.page is not self.tab:
            self.note(f"{dialog.type} dialog of a popup dismissed: {dialog.message[:200]!r}")
            self.keep(self._dismiss(dialog))
            return
        self.note(f"dialog {self.dialogs}: {dialog.type} {dialog.message[:200]!r}")
        self.dialog = dialog
        self._wake()

    async def _dismiss(self, dialog: Dialog) -> None:
        with contextlib.suppress(Error):
            await dialog.dismiss()

    def take_dialog(self) -> Dialog | None:
        """The open dialog, which is then the caller's to answer."""
        dialog, self.dialog = self.dialog, None
        return dialog

    async def dismiss(self) -> None:
        """Whatever is not an answer to an open dialog dismisses it first; what it had stopped goes on."""
        if dialog := self.take_dialog():
            self.note(f"{dialog.type} dialog dismissed")
            with contextlib.suppress(DialogOpened, Late):
                await self.race(self._dismiss(dialog), DISMISS_SECONDS)
                await self.race(self.answered(), DISMISS_SECONDS)

    def _on_popup(self, popup: Tab) -> None:
        if popup is not self.tab:
            self.note(f"popup {popup.url}")
            popup.on("download", self._on_download)

    def _on_download(self, download: Download) -> None:
        self.note(f"download refused {download.suggested_filename}")

    # -- waiting
    def check(self) -> None:
        """Raises HarnessFault for a page or a browser that is no more."""
        if self.dead:
            raise HarnessFault("the browser died", whose="browser")
        if self.crashed:
            raise HarnessFault("the page crashed", whose="application")
        if self.closed:
            raise HarnessFault("the page closed itself", whose="application")

    def keep(self, work: Coroutine[object, object, object]) -> None:
        """Let work run on in the background; its failure is nobody's."""
        self._keep(asyncio.ensure_future(work))

    def _keep(self, task: asyncio.Task[object]) -> None:
        self._left.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._left.discard(task)
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, Error):
            self.note(f"after its dialog the act ended: {error}")

    async def race(self, work: Coroutine[object, object, T], seconds: float, *, keep: bool = False) -> T:
        """The work's result. Raises Late, DialogOpened, HarnessFault (page or browser gone), or what the work raises.

        What is not done by then is cancelled, except that a dialog lets work go on in the background where `keep` says so.
        """
        try:
            self._may_go_on()
        except BaseException:
            work.close()
            raise
        task = asyncio.ensure_future(work)
        end = asyncio.get_running_loop().time() + seconds
        try:
            while not task.done():
                self._may_go_on()
                await self._next(task, end)
            return task.result()
        except DialogOpened:
            if keep and not task.done():
                self._keep(task)
            raise
        except Error as error:
            await self._aftermath(error)
            raise
        finally:
            if task not in self._left and not task.done():
                task.cancel()
                task.add_done_callback(_retrieved)

    def _may_go_on(self) -> None:
        self.check()
        if self.dialog:
            raise DialogOpened

    async def _next(self, task: asyncio.Task[T], end: float) -> None:
        """Until the task is done or something stirs. Raises Late."""
        left = end - asyncio.get_running_loop().time()
        if left <= 0:
            raise Late
        stir = asyncio.ensure_future(self._stir.wait())
        try:
            await asyncio.wait({task, stir}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stir.cancel()

    async def _aftermath(self, error: Error) -> None:
        """Playwright may say that a target is gone before it says why."""
        if "closed" not in str(error) and "crash" not in str(error):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AFTERMATH_SECONDS):
                while not (self.dead or self.crashed or self.closed):
                    await self._stir.wait()
        self.check()

    async def loaded(self) -> None:
        """Until the main frame has no load under way."""
        while self.loading:
            await self._stir.wait()

    async def answered(self) -> None:
        """Until what a dialog had stopped has ended."""
        if self._left:
            await asyncio.wait(set(self._left))

    async def drop(self) -> None:
        """Give up what is left in the background."""
        left = list(self._left)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def first_line(error: Error) -> str:
    """Playwright's message without its log."""
    return error.message.splitlines()[0] if error.message else type(error).__name__


def _retrieved(task: asyncio.Task[T]) -> None:
    """Work that was given up may still fail; nobody asks for it any more."""
    if not task.cancelled():
        task.exception()
