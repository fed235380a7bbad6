"""From a proposal to what its act would hit: finds the target in the isolated world, waits for it, and reads its facts. Nothing is executed here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

import msgspec
from playwright.async_api import Error

from deskcert_adapters.executors.chromium.found import Found, Named, Problem, address_of, element_of, form_of
from deskcert_adapters.executors.chromium.watch import DialogOpened, Late, Watch
from deskcert_adapters.executors.chromium.world import ScriptFailed, World
from deskcert_core.address import Address, parse
from deskcert_core.effect import ENTER, SPACE, UNKNOWN, Grounding, key_of
from deskcert_core.proposal import Proposal, Target

__all__ = ["LONGEST_SECONDS", "Resolver"]

APPEAR_SECONDS = 3.0
LONGEST_SECONDS = 30.0
ANSWER_SECONDS = 5.0
MOVE_SECONDS = 1.0
PAUSE_SECONDS = 0.1
NAMES_KEPT, NAME_LIMIT = 300, 100

Need = Literal["on", "text", "focus", "select", "check", "form", "sight"]
NEEDS: dict[str, Need] = {
    "click": "on", "dblclick": "on", "right_click": "sight", "hover": "sight", "check": "check", "uncheck": "check", "fill": "text", "type": "text",
    "press": "focus", "select_option": "select", "submit_form": "form", "scroll": "sight", "wait_for": "sight", "read": "sight",
}
POINTER = frozenset({"click", "dblclick", "right_click", "hover", "check", "uncheck"})
CLICKS = frozenset({"click", "dblclick", "check", "uncheck"})
TARGET_OPTIONAL = frozenset({"type", "press", "submit_form"})
ROLES = {"img": "image"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What ground.js is asked. `how` is the default action that the act sets off; `given`: the candidates follow as objects."""

    target: Target | None
    needs: Need
    pointer: bool
    how: Literal["click", "enter", "space", "submit", "none"]
    value: str | None
    selectors: tuple[str, ...]
    given: bool


