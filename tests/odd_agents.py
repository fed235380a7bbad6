"""Adapters that misbehave, one kind a method. They run in the agent process of the tests, never in pytest's own."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from deskcert_core.api import ActionType, Brief, ModelServiceError, Observation, Proposal

NAP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def finish(answer: object) -> Proposal:
    return Proposal(action_type=ActionType.FINISH, final_status="success", answer=json.dumps(answer))


def pipe_to_parent() -> int:
    """What a hostile adapter can find out: the host's own pipe."""
    for fd in range(3, 100):
        try:
            mode, flags = os.fstat(fd).st_mode, fcntl.fcntl(fd, fcntl.F_GETFL)
        except OSError:
            continue
        if stat.S_ISFIFO(mode) and flags & os.O_ACCMODE == os.O_WRONLY:
            return fd
    raise RuntimeError("no pipe")


def send(body: bytes, length: int | None = None) -> None:
    os.write(pipe_to_parent(), (len(body) if length is None else length).to_bytes(4, "big") + body)


class Odd:
    """Behaves as option `do` says, when `when` (init, start, propose) comes."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._trials: list[str] = []
        self._seen = 0
        self._come("init")

    def start(self, brief: Brief) -> None:
        self._trials.append(brief.task_id)
        if "pids" in self._options:
            self._have_a_child()
        self._come("start")

    def propose(self, observation: Observation) -> Proposal:
        self._seen += 1
        return self._come("propose") or finish({"trials": self._trials, "text": observation.text, "picture": len(observation.screenshot or b"")})

    def _come(self, when: str) -> Proposal | None:
        if self._options.get("when", "propose") != when or "do" not in self._options:
            return None
        return getattr(self, "do_" + self._options["do"])()

    def do_raise_once(self) -> Proposal | None:
        if self._seen == 1:
            raise KeyError("first\nsecond")
        return None

    def do_model(self) -> None:
        raise ModelServiceError("529 overloaded")

    def do_system_exit(self) -> None:
        raise SystemExit(3)

    def do_exit(self) -> None:
        print("the last word\n", file=sys.stderr)
        os._exit(7)

    def do_killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def do_fork_and_exit(self) -> None:
        if os.fork():
            os._exit(9)
        time.sleep(600)

    def _have_a_child(self) -> None:
        """A grandchild of DeskCert's, deaf to SIGTERM as this one; both pids go to a file."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", NAP], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        Path(self._options["pids"]).write_text(f"{os.getpid()} {child.pid}\n")

    def do_hang(self) -> None:
        with Path(self._options["pids"]).open("a") as file:
            file.write("hangs\n")
        time.sleep(600)

    def do_print(self) -> None:
        for _ in range(300):
            print("o" * 10_000)
            print("e" * 10_000, file=sys.stderr)
        print("bye", file=sys.stderr)

    def do_leak(self) -> None:
        print("key", os.environ["MODEL_KEY"])
        raise ValueError("401 for " + os.environ["MODEL_KEY"])

    def do_garbage(self) -> None:
        send(b"\xff{not json")

    def do_huge(self) -> None:
        send(b"", 64 * 1024 * 1024 + 1)

    def do_unknown(self) -> None:
        send(b'{"type": "please"}')

    def do_old(self) -> None:
        send(b'{"type": "ready", "version": 2}')

    def do_early(self) -> None:
        send(b'{"type": "started"}')

    def do_extra_key(self) -> None:
        send(b'{"type": "proposal", "proposal": {"action_type": "click", "target": {"selector": "a", "safe": true}}}')

    def do_bad_action(self) -> None:
        send(b'{"type": "proposal", "proposal": {"action_type": "rob"}}')

    def do_not_a_proposal(self) -> Proposal:
        return {"action_type": "click"}  # type: ignore[return-value]

    def do_unencodable(self) -> Proposal:
        return Proposal(action_type=ActionType.FILL, value=object())  # type: ignore[arg-type]

    def do_no_target(self) -> Proposal:
        return Proposal(action_type=ActionType.CLICK)

    def do_foreign_field(self) -> Proposal:
        return Proposal(action_type=ActionType.READ, url="http://127.0.0.1/")

    def do_environment(self) -> Proposal:
        return finish(dict(os.environ))

    def do_descriptors(self) -> Proposal:
        """Number and target of each open descriptor."""
        links = [Path(f"/proc/self/fd/{fd}") for fd in range(1000)]
        return finish({link.name: str(link.readlink()) for link in links if link.is_symlink()})

    def do_look_around(self) -> Proposal:
        import importlib.util

        return finish({"cwd": [p.name for p in Path.cwd().iterdir()], "decoy": importlib.util.find_spec("decoy_module") is not None, "argv": sys.argv[1:]})


class Slow(Odd):
    """Its propose is a coroutine, on one event loop from trial to trial."""

    async def propose(self, observation: Observation) -> Proposal:  # type: ignore[override]
        import asyncio

        loop = asyncio.get_running_loop()
        before, self._loop = getattr(self, "_loop", loop), loop
        await asyncio.sleep(0)
        return finish({"same_loop": before is loop, "text": observation.text})


class FromTheFuture(Odd):
    deskcert_api = 2


class NotForUs:
    pass
