"""An adapter that calls a service over HTTP, twice, as client libraries do: by the proxy that its environment names."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal


class Calling:
    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["url"]

    def start(self, brief: Brief) -> None:
        """Nothing."""

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.FINISH, final_status="success", answer=f"{self._ask()} {self._ask()}")

    def _ask(self) -> int:
        try:
            with urllib.request.urlopen(self._url, timeout=20) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
