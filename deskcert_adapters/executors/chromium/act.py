"""Carries out one grounded act: by mouse and keyboard, on the very element that was grounded, after a last look at what lies there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from playwright.async_api import Error

from deskcert_adapters.executors.chromium.resolve import LONGEST_SECONDS
from deskcert_adapters.executors.chromium.secret import SecretRefused, check_place, secret_of
from deskcert_adapters.executors.chromium.watch import DialogOpened, Late, Watch, first_line
from deskcert_adapters.executors.chromium.world import ScriptFailed, World
from deskcert_core.effect import Element, Grounding
from deskcert_core.errors import HarnessFault
from deskcert_core.execution import ExecutionResult, SecretValue
from deskcert_core.proposal import Proposal

__all__ = ["Actor"]

ACT_SECONDS = 10.0
MOUSE_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"]
LOOKING = frozenset({"read", "screenshot"})


class NotDone(Exception):
    """The act was not, or not wholly, carried out; the message is one line for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the listener in the isolated world saw: where the input landed, and whether it was stopped there."""

    landed: str
    stopped: bool


class Actor:
    """Acts in one page."""

    def __init__(self, watch: Watch, world: World) -> None:
        self._watch, self._world, self._tab = watch, world, watch.tab
        self._landed = ""

    async def act(self, proposal: Proposal, grounding: Grounding, secrets: Mapping[str, SecretValue]) -> ExecutionResult:
        """How it ended. Raises HarnessFault only if the browser is gone or the page was gone before."""
        self._watch.check()
        self._landed = describe(grounding)
        if grounding.problem:
            return ExecutionResult(status="error", message=grounding.problem)
        seconds = min(proposal.timeout_seconds or ACT_SECONDS, LONGEST_SECONDS)
        try:
            message = await self._run(proposal, grounding, secrets, seconds)
        except (NotDone, SecretRefused) as why:
            return ExecutionResult(status="error", message=str(why), landed_on=self._landed)
        except Late:
            return ExecutionResult(status="timeout", message=f"no answer within {seconds:g} s", landed_on=self._landed)
        except DialogOpened:
            return ExecutionResult(status="success", message="a dialog opened", landed_on=self._landed)
        except Error as error:
            return ExecutionResult(status="error", message=without_secrets(error, secrets), landed_on=self._landed)
        except HarnessFault as fault:
            if fault.whose != "application" and not isinstance(fault, ScriptFailed):
                raise
            return ExecutionResult(status="error", message=str(fault), landed_on=self._landed)
        return ExecutionResult(status="success", message=message, landed_on=self._landed)

    async def _run(self, proposal: Proposal, grounding: Grounding, secrets: Mapping[str, SecretValue], seconds: float) -> str:
        if proposal.action_type in LOOKING:
            return ""
        if proposal.action_type == "handle_dialog":
            return await self._answer(proposal, seconds)
        await self._watch.dismiss()
        if proposal.action_type == "wait_for" and proposal.target is None:
            seconds += 1
        return await self._watch.race(self._do(proposal, grounding, secrets), seconds, keep=True)

    async def _do(self, proposal: Proposal, grounding: Grounding, secrets: Mapping[str, SecretValue]) -> str:
        value = proposal.value or ""
        match proposal.action_type:
            case "goto" | "go_back" | "go_forward" | "reload":
                return await self._travel(proposal, grounding)
            case "click" | "dblclick" | "right_click" | "hover":
                await self._point(grounding, clicks=CLICKS[proposal.action_type], right=proposal.action_type == "right_click")
                return ""
            case "fill" | "type" if (secret := secret_of(value, secrets)) is not None:
                return await self._type_secret(secret, whole=proposal.action_type == "fill")
            case "fill":
                return await self._fill(value)
            case "type":
                await self._take("end")
                await self._tab.keyboard.type(value)
                return ""
            case "press":
                await self._take("")
                await self._tab.keyboard.press(proposal.value or "Enter")
                return ""
            case "select_option":
                await self._ask("choose", value)
                return ""
            case "check" | "uncheck":
                return await self._check(grounding, wanted=proposal.action_type == "check")
            case "submit_form":
                await self._ask("submit")
                return ""
            case "scroll":
                moved = await self._world.call("scroll", proposal.delta_x, proposal.delta_y, into=bool)
                return "" if moved else "nothing moved: it is at its end"
            case "wait_for":
                await asyncio.sleep(0 if proposal.target else min(proposal.timeout_seconds or 1, LONGEST_SECONDS))
                return ""
            case action:
                raise NotDone(f"{action} is not built in this version")

    # -- pages
    async def _travel(self, proposal: Proposal, grounding: Grounding) -> str:
        """Until the new document is there; loading to the end is for `settle`. Our own time-out rules, so Playwright's is off."""
        match proposal.action_type:
            case "goto":
                if grounding.destination is None:
                    raise NotDone("it was not grounded")
                response = await self._tab.goto(grounding.destination.href, wait_until="domcontentloaded", timeout=0)
            case "go_back":
                response = await self._tab.go_back(wait_until="domcontentloaded", timeout=0)
            case "go_forward":
                response = await self._tab.go_forward(wait_until="domcontentloaded", timeout=0)
            case _:
                response = await self._tab.reload(wait_until="domcontentloaded", timeout=0)
        return f"HTTP {response.status}" if response else ""

    async def _answer(self, proposal: Proposal, seconds: float) -> str:
        dialog = self._watch.take_dialog()
        if dialog is None:
            raise NotDone("no dialog is open")
        if proposal.accept:
            text = proposal.value if proposal.value is not None else dialog.default_value
            await self._watch.race(dialog.accept(text if dialog.type == "prompt" else None), seconds)
        else:
            await self._watch.race(dialog.dismiss(), seconds)
        await self._watch.race(self._watch.answered(), seconds)
        return ""

    # -- mouse
    async def _point(self, grounding: Grounding, *, clicks: int, right: bool = False) -> None:
        """Move, look again (the page may have answered the move), then click with a listener that lets the input through only on what was grounded."""
        if grounding.point is None:
            raise NotDone("it was not grounded")
        await self._ask("still")
        await self._tab.mouse.move(*grounding.point)
        if not clicks:
            return
        await self._ask("still")
        await self._ask("arm", MOUSE_EVENTS)
        try:
            for count in range(1, clicks + 1):
                await self._tab.mouse.down(button="right" if right else "left", click_count=count)
                await self._tab.mouse.up(button="right" if right else "left", click_count=count)
        finally:
            seen = await self._world.call("disarm", into=Guarded)
        if seen.landed:
            self._landed = seen.landed
        if seen.stopped:
            raise NotDone(f"stopped: the page put {seen.landed} under the pointer")

    async def _check(self, grounding: Grounding, *, wanted: bool) -> str:
        if await self._world.call("isChecked", into=bool) is wanted:
            return "it already was"
        await self._point(grounding, clicks=1)
        if await self._world.call("isChecked", into=bool) is not wanted:
            raise NotDone("it did not change when it was clicked")
        return ""

    # -- keyboard
    async def _ask(self, name: str, *args: object) -> None:
        """Call a script that answers null, or why not."""
        why = await self._world.text(name, *args)
        if why:
            raise NotDone(f"not done: {why}")

    async def _take(self, caret: str) -> None:
        await self._ask("take", caret)

    async def _fill(self, value: str) -> str:
        await self._take("all")
        if not await self._world.call("setWhole", value, into=bool):
            await (self._tab.keyboard.insert_text(value) if value else self._tab.keyboard.press("Delete"))
        held = await self._world.text("holds")
        if held is None:
            return "the page replaced the field"
        if held.replace("\r\n", "\n").strip("\n") == value.replace("\r\n", "\n").strip("\n"):
            return ""
        if letters(held) != letters(value):
            raise NotDone("the field does not hold the text after it was typed")
        return "the page reformatted the text"

    async def _type_secret(self, secret: SecretValue, *, whole: bool) -> str:
        """Only into a password field of the bound origin, and only if it then stands there and nowhere else. No message may hold the value."""
        await self._take("all" if whole else "end")
        await check_place(self._world, secret)
        try:
            if whole:
                await self._tab.keyboard.insert_text(secret.value)
            else:
                await self._tab.keyboard.type(secret.value)
            held = await self._world.call("secretHeld", secret.value, into=bool)
        except (Error, HarnessFault) as error:
            raise SecretRefused("the secret could not be typed") from error
        if not held:
            raise SecretRefused("the secret did not stay in its field and was wiped")
        return ""


CLICKS = {"click": 1, "dblclick": 2, "right_click": 1, "hover": 0}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def describe(grounding: Grounding) -> str:
    element = grounding.element
    if isinstance(element, Element):
        return f"{element.role or element.tag} {element.name or element.text[:60]!r}"
    return "a foreign frame" if element else ""


def without_secrets(error: Error, secrets: Mapping[str, SecretValue]) -> str:
    """Playwright's message, unless it holds a secret."""
    line = first_line(error)
    return "the act failed" if any(secret.value in line for secret in secrets.values()) else line
