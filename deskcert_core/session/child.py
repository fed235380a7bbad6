"""A stranger's process: started with next to nothing, heard with a limit, ended with all its children. It knows no message."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import deskcert_core

__all__ = ["MAX_OUTPUT", "Child"]

MAX_OUTPUT = 1024 * 1024
CHUNK = 1 << 16
LOOK_SECONDS = 0.1
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

    def __init__(self, module: str, env: Mapping[str, str]) -> None:
        """Start `python -m module READ WRITE PARENT`. `env` is all that it gets of the environment, beside what Python needs to run."""
        self._folder = tempfile.TemporaryDirectory(prefix="deskcert-agent-", ignore_cleanup_errors=True)
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        try:
            self._process = self._spawn(module, env, (theirs_in, theirs_out))
        except BaseException:
            os.close(self._read)
            os.close(self._write)
            self._folder.cleanup()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout, self.stderr = Output(self._process.stdout.fileno()), Output(self._process.stderr.fileno())
        self._closed = False

    def _spawn(self, module: str, env: Mapping[str, str], pipes: tuple[int, int]) -> subprocess.Popen[bytes]:
        root = Path(self._folder.name)
        for name in ("home", "tmp", "work"):
            (root / name).mkdir()
        basic = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PYTHONPATH": import_path()}
        command = [sys.executable, "-P", "-u", "-m", module, *map(str, pipes), str(os.getpid())]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            cwd=root / "work", env={**basic, **env}, start_new_session=True, close_fds=True, pass_fds=pipes,
        )

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
        left, loop = memoryview(data), asyncio.get_running_loop()
        while left:
            gone = self.ended()
            try:
                left = left[os.write(self._write, left):]
            except BlockingIOError:
                if gone:
                    raise EOFError from None
                await self._ready(self._write, loop.add_writer, loop.remove_writer)
            except BrokenPipeError as error:
                raise EOFError from error

    async def receive(self, count: int) -> bytes:
        """Exactly `count` bytes. Raises EOFError if the child has gone, even where a grandchild still holds the pipe."""
        parts, loop = bytearray(), asyncio.get_running_loop()
        while len(parts) < count:
            gone = self.ended()
            try:
                part = os.read(self._read, min(count - len(parts), 1 << 20))
            except BlockingIOError:
                if gone:
                    raise EOFError from None
                await self._ready(self._read, loop.add_reader, loop.remove_reader)
                continue
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    async def _ready(self, fd: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
        """Until the pipe is ready, but look up now and then: the child may have ended without closing it."""
        ready = asyncio.Event()
        add(fd, ready.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await ready.wait()
        finally:
            remove(fd)

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
        return self._process.poll()

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
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()


def import_path() -> str:
    """Where the child finds modules: where this process does, except its working directory (unless the user put that into PYTHONPATH)."""
    home, here = str(Path(deskcert_core.__file__).parents[1]), str(Path.cwd())
    asked = {str(Path(p).absolute()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    kept = [p for p in sys.path if Path(p).is_absolute() and (p != here or p in asked or p == home)]
    return os.pathsep.join(kept if home in kept else [*kept, home])
