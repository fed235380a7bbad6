"""From one tool call of the model to the acts that it asks for. What cannot be done exactly as asked is refused: nothing is clamped, guessed or done otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

import msgspec

from deskcert_adapters.agents.claude.keys import UnknownKey, presses
from deskcert_adapters.agents.claude.service import Block, Call, Options
from deskcert_adapters.agents.turns import Act
from deskcert_core.api import ActionType, Dialog, Proposal, Target

__all__ = ["DISABLED", "TAB", "Hand", "Refused", "tool"]

T = TypeVar("T")
TAB = "1"
NOTCH = 100
MOST_NOTCHES = 100
MOST_PRESSES = 100
LONGEST_WAIT = 30
POINTED = {
    "left_click": ActionType.CLICK, "double_click": ActionType.DBLCLICK, "right_click": ActionType.RIGHT_CLICK, "mouse_move": ActionType.HOVER, "hover": ActionType.HOVER,
}
LOOKS = {"screenshot": (ActionType.SCREENSHOT, ActionType.READ), **dict.fromkeys(("read_page", "get_page_text", "find"), (ActionType.READ, ActionType.SCREENSHOT))}
BOTH = frozenset({*POINTED, "screenshot", "type", "key", "scroll", "wait"})
SERVED = {"computer": BOTH - {"hover"} | {"cursor_position"}, "browser": BOTH | {*LOOKS, "navigate", "form_input", "list_tabs"}}
DISABLED = {
    "computer": frozenset({"hold_key", "left_click_drag", "left_mouse_down", "left_mouse_up", "middle_click", "triple_click", "zoom"}),
    "browser": frozenset({
        "close_tab", "file_upload", "hold_key", "javascript_exec", "left_click_drag", "left_mouse_down", "left_mouse_up", "middle_click", "new_tab", "read_console",
        "read_network", "scroll_to", "switch_tab", "triple_click", "zoom",
    }),
}
NEVER = frozenset({"javascript_exec", "file_upload"})
HISTORY = {"back": ActionType.GO_BACK, "forward": ActionType.GO_FORWARD, "reload": ActionType.RELOAD}
CHOICES = frozenset({"combobox", "listbox"})


class Refused(Exception):
    """The call is not proposed; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A target of the browser toolset: a point in the picture, or an element by reference."""

    type: Literal["coordinate", "ref"]
    x: float | None = None
    y: float | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The input of any member: each takes some of it."""

    coordinate: tuple[float, float] | None = None
    target: Spot | None = None
    text: str | None = None
    modifiers: str | None = None
    repeat: int | None = None
    duration: float | None = None
    scroll_direction: Literal["up", "down", "left", "right"] | None = None
    scroll_amount: int | None = None
    url: str | None = None
    query: str | None = None
    value: bool | float | str | None = None
    depth: int | None = None
    filter: str | None = None
    ref: str | None = None
    tab_id: str | None = None


