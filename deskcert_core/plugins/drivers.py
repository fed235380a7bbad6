"""Drivers: find without importing, check, then load exactly one. The only file that knows stevedore.

Two rules: nothing is imported before its name is known to be unambiguous, and every failure is one line that names the distribution.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.metadata import EntryPoint, distributions, entry_points

from deskcert_core.errors import PluginError
from deskcert_core.plugins.groups import API_VERSION, Group, group

__all__ = ["Found", "Loaded", "canonical", "find", "get", "load", "names", "one_line", "pick"]

OURS = "deskcert"
ALLOW = "DESKCERT_PLUGINS"
LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Found:
    """An entry point as its metadata states it: nothing of it was imported.

    `value` is `module:attribute`. `duplicates` names the others that claim the same name. `off` says why it may not load, empty if it may.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    duplicates: tuple[str, ...] = ()
    off: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.value})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A checked plug-in: the class (or module) itself, where it came from, and notes for people, such as what it printed at import."""

    object: object
    found: Found
    notes: tuple[str, ...] = ()


def find(group_name: str) -> tuple[Found, ...]:
    """All members of a group, sorted, without importing one. Raises PluginError if a distribution's metadata cannot be read."""
    return tuple(sorted(_catalog(group(group_name))))


def names(group_name: str) -> tuple[str, ...]:
    """The names that may be asked for, sorted, without importing one."""
    return tuple(sorted({f.name for f in find(group_name) if not f.off}))


def pick(group_name: str, name: str) -> Found:
    """The one member of that name, without importing it. Raises PluginError: missing, duplicate or switched off."""
    kind = group(group_name)
    found = find(group_name)
    same = [f for f in found if f.name == name]
    ready = [f for f in same if not f.off]
    if not same:
        raise PluginError(f"there is no {kind.noun} {name!r}", hint=_instead(name, [f.name for f in found if not f.off]))
    if not ready:
        raise PluginError(f"{kind.noun} {name!r} of {same[0]} may not load: {same[0].off}")
    if ready[0].duplicates:
        raise PluginError(f"{kind.noun} {name!r} is claimed by {' and by '.join(map(str, ready))}", hint="uninstall one of them")
    return ready[0]


def load(group_name: str, name: str) -> Loaded:
    """Import and check the one member of that name, and nothing else of the group. Raises PluginError, never SystemExit."""
    found = pick(group_name, name)
    plugin, notes = _import(found)
    check(plugin, found)
    return Loaded(object=plugin, found=found, notes=notes)


def get(group_name: str, name: str) -> object:
    """`load` for those who want the class alone."""
    return load(group_name, name).object


def check(plugin: object, found: Found) -> None:
    """Hold an imported object against its group: the plug-in API that it speaks, and what it must have. Raises PluginError."""
    kind = group(found.group)
    spoken = getattr(plugin, "deskcert_api", None)
    if type(spoken) is not int or spoken != API_VERSION:
        said = "does not say which plug-in API it speaks" if spoken is None else f"speaks plug-in API {spoken!r}"
        hint = f"this DeskCert speaks {API_VERSION}: the plug-in must set deskcert_api = {API_VERSION}, or be of a version that does"
        raise PluginError(f"{kind.noun} {found.name!r} of {found} {said}", hint=hint)
    lacks = [need for need in kind.needs if not hasattr(plugin, need)]
    if lacks:
        raise PluginError(f"{kind.noun} {found.name!r} of {found} lacks {', '.join(lacks)}", hint=f"{kind.noun}s must have {', '.join(kind.needs)}")


