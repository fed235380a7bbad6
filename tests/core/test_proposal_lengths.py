"""An act that is too long is the agent's fault, said in one line that names the field and the limit. What is just short enough goes through."""

from __future__ import annotations

import asyncio

import pytest
from long_agent import ACTS

from deskcert_core import wire
from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import AgentFault
from deskcert_core.proposal import Proposal
from deskcert_core.session.agent_process import AgentProcess

LIMITS = dict.fromkeys(ACTS, 2_000) | {"value": 100_000, "answer": 100_000, "url": 10_000}


async def proposed(process: AgentProcess, field: str, length: int) -> Proposal:
    return await process.propose(Observation(step=1, url="", title="", text=f"{field} {length}"), 60.0)


def test_every_field_has_its_limit() -> None:
    async def run() -> None:
        process = await AgentProcess.start("long", "long_agent:Long", {}, {}, 60.0)
        try:
            await process.begin(Brief(task_id="t", goal="", start_url="", max_steps=1))
            for field, limit in LIMITS.items():
                assert await proposed(process, field, limit) == ACTS[field]("x" * limit)
                with pytest.raises(AgentFault) as caught:
                    await proposed(process, field, limit + 1)
                assert str(caught.value).endswith(f"is no valid proposal: {field} is longer than {limit} characters")
                assert "xx" not in str(caught.value)
                assert process.alive
            with pytest.raises(AgentFault, match=f"value is longer than {LIMITS['value']} characters"):
                await proposed(process, "value", 60 * 1024 * 1024)
        finally:
            await process.close()

    asyncio.run(run())


def test_a_frame_may_still_be_larger_than_any_act() -> None:
    """A look with its picture goes the same way; an act of 60 MB is read, and refused for its field."""
    assert wire.MAX_FRAME == 64 * 1024 * 1024