class Resolver:
    """Grounds proposals in one page. `selectors` are the policy's; `files` says whether file: addresses may be opened at all."""

    def __init__(self, watch: Watch, world: World, selectors: tuple[str, ...], files: bool) -> None:
        self._watch, self._world, self._selectors, self._files = watch, world, selectors, files

    async def ground(self, proposal: Proposal) -> Grounding:
        """The grounding, with a problem instead of an element where there is none. Raises HarnessFault if page or browser are gone."""
        self._watch.check()
        page = address_of(self._watch.tab.url)
        match proposal.action_type:
            case "goto":
                return self._destination(page, proposal.url or "")
            case "go_back" | "go_forward" | "reload":
                return await self._history(page, {"go_back": -1, "go_forward": 1, "reload": 0}[proposal.action_type])
            case action if action in NEEDS and (proposal.target or action in TARGET_OPTIONAL):
                return await self._element(page, proposal)
            case _:
                return Grounding(page=page)

    def _destination(self, page: Address | None, url: str) -> Grounding:
        base = page.href if page and page.origin.scheme in ("http", "https", "file") else None
        try:
            address = parse(url, base)
        except ValueError as error:
            return unusable(page, f"{url!r} is no address that can be opened: {error}")
        allowed = address.href == "about:blank" or address.origin.scheme in ("http", "https") or (address.origin.scheme == "file" and self._files)
        if not allowed:
            return unusable(page, f"a {address.origin.scheme}: address is never opened" + (": files.roots is empty" if address.origin.scheme == "file" else ""))
        return Grounding(page=page, destination=address)

    async def _history(self, page: Address | None, step: int) -> Grounding:
        try:
            history = await self._watch.race(self._world.cdp.send("Page.getNavigationHistory"), ANSWER_SECONDS)
        except (Late, DialogOpened, Error):
            return unusable(page, "the page does not answer")
        at = history["currentIndex"] + step
        if not 0 <= at < len(history["entries"]):
            return unusable(page, "there is no page in the history to go to")
        return self._destination(page, history["entries"][at]["url"])

    async def _element(self, page: Address | None, proposal: Proposal) -> Grounding:
        if proposal.target and proposal.target.ref is not None:
            return unusable(page, "a target by ref is not built in this version")
        await self._watch.dismiss()
        try:
            found, role, name, closed = await self._poll(proposal)
            named = await self._named(found, proposal)
        except Late:
            return unusable(page, "the page does not answer")
        except DialogOpened:
            return unusable(page, "a dialog opened meanwhile")
        except ScriptFailed as failed:
            return unusable(page, str(failed))
        what = f"{proposal.target or 'the focused element'}: "
        if found.foreign or closed:
            return Grounding(page=page, element=UNKNOWN, form=UNKNOWN, point=found.point)
        problem = found.problem
        return Grounding(
            page=page, element=element_of(found.element, role, name) if found.element else None, form=form_of(found.form), point=found.point,
            problem=what + problem.message if problem else None, problem_kind=problem.kind if problem else None,
            names=named.names, all_named=named.all_named,
        )

    async def _named(self, found: Found, proposal: Proposal) -> Named:
        """The names on the page, where they may have to prove something: nothing was found by name, or a point was hit."""
        point = proposal.target is not None and proposal.target.x is not None
        if not proposal.target or not (point or (found.problem and found.problem.kind == "missing")):
            return Named()
        try:
            return await self._watch.race(self._world.call("named", point, NAMES_KEPT, NAME_LIMIT, into=Named), ANSWER_SECONDS)
        except (Late, DialogOpened, ScriptFailed, Error):
            return Named()  # no proof then: nobody is accused

    async def _poll(self, proposal: Proposal) -> tuple[Found, str, str, bool]:
        """Look again until it is there, uncovered and at rest, or the time is up. With it: role, accessible name, whether a closed shadow hides more."""
        clock = asyncio.get_running_loop().time
        start = clock()
        seconds = min(proposal.timeout_seconds or APPEAR_SECONDS, LONGEST_SECONDS)
        while True:
            try:
                found = await self._watch.race(self._look(proposal), ANSWER_SECONDS)
                at_rest = (found.problem is None or found.problem.final) and not found.moving
                if at_rest or clock() >= start + (MOVE_SECONDS if found.moving else seconds):
                    role, name, closed = await self._watch.race(self._accessible(), ANSWER_SECONDS) if found.element else ("", "", False)
                    return found, role, name, closed
            except Error:  # the document was replaced between two questions
                if clock() >= start + seconds:
                    return Found(problem=Problem(kind="missing", message="the page was being replaced")), "", "", False
            await asyncio.sleep(PAUSE_SECONDS)

    async def _look(self, proposal: Proposal) -> Found:
        target, action = proposal.target, proposal.action_type
        by_role = target is not None and target.role is not None
        ask = Ask(
            target=target, needs=NEEDS[action] if target or action != "type" else "focus", pointer=action in POINTER, how=how(proposal),
            value=proposal.value, selectors=self._selectors, given=by_role,
        )
        given = await self._by_role(target) if target and by_role else ()
        return await self._world.call("ground", msgspec.to_builtins(ask), into=Found, given=given)

    async def _by_role(self, target: Target) -> tuple[str, ...]:
        """The nodes of this role and name, by the browser's own computation, as objects of our world."""
        role, context = ROLES.get(target.role or "", target.role or ""), await self._world.context()
        nodes: list[tuple[int, str]] = []
        for number in range(await self._world.call("documents", into=int)):
            if (document := await self._world.handle("document", number)) is None:
                continue
            exact = {"accessibleName": target.name} if target.name is not None else {}
            tree = await self._world.cdp.send("Accessibility.queryAXTree", {"objectId": document, "role": role, **exact})
            if not tree["nodes"] and exact:
                tree = await self._world.cdp.send("Accessibility.queryAXTree", {"objectId": document, "role": role})
            nodes += [(n["backendDOMNodeId"], n.get("name", {}).get("value") or "") for n in tree["nodes"] if "backendDOMNodeId" in n]
        if target.name is not None:
            nodes = [n for n in nodes if n[1] == target.name] or [n for n in nodes if squash(n[1]) == squash(target.name)]
        wanted = [{"backendNodeId": node, "executionContextId": context} for node, _ in nodes]
        return tuple([(await self._world.cdp.send("DOM.resolveNode", one))["object"]["objectId"] for one in wanted])

    async def _accessible(self) -> tuple[str, str, bool]:
        element, under = await asyncio.gather(self._world.handle("element"), self._world.handle("under"))
        if element is None or under is None:
            return "", "", False
        tree, node = await asyncio.gather(
            self._world.cdp.send("Accessibility.getPartialAXTree", {"objectId": element, "fetchRelatives": False}),
            self._world.cdp.send("DOM.describeNode", {"objectId": under}),
        )
        facts = tree["nodes"][0] if tree["nodes"] else {}
        role, name = (facts.get(part, {}).get("value") or "" for part in ("role", "name"))
        closed = any(root.get("shadowRootType") == "closed" for root in node["node"].get("shadowRoots", ()))
        return {"image": "img"}.get(role, role), squash_space(name), closed


def how(proposal: Proposal) -> Literal["click", "enter", "space", "submit", "none"]:
    """Which default action of the browser the act sets off."""
    match proposal.action_type:
        case action if action in CLICKS:
            return "click"
        case "submit_form":
            return "submit"
        case "press" if key_of(proposal) in ENTER:
            return "enter"
        case "press" if key_of(proposal) in SPACE:
            return "space"
        case "type" if "\n" in (proposal.value or "") or "\r" in (proposal.value or ""):
            return "enter"
        case _:
            return "none"


def unusable(page: Address | None, message: str) -> Grounding:
    return Grounding(page=page, problem=message, problem_kind="unusable")


def squash_space(text: str) -> str:
    return " ".join(text.split())


def squash(text: str) -> str:
    return squash_space(text).casefold()
