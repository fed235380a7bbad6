"""The scripted agent, by itself and in its process."""

from __future__ import annotations

import asyncio

import pytest

from deskcert_adapters.agents.scripted import Scripted
from deskcert_core.agent import Brief, Dialog, Observation
from deskcert_core.proposal import ActionType, Proposal, Target
from deskcert_core.session.agent_process import AgentProcess

SCRIPT = (
    Proposal(action_type=ActionType.CLICK, target=Target(text="Confirm"), decision_summary="confirm"),
    Proposal(action_type=ActionType.HANDLE_DIALOG, accept=True, value="x"),
)
DIALOG = Dialog(kind="confirm", message="Sure?")


def brief(script: tuple[Proposal, ...] | None = SCRIPT) -> Brief:
    return Brief(task_id="invoice", goal="g", start_url="u", max_steps=9, script=script)


def look(step: int, dialog: Dialog | None = None) -> Observation:
    return Observation(step=step, url="u", title="", text="", dialog=dialog)


def test_it_replays_the_script_and_then_gives_up() -> None:
    agent = Scripted({})
    for _ in range(2):
        agent.start(brief())
        assert [agent.propose(look(n)) for n in (1, 2)] == list(SCRIPT)
        for step in (3, 4):
            last = agent.propose(look(step))
            assert (last.action_type, last.final_status, last.decision_summary, last.answer) == ("finish", "failure", "script ended", None)


def test_an_open_dialog_does_not_change_its_next_act() -> None:
    agent = Scripted({})
    agent.start(brief())
    assert agent.propose(look(1, DIALOG)) == SCRIPT[0]


def test_a_task_without_script_and_an_option_are_refused() -> None:
    with pytest.raises(ValueError, match="'invoice' has no script"):
        Scripted({}).start(brief(None))
    with pytest.raises(ValueError, match="no options, not speed"):
        Scripted({"speed": "2"})


def test_in_its_process_the_script_comes_back_whole() -> None:
    async def run() -> tuple[bool, list[Proposal], str]:
        agent = await AgentProcess.start("scripted", "deskcert_adapters.agents.scripted:Scripted", {}, {}, 30)
        try:
            await agent.begin(brief())
            return agent.wants_script, [await agent.propose(look(n), 30) for n in (1, 2)], await agent.close()
        finally:
            await agent.close()

    assert asyncio.run(run()) == (True, list(SCRIPT), "")
