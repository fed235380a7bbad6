"""Where the program of a `command` agent lies: its words are the suite author's, its process starts in an empty folder and reads what it must, no more."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

from deskcert_core.errors import UsageError
from deskcert_core.task import AgentPlan

__all__ = ["placed"]

COMMAND = "command"
IMPORTING = frozenset({"langgraph", "llm"})


def placed(plan: AgentPlan, base: Path) -> AgentPlan:
    """The plan with each word of its command that is a file in `base` (or in its `cwd`, which is relative to `base`) made absolute.

    These files, the program itself and `cwd` with all that is in it become `files` of the plan. The `path` of langgraph and llm is placed likewise; other
    plans stay as they are. Raises UsageError for a `cwd` that is no folder and for a command that is not whole.
    """
    if plan.adapter in IMPORTING and "path" in plan.options:
        return with_path(plan, base)
    if plan.adapter != COMMAND or COMMAND not in plan.options:
        return plan
    folder = (base / plan.options["cwd"]).absolute() if "cwd" in plan.options else None
    if folder and not folder.is_dir():
        raise UsageError(f"agent {plan.name!r}: cwd {str(folder)!r} is no folder")
    try:
        words = shlex.split(plan.options[COMMAND])
    except ValueError as error:
        raise UsageError(f"agent {plan.name!r}: the command {plan.options[COMMAND]!r:.200} is not whole: {error}") from error
    here = (folder or base).absolute()
    new = [found(word, here) if index or "/" in word else word for index, word in enumerate(words)]
    program = shutil.which(new[0]) if new else None
    files = [*([program] if program else []), *([str(folder)] if folder else []), *(word for word, old in zip(new, words, strict=True) if Path(word).is_absolute())]
    options = {**plan.options, COMMAND: shlex.join(new), **({"cwd": str(folder)} if folder else {})}
    return replace(plan, options=options, files=tuple(dict.fromkeys([*plan.files, *files])))


def with_path(plan: AgentPlan, base: Path) -> AgentPlan:
    """The plan with its `path`, relative to `base`, made absolute: the user's modules, which it may read. Raises UsageError for one that is no folder."""
    folder = (base / plan.options["path"]).absolute()
    if not folder.is_dir():
        raise UsageError(f"agent {plan.name!r}: path {str(folder)!r} is no folder")
    return replace(plan, options={**plan.options, "path": str(folder)}, files=tuple(dict.fromkeys([*plan.files, str(folder)])))


def found(word: str, here: Path) -> str:
    """The word itself, unless it is the name of something in the folder."""
    return str(here / word) if word and not word.startswith("-") and (here / word).exists() else word
