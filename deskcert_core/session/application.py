"""The application under test: started by `serve`, put back by `reset`, asked by probes. Commands are the suite author's, run without a shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from deskcert_core.errors import HarnessFault, UnavailableError
from deskcert_core.task import Command, Environment, Serve

__all__ = ["Application", "answers", "run_command"]

POLL_SECONDS = 0.1
STOP_SECONDS = 5.0
COMMAND_SECONDS = 60.0


class Application:
    """One per run. `start` and `stop` do nothing where the environment has no `serve`: an application that already runs is never touched."""

    def __init__(self, environment: Environment, root: Path, extra: Mapping[str, str]) -> None:
        self._environment, self._root = environment, root
        self._env = {**os.environ, **extra}
        self._process: asyncio.subprocess.Process | None = None
        self._log: IO[bytes] | None = None

    async def start(self) -> None:
        """Start and wait until the URL answers. Raises UnavailableError with the last lines that the application printed."""
        serve = self._environment.serve
        if serve is None:
            return
        if await answers(serve.url):
            raise UnavailableError(f"something already answers at {serve.url}", hint="stop it, or choose another port in the suite")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._process = await spawn(serve.command, self._root, self._env, self._log)
        await self._wait(serve)

    async def _wait(self, serve: Serve) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + serve.timeout_seconds
        while not await answers(serve.url):
            if not self.alive:
                raise UnavailableError(f"the application ended before {serve.url} answered: {self.output()}")
            if loop.time() > until:
                raise UnavailableError(f"{serve.url} did not answer within {serve.timeout_seconds:g} s: {self.output()}")
            await asyncio.sleep(POLL_SECONDS)

    @property
    def alive(self) -> bool:
        """Whether the application that `serve` started still runs; true where there is none to watch."""
        return self._process is None or self._process.returncode is None

    def output(self) -> str:
        """The last lines that the application printed."""
        if self._log is None:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 2000))
        return self._log.read().decode("utf-8", "replace").strip()

    async def reset(self) -> None:
        """Put the application's data back. Raises HarnessFault if the command fails."""
        if self._environment.reset is None:
            return
        try:
            await run_command(self._environment.reset, self._root, self._env)
        except (OSError, RuntimeError) as error:
            raise HarnessFault(f"reset failed: {error}", whose="application") from error

    async def stop(self) -> None:
        """End the application and everything it started."""
        if self._process is not None:
            await end_group(self._process)
        if self._log is not None:
            self._log.close()


async def answers(url: str) -> bool:
    """Whether anything at all comes back from a URL; a 404 is an answer too."""
    return await asyncio.to_thread(answers_now, url)


def answers_now(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        opener.open(url, timeout=5).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, ValueError):
        return False
    return True


async def run_command(command: Command, root: Path, env: Mapping[str, str]) -> bytes:
    """A command's standard output. Raises RuntimeError with what it said if it fails or takes more than a minute, OSError if it cannot start."""
    process = await spawn(command, root, env, None)
    try:
        out, err = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
    except TimeoutError as error:
        raise RuntimeError(f"{command[0]} did not end within {COMMAND_SECONDS:g} s") from error
    finally:
        await end_group(process)
    if process.returncode:
        said = err.decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}{': ' + said[-1] if said else ''}")
    return out


async def spawn(command: Command, root: Path, env: Mapping[str, str], log: IO[bytes] | None) -> asyncio.subprocess.Process:
    """Start a command in a group of its own; `python` means the Python that runs DeskCert."""
    words = [sys.executable if command[0] == "python" else command[0], *command[1:]]
    out, err = (log, log) if log else (asyncio.subprocess.PIPE, asyncio.subprocess.PIPE)
    try:
        return await asyncio.create_subprocess_exec(
            *words, cwd=root, env=dict(env), stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
        )
    except OSError as error:
        raise UnavailableError(f"cannot start {command[0]}: {error.strerror}", hint=f"it is run in {root}") from error


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the process group to end, then make it. The group is ours: it was started with its own session."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
            if how is signal.SIGKILL:
                return
