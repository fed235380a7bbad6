"""docs/agents.md is true: its adapter runs, and its conversation holds to the protocol."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from deskcert_core import wire
from deskcert_core.agent import Brief, Observation
from deskcert_core.proposal import ActionType
from deskcert_core.session.agent_process import AgentProcess

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()


def test_the_pages_adapter_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = re.findall(r"```python\n(# my-agent/my_agent.py\n.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my_agent.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))

    async def run() -> list[ActionType]:
        agent = await AgentProcess.start("mine", "my_agent:MyAgent", {}, {}, 30)
        try:
            await agent.begin(Brief(task_id="t", goal="g", start_url="u", max_steps=2))
            looks = [Observation(step=n, url="u", title="", text=text) for n, text in enumerate(("Confirm the total", "Thanks"))]
            return [(await agent.propose(look, 30)).action_type for look in looks]
        finally:
            await agent.close()

    assert asyncio.run(run()) == [ActionType.CLICK, ActionType.FINISH]


def test_the_pages_conversation_is_the_protocol() -> None:
    lines = re.findall(r"^([<>]) (\{.*\})$", PAGE, re.MULTILINE)
    to_agent = (wire.Hello, wire.Start, wire.Observe, wire.End)
    said = [(side, wire.decode(raw.encode())) for side, raw in lines]
    assert {type(message) for _, message in said} == set(wire.KINDS.values())
    assert all((side == ">") is isinstance(message, to_agent) for side, message in said)
