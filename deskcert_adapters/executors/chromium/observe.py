"""One look at a page: its facts by one call into the isolated world, its picture beside it. A page that hangs gives what can be had, in time."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass

from playwright.async_api import Error

from deskcert_adapters.executors.chromium.watch import DialogOpened, Late, Watch, first_line
from deskcert_adapters.executors.chromium.world import World
from deskcert_core.agent import Dialog
from deskcert_core.errors import HarnessFault
from deskcert_core.execution import Seen

__all__ = ["observe"]

TEXT_LIMIT = 200_000
FACTS_SECONDS = 5.0
PICTURE_SECONDS = 3.0
QUALITY = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The answer of `observe` in walk.js."""

    url: str
    title: str
    text: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG, or why there is none."""

    jpeg: bytes | None
    fell_back: bool = False


async def observe(watch: Watch, world: World, *, picture: bool) -> Seen:
    """What is there now; the dialog alone while one is open. Raises HarnessFault if page or browser are gone."""
    watch.check()
    try:
        facts, shot = await asyncio.gather(facts_of(watch, world), picture_of(watch, world) if picture else no_picture())
    except DialogOpened:
        return only_dialog(watch)
    return Seen(
        url=facts.url, title=facts.title, text=facts.text, screenshot=shot.jpeg, fell_back=shot.fell_back, events=watch.take_events(), whole=facts.whole,
    )


def only_dialog(watch: Watch) -> Seen:
    dialog = watch.dialog
    shown = Dialog(kind=dialog.type, message=dialog.message, default_value=dialog.default_value) if dialog else None
    return Seen(url=watch.tab.url, title="", text="", dialog=shown, events=watch.take_events(), whole=False)


async def facts_of(watch: Watch, world: World) -> Facts:
    try:
        return await watch.race(world.call("observe", TEXT_LIMIT, into=Facts), FACTS_SECONDS)
    except Late:
        watch.note(f"the page did not answer within {FACTS_SECONDS:g} s: no text")
        return Facts(url=watch.tab.url, title="", text="", whole=False)
    except Error as error:
        raise HarnessFault(f"the page cannot be read: {first_line(error)}", whose="application") from error


async def picture_of(watch: Watch, world: World) -> Picture:
    try:
        shot = await watch.race(world.cdp.send("Page.captureScreenshot", {"format": "jpeg", "quality": QUALITY, "optimizeForSpeed": True}), PICTURE_SECONDS)
        return Picture(jpeg=base64.b64decode(shot["data"]))
    except (Error, Late):
        pass
    try:
        slow = watch.tab.screenshot(type="jpeg", quality=QUALITY, timeout=PICTURE_SECONDS * 1000)
        return Picture(jpeg=await watch.race(slow, PICTURE_SECONDS + 1), fell_back=True)
    except (Error, Late):
        watch.note("no picture: neither way of taking one answered in time")
        return Picture(jpeg=None, fell_back=True)


async def no_picture() -> Picture:
    return Picture(jpeg=None)
