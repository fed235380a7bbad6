"""One strict YAML file: what it says, and where each thing in it stands. Knows no schema and no meaning.

Built from libyaml's event stream, never from its composer: nothing recurses, nothing expands, and a fault does not hide the next one.
"""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml

from deskcert_core.errors import InputError, Problem

__all__ = ["Document", "Mark", "Place", "parse", "read"]

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_VALUES = 100_000
MAX_DIGITS = 15
MAX_PROBLEMS = 100
MICRO = 1_000_000

Place = tuple[str | int, ...]
CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
NUMBER_OF_1_2 = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
TEXT_TAG = "tag:yaml.org,2002:str"


class Mark(NamedTuple):
    """Where a value starts, and its key if it has one (counted from 1); `source` is the text of a number as it was written.

    A tuple and not a dataclass: a file has one for each value in it, and a tuple is made in a fifth of the time.
    """

    line: int = 0
    column: int = 0
    key_line: int = 0
    key_column: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as data (None where it could not be read to its end), with a mark for each path into it and the problems that it has as YAML."""

    file: str
    data: Any
    marks: Mapping[Place, Mark] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def place(self, path: Place, *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value at `path`, or of its key. For a path that is not there: of the nearest part that is."""
        while path not in self.marks and path:
            path = path[:-1]
        mark = self.marks.get(path, Mark())
        return (mark.key_line, mark.key_column) if key and mark.key_line else (mark.line, mark.column)

    def problem(self, path: Place, message: str, *, key: bool = False) -> Problem:
        line, column = self.place(path, key=key)
        return Problem(file=self.file, line=line, column=column, message=message)

    def micro_usd(self, path: Place) -> int:
        """The dollars at `path` in micro-dollars, exact. Raises ValueError for fractions of a micro-dollar."""
        micros = Decimal(self.marks[path].source) * MICRO
        if micros != micros.to_integral_value():
            raise ValueError("money has at most six decimals")
        return int(micros)


def read(path: Path, shown: str | None = None) -> Document:
    """The file at `path`, called `shown` in messages. Raises InputError if there is no such readable file; what it says wrong is in `problems`."""
    name = shown if shown is not None else str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError([Problem(file=name, message="is not a file")])
        with path.open("rb") as file:
            return parse(file.read(MAX_BYTES + 1), name)
    except FileNotFoundError:
        raise InputError([Problem(file=name, message="does not exist")]) from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise InputError([Problem(file=name, message=f"cannot be read: {getattr(error, 'strerror', error)}")]) from error


def parse(raw: bytes, file: str) -> Document:
    """The document in `raw`. Raises nothing: every fault is in `problems`."""
    if len(raw) > MAX_BYTES:
        return _refused(file, f"is larger than {MAX_BYTES:,} bytes")
    if b"\0" in raw:
        return _refused(file, "holds zero bytes: it is binary, or not encoded in UTF-8")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line, column = _position(raw[: error.start].decode())
        return _refused(file, f"is not encoded in UTF-8 (byte 0x{raw[error.start]:02x})", line, column)
    bad = CONTROL.search(text)
    if bad:
        return _refused(file, f"the control character U+{ord(bad[0]):04X} may not stand in a file", *_position(text[: bad.start()]))
    return _Builder(file).build(text)


def _position(before: str) -> tuple[int, int]:
    lines = before.split("\n")
    return len(lines), len(lines[-1]) + 1


def _refused(file: str, message: str, line: int = 0, column: int = 0) -> Document:
    return Document(file=file, data=None, problems=(Problem(file=file, line=line, column=column, message=message),))


