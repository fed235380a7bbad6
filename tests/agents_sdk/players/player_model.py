"""A chat model that answers with given acts as JSON, for the `llm` agent."""

import json
from typing import Any

from acts import for_goal, plans, proposal
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage

LEFT: dict[str, list] = {}
USED = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}


class Player(GenericFakeChatModel):
    messages: Any = ()

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        text = "\n".join(str(message.content) for message in messages)
        acts = for_goal(text, plans())
        left = LEFT.setdefault(json.dumps(acts), list(acts))
        answer = AIMessage(json.dumps(proposal(left.pop(0))), usage_metadata=USED, response_metadata={"model_name": "model-x"})
        self.messages = iter([answer])
        return super()._generate(messages, stop, run_manager, **kwargs)


def model() -> Player:
    return Player()
