"""P9: one hop to the agent's process and back: an observation with a picture out, a proposal in, both held to their schemas; beside it without picture."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from measure import Cost, Figure, Mode, Result, absolute, measured

from deskcert_core.agent import Brief, Observation
from deskcert_core.session.agent_process import AgentProcess

BATCH = 40
PICTURE = 74_000  # bytes: a JPEG of a page of text, as the executor takes it
TEXT = "Invoice #1048\tNorthwind Traders\t$1,248.92\n" * 120
BARE = Observation(step=1, url="http://127.0.0.1/", title="Invoices", text=TEXT)
SEEN = replace(BARE, screenshot=random.Random(0).randbytes(PICTURE))
ECHO = '''
from deskcert_core.api import ActionType, Proposal, Target


class Echo:
    deskcert_api = 1

    def __init__(self, options):
        pass

    def start(self, brief):
        pass

    def propose(self, observation):
        size = str(len(observation.screenshot or b""))
        return Proposal(action_type=ActionType.CLICK, target=Target(role="button", name="Confirm"), decision_summary=size)
'''


async def run(rounds: int, batch: int | None = None) -> Result:
    batch = batch or BATCH
    async with echo() as agent:
        costs = await measured({"with picture": hop(agent, SEEN), "without": hop(agent, BARE)}, rounds=rounds, batch=batch)
    return Result(figures=(limited(costs["with picture"]), *absolute(costs)), notes=(
        f"a round is {batch} hops of each; the picture is {PICTURE} bytes that no compression helps, the text {len(TEXT)} characters",
        "the agent's process is the product's own, without a sandbox around it; the adapter answers at once",
    ))


def limited(costs: list[Cost]) -> Figure:
    return Figure(name="hop with picture, wall", unit="ms", values=tuple(one.wall for one in costs), limit=5.0)


@asynccontextmanager
async def echo() -> AsyncIterator[AgentProcess]:
    """The adapter of ECHO in a process of its own, its trial begun."""
    with tempfile.TemporaryDirectory(prefix="deskcert-bench-") as folder:
        (Path(folder) / "deskcert_echo.py").write_text(ECHO)
        sys.path.insert(0, folder)
        try:
            agent = await AgentProcess.start("echo", "deskcert_echo:Echo", {}, {}, 30)
        finally:
            sys.path.remove(folder)
        try:
            await agent.begin(Brief(task_id="t", goal="g", start_url="u", max_steps=10**6))
            yield agent
        finally:
            await agent.close()


def hop(agent: AgentProcess, observation: Observation) -> Mode:
    async def once() -> None:
        proposal = await agent.propose(observation, 30)
        if proposal.decision_summary != str(len(observation.screenshot or b"")):
            raise RuntimeError("the picture did not arrive whole: the figures would mean nothing")

    return once
