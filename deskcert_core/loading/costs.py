"""The costs file becomes prices in micro-dollars, exact."""

from __future__ import annotations

from deskcert_core.budget import Costs, ModelPrice
from deskcert_core.document import Place
from deskcert_core.loading.source import Source

__all__ = ["costs_of", "micro_usd"]

KINDS = ("input", "output", "cache_read", "cache_write")


def costs_of(source: Source) -> Costs | None:
    """None if the file does not fit its schema."""
    if not source.valid:
        return None
    return Costs(
        per_screenshot=micro_usd(source, ("per_screenshot_usd",)),
        per_action=micro_usd(source, ("per_action_usd",)),
        models={name: _price(source, name) for name in source.data["models"]},
    )


def micro_usd(source: Source, path: Place) -> int:
    """The micro-dollars at `path`; 0, and a problem noted, if they are no whole number."""
    try:
        return source.document.micro_usd(path)
    except ValueError as error:
        source.note(path, str(error))
        return 0


def _price(source: Source, model: str) -> ModelPrice:
    path: Place = ("models", model)
    return ModelPrice(**{kind: micro_usd(source, (*path, f"{kind}_usd_per_million")) for kind in KINDS if f"{kind}_usd_per_million" in source.at(path)})
