"""A graph that interrupts for given acts, for the `langgraph` agent."""

from typing import TypedDict

from acts import for_goal, plans, proposal
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    goal: str
    left: list
    final_status: str
    answer: str


def act(state: State) -> State:
    left = state["left"] if "left" in state else for_goal(state["goal"], plans())
    if left[0]["action_type"] == "finish":
        return {"left": [], "final_status": left[0]["final_status"], "answer": left[0]["answer"]}
    interrupt({"kind": "ui_action", "action": proposal(left[0])})
    return {"left": left[1:]}


graph = StateGraph(State)
graph.add_node("act", act)
graph.add_edge(START, "act")
graph.add_conditional_edges("act", lambda state: "act" if state["left"] else END)
