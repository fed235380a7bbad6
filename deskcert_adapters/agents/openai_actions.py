"""One action of OpenAI's computer tool as a proposal: the same act, or a message that says why not. Nothing is clamped, guessed or left out."""

from __future__ import annotations

from collections.abc import Mapping

from deskcert_core.api import ActionType, Proposal, Target

__all__ = ["DIALOG", "proposal_of"]

DIALOG = "It covers the page, and the picture is older: ENTER accepts it, ESC dismisses it, typing answers a prompt and accepts it; any other action dismisses it."

WAIT_SECONDS = 2.0
BUTTONS = {"left": ActionType.CLICK, "right": ActionType.RIGHT_CLICK}
HISTORY = {"back": ActionType.GO_BACK, "forward": ActionType.GO_FORWARD}
MODIFIERS = {
    "ctrl": "Control", "control": "Control", "alt": "Alt", "option": "Alt", "shift": "Shift", "meta": "Meta", "cmd": "Meta", "command": "Meta", "super": "Meta",
    "win": "Meta",
}
KEYS = {
    "enter": "Enter", "return": "Enter", "esc": "Escape", "escape": "Escape", "space": "Space", "tab": "Tab", "backspace": "Backspace",
    "delete": "Delete", "del": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "PageUp", "pagedown": "PageDown",
    "arrowup": "ArrowUp", "up": "ArrowUp", "arrowdown": "ArrowDown", "down": "ArrowDown", "arrowleft": "ArrowLeft", "left": "ArrowLeft",
    "arrowright": "ArrowRight", "right": "ArrowRight", **{f"f{number}": f"F{number}" for number in range(1, 13)},
}


def proposal_of(action: Mapping[str, object], viewport: tuple[int, int], *, dialog: bool = False) -> Proposal:
    """The proposal of one action; points are CSS pixels of the viewport, which is what the screenshot shows. With a `dialog` open, keys answer it (DIALOG).

    Raises ValueError, worded for the model, for an action that is unknown, malformed, outside the viewport, or that no proposal says exactly.
    """
    kind = action.get("type")
    if kind != "keypress" and action.get("keys"):
        raise ValueError(f"{kind} with keys held down is not supported")
    match action:
        case {"type": "keypress", "keys": [str(key)]} if dialog and KEYS.get(key.lower()) in ("Enter", "Escape"):
            return Proposal(action_type=ActionType.HANDLE_DIALOG, accept=KEYS[key.lower()] == "Enter")
        case {"type": "type", "text": str(text)} if dialog:
            return Proposal(action_type=ActionType.HANDLE_DIALOG, accept=True, value=text)
        case {"type": "click", "button": "back" | "forward" as button}:
            return Proposal(action_type=HISTORY[str(button)])
        case {"type": "click", "button": "left" | "right" as button}:
            return Proposal(action_type=BUTTONS[str(button)], target=point(action, viewport))
        case {"type": "click", "button": "wheel"}:
            raise ValueError("a click with the wheel is not supported")
        case {"type": "double_click"}:
            return Proposal(action_type=ActionType.DBLCLICK, target=point(action, viewport))
        case {"type": "move"}:
            return Proposal(action_type=ActionType.HOVER, target=point(action, viewport))
        case {"type": "drag", "path": [dict() as first, dict() as last]}:
            return Proposal(action_type=ActionType.DRAG_TO, target=point(first, viewport), to=point(last, viewport))
        case {"type": "drag", "path": [_, _, _, *_]}:
            raise ValueError("a drag through more than two points is not supported: give its start and its end")
        case {"type": "scroll", "scroll_x": int() | float() as x, "scroll_y": int() | float() as y} if x or y:
            return Proposal(action_type=ActionType.SCROLL, target=point(action, viewport), delta_x=x, delta_y=y)
        case {"type": "keypress", "keys": [*keys]} if keys and all(isinstance(key, str) for key in keys):
            return Proposal(action_type=ActionType.PRESS, value=pressed([str(key) for key in keys]))
        case {"type": "type", "text": str(text)}:
            text.encode()  # half a character cannot be typed, nor sent
            return Proposal(action_type=ActionType.TYPE, value=text)
        case {"type": "wait"}:
            return Proposal(action_type=ActionType.WAIT_FOR, timeout_seconds=WAIT_SECONDS)
        case {"type": "screenshot"}:
            return Proposal(action_type=ActionType.SCREENSHOT)
        case {"type": "click" | "drag" | "scroll" | "keypress" | "type"}:
            raise ValueError(f"the {kind} is malformed: {dict(action)!r:.200}")
        case _:
            raise ValueError(f"the action {kind!r:.60} is not supported")


def point(at: Mapping[str, object], viewport: tuple[int, int]) -> Target:
    """Raises ValueError for a point that is none or not in the viewport."""
    match at:
        case {"x": int() | float() as x, "y": int() | float() as y}:
            if not (0 <= x < viewport[0] and 0 <= y < viewport[1]):
                raise ValueError(f"the point {x}, {y} is outside the screenshot of {viewport[0]} x {viewport[1]} pixels")
            return Target(x=x, y=y)
        case _:
            raise ValueError(f"it has no point: {dict(at)!r:.200}")


def pressed(keys: list[str]) -> str:
    """The combination in Playwright's names: any modifiers, then one key. Raises ValueError for two keys at once and for unknown ones."""
    *held, key = keys
    names = [MODIFIERS.get(name.lower(), "") for name in held]
    if not all(names):
        raise ValueError(f"pressing {'+'.join(keys)} is not supported: give one key, after its modifiers")
    if len(key) == 1:
        last = "Space" if key == " " else key.lower() if names else key
    elif not (last := KEYS.get(key.lower(), "")):
        raise ValueError(f"the key {key!r:.40} is not known")
    return "+".join([*names, last])
