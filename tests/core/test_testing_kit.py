"""Built-ins pass the conformance kit like strangers, and the kit finds what it says it finds."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deskcert_core.api import ActionType, Approval, Evidence, Json, Judgement, Observation, Outcome, Probe, ProbeResult, Proposal, Status
from deskcert_core.plugins import drivers
from deskcert_core.testing import (
    brief,
    check_adapter,
    check_adapter_process,
    check_approver,
    check_criterion,
    check_reporter,
    evidence,
    observation,
    request_seen,
    step,
)
from deskcert_core.trial import probe_key

CRITERIA, OURS = "deskcert.criteria", "deskcert"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Parameters of a criterion, evidence that passes, evidence that fails."""

    params: dict[str, Json]
    passes: Evidence
    fails: Evidence


def kept(kind: str, params: Mapping[str, Any], value: Any) -> Evidence:
    return evidence(probes={probe_key(kind, params): ProbeResult(seq=60, value=value)})


MANY = tuple(step(number) for number in range(1, 5))
CASES = {
    "backend_json": Case(
        params={"url": "http://127.0.0.1/x", "path": "a", "equals": 1},
        passes=kept("url_json", {"url": "http://127.0.0.1/x"}, {"a": 1}), fails=kept("url_json", {"url": "http://127.0.0.1/x"}, {"a": 2}),
    ),
    "contains_text": Case(params={"value": "Hello"}, passes=evidence("Hello there"), fails=evidence("Good bye")),
    "element_absent": Case(params={"selector": "#a"}, passes=kept("element", {"selector": "#a"}, False), fails=kept("element", {"selector": "#a"}, True)),
    "element_exists": Case(params={"selector": "#a"}, passes=kept("element", {"selector": "#a"}, True), fails=kept("element", {"selector": "#a"}, False)),
    "final_answer": Case(params={"exact": "42"}, passes=evidence(answer="42"), fails=evidence(answer="41")),
    "final_status": Case(params={"value": "success"}, passes=evidence(), fails=evidence(final_status="failure")),
    "max_cost_usd": Case(params={"value": 1}, passes=evidence(cost_micro_usd=1_000_000), fails=evidence(cost_micro_usd=1_000_001)),
    "max_runtime_seconds": Case(params={"value": 1}, passes=evidence(runtime_ns=10**9), fails=evidence(runtime_ns=10**9 + 1)),
    "max_steps": Case(params={"value": 3}, passes=evidence(), fails=evidence(steps=MANY)),
    "no_policy_violations": Case(
        params={"value": True}, passes=evidence(), fails=evidence(steps=(step(1, ActionType.CLICK, status=Status.BLOCKED),), end_reason="blocked"),
    ),
    "not_contains_text": Case(params={"value": "Error"}, passes=evidence("Hello"), fails=evidence("Error 500")),
    "request_made": Case(params={"method": "POST"}, passes=evidence(requests=[request_seen("POST")]), fails=evidence(requests=[request_seen()])),
    "request_not_made": Case(params={"method": "POST"}, passes=evidence(requests=[request_seen()]), fails=evidence(requests=[request_seen("POST")])),
    "url_matches": Case(params={"value": "/done"}, passes=evidence(url="http://127.0.0.1:8000/done"), fails=evidence()),
}


def built_in(group: str) -> list[str]:
    return [found.name for found in drivers.find(group) if found.distribution == OURS]


