"""What an adapter must be in its real process: within the protocol, in time, without leftovers, without a hand on the control plane."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import DeskCertError, HarnessFault
from deskcert_core.proposal import ActionType
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.testing.adapter import looks
from deskcert_core.testing.expect import conforms, expect
from deskcert_core.testing.values import brief

__all__ = ["check_adapter_process", "check_model_fault"]

WATCHED = "deskcert_adapters.agents.watched:Watched"
INNER = "deskcert.kit.adapter"
REPORT = "deskcert-kit-report"
MARK = "DESKCERT_KIT"
TRIALS = 3
CUTS = 20
LEFT_SECONDS = 2.0


def check_adapter_process(
    adapter: Any, *, options: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None, told: Brief | None = None,
    sees: Sequence[Observation] | None = None, max_steps: int = 20, seconds: float = 30,
) -> None:
    """An adapter's class in its own process, three trials and one that is cancelled. It must be importable by its module's name.

    Each answer comes within `seconds` and keeps to the protocol; `env` is all that it needs of the environment; it imports `deskcert_core.api` alone of
    DeskCert, looks into no process of others, leaves no descriptor open from trial to trial, and no process when it ends.
    """
    conforms(adapter, "deskcert.adapters")
    _Kit(adapter, dict(options or {}), dict(env or {}), told or brief(), tuple(sees or looks()), max_steps, seconds).check()


def check_model_fault(
    adapter: Any, *, options: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None, told: Brief | None = None,
    sees: Sequence[Observation] | None = None, max_steps: int = 20, seconds: float = 60,
) -> None:
    """An adapter before a model service that is down (give it such a one by `options` or `env`): it raises ModelServiceError and nothing else."""
    conforms(adapter, "deskcert.adapters")
    asyncio.run(_Kit(adapter, dict(options or {}), dict(env or {}), told or brief(), tuple(sees or looks()), max_steps, seconds).check_fault())


@dataclass(frozen=True, slots=True)
class _Kit:
    adapter: Any
    options: dict[str, str]
    env: dict[str, str]
    told: Brief
    sees: tuple[Observation, ...]
    max_steps: int
    seconds: float

    def check(self) -> None:
        mark = secrets.token_hex(8)
        with _words():
            seen = asyncio.run(self._three(mark))
        _nothing_left(mark, "after its end")
        _check_seen(seen)
        with _words():
            asyncio.run(self._cancelled(mark))
        _nothing_left(mark, "after a trial was cancelled")

    async def _three(self, mark: str) -> dict[str, list[Any]]:
        """Three trials, and what was seen of the adapter meanwhile."""
        async with self._agent(mark) as agent:
            for _ in range(TRIALS):
                await self._trial(agent)
            await agent.begin(brief(task_id=REPORT))
            seen: dict[str, list[Any]] = json.loads((await agent.propose(self.sees[0], self.seconds)).answer or "{}")
            return seen

    async def _cancelled(self, mark: str) -> None:
        """A trial that DeskCert ends while the adapter works on its answer."""
        async with self._agent(mark) as agent:
            for _ in range(CUTS):  # an adapter can be so quick that its answer is there before it is cut off
                await agent.begin(replace(self.told, script=self.told.script if agent.wants_script else None))
                asking = asyncio.ensure_future(agent.propose(replace(self.sees[0], step=1), self.seconds))
                await asyncio.sleep(0)
                cut = asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
                if cut:
                    break

    async def check_fault(self) -> None:
        try:
            async with self._agent(secrets.token_hex(8)) as agent:
                await self._trial(agent)
        except HarnessFault as fault:
            expect(fault.whose == "model", f"a model service that is down is told as one: {fault}")
        except DeskCertError as error:
            raise AssertionError(f"an adapter whose model service is down raises ModelServiceError, else it is its own fault: {error}") from error
        else:
            raise AssertionError("an adapter whose model service is down raises ModelServiceError; this one went on proposing")

    @contextlib.asynccontextmanager
    async def _agent(self, mark: str) -> AsyncIterator[AgentProcess]:
        value = f"{self.adapter.__module__}:{self.adapter.__qualname__}"
        expect("<locals>" not in value, f"an adapter is found by the name of its module, which {value} is not")
        options, env = {**self.options, INNER: value}, {**self.env, MARK: mark}
        agent = await AgentProcess.start(self.adapter.__name__, WATCHED, options, env, self.seconds)
        try:
            yield agent
        finally:
            await agent.close()

    async def _trial(self, agent: AgentProcess) -> None:
        """The script goes only to an adapter that wants it, as in a run."""
        await agent.begin(replace(self.told, script=self.told.script if agent.wants_script else None))
        for number in range(1, self.max_steps + 1):
            look = replace(self.sees[min(number, len(self.sees)) - 1], step=number)
            if (await agent.propose(look, self.seconds)).action_type is ActionType.FINISH:
                break


@contextlib.contextmanager
def _words() -> Iterator[None]:
    """What broke, as the line for the adapter's author."""
    try:
        yield
    except DeskCertError as error:
        raise AssertionError(f"an adapter works in its own process: {error}") from error


def _check_seen(seen: Mapping[str, list[Any]]) -> None:
    reached, counts = seen["reached"], [len(links) for links in seen["descriptors"]]
    expect(not reached, f"an adapter keeps its hands off the control plane: it {'; it '.join(reached)}")
    grows = all(later > earlier for earlier, later in pairwise(counts))
    new = sorted(set(seen["descriptors"][-1]) - set(seen["descriptors"][0]))
    expect(not grows, f"an adapter leaves no descriptor open from trial to trial: there were {', '.join(map(str, counts))}, such as {', '.join(new)}")


def _nothing_left(mark: str, when: str) -> None:
    """No process of the adapter is left, whatever session or group it is in: all carry the mark in their environment."""
    until = time.monotonic() + LEFT_SECONDS
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    names = sorted(left.values())
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    expect(not names, f"an adapter leaves no process behind {when}: {', '.join(names)}")


def _marked(mark: str) -> dict[int, str]:
    """The living processes with the mark, and what each is called."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "comm").read_text().strip()
    return found