class Hand:
    """Reads calls for one picture size. It knows where the pointer was left, and by which action a mere look is proposed."""

    def __init__(self, toolset: str, viewport: tuple[int, int], allowed: Sequence[str]) -> None:
        self._legacy, self._family = toolset == "legacy", "browser" if toolset == "browser" else "computer"
        self._size, self._allowed = viewport, frozenset(allowed)
        self.pointer: tuple[float, float] | None = None

    def acts(self, call: Call, dialog: Dialog | None) -> list[Act]:
        """What the call asks for, in order; one failed act where it is refused."""
        try:
            name, given = self._read(call)
            proposals = answer_dialog(name, given, dialog) if dialog else self.proposals(name, given)
        except (Refused, UnknownKey) as why:
            return [Act(call=call.id, text=str(why), failed=True)]
        return [Act(call=call.id, proposal=each) for each in proposals] or [Act(call=call.id, text=self._known(name))]

    def _read(self, call: Call) -> tuple[str, Given]:
        raw = call.input
        if not isinstance(raw, dict):
            raise Refused(f"the input of {call.name} is not an object")
        if call.toolset_name != (None if self._legacy else self._family) or (self._legacy and call.name != "computer"):
            raise Refused(f"there is no tool {call.name!r}")
        name = raw.get("action") if self._legacy else call.name
        return str(name), self.given(str(name), {key: value for key, value in raw.items() if not (self._legacy and key == "action")})

    def given(self, name: str, raw: Block) -> Given:
        """The input of a member. Raises Refused for one that is not served or does not fit."""
        if name in NEVER:
            raise Refused(f"{name} is refused: DeskCert never executes it")
        if name in DISABLED[self._family]:
            raise Refused(f"{name} is not supported here")
        if name not in SERVED[self._family]:
            raise Refused(f"there is no action {name!r}")
        if unknown := sorted(set(raw) - {field.name for field in fields(Given)}):
            raise Refused(f"{name} takes no {unknown[0]!r}")
        try:
            return msgspec.convert(raw, Given)
        except msgspec.ValidationError as error:
            raise Refused(f"the input of {name} is malformed: {error}") from error

    def proposals(self, name: str, given: Given) -> list[Proposal]:
        """None where nothing happens in the page. Raises Refused."""
        if given.tab_id not in (None, TAB):
            raise Refused(f"there is one tab, {TAB!r}")
        match name:
            case _ if name in POINTED:
                if given.text or given.modifiers:
                    raise Refused(f"{name} with keys held down is not supported here")
                return [Proposal(action_type=POINTED[name], target=self._at(given))]
            case _ if name in LOOKS:
                if given.ref is not None:
                    raise Refused(f"{name} of a part of the page is not supported here: leave out ref")
                return [Proposal(action_type=look) for look in LOOKS[name] if look in self._allowed][:1]
            case "type":
                return [Proposal(action_type=ActionType.TYPE, value=needed(given.text, "text"))]
            case "key":
                return keys(given)
            case "scroll":
                return [self._scroll(given)]
            case "wait":
                if not 0 < (seconds := needed(given.duration, "duration")) <= LONGEST_WAIT:
                    raise Refused(f"a wait is more than 0 and at most {LONGEST_WAIT} seconds")
                return [Proposal(action_type=ActionType.WAIT_FOR, timeout_seconds=seconds)]
            case "navigate":
                url = needed(given.url, "url")
                return [Proposal(action_type=HISTORY[url]) if url in HISTORY else Proposal(action_type=ActionType.GOTO, url=url)]
            case "form_input":
                return [self._form_input(given)]
            case _:
                return []

    def _known(self, name: str) -> str:
        """The answer to a call that needs no act."""
        if name == "cursor_position":
            return "X={:g},Y={:g}".format(*self.pointer) if self.pointer else "the pointer has not been moved yet"
        return ""

    def _at(self, given: Given) -> Target:
        """The point asked for, else where the pointer was left."""
        if given.target is not None and given.target.type == "ref":
            return referred(needed(given.target.ref, "ref"))
        point = given.coordinate or self.pointer
        if given.target is not None:
            point = (needed(given.target.x, "x"), needed(given.target.y, "y"))
        if point is None:
            raise Refused("coordinate is missing: the pointer has not been moved yet")
        (x, y), (width, height) = point, self._size
        if not (0 <= x < width and 0 <= y < height):
            raise Refused(f"the point {x:g},{y:g} is outside the picture of {width} x {height} pixels")
        self.pointer = point
        return Target(x=x, y=y)

    def _scroll(self, given: Given) -> Proposal:
        if given.text:
            raise Refused("scroll with keys held down is not supported here")
        notches = 3 if given.scroll_amount is None and self._family == "browser" else needed(given.scroll_amount, "scroll_amount")
        if not 0 < notches <= MOST_NOTCHES:
            raise Refused(f"scroll_amount is 1 to {MOST_NOTCHES}")
        direction, pixels = needed(given.scroll_direction, "scroll_direction"), NOTCH * notches
        target = self._at(given) if given.coordinate or given.target or self.pointer else None
        signed = pixels if direction in ("down", "right") else -pixels
        across = direction in ("left", "right")
        return Proposal(action_type=ActionType.SCROLL, target=target, delta_x=signed if across else 0, delta_y=0 if across else signed)

    def _form_input(self, given: Given) -> Proposal:
        target, value = self._at(given), given.value
        if isinstance(value, bool):
            return Proposal(action_type=ActionType.CHECK if value else ActionType.UNCHECK, target=target)
        text = f"{needed(value, 'value'):g}" if isinstance(value, float) else str(needed(value, "value"))
        return Proposal(action_type=ActionType.SELECT_OPTION if target.role in CHOICES else ActionType.FILL, target=target, value=text)


def keys(given: Given) -> list[Proposal]:
    chords = presses(needed(given.text, "text")) * (1 if given.repeat is None else given.repeat)
    if not 0 < len(chords) <= MOST_PRESSES:
        raise Refused(f"one key action presses 1 to {MOST_PRESSES} times")
    return [Proposal(action_type=ActionType.PRESS, value=each) for each in chords]


def answer_dialog(name: str, given: Given, dialog: Dialog) -> list[Proposal]:
    """While a dialog is open only looking and answering it are possible. Raises Refused."""
    if name in LOOKS:
        return []
    if name == "type" and dialog.kind == "prompt":
        return [Proposal(action_type=ActionType.HANDLE_DIALOG, accept=True, value=needed(given.text, "text"))]
    chosen = presses(given.text or "") if name == "key" and given.repeat in (None, 1) else []
    if chosen not in (["Enter"], ["Escape"]):
        raise Refused(f"a {dialog.kind} dialog is open: answer it first")
    return [Proposal(action_type=ActionType.HANDLE_DIALOG, accept=chosen == ["Enter"])]


def referred(ref: str) -> Target:
    """An element by the references that DeskCert gives out: `text=`, `label=`, or a role, as in `button=Save`."""
    kind, _, value = ref.partition("=")
    if not value or not kind.isalpha():
        raise Refused(f"there is no element {ref!r}: a ref here is text=VISIBLE TEXT, label=LABEL OF A FIELD, or ROLE=NAME, such as button=Save")
    match kind:
        case "text":
            return Target(text=value)
        case "label":
            return Target(label=value)
        case _:
            return Target(role=kind, name=value)


def needed(value: T | None, name: str) -> T:
    if value is None or value == "":
        raise Refused(f"{name} is missing")
    return value


def tool(options: Options, viewport: tuple[int, int]) -> Block:
    """The entry of `tools`. What nothing here can do is switched off, so that the model does not plan with it."""
    if options.toolset == "legacy":
        return {"type": "computer_20251124", "name": "computer", "display_width_px": viewport[0], "display_height_px": viewport[1]}
    return {"type": f"{options.toolset}_toolset_20260801", "configs": {name: {"enabled": False} for name in sorted(DISABLED[options.toolset])}}
