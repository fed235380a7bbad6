"""The fields of a body, a form's or a flat JSON object's, read as every server would read them; where servers could differ they are UNKNOWN."""

from __future__ import annotations

import json
import re
from typing import NoReturn
from urllib.parse import parse_qsl

from deskcert_core.effect import UNKNOWN, Unknown

__all__ = ["essence", "fields", "has_file"]

Pairs = tuple[tuple[str, str], ...]
MAX_FIELDS = 10_000
_URLENCODED = "application/x-www-form-urlencoded"
_CHARSETS = {"utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "iso-8859-1": "cp1252", "windows-1252": "cp1252"}  # labels as WHATWG reads them
_CHARSET = re.compile(r'[ \t]*charset[ \t]*=[ \t]*"?([\w.:-]+)"?[ \t]*', re.IGNORECASE)
_BOUNDARY = re.compile(r"""multipart/form-data[ \t]*;[ \t]*boundary=("?)([\w'()+,./:=?-]{1,70})\1""", re.IGNORECASE | re.ASCII)
_DISPOSITION = re.compile(r'form-data; *name="([^"\\]*)"(?:; *filename="([^"\\]*)")?', re.IGNORECASE)
_JSON = re.compile(r'application/json(?:[ \t]*;[ \t]*charset="?utf-?8"?)?', re.IGNORECASE)
_FILE = re.compile(rb'filename="[^"]', re.IGNORECASE)
_PLAIN_TEXT = re.compile(r'text/plain(?:; *charset="?utf-8"?)?', re.IGNORECASE)


def essence(content_type: str) -> str:
    """The type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def fields(content_type: str, content_encoding: str, body: bytes | None) -> Pairs | Unknown | None:
    """The decoded pairs in order; of a file its name in place of its content. None if there is no body, UNKNOWN if it cannot be read,
    is of another type or has none (a server may take it for a form all the same), is compressed or was too long to be kept (`body` None)."""
    if body == b"":
        return None
    if body is None or not content_type or content_encoding.strip().lower() not in ("", "identity"):
        return UNKNOWN
    kind = essence(content_type)
    try:
        if kind == _URLENCODED:
            return _urlencoded(content_type, body)
        if kind == "multipart/form-data":
            return _multipart(content_type, body)
        return _object(content_type, body)
    except (ValueError, RecursionError):  # UnicodeError is a ValueError
        return UNKNOWN


def has_file(content_type: str, body: bytes) -> bool:
    """Whether a part may carry the content of a file, for whose name alone `fields` stands. Text that looks so counts too."""
    return essence(content_type) == "multipart/form-data" and _FILE.search(body) is not None


def _urlencoded(content_type: str, body: bytes) -> Pairs:
    if b";" in body:
        raise ValueError("a separator to some servers")
    charset = "utf-8"
    parameters = content_type.split(";")[1:]
    if parameters:
        match = _CHARSET.fullmatch(parameters[0])
        if match is None or len(parameters) > 1 or match[1].lower() not in _CHARSETS:
            raise ValueError(content_type)
        charset = _CHARSETS[match[1].lower()]
    return tuple(parse_qsl(body.decode(charset), keep_blank_values=True, encoding=charset, errors="strict", max_num_fields=MAX_FIELDS))


def _multipart(content_type: str, body: bytes) -> Pairs:
    match = _BOUNDARY.fullmatch(content_type.strip())
    if match is None:
        raise ValueError(content_type)
    before, *parts = (b"\r\n" + body).split(b"\r\n--" + match[2].encode("ascii"))
    if before or not parts or parts.pop() not in (b"--", b"--\r\n") or len(parts) > MAX_FIELDS:
        raise ValueError("no whole multipart body")
    return tuple(_part(part) for part in parts)


def _part(part: bytes) -> tuple[str, str]:
    head, blank, content = part.partition(b"\r\n\r\n")
    if not head.startswith(b"\r\n") or not blank:
        raise ValueError("no part")
    lines = [line.partition(":") for line in head.decode("utf-8")[2:].split("\r\n")]
    headers = {name.lower(): value.strip(" ") for name, _, value in lines}
    if (
        len(headers) != len(lines)
        or not headers.keys() <= {"content-disposition", "content-type"}
        or any(c in text for text in headers.values() for c in "\r\n\0")
    ):
        raise ValueError("headers that browsers do not send")
    match = _DISPOSITION.fullmatch(headers.get("content-disposition", ""))
    if match is None:
        raise ValueError("no form field")
    if match[2] == "" and content:
        raise ValueError("a file to some servers, text to others")
    if match[2] is not None:
        return match[1], match[2]
    if not _PLAIN_TEXT.fullmatch(headers.get("content-type", "text/plain")):
        raise ValueError("a field of another type")
    return match[1], content.decode("utf-8")


def _object(content_type: str, body: bytes) -> Pairs:
    """The members of a flat JSON object. What could be written in another way (1e3, 1.0, null) or holds more than one value is not read."""
    if not _JSON.fullmatch(content_type.strip()):
        raise ValueError(content_type)
    members = json.loads(body.decode("utf-8"), object_pairs_hook=tuple, parse_int=str, parse_float=_unread, parse_constant=_unread)
    if not isinstance(members, tuple) or len(members) > MAX_FIELDS:
        raise ValueError("no object")
    return tuple((_text(name), _text(value)) for name, value in members)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise ValueError("no text, whole number, true or false")
    value.encode("utf-8")  # half a surrogate pair is no text
    return value


def _unread(number: str) -> NoReturn:
    raise ValueError(number)
