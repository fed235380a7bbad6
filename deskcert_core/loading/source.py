"""The files of one suite while they are read: what each says, the `${…}` in it, and the problems found so far in all of them."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from deskcert_core import address
from deskcert_core.address import Address, OriginPattern
from deskcert_core.document import Document, Place, read
from deskcert_core.errors import InputError, Problem
from deskcert_core.schemas import Schema, check

__all__ = ["Files", "Source", "did_you_mean", "file_path"]

Found = TypeVar("Found")
# $${ stands for a plain ${
VARIABLE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(slots=True, kw_only=True)
class Files:
    """What all files of a suite share. `root` is the suite's folder, `shown` the same as the user named it.

    `variables` are the texts behind `${base_url}`, `${suite}` and `${port}`; None where a problem told elsewhere leaves one unknown.
    `port` was free on loopback when the suite was read: for an application that `serve` starts.
    """

    root: Path
    shown: str
    problems: list[Problem] = field(default_factory=list)
    variables: dict[str, str | None] = field(default_factory=dict)
    port: str = field(default_factory=lambda: free_port())

    def name(self, path: Path) -> str:
        """The path as messages show it."""
        return os.path.normpath(Path(self.shown) / self.label(path))

    def label(self, path: Path) -> str:
        """The path from the suite's folder: the same on every machine."""
        return os.path.relpath(path, self.root)

    def read(self, path: Path) -> Document | None:
        """The document at `path`, None (and a problem noted) if there is none to read."""
        try:
            return read(path, self.name(path))
        except InputError as error:
            self.problems += error.problems
            return None

    def source(self, document: Document, path: Path, schema: Schema) -> Source:
        """The document held against its schema; the source knows whether it fits."""
        problems = check(document, schema)
        self.problems += problems
        return Source(files=self, document=document, path=path, valid=not problems)


@dataclass(slots=True, kw_only=True)
class Source:
    """One file. Only if `valid` does `document.data` have the schema's shape; whoever reads it asks first."""

    files: Files
    document: Document
    path: Path
    valid: bool

    @property
    def data(self) -> Any:
        return self.document.data

    def note(self, path: Place, message: str, *, key: bool = False) -> None:
        self.files.problems.append(self.document.problem(path, message, key=key))

    def at(self, path: Place) -> Any:
        """The value at a path that the schema vouches for."""
        value = self.document.data
        for part in path:
            value = value[part]
        return value

    def near(self, written: str) -> Path:
        """The file or folder that a path written in this file means."""
        return Path(os.path.normpath(self.path.parent / written))

    def text(self, path: Place, *, origin: bool = False) -> str | None:
        """The text at `path` with its variables replaced, None if one is unknown. With `origin`, `${base_url}` is the origin alone."""
        known, missing = self.files.variables, False

        def value(found: re.Match[str]) -> str:
            nonlocal missing
            if found[0] == "$${":
                return "${"
            name = found[1]
            if not found[2] or name not in known:
                what = f"${{{name}}}" if found[2] else found[0]
                self.note(path, f"{what:.60} is not known: there are {', '.join(f'${{{one}}}' for one in known)}, and $${{ for a plain ${{")
            text = known.get(name)
            missing = missing or text is None
            return str(address.parse(text).origin) if origin and text and name == "base_url" else text or ""

        done = VARIABLE.sub(value, self.at(path))
        return None if missing else done

    def texts(self, path: Place) -> Iterator[Place]:
        """Where texts stand at `path` and below."""
        value = self.at(path)
        if isinstance(value, str):
            yield path
        elif isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield from self.texts((*path, key))

    def deep(self, path: Place) -> Any:
        """The value at `path` with the variables in all its texts replaced."""
        value = self.at(path)
        match value:
            case str():
                return self.text(path) or ""
            case dict():
                return {key: self.deep((*path, key)) for key in value}
            case list():
                return [self.deep((*path, index)) for index in range(len(value))]
            case _:
                return value

    def url(self, path: Place, schemes: tuple[str, ...] = ("http", "https", "file")) -> Address | None:
        """The address at `path`, a relative one resolved against the environment's base_url. None, and a problem noted, if it is none."""
        text, base = self.text(path), self.files.variables.get("base_url")
        if text is None or (base is None and not ABSOLUTE.match(text)):
            return None
        found = self._parsed(path, lambda: address.parse(text, None if ABSOLUTE.match(text) else f"{base}/"))
        if found and found.origin.scheme not in schemes:
            self.note(path, f"{found.href:.100} is not an address of {' or '.join(schemes)}")
            return None
        if found and found.origin.scheme == "file" and found.origin.host:
            self.note(path, f"{found.href:.100} names a host: a file: address has none")
            return None
        return found

    def origin(self, path: Place) -> OriginPattern | None:
        """The origin at `path`. None, and a problem noted, if it is none."""
        text = self.text(path, origin=True)
        return None if text is None else self._parsed(path, lambda: address.parse_pattern(text))

    def _parsed(self, path: Place, parse: Callable[[], Found]) -> Found | None:
        try:
            return parse()
        except ValueError as error:
            self.note(path, f"{self.at(path)!r:.100} cannot be used: {error}")
            return None


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a message about a name that does not exist: what it may have been meant to be, and what exists."""
    near = get_close_matches(name, known, 1)
    return (f"; did you mean {near[0]!r}? There are: " if near else "; there are: ") + (", ".join(known) or "none")


def file_path(found: Address) -> str:
    """The path on disk that a `file:` address means, without dots."""
    return os.path.normpath(unquote(found.path))
