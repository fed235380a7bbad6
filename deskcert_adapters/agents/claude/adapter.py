"""The `claude` agent: a Claude model by the vendor's own client, with the computer toolset, the browser toolset, or the tool before them."""

from __future__ import annotations

from collections.abc import Mapping

from deskcert_adapters.agents.claude.conversation import Conversation
from deskcert_adapters.agents.claude.service import Service, read_options
from deskcert_core.api import Brief, Observation, Proposal

__all__ = ["Claude"]


class Claude:
    """Needs the extra `claude`, the option `model`, and the provider's key in its environment (the suite's `env`)."""

    deskcert_api = 1
    calls_model = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises ValueError for wrong options or a missing key, ImportError without the SDK."""
        self._options = read_options(options)
        self._service = Service(self._options)
        self._talk: Conversation | None = None

    def start(self, brief: Brief) -> None:
        self._talk = Conversation(self._service, self._options, brief)

    def propose(self, observation: Observation) -> Proposal:
        """Raises ModelServiceError where the service failed, RuntimeError where it refused the request or the model gets nowhere."""
        if self._talk is None:
            raise RuntimeError("propose before start")
        return self._talk.propose(observation)
