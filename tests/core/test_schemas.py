"""Documents against schemas: every fault in words, at its place; criteria's parameters composed in; schema and code name the same things."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from deskcert_core import schemas
from deskcert_core.document import parse
from deskcert_core.loading.tightening import ASSURANCE
from deskcert_core.proposal import ActionType, FinalStatus, Proposal
from deskcert_core.session.desk import ASSURANCE as DESK_ASSURANCE

WITH_REF: dict[str, Any] = {
    "type": "object", "properties": {"value": {"$ref": "#/$defs/text"}, "new": {"type": "boolean"}}, "required": ["value"], "$defs": {"text": {"type": "string"}},
}
STEPS: dict[str, Any] = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"], "additionalProperties": False}
CRITERIA = {"contains_text": WITH_REF, "max_steps": STEPS}
TASK = "version: 1\nid: a\ngoal: b\nstart_url: /\nassertions: "


def problems(text: str, schema: schemas.Schema) -> list[str]:
    return [str(problem) for problem in schemas.check(parse(text.encode(), "f"), schema)]


def proposal(text: str) -> list[str]:
    return problems(text, schemas.named("proposal"))


@pytest.mark.parametrize("name", schemas.NAMES)
def test_each_schema_is_one_and_forbids_unknown_keys(name: str) -> None:
    data = schemas.named(name).data
    Draft202012Validator.check_schema(data)
    assert data["additionalProperties"] is False
    for part in objects(data.get("$defs", {})):
        assert "additionalProperties" in part or part is data.get("$defs", {}).get("assertion"), part


def objects(node: Any) -> list[dict[str, Any]]:
    """Every sub-schema of an object that says which keys it has."""
    if isinstance(node, list):
        return [found for inner in node for found in objects(inner)]
    if not isinstance(node, dict):
        return []
    here = [node] if node.get("type") == "object" and "properties" in node else []
    return here + [found for inner in node.values() for found in objects(inner)]


def test_schema_and_code_name_the_same_actions_and_assurances() -> None:
    actions = [action.value for action in ActionType]
    found = schemas.named("proposal").data
    policy = schemas.named("policy").data
    assert found["properties"]["action_type"]["enum"] == policy["$defs"]["action"]["enum"] == actions
    assert set(found["properties"]) == set(Proposal.__dataclass_fields__)
    assert tuple(found["properties"]["final_status"]["enum"]) == get_args(FinalStatus)
    assert tuple(policy["properties"]["approvals"]["properties"]["min_assurance"]["enum"]) == ASSURANCE == DESK_ASSURANCE


def test_every_action_type_says_which_fields_it_takes() -> None:
    told: list[str] = []
    for branch in schemas.named("proposal").data["allOf"]:
        says = branch["if"]["properties"]["action_type"]
        told += says.get("enum", [says.get("const")])
        assert branch["then"]["additionalProperties"] is False
    assert sorted(told) == sorted(ActionType)


@pytest.mark.parametrize("text", [
    '{action_type: goto, url: "https://a.example/"}', '{action_type: click, target: {selector: "#a"}}', "{action_type: click, target: {role: button, name: OK}}",
    "{action_type: click, target: {x: 1, y: 2.5}}", "{action_type: fill, target: {label: A}, value: ''}", "{action_type: press, value: Enter}",
    "{action_type: scroll, delta_y: -100}", "{action_type: wait_for, timeout_seconds: 1}", "{action_type: handle_dialog, accept: true, value: x}",
    "{action_type: finish, final_status: success, answer: x, decision_summary: y, usage: {model: m, input_tokens: 1}}",
    "{action_type: shell_command, value: rm -rf /}", "{action_type: drag_to, target: {ref: a}, to: {test_id: b}}", "{action_type: read}", "{action_type: go_back}",
])
def test_good_proposals(text: str) -> None:
    assert proposal(text) == []


@pytest.mark.parametrize(("text", "said"), [
    ("{action_type: goto}", ["f:1:1: 'url' is missing"]),
    ("{action_type: click}", ["f:1:1: 'target' is missing"]),
    ("{action_type: fill, target: {label: A}}", ["f:1:1: 'value' is missing"]),
    ("{action_type: finish}", ["f:1:1: 'final_status' is missing"]),
    ("{action_type: handle_dialog}", ["f:1:1: 'accept' is missing"]),
    ("{action_type: shell_command}", ["f:1:1: 'value' is missing"]),
    ("{action_type: scroll}", ["f:1:1: must have at least one of delta_x, delta_y"]),
    ("{action_type: wait_for}", ["f:1:1: must have at least one of target, timeout_seconds"]),
    ("{action_type: go_back, url: x}", ["f:1:24: unknown key 'url'; allowed here: action_type, decision_summary, safety_checks, usage"]),
    ("{action_type: click, target: {selector: a, text: b}}", ["f:1:30: target: must have exactly one of selector, role, label, text, test_id, ref, x"]),
    ("{action_type: click, target: {}}", ["f:1:30: target: must have exactly one of selector, role, label, text, test_id, ref, x"]),
    ("{action_type: click, target: {x: 1}}", ["f:1:30: target: 'x' needs 'y'"]),
    ("{action_type: click, target: {name: a, label: b}}", ["f:1:30: target: 'name' needs 'role'"]),
    ("{action_type: click, target: '#a'}", ["f:1:30: target: must be a mapping, not '#a'"]),
    ("{action_type: fill, target: {label: A}, value: 5}", ["f:1:48: value: must be text, not the number 5"]),
    ("{}", ["f:1:1: 'action_type' is missing"]),
    ("[]", ["f:1:1: must be a mapping, not a list"]),
    ("null", ["f:1:1: must be a mapping, not null"]),
    ("", ["f: is empty"]),
])
def test_bad_proposals(text: str, said: list[str]) -> None:
    assert proposal(text) == said


def test_an_unknown_name_says_what_was_meant_and_what_there_is() -> None:
    (said,) = proposal("{action_type: clik}")
    assert said.startswith("f:1:15: action_type: 'clik' is not known, did you mean 'click'? Allowed here: goto, go_back,")


def test_criteria_are_composed_in() -> None:
    schema = schemas.task_schema(CRITERIA, names=["final_status"])
    good = TASK + "[{type: contains_text, value: x, new: true}, {type: max_steps, value: 3}, {type: final_status, anything: goes}]"
    assert problems(good, schema) == []
    assert problems(TASK + "[{type: contains_text, value: 5}]", schema) == ["f:5:43: assertions[0].value: must be text, not the number 5"]
    assert problems(TASK + "[{type: max_steps, valeu: 5}]", schema) == [
        "f:5:14: assertions[0]: 'value' is missing",
        "f:5:32: assertions[0]: unknown key 'valeu', did you mean 'value'? Allowed here: type, value",
    ]
    assert problems(TASK + "[{type: max_stpes, value: 5}]", schema) == [
        "f:5:21: assertions[0].type: 'max_stpes' is not known, did you mean 'max_steps'? Allowed here: contains_text, final_status, max_steps"
    ]


def test_a_criterion_without_a_word_on_unknown_keys_forbids_them() -> None:
    schema = schemas.task_schema(CRITERIA)
    assert problems(TASK + "[{type: contains_text, value: x, mystery: 1}]", schema) == [
        "f:5:46: assertions[0]: unknown key 'mystery'; allowed here: new, type, value"
    ]


def test_with_no_criterion_installed_no_type_is_taken() -> None:
    text = TASK + "[{type: x}]"
    assert problems(text, schemas.task_schema({}, names=())) == ["f:5:21: assertions[0].type: 'x' is not known; allowed here: none"]
    assert problems(text, schemas.named("task")) == []


@pytest.mark.parametrize("bad", [{"type": "nonsense"}, {"properties": 5}, {"properties": {"a": {"pattern": "("}}}, {"$ref": "#/nowhere"}, 5, None])
def test_a_criterion_whose_schema_is_none_is_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="criterion broken"):
        schemas.task_schema({"broken": bad, **CRITERIA})


def test_the_whole_task_schema_stands_alone() -> None:
    """As an editor loads it: JSON, no file beside it, every reference inside it."""
    whole = json.loads(json.dumps(schemas.task_schema(CRITERIA).data))
    validator = Draft202012Validator(whole)
    task = {"version": 1, "id": "a", "goal": "b", "start_url": "/", "assertions": [{"type": "contains_text", "value": "x"}], "script": [{"action_type": "read"}]}
    assert validator.is_valid(task)
    assert not validator.is_valid({**task, "script": [{"action_type": "goto"}]})
    assert not validator.is_valid({**task, "assertions": [{"type": "contains_text"}]})


def test_what_is_refused_as_yaml_is_not_told_twice() -> None:
    found = problems("version: 1\nper_screenshot_usd: yes\nper_action_usd: x\nmodels: {}", schemas.named("costs"))
    assert [line.split(":")[1] for line in found] == ["2", "3"]
    assert "quote it" in found[0]


def test_where_only_the_fast_validator_refuses_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draft202012Validator, "iter_errors", lambda self, data: iter(()))
    assert proposal("{action_type: read, x: 1}") != []


def test_many_faults_are_cut_off() -> None:
    assert len(proposal("{action_type: set_input_files, target: {ref: a}, files: [" + "1, " * 5000 + "]}")) <= 100


@pytest.mark.parametrize(("text", "said"), [
    ("concurrency: 0", "f:1:14: concurrency: must be at least 1"),
    ("concurrency: paralel", 'f:1:14: concurrency: must be "serial" or a whole number, not \'paralel\''),
    ("environments: {}", "f:1:15: environments: is empty"),
    ("environments: {'a b': {}}", "f:1:16: environments: the key 'a b' does not fit. A name: letters, digits, dot, dash, underscore."),
    ("gate: {min_score: 101, violation_weight: -1}", "f:1:19: gate.min_score: must be at most 100"),
    ("gate: {min_score: 101, violation_weight: -1}", "f:1:42: gate.violation_weight: must be at least 0"),
    ("secrets: {a: {origins: [x]}}", "f:1:14: secrets.a: must have exactly one of env, file, command, keyring"),
    ("secrets: {a: {env: A, file: b, origins: [x]}}", "f:1:14: secrets.a: must have exactly one of env, file, command, keyring"),
    ("secrets: {a: {env: A, origins: []}}", "f:1:32: secrets.a.origins: is empty"),
    ("sessions: {a: {setup: x, storage_state: y, check: {url: x, selector: y}}}", "f:1:15: sessions.a: must have exactly one of setup, storage_state"),
    ("tasks: []", "f:1:8: tasks: is empty"),
    ("plugins: [a, a]", "f:1:10: plugins: says the same twice"),
    ("agents: {a: {adapter: x, options: {n: 1}}}", "f:1:39: agents.a.options.n: must be text, not the number 1"),
])
def test_suites(text: str, said: str) -> None:
    assert said in problems(text, schemas.named("suite"))
