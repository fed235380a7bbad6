"""A stranger's process: started with next to nothing, heard with a limit, ended with all its children. It knows no message."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from deskcert_core.session import inside, sandbox
from deskcert_core.session.inside import SIGNALLED
from deskcert_core.session.pipes import Pipes
from deskcert_core.session.sandbox import Cell

__all__ = ["MAX_OUTPUT", "Child"]

MAX_OUTPUT = 1024 * 1024
CHUNK = 1 << 16
GRACE_SECONDS = 0.8
TICK_SECONDS = 0.01


class Output:
    """What came out of one stream: the first `MAX_OUTPUT` bytes, and the last line whatever came before it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._head = bytearray()
        self._tail = b""
        self._dropped = 0
        os.set_blocking(fd, False)
        asyncio.get_running_loop().add_reader(fd, self.drain)

    def drain(self) -> None:
        """Take what is there now; at the end of the stream stop listening."""
        try:
            part = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return
        if not part:
            asyncio.get_running_loop().remove_reader(self.fd)
        room = MAX_OUTPUT - len(self._head)
        self._head += part[:room]
        self._dropped += len(part[room:])
        self._tail = (self._tail + part)[-CHUNK:]

    @property
    def text(self) -> str:
        more = f"\n[{self._dropped} more bytes were dropped]\n" if self._dropped else ""
        return self._head.decode("utf-8", "replace") + more

    @property
    def last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip()[:300] if lines else ""


class Child:
    """One process in a session and a folder of its own, with two pipes to it. Belongs to the event loop that started it."""

    def __init__(self, host: str, adapter: str, env: Mapping[str, str], cell: Cell) -> None:
        """Start `python -m host READ WRITE PARENT` in its cell. `env` is all that it gets of the environment, beside what Python needs to run.

        `adapter` is the module that it will import: its files are what a sandbox must show.
        """
        self._held = cell.isolation == "sandbox"
        self._folder = tempfile.TemporaryDirectory(prefix="deskcert-agent-", ignore_cleanup_errors=True)
        self._pipes = Pipes(self.ended)
        try:
            self._process = self._spawn(host, adapter, env, cell)
        except BaseException:
            self._pipes.close()
            self._folder.cleanup()
            raise
        finally:
            self._pipes.close_theirs()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout, self.stderr = Output(self._process.stdout.fileno()), Output(self._process.stderr.fileno())
        self._closed = False

    def _spawn(self, host: str, adapter: str, env: Mapping[str, str], cell: Cell) -> subprocess.Popen[bytes]:
        root = Path(self._folder.name)
        for name in ("home", "tmp", "work"):
            (root / name).mkdir()
        processes, gate = (sandbox.PROCESSES, sandbox.GATE if cell.gate else "-") if self._held else (0, "-")
        limits = [str(cell.memory_mb << 20), str(processes), gate, str(os.getpid())]
        words = [sys.executable, "-I", "-S", inside.__file__, *limits, "--", sys.executable, "-P", "-u", "-m", host, *map(str, self._pipes.theirs)]
        fds: tuple[int, ...] = self._pipes.theirs
        with ExitStack() as stack:
            if self._held:
                stack.callback(os.close, filtered := sandbox.filter_pipe())
                fds, words = (*fds, filtered), [*sandbox.command(cell, adapter.partition(".")[0], filtered), *words]
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=root / "work",
                env={**self._basic(root), **env, **(sandbox.proxy_env() if self._held and cell.gate else {})}, start_new_session=True, close_fds=True, pass_fds=fds,
            )

    def _basic(self, root: Path) -> dict[str, str]:
        home, tmp = (sandbox.HOME, sandbox.TMP) if self._held else (str(root / "home"), str(root / "tmp"))
        return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": home, "TMPDIR": tmp, "PYTHONPATH": sandbox.import_path()}

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> bool:
        """Whether it has ended. It is not reaped before `stop`: until then its pid, and so its process group, cannot be another's."""
        if self._process.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    async def send(self, data: bytes) -> None:
        """Raises EOFError if the child has gone."""
        await self._pipes.send(data)

    async def receive(self, count: int) -> bytes:
        """Exactly `count` bytes. Raises EOFError if the child has gone."""
        return await self._pipes.receive(count)

    async def gone(self, seconds: float) -> bool:
        """Wait for its end, at most so long."""
        for _ in range(round(seconds / TICK_SECONDS)):
            if self.ended():
                break
            await asyncio.sleep(TICK_SECONDS)
        return self.ended()

    def hit(self, number: signal.Signals) -> None:
        """Send a signal to the child and to everything it started."""
        with suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                os.killpg(self.pid, number)

    async def stop(self) -> int | None:
        """End it with its whole process group: asked first, then forced, within two seconds. Its exit code (minus the signal's number)."""
        self.hit(signal.SIGTERM)
        await self.gone(GRACE_SECONDS)
        self.hit(signal.SIGKILL)
        await self.gone(GRACE_SECONDS)
        code = self._process.poll()
        return SIGNALLED - code if self._held and code is not None and code > SIGNALLED else code

    def close(self) -> None:
        """Let go of pipes and folder. Only after `stop`."""
        if self._closed:
            return
        self._closed = True
        for output in (self.stdout, self.stderr):
            output.drain()
            asyncio.get_running_loop().remove_reader(output.fd)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        self._pipes.close()
        self._folder.cleanup()
