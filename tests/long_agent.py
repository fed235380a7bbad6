"""An adapter whose acts are as long as the page's text says: a field and a length. It runs in the agent process of the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal, Target, Usage

ACTS: dict[str, Callable[[str], Proposal]] = {
    "value": lambda long: Proposal(action_type=ActionType.FILL, target=Target(selector="#q"), value=long),
    "url": lambda long: Proposal(action_type=ActionType.GOTO, url=long),
    "answer": lambda long: Proposal(action_type=ActionType.FINISH, final_status="success", answer=long),
    "target.selector": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(selector=long)),
    "target.text": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(text=long)),
    "target.label": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(label=long)),
    "target.name": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(role="button", name=long)),
    "target.role": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(role=long)),
    "target.test_id": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(test_id=long)),
    "target.ref": lambda long: Proposal(action_type=ActionType.CLICK, target=Target(ref=long)),
    "safety_checks[0]": lambda long: Proposal(action_type=ActionType.READ, safety_checks=(long,)),
    "files[0]": lambda long: Proposal(action_type=ActionType.SET_INPUT_FILES, target=Target(selector="#q"), files=(long,)),
    "usage.model": lambda long: Proposal(action_type=ActionType.READ, usage=Usage(model=long)),
}


class Long:
    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        pass

    def start(self, brief: Brief) -> None:
        pass

    def propose(self, observation: Observation) -> Proposal:
        field, length = observation.text.split()
        return ACTS[field]("x" * int(length))
