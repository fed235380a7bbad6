"""Known secrets leave no trace: each is replaced, in the encodings a page or a request puts it in, before anything is hashed or written."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast
from urllib.parse import unquote

__all__ = ["Scrubber"]

T = TypeVar("T")
SHORTEST = 4
DIGEST = re.compile("[0-9a-f]{64}")
ESCAPED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}  # JSON's short escapes


class Scrubber:
    """Replaces the values of `secrets` (name -> value) in bytes and text. Values shorter than four characters would hit everything: refused by ValueError."""

    def __init__(self, secrets: dict[str, str]) -> None:
        for name, value in secrets.items():
            if len(value) < SHORTEST:
                raise ValueError(f"secret {name!r} is shorter than {SHORTEST} characters")
        longest_first = sorted(secrets.items(), key=lambda pair: (-len(pair[1]), pair))
        self._forms = [(pattern(value), f"{{{{secret:{name}}}}}".replace("\\", r"\\").encode()) for name, value in longest_first]

    def scrub(self, data: bytes) -> bytes:
        for form, mark in self._forms:
            data = form.sub(mark, data)
        return data

    def text(self, text: str) -> str:
        return self.scrub(text.encode("utf-8", "replace")).decode("utf-8", "replace") if self._forms else text

    def value(self, value: Any) -> Any:
        """The same value of JSON with every text in it scrubbed, keys too. The name of a blob stays, unless it is a secret from end to end."""
        match value:
            case str() if DIGEST.fullmatch(value):
                return value if not any(form.fullmatch(value.encode()) for form, _ in self._forms) else self.text(value)
            case str():
                return self.text(value)
            case dict():
                return {self.value(k): self.value(v) for k, v in value.items()}
            case list() | tuple():
                return [self.value(v) for v in value]
            case _:
                return value

    def shown(self, value: T) -> T:
        """The same data (a dataclass and what is in it) with every text scrubbed. Bytes and enums are left alone."""
        return cast("T", self._shown(value)) if self._forms else value

    def _shown(self, value: Any) -> Any:
        if type(value) is str:
            return self.text(value)
        if type(value) in (tuple, list):
            return type(value)(map(self._shown, value))
        if isinstance(value, dict):
            return {self._shown(k): self._shown(v) for k, v in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{each.name: self._shown(getattr(value, each.name)) for each in fields(value)})
        return value

    def holds(self, data: bytes) -> bool:
        """Whether any form of a secret is in the data."""
        return any(form.search(data) for form, _ in self._forms)


def pattern(value: str) -> re.Pattern[bytes]:
    """A value as it may turn up: each character plain, percent-encoded, escaped or as an entity, in any mixture; hex; base64 at its three offsets.

    Every percent-encode set of a URL (path, query, fragment, userinfo, component, form) leaves some characters plain and encodes the others, so that
    all of them are mixtures.
    """
    raw, taken = value.encode(), unquote(value)  # a value with a percent in it, put into a query as it is, is read so
    forms = [*map(written, sorted({value, taken} if len(taken) >= SHORTEST else {value})), b"(?i:" + raw.hex().encode() + b")", *(written(form) for form in base64_forms(raw))]
    return re.compile(b"|".join(forms))


def base64_forms(raw: bytes) -> list[str]:
    """What does not change with what stands around the value, in both alphabets."""
    found = set()
    for lead in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            inner = encode(b"\0" * lead + raw)[(lead * 8 + 5) // 6 : (lead + len(raw)) * 8 // 6]
            if len(inner) >= SHORTEST:
                found.add(inner.decode())
    return sorted(found, key=lambda text: (-len(text), text))


def written(value: str) -> bytes:
    """Letters and digits of ASCII stand for themselves in every encoding; a run of backslashes is one part, else a match could take for ever."""
    parts = re.findall(r"\\+|\r\n|[\s\S]", value)
    return b"".join(part.encode() if part.isascii() and part.isalnum() else b"(?:" + b"|".join(ways(part)) + b")" for part in parts)


def ways(part: str) -> list[bytes]:
    """How one character (or a run of backslashes, or a line end) may be written."""
    if part[0] == "\\":
        return [rb"\\{%d,%d}" % (len(part), 8 * len(part)), b"(?:" + b"|".join(coded("\\")) + b"){%d}" % len(part)]
    if part in ("\n", "\r\n"):  # a form sends both as CR LF
        return [rb"\r?\n", rb"(?:\\{1,8}r)?\\{1,8}n", b"(?i:(?:%(?:25)*0d)?%(?:25)*0a)", *coded("\n")]
    plain = [re.escape(part.encode())]
    if part in " +":  # as a form writes a space, and as a form's reader takes a plus that was not encoded
        plain.append(rb"\+" if part == " " else b" ")
    if part in ESCAPED:
        plain.append(rb"\\{1,8}" + ESCAPED[part].encode())
    if part in "\"'/":
        return [rb"\\{0,8}(?:" + b"|".join([*plain, *coded(part)]) + b")"]
    return plain + coded(part)


def coded(char: str) -> list[bytes]:
    """One character by number: percent (of UTF-8 and of Windows-1252, at any depth), JSON, HTML, and the entity in a form of another charset."""
    point = ord(char)
    units = char.encode("utf-16-be").hex()
    found = [percent(char.encode()), b"".join(rb"\\{1,8}u(?i:%s)" % units[at : at + 4].encode() for at in range(0, len(units), 4))]
    found += [b"&#0*%d;" % point, b"&#[xX]0*(?i:%x);" % point, b"(?i:%%26%%23%d%%3b)" % point]
    if point < 256:
        found.append(rb"\\{1,8}x(?i:%02x)" % point)
    if (entity := html.escape(char)) != char:
        found.append(entity.encode())
    western = char.encode("cp1252", "ignore")
    return [*found, percent(western)] if western and western != char.encode() else found


def percent(data: bytes) -> bytes:
    return b"(?i:" + b"".join(b"%%(?:25)*%02x" % byte for byte in data) + b")"
