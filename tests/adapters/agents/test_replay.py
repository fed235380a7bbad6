"""The agent of a replay, by itself: what it is given it proposes, and it knows no run."""

from __future__ import annotations

import pytest

from deskcert_adapters.agents.replay import Replay
from deskcert_core.agent import Brief, Observation
from deskcert_core.proposal import ActionType, Proposal, Target
from deskcert_core.testing import check_adapter, check_adapter_process

SCRIPT = (Proposal(action_type=ActionType.CLICK, target=Target(text="Confirm")), Proposal(action_type=ActionType.READ))


def brief(script: tuple[Proposal, ...] | None) -> Brief:
    return Brief(task_id="invoice", goal="g", start_url="u", max_steps=9, script=script)


def test_it_proposes_what_was_recorded_and_then_gives_up() -> None:
    agent = Replay({"run": "runs/1"})
    for _ in range(2):
        agent.start(brief(SCRIPT))
        given = [agent.propose(Observation(step=n, url="u", title="", text="")) for n in (1, 2, 3)]
        assert given[:2] == list(SCRIPT)
        assert (given[2].action_type, given[2].final_status, given[2].decision_summary) == ("finish", "failure", "the recording has ended")


def test_without_a_recording_and_with_an_unknown_option_it_refuses() -> None:
    with pytest.raises(ValueError, match="nothing is recorded for task 'invoice'"):
        Replay({}).start(brief(None))
    with pytest.raises(ValueError, match="no option speed"):
        Replay({"run": "r", "speed": "2"})


def test_it_conforms() -> None:
    script = (*SCRIPT, Proposal(action_type=ActionType.FINISH, final_status="success"))
    assert check_adapter(Replay, options={"run": "r"}, told=brief(script))[-1].final_status == "success"
    check_adapter_process(Replay, options={"run": "r"}, told=brief(script))
