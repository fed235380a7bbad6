"""The options of an agent's entry in the suite: what is known, what is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["known"]


def known(who: str, options: Mapping[str, str], *names: str, needed: Sequence[str] = ()) -> None:
    """Raises ValueError, one line for the suite's author, for options that `who` does not know and for needed ones that are missing."""
    if strange := sorted(set(options) - set(names)):
        raise ValueError(f"the {who} agent has no option {', '.join(strange)}; it knows {', '.join(sorted(names))}")
    if missing := [name for name in needed if not options.get(name)]:
        raise ValueError(f"the {who} agent needs the option {', '.join(missing)}")
