"""Adapters that want too much: processes, memory, room, attention. Always bounded: what is not stopped ends by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from deskcert_core.api import ActionType, Brief, Observation, Proposal

NAP = "import os, signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; print('deaf', flush=True); time.sleep(120)"
MOST_FORKS = 600
MB = 1 << 20


def finish(answer: str) -> Proposal:
    return Proposal(action_type=ActionType.FINISH, final_status="success", answer=answer)


class Greedy:
    """Does what option `do` says, at every look; `mark` stands in the command line of each process it starts."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._kept: list[bytearray] = []
        if Path(options.get("once", "/nowhere")).exists():
            raise RuntimeError("not a second time")

    def start(self, brief: Brief) -> None:
        """Nothing."""

    def propose(self, observation: Observation) -> Proposal:
        return finish(str(getattr(self, "do_" + self._options["do"])()))

    def _child(self, code: str) -> subprocess.Popen[bytes]:
        child = subprocess.Popen([sys.executable, "-c", code, self._options["mark"]], stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    def do_nothing(self) -> str:
        return "well"

    def do_leave_a_daemon(self) -> str:
        self._child(NAP)
        return "left"

    def do_hang_with_a_daemon(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._child(NAP)
        time.sleep(120)

    def do_fork_bomb(self) -> str:
        for _ in range(MOST_FORKS):
            if os.fork() == 0:
                os.setsid()
                os.execv("/usr/bin/sleep", [self._options["mark"], "60"])
        return "bombed"

    def do_hog(self) -> str:
        for _ in range(6):
            self._kept.append(bytearray(b"x") * (100 * MB))
        return "hogged"

    def do_hog_together(self) -> str:
        for _ in range(10):
            self._child("import time; kept = bytearray(b'x') * (60 << 20); print('full', flush=True); time.sleep(60)")
        return "hogged"

    def do_fill_the_disk(self) -> str:
        for number in range(20):
            Path(os.environ["TMPDIR"], str(number)).write_bytes(bytes(50 * MB))
        return "filled"

    def do_one_big_file(self) -> str:
        with Path(os.environ["TMPDIR"], "big").open("wb") as file:
            file.truncate(1024 * MB)
        return "filled"

    def do_flood(self) -> None:
        """A message of 100 MB."""
        from odd_agents import pipe_to_parent

        fd = pipe_to_parent()
        os.write(fd, (100 * MB).to_bytes(4, "big"))
        for _ in range(100):
            left = memoryview(bytes(MB))
            while left:
                left = left[os.write(fd, left):]

    def do_print(self) -> str:
        for _ in range(100):
            sys.stdout.write("x" * MB)
        return "printed"

    def do_crash(self) -> None:
        if "once" in self._options:
            Path(self._options["once"]).touch()
        os._exit(5)
