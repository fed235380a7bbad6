"""How the kit says that a plug-in is not what DeskCert expects: AssertionError, with a line for its author."""

from __future__ import annotations

from typing import Any, TypeVar

from deskcert_core.errors import PluginError
from deskcert_core.plugins.drivers import Found, check

__all__ = ["conforms", "expect", "gives"]

T = TypeVar("T")


def conforms(plugin: Any, group: str) -> None:
    """The class against its group: the plug-in interface it says, and what it must have."""
    name = getattr(plugin, "__name__", repr(plugin))
    try:
        check(plugin, Found(group=group, name=name, value=f"{getattr(plugin, '__module__', '?')}:{name}", distribution="(under test)", version=""))
    except PluginError as error:
        raise AssertionError(str(error)) from error


def gives(given: object, kind: type[T], what: str) -> T:
    if not isinstance(given, kind):
        raise AssertionError(f"{what} gives {kind.__name__}, not {given!r:.80}")
    return given


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
