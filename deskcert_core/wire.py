"""The words between DeskCert and the agent's process, and their bytes: four bytes of length (big-endian), then one JSON object in UTF-8.

Two rules: it reads and writes no file descriptor (both halves do that themselves), and whatever it cannot read is a ValueError that names the reason.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal

import msgspec

from deskcert_core.agent import Brief, Observation
from deskcert_core.proposal import Proposal

__all__ = ["HEADER", "MAX_FRAME", "VERSION", "End", "Fault", "Hello", "Message", "Observe", "Propose", "Ready", "Start", "Started", "decode", "encode", "plain", "size"]

VERSION = 1
HEADER = 4
MAX_FRAME = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """To the agent, first and once: which adapter (`module:attribute`) to import, and its options."""

    version: int
    adapter: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """From the agent: the adapter is made."""

    version: int
    wants_script: bool = False
    calls_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """To the agent: a trial begins."""

    brief: Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """From the agent: it has read the brief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """To the agent: one look at the page. It is answered by one proposal, or by a fault."""

    observation: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """From the agent: one act."""

    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """From the agent: the adapter raised, or (`model`) it says that the model service failed. The process goes on."""

    whose: Literal["agent", "model"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """To the agent: no more trials."""


Message = Hello | Ready | Start | Started | Observe | Propose | Fault | End
KINDS: dict[str, type[Message]] = {
    "hello": Hello, "ready": Ready, "start": Start, "started": Started, "observe": Observe, "proposal": Propose, "fault": Fault, "end": End,
}
KIND_OF = {message: kind for kind, message in KINDS.items()}


def encode(message: Message) -> bytes:
    """The frame of a message. Raises ValueError if it is over `MAX_FRAME` or holds what JSON cannot say."""
    try:
        body = msgspec.json.encode({"type": KIND_OF[type(message)], **plain(message)})
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(f"cannot be sent as JSON: {error}") from error
    if len(body) > MAX_FRAME:
        raise ValueError(f"a message of {len(body)} bytes, over the limit of {MAX_FRAME}")
    return len(body).to_bytes(HEADER, "big") + body


def size(header: bytes) -> int:
    """The length of the body that follows. Raises ValueError if it is over `MAX_FRAME`."""
    length = int.from_bytes(header, "big")
    if length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes, over the limit of {MAX_FRAME}")
    return length


def decode(body: bytes) -> Message:
    """The message in a frame's body. Raises ValueError for bad JSON, an unknown type, an unknown key and a wrong value."""
    try:
        raw = msgspec.json.decode(body)
        kind = raw.pop("type", None) if isinstance(raw, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"a message of unknown type {str(kind)[:40]!r}")
        message = msgspec.convert(raw, KINDS[kind])
    except (msgspec.MsgspecError, RecursionError, TypeError) as error:
        raise ValueError(f"not a message: {error}") from error
    known_only(raw, message, kind)
    return message


def known_only(raw: Any, value: object, where: str) -> None:
    """Raise ValueError for a key in `raw` that the data behind it does not have: msgspec lets it pass."""
    if isinstance(raw, dict) and is_dataclass(value):
        names = {f.name for f in fields(value)}
        for key in raw:
            if key not in names:
                raise ValueError(f"{where} has no key {key[:40]!r}")
            known_only(raw[key], getattr(value, key), f"{where}.{key}")
    elif isinstance(raw, list) and isinstance(value, tuple):
        for number, (one, other) in enumerate(zip(raw, value, strict=True)):
            known_only(one, other, f"{where}[{number}]")


def plain(value: Any) -> Any:
    """The same as builtins: fields that stand at their default left out, text made valid Unicode (a page can hold lone surrogates)."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case list() | tuple():
            return [plain(v) for v in value]
        case dict():
            return {plain(k): plain(v) for k, v in value.items()}
        case _ if is_dataclass(value):
            return {f.name: plain(v) for f in fields(value) if (v := getattr(value, f.name)) != default(f)}
        case _:
            return value


def default(of: Any) -> Any:
    """A field's default; MISSING where it must be given."""
    return of.default_factory() if of.default_factory is not MISSING else of.default
