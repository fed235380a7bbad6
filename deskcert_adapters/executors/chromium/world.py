"""DeskCert's isolated world in one page: a JavaScript world of its own over the same DOM, which the page can neither see nor change."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.resources import files
from typing import TypeVar

import msgspec
from playwright.async_api import CDPSession, Error

from deskcert_core.errors import HarnessFault

__all__ = ["ScriptFailed", "World"]

T = TypeVar("T")
NAME = "deskcert"
TRIES = 20
PAUSE_SECONDS = 0.05
CALL = "function (name, args, ...given) {const d = globalThis.deskcert; return d ? Promise.resolve(d[name](...args, ...given)).then(value => ({value})) : null;}"
GIVE = "function (name, args) {return globalThis.deskcert?.[name](...args) ?? null;}"
PARTS = ("walk.js", "facts.js", "ground.js", "act.js")


@cache
def source() -> str:
    """The functions of this folder's scripts, in one scope."""
    folder = files("deskcert_adapters.executors.chromium")
    return "(() => {\n" + "\n".join((folder / part).read_text("utf-8") for part in PARTS) + "\n})()"


class ScriptFailed(HarnessFault):
    """One of our scripts threw: this page is built as they did not expect."""


class World:
    """Calls into the world of the document that stands in the main frame at this moment. The caller bounds the time."""

    def __init__(self, cdp: CDPSession, frame: str) -> None:
        self.cdp, self._frame = cdp, frame

    async def call(self, name: str, *args: object, into: type[T], given: tuple[str, ...] = ()) -> T:
        """Call one function of the scripts; `given` are object ids that follow the arguments. Raises HarnessFault if it throws or answers nonsense."""
        for _ in range(TRIES):
            try:
                context = await self.context()
                found = await self._run(CALL, context, [*plain(name, args), *objects(given)], by_value=True)
                if found is None:
                    await self._install(context)
                    continue
                return msgspec.convert(found.get("value") if isinstance(found, dict) else None, into)
            except msgspec.ValidationError as error:
                raise HarnessFault(f"the page script {name} answered something else: {error}") from error
            except Error as error:
                if not passing(error):
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
        raise HarnessFault("the page changes its document faster than it can be read", whose="application")

    async def text(self, name: str, *args: object) -> str | None:
        """Call a function that answers a text or null."""
        answer = await self.call(name, *args, into=object)
        return answer if isinstance(answer, str) else None

    async def handle(self, name: str, *args: object) -> str | None:
        """The object id of the node that a function gives, None if it gives none. Raises playwright's Error if the document has changed."""
        node = await self._run(GIVE, await self.context(), plain(name, args), by_value=False)
        return node if isinstance(node, str) else None

    async def context(self) -> int:
        """The execution context of our world; made once per document, the same afterwards."""
        made = await self.cdp.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": NAME})
        context: int = made["executionContextId"]
        return context

    async def _install(self, context: int) -> None:
        await self.cdp.send("Runtime.evaluate", {"expression": source(), "contextId": context})

    async def _run(self, function: str, context: int, arguments: list[dict[str, object]], *, by_value: bool) -> object:
        answer = await self.cdp.send("Runtime.callFunctionOn", {
            "functionDeclaration": function, "executionContextId": context, "arguments": arguments, "returnByValue": by_value, "awaitPromise": by_value,
        })
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            raise ScriptFailed(f"the page cannot be read: {text.splitlines()[0] if text else 'no reason given'}")
        result: object = answer["result"].get("value" if by_value else "objectId")
        return result


def plain(name: str, args: tuple[object, ...]) -> list[dict[str, object]]:
    return [{"value": name}, {"value": list(args)}]


def objects(given: tuple[str, ...]) -> list[dict[str, object]]:
    return [{"objectId": of} for of in given]


def passing(error: Error) -> bool:
    """Whether the document was just being replaced."""
    return "closed" not in str(error) and any(sign in str(error) for sign in ("context", "Context", "navigated", "No frame", "Frame", "uniqueContextId"))
