"""The hash chain of a journal: each line carries the SHA-256 of the line before. Pure: bytes in, lines out.

The first line's `prev` is bound to the journal's own name, so that no journal can stand in for another.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence.record import Line, RunEnded, TrialEnded, decode

__all__ = ["Journal", "genesis", "link", "read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal read back. `torn` is the number of bytes of a last line that a crash cut off (an ended journal has none); `head` is the hash of the last whole line."""

    lines: tuple[Line, ...]
    head: str
    torn: int


def genesis(name: str) -> str:
    """What the first line of the journal `name` (`<run-id>/run` or `<run-id>/<task>/<n>`) carries as `prev`."""
    return hashlib.sha256(b"deskcert.journal.v1\0" + name.encode()).hexdigest()


def link(raw: bytes) -> str:
    """What the next line carries as `prev`: the hash of this line's bytes, without line end."""
    return hashlib.sha256(raw).hexdigest()


def read(name: str, data: bytes) -> Journal:
    """The lines of a journal, each checked against the one before; after its end there is nothing. Raises EvidenceError naming the first bad line."""
    *whole, tail = data.split(b"\n")
    lines: list[Line] = []
    head = genesis(name)
    for number, raw in enumerate(whole):
        try:
            line = decode(raw)
        except ValueError as error:
            raise EvidenceError(f"journal {name}: line {number + 1} cannot be read: {error}") from error
        if line.seq != number or line.prev != head:
            raise EvidenceError(f"journal {name}: line {number + 1} does not follow from the line before")
        if lines and ended(lines[-1]):
            raise EvidenceError(f"journal {name}: line {number + 1} stands after the journal's end")
        lines.append(line)
        head = link(raw)
    if tail and lines and ended(lines[-1]):
        raise EvidenceError(f"journal {name}: {len(tail)} bytes stand after the journal's end")
    return Journal(lines=tuple(lines), head=head, torn=len(tail))


def ended(line: Line) -> bool:
    """Whether this record closes its journal."""
    return isinstance(line.body, TrialEnded | RunEnded)
