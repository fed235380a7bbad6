"""An adapter that reads a file beside its packages, and tries to write there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deskcert_core.api import ActionType, Brief, Observation, Proposal


class Reading:
    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._folder = Path(options["folder"])

    def start(self, brief: Brief) -> None:
        """Nothing."""

    def propose(self, observation: Observation) -> Proposal:
        words = [(self._folder / "model.txt").read_text(), str([path.name for path in (self._folder / "runs").iterdir()])]
        words += [self._written(self._folder / "model.txt"), self._written(self._folder / "runs" / "journal")]
        return Proposal(action_type=ActionType.FINISH, final_status="success", answer=", ".join(words))

    def _written(self, path: Path) -> str:
        try:
            path.write_text("mine")
        except OSError as error:
            return error.strerror
        return "written"
