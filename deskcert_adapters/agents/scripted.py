"""The agent that replays the task's own script: one proposal for each observation, whatever the page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal

__all__ = ["Scripted"]


class Scripted:
    """Proposes the script's acts in order; after the last one it finishes with `failure`. It takes no options."""

    deskcert_api = 1
    wants_script = True

    def __init__(self, options: Mapping[str, str]) -> None:
        if options:
            raise ValueError(f"the scripted agent takes no options, not {', '.join(sorted(options))}")
        self._left: Iterator[Proposal] = iter(())

    def start(self, brief: Brief) -> None:
        """Raises ValueError for a task without `script`."""
        if brief.script is None:
            raise ValueError(f"task {brief.task_id!r} has no script to replay")
        self._left = iter(brief.script)

    def propose(self, observation: Observation) -> Proposal:
        return next(self._left, Proposal(action_type=ActionType.FINISH, final_status="failure", decision_summary="script ended"))