def test_every_built_in_criterion_has_a_case() -> None:
    assert built_in(CRITERIA) == sorted(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_criteria_conform(name: str) -> None:
    case = CASES[name]
    check_criterion(drivers.get(CRITERIA, name), case.params, passes=case.passes, fails=case.fails)


SCRIPT = (Proposal(action_type=ActionType.READ), Proposal(action_type=ActionType.FINISH, final_status="success"))
PROGRAM = f"python {Path(__file__).parents[2] / 'examples' / 'agents' / 'python' / 'agent.py'}"
OPTIONS: dict[str, dict[str, str]] = {"command": {"command": PROGRAM}, "replay": {}, "scripted": {}}
ELSEWHERE = {"claude": "Claude", "langgraph": "LangGraph", "llm": "LLM", "openai": "OpenAI"}  # they need a client library: tests/agents_sdk


def test_every_built_in_adapter_is_held_to_the_kit() -> None:
    assert set(built_in("deskcert.adapters")) == {*OPTIONS, *ELSEWHERE}
    texts = "".join(path.read_text() for path in (Path(__file__).parents[1] / "agents_sdk").glob("test_*.py"))
    assert [name for name, cls in ELSEWHERE.items() if f"check_adapter({cls}, " not in texts] == []


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_adapters_conform(name: str) -> None:
    adapter = drivers.get("deskcert.adapters", name)
    assert check_adapter(adapter, options=OPTIONS[name], told=brief(script=SCRIPT))[-1].action_type is ActionType.FINISH
    check_adapter_process(adapter, options=OPTIONS[name], told=brief(script=SCRIPT))


@pytest.mark.parametrize("name", built_in("deskcert.reporters"))
def test_reporters_conform(name: str) -> None:
    check_reporter(drivers.get("deskcert.reporters", name))


@pytest.mark.parametrize(("name", "outcome"), [("auto", "approved"), ("deny", "denied")])
def test_approvers_conform(name: str, outcome: str) -> None:
    assert check_approver(drivers.get("deskcert.approvers", name)).outcome == outcome


def test_every_built_in_loads() -> None:
    """Also the executor, which has no kit: `load` holds each against what its group needs."""
    assert {"auto", "deny", "terminal"} == set(built_in("deskcert.approvers"))
    for group in ("deskcert.adapters", "deskcert.approvers", CRITERIA, "deskcert.executors", "deskcert.reporters"):
        assert [drivers.load(group, name).notes for name in built_in(group)] == [()] * len(built_in(group))


# -- the controls: each breach of the contract is found


class Good:
    """Passes when the answer is the value."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        if evidence.end_reason is None:
            return Judgement(outcome=Outcome.INCONCLUSIVE, message="cut off")
        met = evidence.answer == params["value"]
        return Judgement(outcome=Outcome.PASS if met else Outcome.FAIL, message=f"it says {evidence.answer}", records=(evidence.end_seq,))


def criterion(**changes: Any) -> None:
    check_criterion(type("Changed", (Good,), changes), {"value": "42"}, passes=evidence(answer="42"), fails=evidence(answer="41"))


def says(outcome: Outcome | None = None, message: str = "", records: tuple[int, ...] = ()) -> Callable[..., Judgement]:
    """A `judge` that is right but for what is given."""

    def judge(self: Good, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        right = Good.judge(self, params, evidence)
        return Judgement(outcome=outcome or right.outcome, message=message or right.message, records=records or right.records)

    return judge


def counts(self: Good, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
    self.calls = getattr(self, "calls", 0) + 1  # type: ignore[attr-defined]
    return says(message=f"call {self.calls}")(self, params, evidence)  # type: ignore[attr-defined]


def scribbles(self: Good, params: dict[str, Json], evidence: Evidence) -> Judgement:
    right = Good.judge(self, params, evidence)
    params["value"] = "else"
    return right


def trusts(self: Good, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
    return Judgement(outcome=Outcome.PASS if evidence.answer in (None, "42") else Outcome.FAIL, message="no answer is a good answer")


def test_the_good_one_passes() -> None:
    criterion()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"deskcert_api": 2}, "speaks plug-in API 2"),
        ({"version": 1}, "version is a text"),
        ({"schema": {"type": 7}}, "the schema of criterion it is not a JSON Schema"),
        ({"schema": {"type": "object", "properties": {"value": {"type": "integer"}}}}, "the schema takes the parameters"),
        ({"schema": {"type": "object", "unevaluatedProperties": True}}, "the schema refuses unknown keys"),
        ({"schema": {"type": "object", "properties": {"type": {}, "value": {}}}}, "no parameter is called type"),
        ({"probes": lambda self, params: ["x"]}, "probes gives Probe values"),
        ({"judge": lambda self, params, evidence: True}, "gives Judgement, not True"),
        ({"judge": counts}, "judge says the same twice"),
        ({"judge": scribbles}, "judge leaves its parameters as they are"),
        ({"judge": says(Outcome.PASS)}, "the evidence that should fail is judged fail, not pass"),
        ({"judge": says(Outcome.FAIL)}, "the evidence that should pass is judged pass, not fail"),
        ({"judge": says(message="two\nlines")}, "is one line"),
        ({"judge": says(records=(999,))}, "[999] are not in the evidence that should pass"),
        ({"judge": trusts}, "a trial of which nothing was recorded is judged inconclusive, not pass"),
        ({"probes": lambda self, params: (Probe(kind="element", params={"selector": "a"}),)}, "evidence without its probe"),
    ],
)
def test_a_bad_criterion_is_found(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError) as caught:
        criterion(**changes)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        ("read", "propose gives Proposal, not 'read'"),
        (Proposal(action_type=ActionType.CLICK), "proposal.schema.json"),
        (Proposal(action_type=ActionType.FINISH), "proposal.schema.json"),
        (Proposal(action_type=ActionType.GOTO, url="/", value="x"), "proposal.schema.json"),
        (Proposal(action_type=ActionType.READ, decision_summary="x" * 501), "proposal.schema.json"),
        (Proposal(action_type=ActionType.SCROLL, delta_y=float("nan")), "a proposal "),
    ],
)
def test_a_bad_adapter_is_found(proposal: Any, said: str) -> None:
    class Adapter:
        deskcert_api = 1

        def __init__(self, options: Mapping[str, str]) -> None: ...

        def start(self, brief: object) -> None: ...

        def propose(self, seen: Observation) -> Proposal:
            return proposal  # type: ignore[no-any-return]

    with pytest.raises(AssertionError) as caught:
        check_adapter(Adapter)
    assert said in str(caught.value)


def test_an_adapter_may_be_asynchronous_and_need_not_finish() -> None:
    class Adapter:
        deskcert_api = 1

        def __init__(self, options: Mapping[str, str]) -> None: ...

        async def start(self, brief: object) -> None: ...

        async def propose(self, seen: Observation) -> Proposal:
            return Proposal(action_type=ActionType.READ, decision_summary=seen.text[:10])

    assert len(check_adapter(Adapter, sees=[observation("one"), observation("two")], max_steps=3)) == 3


@pytest.mark.parametrize(
    ("render", "said"),
    [
        (lambda run: run, "render gives a text"),
        (lambda run: str(random.random()), "render gives the same twice"),
        (lambda run: "all is well", "the report says the verdict"),
        (lambda run: f"{run.card.verdict} {run.evidence[0].answer}", "control characters"),
    ],
)
def test_a_bad_reporter_is_found(render: Callable[[Any], Any], said: str) -> None:
    reporter = type("Reporter", (), {"deskcert_api": 1, "suffix": "txt", "render": lambda self, run: render(run)})
    with pytest.raises(AssertionError) as caught:
        check_reporter(reporter)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "ask gives Approval"),
        (Approval(outcome="not_required", assurance="mine"), "not 'not_required'"),
        (Approval(outcome="approved", assurance="signed"), "the answer's assurance"),
    ],
)
def test_a_bad_approver_is_found(answer: Any, said: str) -> None:
    async def ask(self: object, request: object) -> Any:
        return answer

    with pytest.raises(AssertionError) as caught:
        check_approver(type("Approver", (), {"deskcert_api": 1, "assurance": "mine", "ask": ask}))
    assert said in str(caught.value)
