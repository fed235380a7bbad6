"""Chat models as a user's import path names them: one that only writes text, and one with structured output, by tool calls, as most have it."""

from __future__ import annotations

import json
from typing import Any

from graphs_under_test import NAMED, USED, Fake
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage

ASKED: list[list[BaseMessage]] = []
FORCED: list[Any] = []
answers: list[Any] = []


def taken(asked: list[BaseMessage]) -> Any:
    ASKED.append(asked)
    answer = answers.pop(0)
    if isinstance(answer, Exception):
        raise answer
    return answer


class Text(GenericFakeChatModel):
    """It cannot call tools."""

    messages: Any = ()

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        answer = taken(messages)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.messages = iter([AIMessage(text, usage_metadata=USED, response_metadata=NAMED)])
        return super()._generate(messages, stop, run_manager, **kwargs)


class Structured(Fake):
    """It answers by a call of the tool that its schema was made into."""

    messages: Any = ()

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        FORCED.append((tools, kwargs))
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        answer = taken(messages)
        calls = [{"name": "proposal", "args": answer, "id": "1"}] if isinstance(answer, dict) else []
        self.messages = iter([AIMessage("" if calls else str(answer), tool_calls=calls, usage_metadata=USED, response_metadata=NAMED)])
        return super()._generate(messages, stop, run_manager, **kwargs)


def text() -> Text:
    return Text()


def structured(speed: int = 1) -> Structured:
    return Structured(metadata={"speed": speed})


ready = Structured()
not_a_model = dict


def finishing() -> Structured:
    answers[:] = [{"action_type": "finish", "final_status": "success"}] * 9
    return Structured()


class Unavailable(Exception):
    status_code = 503


def out_of_service() -> Structured:
    answers[:] = [Unavailable("down")]
    return Structured()
