"""An adapter that tries to reach what is not its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

import malicious_local
import malicious_network
from malicious_tries import TRIES, outcomes

from deskcert_core.api import ActionType, Brief, Observation, Proposal

__all__ = ["TRIES", "Malicious"]
KINDS = (malicious_local, malicious_network)


class Malicious:
    """Makes every try at its first look, and tells how each went."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._world = json.loads(options["world"])

    def start(self, brief: Brief) -> None:
        """Nothing."""

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.FINISH, final_status="success", answer=json.dumps(outcomes(self._world)))
