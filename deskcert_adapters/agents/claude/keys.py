"""Key names as the model writes them (X11's, in any case) in the words of the executor."""

from __future__ import annotations

__all__ = ["UnknownKey", "presses"]

MODIFIERS = {
    "ctrl": "Control", "control": "Control", "alt": "Alt", "option": "Alt", "shift": "Shift", "super": "Meta", "meta": "Meta", "cmd": "Meta", "command": "Meta", "win": "Meta",
}
NAMES = {
    "return": "Enter", "enter": "Enter", "kp_enter": "Enter", "tab": "Tab", "escape": "Escape", "esc": "Escape", "backspace": "Backspace", "delete": "Delete", "del": "Delete",
    "insert": "Insert", "space": "Space", "home": "Home", "end": "End", "page_up": "PageUp", "pageup": "PageUp", "prior": "PageUp", "page_down": "PageDown",
    "pagedown": "PageDown", "next": "PageDown", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "arrowup": "ArrowUp",
    "arrowdown": "ArrowDown", "arrowleft": "ArrowLeft", "arrowright": "ArrowRight", "plus": "+", "minus": "-", "equal": "=", "comma": ",", "period": ".", "slash": "/",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}


class UnknownKey(ValueError):
    """A name that no key has."""


def presses(text: str) -> list[str]:
    """The presses of a sequence: chords joined by `+`, one after another by spaces. Raises UnknownKey."""
    if text == " ":
        return ["Space"]
    return [chord(part) for part in text.split()]


def chord(text: str) -> str:
    *held, last = ["+"] if text == "+" else [*text[:-2].split("+"), "+"] if text.endswith("++") else text.split("+")
    return "+".join([*(named(name, MODIFIERS) for name in held), last if len(last) == 1 else named(last, MODIFIERS | NAMES)])


def named(name: str, names: dict[str, str]) -> str:
    if (found := names.get(name.lower())) is None:
        raise UnknownKey(f"there is no key {name!r} here")
    return found
