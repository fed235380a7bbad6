"""Graphs as users write them, imported by the agent under test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

USED = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, "input_token_details": {"cache_read": 30, "cache_creation": 5}, "output_token_details": {"reasoning": 4}}
NAMED = {"model_name": "model-x"}
ACTS = [{"action_type": "read"}, {"action_type": "click", "target": {"text": "Confirm"}}]


class Fake(GenericFakeChatModel):
    """A model that takes tools and says what it is told to."""

    def bind_tools(self, tools: Any, **_: Any) -> Fake:
        return self


def fake(*messages: AIMessage | Exception) -> Fake:
    def answers() -> Iterator[AIMessage]:
        for message in messages:
            if isinstance(message, Exception):
                raise message
            yield message

    return Fake(messages=answers())


def says(text: str = "", *calls: tuple[str, dict], usage: dict | None = USED) -> AIMessage:
    tools = [{"name": name, "args": args, "id": f"{number}"} for number, (name, args) in enumerate(calls)]
    return AIMessage(text, tool_calls=tools, usage_metadata=usage, response_metadata=NAMED)


class State(TypedDict, total=False):
    goal: str
    messages: Annotated[list, add_messages]
    left: list[dict]
    seen: list[dict]
    final_status: str
    answer: str


def builder(model: Any, acts: list = ACTS, end: dict | None = None) -> StateGraph:
    """A model call and an interrupt in turn, then an end."""

    def plan(state: State) -> State:
        model.invoke(state["goal"])
        return {}

    def act(state: State) -> State:
        left = state.get("left", acts)
        outcome = interrupt({"kind": "ui_action", "action": left[0]})
        return {"left": left[1:], "seen": [*state.get("seen", []), outcome]}

    graph = StateGraph(State)
    graph.add_node("plan", plan)
    graph.add_node("act", act)
    graph.add_node("end", lambda _: {"final_status": "success", "answer": "$1"} if end is None else end)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "act")
    graph.add_conditional_edges("act", lambda state: "plan" if state["left"] else "end")
    graph.add_edge("end", END)
    return graph


def endless() -> Fake:
    return fake(*(says("go on") for _ in range(50)))


a_builder = builder(endless())
compiled = builder(endless()).compile()
a_number = 7


def factory():
    return builder(endless()).compile()


def factory_of_one(config: dict):
    return builder(endless())


class Unavailable(Exception):
    status_code = 503


def out_of_service():
    return builder(fake(Unavailable("down")))
