"""An agent that reads the page once, and then says what its title is."""

from __future__ import annotations

from collections.abc import Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal


class Hello:
    """Reads the page, then finishes with a greeting and the page's title. Option: greeting."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        unknown = set(options) - {"greeting"}
        if unknown:
            raise ValueError(f"hello knows the option greeting, not {', '.join(sorted(unknown))}")
        self.greeting = options.get("greeting", "Hello")
        self.has_read = False

    def start(self, brief: Brief) -> None:
        """A new trial: forget the last one, the same object serves them all."""
        self.has_read = False

    def propose(self, observation: Observation) -> Proposal:
        if not self.has_read:
            self.has_read = True
            return Proposal(action_type=ActionType.READ, decision_summary="Read the page")
        answer = f"{self.greeting}, this page is {observation.title}"
        return Proposal(action_type=ActionType.FINISH, final_status="success", answer=answer, decision_summary="Say its title")
