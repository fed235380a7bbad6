"""What a reporter is given. Everything in it is recomputed from the run folder; a reporter only words it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from deskcert_core.evaluation import Evidence
from deskcert_core.score import SuiteCard

__all__ = ["Report", "Reporter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One judged run. `evidence` holds a trial each, in the order of `card.trials`; `folder` is the run's path; `facts` are the manifest's lines for people."""

    card: SuiteCard
    evidence: tuple[Evidence, ...]
    folder: str
    facts: tuple[tuple[str, str], ...] = ()


class Reporter(Protocol):
    """Made without arguments. `render` gives the whole report as text; `suffix` is the file name's ending (`md`, `json`)."""

    suffix: str

    def render(self, report: Report) -> str: ...
