"""The child half of the agent process: it imports the adapter and speaks for it over two pipes. It holds no power worth stealing.

`python -m deskcert_adapters.agents.host READ WRITE PARENT`, the numbers of two file descriptors and of the parent's process.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import signal
import sys
import traceback
from asyncio import Runner
from collections.abc import Awaitable
from operator import attrgetter
from typing import Any

from deskcert_core import wire
from deskcert_core.api import API_VERSION, ModelServiceError, Observation, Proposal

__all__ = ["Host", "main"]

PR_SET_PDEATHSIG = 1
MESSAGE = 500


class Host:
    """Answers each message of the parent with one of its own, until `end` or end of input."""

    def __init__(self, read: int, write: int, runner: Runner) -> None:
        self._read, self._write, self._runner = read, write, runner
        self._adapter: Any = None

    def serve(self) -> None:
        while (body := self._receive()) is not None:
            try:
                message = wire.decode(body)
            except ValueError as error:
                self._send(wire.encode(wire.Fault(whose="agent", message=f"host: {error}")))
                return
            if isinstance(message, wire.End):
                return
            self._send(self._answer(message))

    def _answer(self, message: wire.Message) -> bytes:
        """The frame that answers. An adapter may raise anything, SystemExit too: it is told, and the process goes on."""
        try:
            return wire.encode(self._reply(message))
        except ModelServiceError as error:
            traceback.print_exc()
            return wire.encode(wire.Fault(whose="model", message=first_line(error)))
        except BaseException as error:
            traceback.print_exc()
            return wire.encode(wire.Fault(whose="agent", message=first_line(error)))

    def _reply(self, message: wire.Message) -> wire.Message:
        match message:
            case wire.Hello(version=wire.VERSION):
                self._adapter = load(message.adapter)(dict(message.options))
                return wire.Ready(version=wire.VERSION, wants_script=says(self._adapter, "wants_script"), calls_model=says(self._adapter, "calls_model"))
            case wire.Hello():
                raise ValueError(f"the host speaks version {wire.VERSION} of the protocol, not {message.version}")
            case wire.Start():
                self._finished(self._adapter.start(message.brief))
                return wire.Started()
            case wire.Observe():
                return wire.Propose(proposal=self._proposal(message.observation))
            case _:
                raise ValueError(f"the host cannot answer {type(message).__name__}")

    def _proposal(self, observation: Observation) -> Proposal:
        proposal = self._finished(self._adapter.propose(observation))
        if not isinstance(proposal, Proposal):
            raise TypeError(f"propose gave {type(proposal).__name__}, not a Proposal")
        return proposal

    def _finished(self, result: object) -> object:
        """The value itself, or what it gives once awaited: one event loop serves the whole process."""
        return self._runner.run(waited(result)) if inspect.isawaitable(result) else result

    def _receive(self) -> bytes | None:
        header = read_exactly(self._read, wire.HEADER)
        return read_exactly(self._read, wire.size(header)) if header else None

    def _send(self, frame: bytes) -> None:
        left = memoryview(frame)
        while left:
            left = left[os.write(self._write, left):]


async def waited(result: Awaitable[object]) -> object:
    return await result


def read_exactly(fd: int, count: int) -> bytes | None:
    """`count` bytes, or None at end of input."""
    parts = bytearray()
    while len(parts) < count:
        part = os.read(fd, min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def load(adapter: str) -> Any:
    """The adapter's class behind `module:attribute`. Raises what the import raises, and TypeError for another plug-in interface."""
    module, _, attribute = adapter.partition(":")
    found = attrgetter(attribute)(importlib.import_module(module))
    if (version := getattr(found, "deskcert_api", None)) != API_VERSION:
        raise TypeError(f"{adapter} says deskcert_api = {version!r}, this DeskCert speaks {API_VERSION}")
    return found


def says(adapter: object, name: str) -> bool:
    return getattr(adapter, name, False) is True


def first_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:MESSAGE].removesuffix(": ")


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when the parent ends. A hanging adapter reads no end of input, hence both ways out."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def main(arguments: list[str]) -> None:
    read, write, parent = map(int, arguments)
    die_with(parent)
    del sys.argv[1:]
    for fd in (read, write):
        os.set_inheritable(fd, False)
    with Runner() as runner:
        Host(read, write, runner).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
