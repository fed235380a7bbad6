"""Any program, in any language, as an agent: the agent protocol over its standard input and output. What it writes to stderr is kept with the trial."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Timer
from typing import IO, TypeVar
from weakref import finalize

from deskcert_adapters.agents.host import die_with, read_exactly
from deskcert_core import wire
from deskcert_core.api import Brief, ModelServiceError, Observation, Proposal

__all__ = ["Command", "ProgramFault"]

ANSWER_SECONDS = 120.0
START_SECONDS = 50.0
END_SECONDS = 0.3
LEAVE_SECONDS = 0.2
M = TypeVar("M", wire.Ready, wire.Started, wire.Propose)


class ProgramFault(Exception):
    """The program crashed, kept silent or sent what is no message. The text names its command."""


class Command:
    """Starts a program and hands the agent protocol on to it. A program that broke is started again for the next trial.

    Options: `command` (its words, without a shell; `python` is the Python that runs DeskCert), `cwd` (where it starts), `timeout` (seconds for one
    answer). All others go to the program, in `hello`. Raises ValueError for an option that cannot be, ProgramFault for a program that does not start.
    """

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        words = shlex.split(options.get("command", ""))
        if not words:
            raise ValueError('the command agent needs the option command, such as command="python agent.py"')
        self._words = [sys.executable if words[0] == "python" else words[0], *words[1:]]
        self._cwd = options.get("cwd")
        self._seconds = float(options.get("timeout", ANSWER_SECONDS))
        if not 0 < self._seconds < float("inf"):
            raise ValueError(f"timeout is a number of seconds, not {options['timeout']}")
        self._options = {name: value for name, value in options.items() if name not in ("command", "cwd", "timeout")}
        self._program, ready = self._begin()
        self.wants_script, self.calls_model = ready.wants_script, ready.calls_model

    def start(self, brief: Brief) -> None:
        if not self._program.alive:
            self._program, _ = self._begin()
        self._program.ask(wire.Start(brief=brief), wire.Started, min(self._seconds, START_SECONDS))

    def propose(self, observation: Observation) -> Proposal:
        return self._program.ask(wire.Observe(observation=observation), wire.Propose, self._seconds).proposal

    def _begin(self) -> tuple[Program, wire.Ready]:
        program = Program(self._words, self._cwd)
        hello = wire.Hello(version=wire.VERSION, adapter=f"{__name__}:{type(self).__name__}", options=self._options)
        ready = program.ask(hello, wire.Ready, min(self._seconds, START_SECONDS))
        if ready.version != wire.VERSION:
            raise program.broken(f"speaks version {ready.version} of the protocol, not {wire.VERSION}")
        return program, ready


class Program:
    """A child of the agent's process, in its process group: what ends the one ends the other."""

    def __init__(self, words: Sequence[str], cwd: str | None) -> None:
        self._title = f"the program {shlex.join(words):.200}"
        self._late = False
        here = os.getpid()
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # that is the path of our Python, not of its
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                words, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, preexec_fn=lambda: die_with(here),
            )
        except (OSError, ValueError) as error:
            raise ProgramFault(f"{self._title} cannot be started: {error}") from error
        self._end = finalize(self, end, self._process)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: wire.Message, kind: type[M], seconds: float) -> M:
        """Send a message and give the answer, which must be of that kind. Whatever leaves both out of step ends the program."""
        timer = Timer(seconds, self._silence)
        timer.start()
        try:
            answer = self._exchange(wire.encode(message))
        except ValueError as error:
            raise self.broken(f"sent what is no message: {error} (its standard output belongs to the protocol: print to stderr)") from error
        finally:
            timer.cancel()
        match answer:
            case None:
                raise self.broken(f"gave no answer within {seconds:g} seconds" if self._late else self._how_it_ended())
            case wire.Fault(whose="model"):
                raise ModelServiceError(answer.message)
            case wire.Fault():
                raise ProgramFault(f"{self._title}: {answer.message}")
            case _ if isinstance(answer, kind):
                return answer
            case _:
                raise self.broken(f"answered {type(answer).__name__}, not {kind.__name__}")

    def broken(self, what: str) -> ProgramFault:
        """End it; the fault says why."""
        self._process.kill()
        self._end()
        return ProgramFault(f"{self._title} {what}")

    def _exchange(self, frame: bytes) -> wire.Message | None:
        """One frame there, one back; None if the program has gone. Raises ValueError for what is no message."""
        left = memoryview(frame)
        try:
            while left:
                left = left[os.write(opened(self._process.stdin).fileno(), left):]
        except BrokenPipeError:
            return None
        fd = opened(self._process.stdout).fileno()
        header = read_exactly(fd, wire.HEADER)
        body = read_exactly(fd, wire.size(header)) if header else None
        return None if body is None else wire.decode(body)

    def _silence(self) -> None:
        """The time is over: killed, it closes its pipes, and the waiting ends."""
        self._late = True
        self._process.kill()

    def _how_it_ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(END_SECONDS)
            return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return "closed its standard output"


def end(process: subprocess.Popen[bytes]) -> None:
    """The end of its input is its sign to leave; soon afterwards it is made to."""
    opened(process.stdin).close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(LEAVE_SECONDS)
    process.kill()
    process.wait()
    opened(process.stdout).close()


def opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
