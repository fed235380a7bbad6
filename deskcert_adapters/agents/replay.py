"""The agent of a replay: it proposes what was recorded in another run, whatever the page shows. The session reads that run; this process never does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal

__all__ = ["Replay"]


class Replay:
    """Proposes the recorded acts in order; after the last one it finishes with `failure`. Option `run` is the session's: the folder that is replayed."""

    deskcert_api = 1
    wants_script = True

    def __init__(self, options: Mapping[str, str]) -> None:
        if unknown := options.keys() - {"run"}:
            raise ValueError(f"the replay agent takes no option {', '.join(sorted(unknown))}")
        self._left: Iterator[Proposal] = iter(())

    def start(self, brief: Brief) -> None:
        """Raises ValueError without recorded proposals."""
        if brief.script is None:
            raise ValueError(f"nothing is recorded for task {brief.task_id!r}: call it as --agent replay:RUN")
        self._left = iter(brief.script)

    def propose(self, observation: Observation) -> Proposal:
        return next(self._left, Proposal(action_type=ActionType.FINISH, final_status="failure", decision_summary="the recording has ended"))
