"""Known secrets leave no trace: each is replaced, in the encodings a page or a request puts it in, before anything is hashed or written."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

__all__ = ["Scrubber"]

SHORTEST = 4


class Scrubber:
    """Replaces the values of `secrets` (name -> value) in bytes and text. Values shorter than four characters would hit everything: refused by ValueError."""

    def __init__(self, secrets: dict[str, str]) -> None:
        pairs: list[tuple[bytes, bytes]] = []
        for name, value in secrets.items():
            if len(value) < SHORTEST:
                raise ValueError(f"secret {name!r} is shorter than {SHORTEST} characters")
            mark = f"{{{{secret:{name}}}}}".encode()
            pairs += [(form, mark) for form in encodings(value)]
        self._pairs = sorted(set(pairs), key=lambda pair: (-len(pair[0]), pair))

    def scrub(self, data: bytes) -> bytes:
        for value, mark in self._pairs:
            data = data.replace(value, mark)
        return data

    def text(self, text: str) -> str:
        return self.scrub(text.encode("utf-8", "replace")).decode("utf-8", "replace") if self._pairs else text

    def holds(self, data: bytes) -> bool:
        """Whether any form of a secret is in the data."""
        return any(value in data for value, _ in self._pairs)


def encodings(value: str) -> set[bytes]:
    """A value as it may turn up: plain, percent, form, JSON (once and twice), HTML, hex, and base64 at its three offsets."""
    raw = value.encode()
    once = json.dumps(value)[1:-1]
    texts = {value, quote(value, safe=""), quote(value), quote_plus(value), once, json.dumps(once)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    texts |= {html.escape(value), html.escape(value, quote=False), raw.hex(), raw.hex().upper()}
    found = {text.encode() for text in texts}
    for lead in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            coded = encode(b"\0" * lead + raw)
            inner = coded[(lead * 8 + 5) // 6 : (lead + len(raw)) * 8 // 6]
            if len(inner) >= SHORTEST:
                found.add(inner)
    return found
