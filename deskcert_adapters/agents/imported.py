"""Something of the user's own, named `module:attribute` in the suite: imported in the agent's process, where it holds no power."""

from __future__ import annotations

import importlib
import sys
from operator import attrgetter
from pathlib import Path

__all__ = ["imported"]


def imported(who: str, value: str, path: str = "") -> object:
    """The attribute; `path` is a folder (absolute) from which to import too, before all others. Raises ValueError for what is not named so, else what the import raises."""
    module, colon, attribute = value.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"the {who} agent takes module:attribute, not {value!r}")
    if path:
        if not Path(path).is_absolute() or not Path(path).is_dir():
            raise ValueError(f"the {who} agent's path is the full path of a folder, not {path!r}")
        if path not in sys.path:
            sys.path.insert(0, path)
    return attrgetter(attribute)(importlib.import_module(module))
