"""Adapters that break one rule each; the rule is in the docstring. `Good` breaks none. The kit must catch every other one, with a line that helps."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskcert_core.api import ActionType, Brief, ModelServiceError, Observation, Proposal, Usage


class Good:
    """It reads, and then finishes."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self.read = False

    def start(self, brief: Brief) -> None:
        self.read = False

    def propose(self, observation: Observation) -> Proposal:
        if self.read:
            return Proposal(action_type=ActionType.FINISH, final_status="success")
        self.read = True
        return Proposal(action_type=ActionType.READ)


class OfAnotherTime(Good):
    """It says which plug-in interface it speaks, and that is ours."""

    deskcert_api = 2


class Mute:
    """It has `propose`."""

    deskcert_api = 1

    def start(self, brief: Brief) -> None: ...


class Dictionary(Good):
    """`propose` gives a Proposal."""

    def propose(self, observation: Observation) -> Proposal:
        return {"action_type": "read"}  # type: ignore[return-value]


class Targetless(Good):
    """A proposal holds to its schema."""

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.CLICK)


class Forgetful(Good):
    """`start` begins a new trial; what is left of the last one breaks the second."""

    def start(self, brief: Brief) -> None:
        if self.read:
            raise RuntimeError("there was a trial already")


class Shaken(Good):
    """It goes on after an act that was refused."""

    def propose(self, observation: Observation) -> Proposal:
        if observation.last_result and observation.last_result.status != "success":
            raise RuntimeError(observation.last_result.message)
        return Proposal(action_type=ActionType.READ)


class Blind(Good):
    """A dialog is a look too: there is no picture of it."""

    def propose(self, observation: Observation) -> Proposal:
        if observation.dialog:
            return Proposal(action_type=ActionType.READ, decision_summary=str(len(observation.screenshot)))  # type: ignore[arg-type]
        return Proposal(action_type=ActionType.READ)


class OtherLoop(Good):
    """One event loop serves all trials, whatever was made in it is kept."""

    async def propose(self, observation: Observation) -> Proposal:  # type: ignore[override]
        raise RuntimeError("attached to a different loop")


class Uncounted(Good):
    """An adapter that calls a model says of each proposal what that used."""

    calls_model = True


class Sly(Good):
    """An adapter that gives a usage says that it calls a model."""

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.READ, usage=Usage(model="m"))


class Overcounted(Good):
    """Reasoning tokens are part of the output tokens."""

    calls_model = True

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.READ, usage=Usage(model="m", output_tokens=1, reasoning_tokens=2))


# -- what only the real process shows


class AtHome(Good):
    """It needs of the environment only what the suite lists."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self.user = os.environ["KIT_TEST_USER"]


class Hangs(Good):
    """It answers in time."""

    def propose(self, observation: Observation) -> Proposal:
        time.sleep(600)
        return super().propose(observation)


class Crashes(Good):
    """It does not end its process."""

    def propose(self, observation: Observation) -> Proposal:
        os._exit(7)


class Garbage(Good):
    """Only the host writes to DeskCert."""

    def propose(self, observation: Observation) -> Proposal:
        for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if fd > 2:
                try:
                    os.write(fd, b"\0\0\0\1x")
                except OSError:
                    continue
        return super().propose(observation)


class Leaves(Good):
    """Nothing that it starts outlives it, in a session of its own neither."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


class LeavesWhenCut(Leaves):
    """Nothing that it starts outlives it, when it is cut off neither."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        atexit.register(self.child.kill)


class Hoards(Good):
    """It closes what it opens."""

    kept: list[Any] = []  # noqa: RUF012

    def start(self, brief: Brief) -> None:
        super().start(brief)
        self.kept.append(Path("notes.txt").open("a"))  # noqa: SIM115


class Reaches(Good):
    """It imports deskcert_core.api, and nothing else of DeskCert."""

    def start(self, brief: Brief) -> None:
        from deskcert_core.session import agent_process  # noqa: F401

        super().start(brief)


class Knows(Good):
    """It imports deskcert_core.api, and nothing else of DeskCert, though it is loaded already."""

    def start(self, brief: Brief) -> None:
        from deskcert_core import wire  # noqa: F401

        super().start(brief)


class Looks(Good):
    """It looks into no other process."""

    def start(self, brief: Brief) -> None:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()
        super().start(brief)


class Signals(Good):
    """It signals no process of others."""

    def start(self, brief: Brief) -> None:
        os.kill(os.getppid(), 0)
        super().start(brief)


# -- before a model service that is down


class Down(Good):
    """As it should be."""

    def propose(self, observation: Observation) -> Proposal:
        raise ModelServiceError("529 overloaded")


class GivesUp(Good):
    """An outage is no proposal."""

    def propose(self, observation: Observation) -> Proposal:
        return Proposal(action_type=ActionType.FINISH, final_status="failure", answer="the model is down")


class Raises(Good):
    """An outage is no fault of the agent."""

    def propose(self, observation: Observation) -> Proposal:
        raise ConnectionError("refused")