class _Stop(Exception):
    """Nothing after this place can be told."""


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read. `key` is the key whose value comes next."""

    path: Place
    value: dict[str, Any] | list[Any]
    key: str | None = None
    key_mark: Mark | None = None


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.marks: dict[Place, Mark] = {}
        self.open: list[_Open] = []
        self.data: Any = None
        self.started = False

    def build(self, text: str) -> Document:
        whole = False
        try:
            for event in yaml.parse(text, Loader=yaml.CSafeLoader):
                self._take(event)
            whole = True
            if not self.started:
                self.problems.append(Problem(file=self.file, message="is empty"))
        except _Stop:
            pass
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            message = ": ".join(part for part in (error.context, error.problem) if part)
            self._note(_mark(mark) if mark else Mark(), f"is not YAML: {message}")
        except yaml.YAMLError as error:
            self._note(Mark(), f"is not YAML: {' '.join(str(error).split())}")
        data = self.data if whole else None
        return Document(file=self.file, data=data, marks=self.marks, problems=tuple(sorted(self.problems)))

    def _note(self, mark: Mark, message: str) -> None:
        self.problems.append(Problem(file=self.file, line=mark.line, column=mark.column, message=message))

    def _stop(self, mark: Mark, message: str) -> NoReturn:
        self._note(mark, message)
        raise _Stop

    def _take(self, event: yaml.Event) -> None:
        mark = _mark(event.start_mark)
        if len(self.problems) >= MAX_PROBLEMS:
            self._stop(mark, "there are more problems; these first")
        if len(self.marks) >= MAX_VALUES:
            self._stop(mark, f"more than {MAX_VALUES:,} values")
        match event:
            case yaml.AliasEvent():
                self._note(mark, f"the alias *{event.anchor:.60} is not allowed: write the value out")
                self._scalar(mark, "", None)
            case yaml.ScalarEvent():
                self._refuse_node(event, mark)
                plain = event.style is None or event.style == ""
                self._scalar(mark, event.value, event.value if plain and not event.tag else None)
            case yaml.CollectionStartEvent():
                self._refuse_node(event, mark)
                self._enter(mark, {} if isinstance(event, yaml.MappingStartEvent) else [])
            case yaml.CollectionEndEvent():
                self.open.pop()
            case yaml.DocumentStartEvent() if self.started:
                self._stop(mark, "a second document: one file holds one")

    def _refuse_node(self, event: yaml.NodeEvent, mark: Mark) -> None:
        if event.anchor:
            self._note(mark, f"the anchor &{event.anchor:.60} is not allowed: there are no aliases")
        tag = getattr(event, "tag", None)
        if tag:
            self._note(mark, f"the tag {tag.replace('tag:yaml.org,2002:', '!!'):.60} is not allowed: a value says its own type")

    def _enter(self, mark: Mark, value: dict[str, Any] | list[Any]) -> None:
        if len(self.open) >= MAX_DEPTH:
            self._stop(mark, f"nested deeper than {MAX_DEPTH}")
        top = self.open[-1] if self.open else None
        if top and isinstance(top.value, dict) and top.key is None:
            self._stop(mark, "a key must be text, not a list or mapping")
        self.open.append(_Open(self._put(mark, value), value))

    def _scalar(self, mark: Mark, text: str, plain: str | None) -> None:
        top = self.open[-1] if self.open else None
        if top and isinstance(top.value, dict) and top.key is None:
            self._key(top, mark, text, plain)
            return
        if CONTROL.search(text):
            self._note(mark, "a control character may not stand in a text")
            text = ""
        value = self._resolve(mark, plain) if plain is not None else text
        number = type(value) in (int, float)
        self._put(mark._replace(source=text) if number else mark, value)

    def _key(self, top: _Open, mark: Mark, text: str, plain: str | None) -> None:
        assert isinstance(top.value, dict)
        if plain == "<<":
            self._note(mark, "merge keys (<<) are not allowed: write the keys out")
        elif plain is not None and not isinstance(self._resolve(mark, plain), str):
            self._note(mark, f"the key {text:.60} would not be read as text: quote it")
        elif not (text and text.isascii() and text.isprintable()):
            self._note(mark, f"the key {text!a:.60} must be written in printable ASCII")
        if text in top.value:
            before = self.marks[(*top.path, text)].key_line
            self._note(mark, f"the key {text!a:.60} was already given at line {before}")
        top.key, top.key_mark = text, mark

    def _put(self, mark: Mark, value: Any) -> Place:
        """Lay a value where the reading stands; give its path."""
        self.started = True
        if not self.open:
            self.marks[()] = mark
            self.data = value
            return ()
        top = self.open[-1]
        if isinstance(top.value, list):
            path: Place = (*top.path, len(top.value))
            top.value.append(value)
        else:
            assert top.key is not None
            assert top.key_mark is not None
            path = (*top.path, top.key)
            mark = Mark(mark.line, mark.column, top.key_mark.line, top.key_mark.column, mark.source)
            top.value[top.key] = value
            top.key = None
        self.marks[path] = mark
        return path

    def _resolve(self, mark: Mark, plain: str) -> Any:
        """A plain scalar as YAML 1.2 reads it. What 1.1 or another reader would take for something else is refused, and kept as text."""
        if plain in ("true", "false"):
            return plain == "true"
        if plain == "null":
            return None
        if plain == "":
            self._note(mark, "nothing stands here: write a value, [] or {}")
        elif INTEGER.fullmatch(plain) or DECIMAL.fullmatch(plain):
            if sum(map(str.isdigit, plain)) <= MAX_DIGITS:
                number = float(plain)
                return int(number) if number.is_integer() else number
            self._note(mark, f"a number of more than {MAX_DIGITS} digits: quote it if it is text")
        elif plain != "<<" and _ambiguous(plain):
            self._note(mark, f"{plain:.60} is read differently by different YAML readers: quote it if it is text, else write true, false, null or a plain number")
        return plain


def _ambiguous(plain: str) -> bool:
    """Would YAML 1.1 (yes, 012, 1:30, 2026-01-01, .inf) or YAML 1.2 (1e3, 0o7) take this for something other than text?"""
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers.get(plain[0], [])
    return any(tag != TEXT_TAG and pattern.match(plain) for tag, pattern in resolvers) or bool(NUMBER_OF_1_2.fullmatch(plain))


def _mark(mark: Any) -> Mark:
    """libyaml's mark (of a class that its type stubs do not name), counted from 1."""
    return Mark(mark.line + 1, mark.column + 1)
