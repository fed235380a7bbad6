"""What a person may watch while a run goes on. Nothing here is evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "Watcher"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One thing that happened; between `ask` and `answer` a person may be typing, so nothing should be drawn. `text` is one line for people; `step` of `max_steps` in trial `trial` of task `task_id`, `number` of `total` trials."""

    kind: Literal["run", "trial", "step", "ask", "answer", "trial_end"]
    text: str
    task_id: str = ""
    trial: int = 0
    number: int = 0
    total: int = 0
    step: int = 0
    max_steps: int = 0


Watcher = Callable[[Progress], None]