def canonical(distribution: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def one_line(error: BaseException) -> str:
    """An exception as one line for people, whatever its text holds."""
    return _short(f"{type(error).__name__}: {error}")


def _catalog(kind: Group) -> list[Found]:
    plain = [_found(kind, point) for point in _entry_points(kind.name)]
    done = []
    for one in plain:
        others = [f for f in plain if f is not one and f.name == one.name and not f.off and not one.off]
        done.append(replace(one, duplicates=tuple(sorted(map(str, others)))))
    return done


def _found(kind: Group, point: EntryPoint) -> Found:
    name, version = (point.dist.name or "?", point.dist.version or "?") if point.dist else ("?", "?")
    return Found(group=kind.name, name=point.name, value=point.value, distribution=name, version=version, off=_off(kind, canonical(name)))


def _off(kind: Group, distribution: str) -> str:
    allowed = os.environ.get(ALLOW)
    if distribution == OURS:
        return ""
    if not kind.open:
        return f"{kind.name} is not open to other distributions"
    if allowed is not None and distribution not in {canonical(part.strip()) for part in allowed.split(",")}:
        return f"{ALLOW} does not name {distribution}"
    return ""


def _entry_points(group_name: str) -> list[EntryPoint]:
    """What is installed. importlib.metadata stops at the first unreadable distribution without naming it, so name it here."""
    try:
        return list(entry_points(group=group_name))
    except Exception as error:
        for distribution in distributions():
            try:
                _ = distribution.entry_points
            except Exception as cause:
                place = getattr(distribution, "_path", distribution)
                raise PluginError(f"the metadata of {place} cannot be read: {one_line(cause)}", hint="reinstall or remove it") from cause
        raise PluginError(f"the metadata of the installed distributions cannot be read: {one_line(error)}") from error


def _import(found: Found) -> tuple[object, tuple[str, ...]]:
    """The object behind one entry point. stevedore sees that entry point alone: no file cache, no neighbours, no second import."""
    from stevedore.driver import DriverManager
    from stevedore.extension import ExtensionManager

    points = [p for p in _entry_points(found.group) if (p.name, p.value) == (found.name, found.value)]
    ExtensionManager.ENTRY_POINT_CACHE[found.group] = points[:1]
    printed: list[str] = []
    try:
        with _quiet(printed):
            manager: DriverManager[object] = DriverManager(found.group, found.name, on_load_failure_callback=_raise)
    except KeyboardInterrupt:
        raise
    except SystemExit as left:
        raise _broken(found, f"called exit({left.code!r}) at import", printed) from left
    except BaseException as error:  # also AssertionError, which stevedore lets through, and the panics of native modules
        raise _broken(found, f"cannot be imported: {one_line(error)}", printed) from error
    finally:
        ExtensionManager.ENTRY_POINT_CACHE.pop(found.group, None)
    return manager.extensions[0].plugin, _notes(found, printed)


def _raise(manager: object, point: EntryPoint, error: BaseException) -> None:
    raise error


def _broken(found: Found, what: str, printed: list[str]) -> PluginError:
    also = f"; it printed: {printed[0]}" if printed else ""
    return PluginError(f"{group(found.group).noun} {found.name!r} of {found} {what}{also}", hint=f"repair or uninstall {found.distribution}")


def _notes(found: Found, printed: list[str]) -> tuple[str, ...]:
    return tuple(f"{found} printed at import: {text}" for text in printed)


@contextmanager
def _quiet(printed: list[str]) -> Iterator[None]:
    """Keep what is written to file descriptors 1 and 2 out of our output, also by child processes. sys.stdout and sys.stderr stand on
    the descriptors meanwhile, so that a logging handler made at import is left with a stream that works."""
    with tempfile.TemporaryFile() as sink, ExitStack() as stack:
        for fd, redirect in ((1, redirect_stdout), (2, redirect_stderr)):
            if _is_open(fd):
                copy = os.dup(fd)
                stack.callback(os.close, copy)
                stack.callback(os.dup2, copy, fd)
                stream = open(fd, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
                stack.callback(stream.flush)
                stack.enter_context(redirect(stream))
                os.dup2(sink.fileno(), fd)
        try:
            yield
        finally:
            stack.close()
            sink.seek(0)
            text = sink.read(100_000).decode("utf-8", "replace")
            printed.extend([_short(text)] if text.strip() else [])


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _short(text: str) -> str:
    """One line for people: no control characters (a plug-in's text must not steer the terminal), cut at LONGEST."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _instead(name: str, known: list[str]) -> str:
    if not known:
        return "none is installed (is DeskCert itself installed, or only on the path?)"
    near = get_close_matches(name, known, n=1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"installed: {', '.join(sorted(set(known)))}"
