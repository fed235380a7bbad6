"""The parent half of the agent process: it asks, with a time limit, and believes nothing. What breaks is named as the agent's fault, or the model's."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from deskcert_core import schemas, wire
from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import AgentFault, HarnessFault, PluginError
from deskcert_core.proposal import Proposal
from deskcert_core.session.child import Child
from deskcert_core.session.in_process import InProcess
from deskcert_core.session.sandbox import Cell

__all__ = ["AgentProcess"]

HOST = "deskcert_adapters.agents.host"
END_SECONDS = 0.3
SECRET_LENGTH = 6
M = TypeVar("M", wire.Ready, wire.Started, wire.Propose)


class AgentProcess:
    """One adapter in a process of its own, used for one trial after another. Belongs to the event loop that started it.

    After a crash, a time-out, a wrong message or a cancelled call the process is dead (`alive` is false): close it and start another.
    After an exception of the adapter or a fault of its model it lives, and `begin` serves the next trial.
    """

    def __init__(self, name: str, value: str, env: Mapping[str, str], timeout: float, cell: Cell) -> None:
        """Use `start`. Nothing is imported here: the adapter's code runs in the child alone."""
        self._title = f"agent {name!r} ({value})"
        self._env, self._timeout = env, timeout
        self.isolation = cell.isolation
        self._child = InProcess(HOST, env) if cell.isolation == "none" else Child(HOST, value.partition(":")[0], env, cell)
        self._usable = True
        self._output: str | None = None
        self.wants_script = self.calls_model = False

    @classmethod
    async def start(
        cls, name: str, value: str, options: Mapping[str, str], env: Mapping[str, str], timeout: float, cell: Cell = Cell(),  # noqa: B008 - frozen
    ) -> AgentProcess:
        """The process with the adapter of `value` (`module:attribute`) made. `env` is what it may see of the environment: names and values.

        `timeout` (seconds) holds for this and for each `begin`. Raises PluginError for an adapter that cannot be made, HarnessFault if its model service failed.
        """
        self = cls(name, value, env, timeout, cell)
        hello = wire.Hello(version=wire.VERSION, adapter=value, options=dict(options))
        try:
            ready = await self._ask(hello, wire.Ready, timeout)
            if ready.version != wire.VERSION:
                raise AgentFault(f"{self._title}: it speaks version {ready.version} of the protocol, not {wire.VERSION}")
        except BaseException as error:
            await self.close()
            if isinstance(error, AgentFault):
                raise PluginError(error.message, hint=error.hint or advice(error.message, cell)) from error
            raise
        self.wants_script, self.calls_model = ready.wants_script, ready.calls_model
        return self

    @property
    def alive(self) -> bool:
        return self._usable and not self._child.ended()

    async def begin(self, brief: Brief) -> None:
        """Begin a trial. The script goes only to an adapter that replays it. Raises AgentFault, or HarnessFault for the model service."""
        if not self.wants_script and brief.script is not None:
            raise ValueError("a script is for adapters that say wants_script")
        await self._ask(wire.Start(brief=brief), wire.Started, self._timeout)

    async def propose(self, observation: Observation, timeout: float) -> Proposal:
        """The agent's answer to one look, within `timeout` seconds. Raises AgentFault, or HarnessFault (`whose="model"`) for the model service."""
        proposal = (await self._ask(wire.Observe(observation=observation), wire.Propose, timeout)).proposal
        schema, plain = schemas.named("proposal"), wire.plain(proposal)
        if not schema.holds(plain):
            raise AgentFault(f"{self._title}: its {proposal.action_type} is no valid proposal: {self._masked(one_line(schema.first_error(plain)))}")
        return proposal

    async def close(self) -> str:
        """End the process and all that it started, within two seconds. What it printed (first MB of each stream); the values of `env` are masked."""
        if self._output is None:
            try:
                with suppress(EOFError, TimeoutError):  # else it is forced to end below
                    async with asyncio.timeout(END_SECONDS):
                        if self.alive:
                            await self._child.send(wire.encode(wire.End()))
                            await self._child.gone(END_SECONDS)
            finally:
                self._usable = False
                await self._child.stop()
                self._child.close()
                self._output = self._masked("".join(f"--- {name}\n{text}\n" for name, text in self._printed() if text))
        return self._output

    def _printed(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return ("stdout", self._child.stdout.text), ("stderr", self._child.stderr.text)

    async def _ask(self, message: wire.Message, kind: type[M], timeout: float) -> M:
        """Send a message and give the answer, which must be of that kind. Whatever leaves both halves out of step ends the process."""
        if not self.alive:
            raise AgentFault(f"{self._title}: its process has ended", hint="start it again")
        frame = wire.encode(message)
        try:
            async with asyncio.timeout(timeout):
                await self._child.send(frame)
                answer = await self._receive()
        except TimeoutError:
            raise await self._lost(f"no answer within {timeout:g} seconds") from None
        except EOFError:
            raise await self._crashed() from None
        except ValueError as error:
            raise await self._lost(f"it sent {error}") from error
        except BaseException:
            self._usable = False
            self._child.hit(signal.SIGKILL)
            raise
        match answer:
            case wire.Fault(whose="model"):
                raise HarnessFault(f"{self._title}: its model service failed: {self._masked(answer.message)}", whose="model")
            case wire.Fault():
                raise AgentFault(f"{self._title}: {self._masked(one_line(answer.message))}")
            case _ if isinstance(answer, kind):
                return answer
            case _:
                raise await self._lost(f"it answered {type(answer).__name__}, not {kind.__name__}")

    async def _receive(self) -> wire.Message:
        return wire.decode(await self._child.receive(wire.size(await self._child.receive(wire.HEADER))))

    async def _lost(self, what: str) -> AgentFault:
        """Kill it; the fault says why."""
        self._usable = False
        await self._child.stop()
        return AgentFault(f"{self._title}: {self._masked(one_line(what))}")

    async def _crashed(self) -> AgentFault:
        """It closed its pipe: the fault says how it ended, and its last word."""
        self._usable = False
        left = not await self._child.gone(END_SECONDS)
        code = await self._child.stop()
        self._child.stderr.drain()
        how = "it closed its pipe" if left or code is None else f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        last = self._child.stderr.last_line
        return AgentFault(f"{self._title}: {how}" + (f"; last line of its stderr: {self._masked(one_line(last))}" if last else ""))

    def _masked(self, text: str) -> str:
        """The text without the values that it was given in its environment: a model key does not belong into evidence."""
        for name, value in self._env.items():
            if len(value) >= SECRET_LENGTH:
                text = text.replace(value, f"[{name}]")
        return text


def advice(message: str, cell: Cell) -> str:
    """What to do about an adapter that cannot be made: in a sandbox it may only lack a file that it was not shown."""
    if cell.isolation == "sandbox" and any(word in message for word in ("ModuleNotFoundError", "FileNotFoundError", "PermissionError")):
        return "in the sandbox it sees installed packages alone: list what else it reads under `files` of the suite's agent"
    return "repair or remove the adapter"


def one_line(text: str) -> str:
    """A stranger's words, made harmless: one line, printable, 500 characters."""
    return "".join(c if c.isprintable() else " " for c in text)[:500]
