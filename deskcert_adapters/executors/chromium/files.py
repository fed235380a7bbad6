"""file: loads, which no proxy sees: each is held on the browser's own CDP session until its real path is known to lie in a root."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.async_api import CDPSession, Error

__all__ = ["FileGate", "inside"]


class FileGate:
    """`tell(frame, note)` hears every decision; `frame` is the id of the frame that asks, "" if it is not known."""

    def __init__(self, roots: tuple[str, ...], tell: Callable[[str, str], None]) -> None:
        self._roots = tuple(Path(root).resolve() for root in roots)
        self._tell = tell
        self._held: set[asyncio.Task[None]] = set()

    async def start(self, cdp: CDPSession) -> None:
        self._cdp = cdp
        cdp.on("Fetch.requestPaused", self._paused)
        await cdp.send("Fetch.enable", {"patterns": [{"urlPattern": "file:*"}]})

    def _paused(self, event: dict[str, object]) -> None:
        task = asyncio.ensure_future(self._decide(event))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _decide(self, event: dict[str, object]) -> None:
        request = event["request"]
        url = str(request["url"]) if isinstance(request, dict) else ""
        try:
            allowed = inside(url, self._roots)
        except Exception:  # whatever broke: what cannot be told is refused
            allowed = False
        self._tell(str(event.get("frameId", "")), f"file {'allowed' if allowed else 'refused: outside files.roots'}: {url}")
        with contextlib.suppress(Error):  # the request may have gone with its page
            if allowed:
                await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            else:
                await self._cdp.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "BlockedByClient"})


def inside(url: str, roots: tuple[Path, ...]) -> bool:
    """Whether a file: address, links followed, lies in one of the roots (real paths)."""
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return False
    real = Path(unquote(parts.path, errors="strict")).resolve(strict=True)
    return any(real.is_relative_to(root) for root in roots)
