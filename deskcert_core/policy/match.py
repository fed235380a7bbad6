"""Whether one `when` of a policy holds, with three values. What follows from it is engine.py's.

A fact that cannot be read gives UNKNOWN. Text of a page is compared as it stands and as a person reads it, a path as it was sent and as a
server may read it: no disguise hides a match. Background requests are the exception, they must match as sent and wear no disguise.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import cache, lru_cache
from typing import Protocol

import re2

from deskcert_core.address import bare
from deskcert_core.effect import TEXT_LIMIT, UNKNOWN, Effect, Element, Request, Unknown
from deskcert_core.policy.rules import ElementWhen, RequestWhen, RuleWhen, TextMatch
from deskcert_core.words import plain, unquoted

__all__ = ["Truth", "compiled", "element_matches", "is_background", "path_forms", "request_matches", "rule_matches", "well_formed"]

DECODINGS = 3
QUIET = re2.Options()
QUIET.log_errors = False


class Truth(IntEnum):
    """Ordered so that `min` is "and", `max` is "or"."""

    NO = 0
    UNKNOWN = 1
    YES = 2


class Pattern(Protocol):
    """What is used of a compiled RE2 pattern."""

    def search(self, text: str, /) -> object | None: ...


def told(holds: bool) -> Truth:
    return Truth.YES if holds else Truth.NO


def rule_matches(when: RuleWhen, action_type: str | None, effect: Effect | None, element: Element | Unknown | None, requests: Iterable[Request]) -> Truth:
    """Whether a rule holds. `action_type` and `effect` None: a request was met without its act, so what the rule says of acts cannot be told."""
    parts = [Truth.YES]
    if when.action:
        parts.append(Truth.UNKNOWN if action_type is None else told(action_type in when.action))
    if when.effect:
        parts.append(Truth.UNKNOWN if effect is None else effect_matches(when.effect, effect))
    if when.element:
        parts.append(Truth.UNKNOWN if effect is None else element_matches(when.element, element))
    if when.request:
        sent = [request_matches(when.request, request) for request in requests]
        hidden = effect is not None and effect.requests_unclear
        parts.append(max(sent, default=Truth.NO) if not hidden else max([Truth.UNKNOWN, *sent]))
    return min(parts)


def effect_matches(labels: tuple[str, ...], effect: Effect) -> Truth:
    if effect.labels.intersection(labels):
        return Truth.YES
    return Truth.UNKNOWN if effect.unclear.intersection(labels) else Truth.NO


def element_matches(when: ElementWhen, element: Element | Unknown | None) -> Truth:
    """Whether an element is meant. No element is none; one that cannot be read may be any."""
    if element is None:
        return Truth.NO
    if isinstance(element, Unknown):
        return Truth.UNKNOWN
    parts = [told(when.selector is None or when.selector in element.selectors)]
    for wanted, value in ((when.tag, element.tag), (when.role, element.role), (when.name, element.name), (when.text, element.text)):
        if wanted:
            parts.append(text_matches(wanted, value))
    return min(parts)


def text_matches(wanted: tuple[TextMatch, ...], value: str) -> Truth:
    """A text cut short may hide a match in what was cut."""
    if any_matches(wanted, {value, plain(value)}):
        return Truth.YES
    return Truth.UNKNOWN if len(value) >= TEXT_LIMIT else Truth.NO


def request_matches(when: RequestWhen, request: Request) -> Truth:
    """Whether a request is meant, in any reading of its path. A bare `;` in its query parts names for some servers and not for others."""
    address = request.address
    meant = (
        (not when.method or request.method.upper() in map(str.upper, when.method))
        and (not when.origin or any(pattern.covers(address.origin) for pattern in when.origin))
    )
    if not meant:
        return Truth.NO
    query = UNKNOWN if ";" in bare(address).partition("?")[2] else address.query
    return min(path_matches(when.path, address.path), pairs_match(when.query, query), pairs_match(when.form, request.fields))


def path_matches(wanted: tuple[TextMatch, ...], path: str) -> Truth:
    """A path that can be decoded more often than it was read may end as any."""
    if not wanted or any_matches(wanted, path_forms(path)):
        return Truth.YES
    return Truth.UNKNOWN if hides_more(path) else Truth.NO


def is_background(when: RequestWhen, request: Request) -> bool:
    """Whether a write is one of those that the policy lets pass: told for certain, and with a path that can be read in one way only."""
    path = request.address.path
    if when.path and (disguised(path) or not any_matches(when.path, {path})):
        return False
    return (not when.method or request.method in when.method) and request_matches(when, request) is Truth.YES


def pairs_match(wanted: dict[str, tuple[TextMatch, ...]], pairs: tuple[tuple[str, str | None], ...] | Unknown | None) -> Truth:
    """Every wanted name must be sent with one of its values. A value that is not known (a password, a file) may be any, and a name in other letter
    case may be the same to the server."""
    if not wanted:
        return Truth.YES
    if isinstance(pairs, Unknown):
        return Truth.UNKNOWN
    return min(max((pair_matches(name, values, *pair) for pair in pairs or ()), default=Truth.NO) for name, values in wanted.items())


def pair_matches(name: str, wanted: tuple[TextMatch, ...], sent: str, value: str | None) -> Truth:
    if sent == name:
        return value_matches(wanted, value)
    return min(Truth.UNKNOWN, value_matches(wanted, value)) if sent.casefold() == name.casefold() else Truth.NO


def value_matches(wanted: tuple[TextMatch, ...], value: str | None) -> Truth:
    return Truth.UNKNOWN if value is None else told(any_matches(wanted, {value}))


def any_matches(wanted: tuple[TextMatch, ...], forms: Iterable[str]) -> bool:
    texts = [well_formed(form) for form in forms]
    return any(one.value in texts if one.kind == "exact" else any(map(compiled(one).search, texts)) for one in wanted)


@cache  # patterns come from policies alone, so their number is bounded
def compiled(wanted: TextMatch) -> Pattern:
    """The RE2 pattern of a glob or of a search. Raises ValueError where RE2 refuses it; loading calls this, so that deciding never meets one."""
    source = wanted.value if wanted.kind == "matches" else f"(?s)^{glob_source(wanted.value)}$"
    try:
        pattern: Pattern = re2.compile(source, QUIET)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0]
        raise ValueError(f"not an RE2 pattern: {said.decode('utf-8', 'replace') if isinstance(said, bytes) else said}") from None
    return pattern


def glob_source(glob: str) -> str:
    """`*` any characters of a segment, `**` of any number of segments."""
    return ".*".join("[^/]*".join(re2.escape(piece) for piece in run.split("*")) for run in glob.split("**"))


def readings(path: str) -> list[str]:
    """The path as it was sent, then decoded once, twice, …"""
    read = [path]
    for _ in range(DECODINGS):
        read.append(unquoted(read[-1]))
    return read


@lru_cache(maxsize=256)  # every rule asks for the same path's
def path_forms(path: str) -> frozenset[str]:
    """The path as it was sent, and as a server may read it: decoded, without dot segments, empty segments and parameters, with a last slash or not."""
    read = readings(path)
    bare = {collapsed(one).rstrip("/") for one in read}
    return frozenset({*read, *(one or "/" for one in bare), *(one + "/" for one in bare)})


def collapsed(path: str) -> str:
    kept: list[str] = []
    segments = [segment.partition(";")[0] for segment in path.replace("\\", "/").split("/")]
    for segment in segments:
        if segment == "..":
            kept[-1:] = []
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept) + ("/" if kept and segments[-1] in ("", ".", "..") else "")


def disguised(path: str) -> bool:
    """Whether a server may see other segments than those that were sent."""
    read = readings(path)
    return any(one != collapsed(one) or one.count("/") != path.count("/") for one in read) or hides_more(path)


def hides_more(path: str) -> bool:
    """Whether it decodes on after the last reading."""
    last = readings(path)[-1]
    return unquoted(last) != last


def well_formed(text: str) -> str:
    """A page can hold half a surrogate pair, RE2 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
