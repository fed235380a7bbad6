"""The langgraph agent with the real LangGraph: a graph's interrupts as proposals, outcomes as resumes, its end, its model's usage and faults."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("langchain")
pytestmark = pytest.mark.sdk

import graphs_under_test as graphs  # noqa: E402
from graphs_under_test import builder, endless, fake, says  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import END, START, StateGraph  # noqa: E402
from langgraph.types import interrupt  # noqa: E402

from deskcert_adapters.agents.langgraph import TOOLS, LangGraph, deskcert_tools  # noqa: E402
from deskcert_core.api import Dialog, LastResult, ModelServiceError, Observation, Proposal, Target, Usage  # noqa: E402
from deskcert_core.testing import brief, check_adapter, check_adapter_process, check_model_fault, observation  # noqa: E402

BILLED = Usage(model="model-x", input_tokens=65, output_tokens=10, cache_read_tokens=30, cache_write_tokens=5, reasoning_tokens=4)
FREE = Usage(model="model-x")


def agent(monkeypatch: pytest.MonkeyPatch, graph: Any, **options: str) -> LangGraph:
    monkeypatch.setattr(graphs, "under_test", graph, raising=False)
    made = LangGraph({"graph": "graphs_under_test:under_test", **options})
    made.start(brief())
    return made


def run(made: LangGraph, *seen: Observation) -> list[Proposal]:
    async def steps() -> list[Proposal]:
        return [await made.propose(each) for each in seen]

    return asyncio.run(steps())


def after(status: str = "success", decision: str = "allowed", approval: str = "not_required", message: str = "", **changes: Any) -> Observation:
    return observation(last_result=LastResult(status=status, decision=decision, approval=approval, message=message), **changes)


def fields(proposal: Proposal) -> dict[str, Any]:
    return {name: value for name in Proposal.__slots__ if (value := getattr(proposal, name)) not in (None, (), 0, "")}


@pytest.mark.parametrize("name", ["a_builder", "compiled", "factory", "factory_of_one"])
def test_a_graph_a_builder_and_factories_give_the_same_acts(name: str) -> None:
    made = LangGraph({"graph": f"graphs_under_test:{name}"})
    for _ in range(2):  # one agent serves many trials
        made.start(brief())
        assert [fields(each) for each in run(made, observation(), after(), after())] == [
            {"action_type": "read", "usage": BILLED}, {"action_type": "click", "target": Target(text="Confirm"), "usage": BILLED},
            {"action_type": "finish", "final_status": "success", "answer": "$1", "decision_summary": "the graph ended with success", "usage": FREE},
        ]
    assert graphs.compiled.checkpointer is None  # a copy got it


def test_the_users_own_checkpointer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    saver = InMemorySaver()
    made = agent(monkeypatch, builder(endless()).compile(checkpointer=saver))
    run(made, observation())
    assert len(list(saver.list(None))) > 0


def test_an_interrupt_is_resumed_with_the_page_and_the_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[dict] = []

    def act(state: graphs.State) -> graphs.State:
        outcomes.append(interrupt({"kind": "ui_action", "action": {"action_type": "read"}}))
        return {"final_status": "failure"}

    graph = StateGraph(graphs.State)
    graph.add_node("act", act)
    graph.add_edge(START, "act")
    graph.add_edge("act", END)
    seen = after("not_executed", "approval_required", "denied", "no", text="Page text", screenshot=b"jpeg", dialog=Dialog(kind="alert", message="Hi"))
    expected = {
        "url": "http://127.0.0.1:8000/", "title": "Page", "text": "Page text", "dialog": {"kind": "alert", "message": "Hi", "default_value": ""},
        "last_result": {"status": "not_executed", "decision": "approval_required", "approval": "denied", "message": "no"},
    }
    run(agent(monkeypatch, graph, calls_model="false"), observation(), seen)
    run(agent(monkeypatch, graph, calls_model="false", screenshots="true"), observation(), seen)
    assert outcomes == [expected, {**expected, "screenshot": "anBlZw=="}]


def parallel(model: Any, *action_types: str) -> Any:
    from langchain.agents import create_agent

    return create_agent(model, deskcert_tools(*action_types))


def test_create_agent_with_our_tools_proposes_each_call_and_reads_each_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ("click", {"target": {"role": "button", "name": "Save"}, "decision_summary": "save it"}), ("fill", {"target": {"label": "Total"}, "value": "1"})
    graph = parallel(fake(says("", *calls), says("All done.\nSTATUS: success")))
    made = agent(monkeypatch, graph)
    given = run(made, observation("Hello"), after(text="Saved"), after(text="Filled"))
    assert [fields(each) for each in given] == [
        {"action_type": "click", "target": Target(role="button", name="Save"), "decision_summary": "save it", "usage": BILLED},
        {"action_type": "fill", "target": Target(label="Total"), "value": "1", "usage": FREE},
        {"action_type": "finish", "final_status": "success", "answer": "All done.", "decision_summary": "ended with success", "usage": BILLED},
    ]
    told = [message.text for message in made._graph.get_state(made._config).values["messages"]]
    assert told[0].startswith("Read the page.")
    assert told[0].endswith("Hello")
    assert told[2].endswith("Saved")
    assert told[3].endswith("Filled")


def test_after_a_refusal_the_other_calls_of_the_turn_are_not_proposed_but_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ("click", {"target": {"text": "Pay"}}), ("click", {"target": {"text": "Save"}})
    made = agent(monkeypatch, parallel(fake(says("", *calls), says("Stopped.\nSTATUS: failure"))))
    given = run(made, observation(), after("not_executed", "blocked", message="no payments"))
    assert [each.action_type for each in given] == ["click", "finish"]
    assert given[0].target == Target(text="Pay")
    told = [message.text for message in made._graph.get_state(made._config).values["messages"]]
    assert told[2].startswith("Outcome: not_executed (no payments)")
    assert told[3].startswith("Outcome: not_executed (Not executed: an earlier action in this turn failed.)")


def test_our_finish_tool_ends_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    made = agent(monkeypatch, parallel(fake(says("", ("finish", {"final_status": "needs_help", "answer": "Which one?"})))))
    assert fields(run(made, observation())[0]) == {"action_type": "finish", "final_status": "needs_help", "answer": "Which one?", "usage": BILLED}


def test_pictures_go_to_the_model_where_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = agent(monkeypatch, parallel(fake(says("", ("read", {})), says("STATUS: success"))), screenshots="true")
    run(made, observation(screenshot=b"a"), after(screenshot=b"jpeg"))
    content = made._graph.get_state(made._config).values["messages"][2].content
    assert content[1] == {"type": "image", "base64": "anBlZw==", "mime_type": "image/jpeg"}


def test_an_invalid_proposal_is_told_to_the_graph_and_then_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, right = ("click", {"selector": "#pay"}), ("click", {"target": {"text": "Save"}})
    made = agent(monkeypatch, parallel(fake(says("", wrong, right), says("", right), says("STATUS: success"))))
    given = run(made, observation(), after())
    assert [each.action_type for each in given] == ["click", "finish"]  # `right` of the first turn stood after the wrong one
    assert given[0].usage == Usage(model="model-x", input_tokens=130, output_tokens=20, cache_read_tokens=60, cache_write_tokens=10, reasoning_tokens=8)
    told = [message.text for message in made._graph.get_state(made._config).values["messages"]]
    assert "no valid proposal" in told[2]
    stubborn = agent(monkeypatch, parallel(fake(*(says("", wrong) for _ in range(9)))))
    with pytest.raises(ValueError, match=r"3 times in a row.*no key 'selector'"):
        run(stubborn, observation())


# -- ends


@pytest.mark.parametrize(("end", "status", "answer"), [
    ({"final_status": "success", "answer": "$1"}, "success", "$1"), ({"final_status": "needs_help"}, "needs_help", None),
    ({"final_status": "splendid", "answer": "$1"}, "failure", "$1"), ({"answer": "$1"}, "failure", "$1"), ({"final_status": "success", "answer": 7}, "success", None),
    ({"messages": [AIMessage("Done.\nSTATUS: success")]}, "success", "Done."), ({"messages": [AIMessage("Done.")]}, "failure", "Done."),
    ({"messages": [AIMessage("STATUS: success")], "final_status": "wrong"}, "failure", None),
])
def test_the_end_is_what_the_state_says_and_otherwise_a_failure(monkeypatch, end: dict, status: str, answer: str | None) -> None:
    given = run(agent(monkeypatch, builder(endless(), [{"action_type": "read"}], end)), observation(), after())[-1]
    assert (given.action_type, given.final_status) == ("finish", status)
    assert given.answer == answer


# -- usage


def test_usage_without_numbers_is_said_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = agent(monkeypatch, builder(fake(says("a", usage=None), says("b"))))
    assert [each.usage for each in run(made, observation(), after())] == [None, BILLED]


def test_price_as_names_the_model_from_the_first_act(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = AIMessage("x", usage_metadata=graphs.USED)  # a service that does not say its name
    assert run(agent(monkeypatch, builder(fake(quiet)), price_as="mine"), observation())[0].usage.model == "mine"
    assert run(agent(monkeypatch, builder(fake(quiet))), observation())[0].usage is None


def test_a_graph_without_a_model_has_no_usage_and_may_say_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = builder(endless(), [{"action_type": "read"}])
    silent.nodes["plan"] = StateGraph(graphs.State).add_node("plan", lambda _: {}).nodes["plan"]
    made = agent(monkeypatch, silent)
    assert made.calls_model is True
    assert run(made, observation())[0].usage is None  # under a cost limit this stops the trial
    assert agent(monkeypatch, silent, calls_model="false").calls_model is False
    own = {"action_type": "read", "usage": {"model": "raw", "input_tokens": 9}}
    silent = builder(endless(), [own])
    silent.nodes["plan"] = StateGraph(graphs.State).add_node("plan", lambda _: {}).nodes["plan"]
    assert run(agent(monkeypatch, silent), observation())[0].usage == Usage(model="raw", input_tokens=9)


# -- faults


class Answered(Exception):
    def __init__(self, code: int) -> None:
        super().__init__("the service says no")
        self.status_code = code


class APITimeoutError(Exception):
    pass


@pytest.mark.parametrize("error", [Answered(429), Answered(500), Answered(529), Answered(401), APITimeoutError("too late")])
def test_a_failed_model_service_is_the_models_fault(monkeypatch, error: Exception) -> None:
    with pytest.raises(ModelServiceError):
        run(agent(monkeypatch, builder(fake(error))), observation())


@pytest.mark.parametrize("error", [Answered(400), ValueError("mine"), TimeoutError("a tool's")])
def test_what_else_a_graph_raises_is_its_own_fault(monkeypatch, error: Exception) -> None:
    with pytest.raises(type(error)):
        run(agent(monkeypatch, builder(fake(error))), observation())


def test_an_interrupt_of_another_kind_is_the_graphs_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = StateGraph(graphs.State)
    graph.add_node("ask", lambda _: {"answer": interrupt("approve?")})
    graph.add_edge(START, "ask")
    with pytest.raises(ValueError, match=r"interrupted with 'approve\?'"):
        run(agent(monkeypatch, graph), observation())


# -- options, tools, conformance


@pytest.mark.parametrize(("options", "why"), [
    ({}, "needs the option graph"), ({"graph": "graphs_under_test"}, "module:attribute"), ({"graph": "graphs_under_test:a_number"}, "no LangGraph graph"),
    ({"graph": "x:y", "path": "relative"}, "full path"), ({"graph": "x:y", "screenshots": "yes"}, "true or false"), ({"graph": "x:y", "speed": "9"}, "no option speed"),
])
def test_wrong_options_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LangGraph(options)


def test_path_adds_a_folder(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_users_graph.py").write_text("from graphs_under_test import factory as graph\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(ModuleNotFoundError):
        LangGraph({"graph": "a_users_graph:graph"})
    LangGraph({"graph": "a_users_graph:graph", "path": str(tmp_path)})


def test_the_tools_take_what_the_proposal_schema_takes() -> None:
    tools = {tool.name: tool.args_schema for tool in deskcert_tools()}
    assert list(tools) == list(TOOLS)
    assert tools["fill"]["required"] == ["target", "value"]
    assert set(tools["finish"]["properties"]) == {"final_status", "answer", "decision_summary"}
    assert "selector" in tools["click"]["properties"]["target"]["properties"]
    assert [tool.name for tool in deskcert_tools("hover")] == ["hover"]
    with pytest.raises(ValueError, match="teleport"):
        deskcert_tools("teleport")


def test_it_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    given = check_adapter(LangGraph, options={"graph": "graphs_under_test:factory"}, sees=[after()])
    assert [each.action_type for each in given] == ["read", "click", "finish"]


def test_it_conforms_in_its_own_process() -> None:
    check_adapter_process(LangGraph, options={"graph": "graphs_under_test:factory", "path": str(Path(__file__).parent)}, sees=[after()])
    check_model_fault(LangGraph, options={"graph": "graphs_under_test:out_of_service", "path": str(Path(__file__).parent)}, sees=[after()])
