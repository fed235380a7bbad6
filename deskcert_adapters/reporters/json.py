"""The scorecard as it stands in `derived/scorecard.json`: canonical JSON, one line."""

from __future__ import annotations

from deskcert_core.api import Report, scorecard_json

__all__ = ["Json"]


class Json:
    """`--report json=PATH`."""

    deskcert_api = 1
    suffix = "json"

    def render(self, report: Report) -> str:
        return scorecard_json(report.card).decode() + "\n"
