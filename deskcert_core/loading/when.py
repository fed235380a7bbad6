"""The `when` of a rule and a background request: words, globs and patterns become matches. Every RE2 pattern is compiled here first."""

from __future__ import annotations

from deskcert_core.address import OriginPattern
from deskcert_core.document import Place
from deskcert_core.loading.source import Source
from deskcert_core.policy.match import compiled
from deskcert_core.policy.rules import ElementWhen, RequestWhen, RuleWhen, TextMatch

__all__ = ["check_pattern", "request_of", "when_of"]


def when_of(source: Source, path: Place) -> RuleWhen:
    data = source.at(path)
    return RuleWhen(
        action=_names(source, (*path, "action")),
        effect=_names(source, (*path, "effect")),
        element=_element(source, (*path, "element")) if "element" in data else None,
        request=request_of(source, (*path, "request")) if "request" in data else None,
    )


def request_of(source: Source, path: Place) -> RequestWhen:
    return RequestWhen(
        method=_names(source, (*path, "method")),
        origin=_origins(source, (*path, "origin")),
        path=_matches(source, (*path, "path"), glob=True),
        query=_fields(source, (*path, "query")),
        form=_fields(source, (*path, "form")),
    )


def check_pattern(source: Source, path: Place, pattern: str) -> None:
    """Note a pattern that RE2 refuses: deciding and judging must never meet one."""
    try:
        compiled(TextMatch(kind="matches", value=pattern))
    except ValueError as error:
        source.note(path, str(error))


def _element(source: Source, path: Place) -> ElementWhen:
    words = {key: _matches(source, (*path, key)) for key in ("tag", "role", "name", "text")}
    return ElementWhen(selector=source.at(path).get("selector"), **words)


def _given(source: Source, path: Place) -> bool:
    return path[-1] in source.at(path[:-1])


def _names(source: Source, path: Place) -> tuple[str, ...]:
    if not _given(source, path):
        return ()
    value = source.at(path)
    return (value,) if isinstance(value, str) else tuple(value)


def _origins(source: Source, path: Place) -> tuple[OriginPattern, ...]:
    places: list[Place] = [path] if isinstance(source.at(path[:-1]).get("origin"), str) else [(*path, i) for i in range(len(_names(source, path)))]
    return tuple(found for place in places if (found := source.origin(place)))


def _fields(source: Source, path: Place) -> dict[str, tuple[TextMatch, ...]]:
    return {name: _matches(source, (*path, name)) for name in source.at(path)} if _given(source, path) else {}


def _matches(source: Source, path: Place, *, glob: bool = False) -> tuple[TextMatch, ...]:
    """A text, a list of alternatives, or {matches: RE2}; empty where the rule does not say."""
    value = source.at(path) if _given(source, path) else []
    if isinstance(value, dict):
        return (_pattern(source, (*path, "matches")),)
    return tuple(TextMatch(kind="glob" if glob else "exact", value=text) for text in ([value] if isinstance(value, str) else value))


def _pattern(source: Source, path: Place) -> TextMatch:
    match = TextMatch(kind="matches", value=source.at(path))
    check_pattern(source, path, match.value)
    return match
