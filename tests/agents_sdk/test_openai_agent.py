"""The openai agent through the real client against a fake Responses API: what it proposes, what it tells the model, and whose fault a fault is."""

from __future__ import annotations

import socket
import time

import pytest
from fake_responses_api import USAGE, Api, call, click, message, response, responses_api

pytest.importorskip("openai")
pytestmark = pytest.mark.sdk

from deskcert_adapters.agents.openai import OpenAI  # noqa: E402
from deskcert_adapters.agents.openai_actions import proposal_of  # noqa: E402
from deskcert_core.api import Dialog, LastResult, ModelServiceError, Proposal, Target, Usage  # noqa: E402
from deskcert_core.testing import brief, check_adapter, check_adapter_process, check_model_fault, observation  # noqa: E402

CHECK = {"id": "sc_1", "code": "malicious_instructions", "message": "look first"}
DONE = response(message("It is done.\nSTATUS: success"))
BILLED = Usage(model="model-x", input_tokens=85, output_tokens=7, cache_read_tokens=5, cache_write_tokens=10, reasoning_tokens=2)
FREE = Usage(model="model-x")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")


def agent(api: Api, **options: str) -> OpenAI:
    made = OpenAI({"model": "model-x", "base_url": api.url, "max_retries": "0", **options})
    made.start(brief())
    return made


def after(status: str = "success", decision: str = "allowed", approval: str = "not_required", message: str = "", **changes):
    return observation(last_result=LastResult(status=status, decision=decision, approval=approval, message=message), screenshot=b"jpeg", **changes)


FIRST = observation(screenshot=b"first")


def test_a_batch_is_given_out_one_by_one_and_billed_once() -> None:
    actions = (click(10, 20), {"type": "type", "text": "hi"}, {"type": "keypress", "keys": ["CTRL", "A"]})
    with responses_api(response(message("I fill in the total."), call(*actions)), DONE) as api:
        made = agent(api)
        given = [made.propose(FIRST), made.propose(after()), made.propose(after()), made.propose(after())]
    claim = "I fill in the total."
    assert given == [
        Proposal(action_type="click", target=Target(x=10, y=20), decision_summary=claim, usage=BILLED),
        Proposal(action_type="type", value="hi", decision_summary=claim, usage=FREE),
        Proposal(action_type="press", value="Control+a", decision_summary=claim, usage=FREE),
        Proposal(action_type="finish", final_status="success", answer="It is done.", decision_summary="ended with success", usage=BILLED),
    ]
    first, second = api.asked
    assert first["tools"] == [{"type": "computer"}]
    assert "previous_response_id" not in first
    assert first["input"][0]["content"][1]["image_url"] == "data:image/jpeg;base64,Zmlyc3Q="
    assert second["previous_response_id"] == "resp_1"
    assert second["input"] == [{
        "type": "computer_call_output", "call_id": "call_1", "acknowledged_safety_checks": [],
        "output": {"type": "computer_screenshot", "image_url": "data:image/jpeg;base64,anBlZw=="},
    }]
    assert "STATUS: success" in second["instructions"]
    assert api.headers[0]["authorization"] == "Bearer sk-test-key"


def test_the_old_tool_gives_single_actions_and_needs_a_size() -> None:
    with responses_api(response(call(click(1, 2), single=True)), DONE) as api:
        made = agent(api, tool="computer_use_preview", max_output_tokens="900")
        assert made.propose(FIRST).target == Target(x=1, y=2)
        assert made.propose(after()).final_status == "success"
    assert api.asked[0]["tools"] == [{"type": "computer_use_preview", "display_width": 1280, "display_height": 720, "environment": "browser"}]
    assert api.asked[0]["max_output_tokens"] == 900


@pytest.mark.parametrize("last", [
    after("not_executed", "blocked", message="no-danger-button"), after("error", message="nothing lies there"), after("timeout"), after("outcome_unknown"),
])
def test_after_a_failure_the_rest_of_the_turn_is_not_proposed_and_the_model_is_told(last) -> None:
    with responses_api(response(call(click(1, 2), click(3, 4)), call(click(5, 6), id="call_2")), DONE) as api:
        made = agent(api)
        assert made.propose(FIRST).target == Target(x=1, y=2)
        assert made.propose(last).action_type == "finish"
    assert api.refused == []
    assert [item["call_id"] for item in api.outputs(1)] == ["call_1", "call_2"]
    (told,) = api.texts(1)
    assert told.splitlines()[0].startswith("Action 1 of 2 of call call_1 did not succeed. " + ("Blocked by policy: no-danger" if last.last_result.decision == "blocked" else ""))
    assert told.count("Not executed: an earlier action in this turn failed.") == 2


def test_unsupported_and_outside_actions_are_answered_by_a_message_and_never_changed() -> None:
    with responses_api(response(call(click(1280, 5))), response(call(click(1, 1, "wheel"))), response(call(click(3, 4))), DONE) as api:
        given = agent(api).propose(FIRST)
    assert given.target == Target(x=3, y=4)
    assert given.usage == Usage(model="model-x", input_tokens=255, output_tokens=21, cache_read_tokens=15, cache_write_tokens=30, reasoning_tokens=6)
    assert api.texts(1) == ["Action 1 of 1 of call call_1 did not succeed. Not executed: the point 1280, 5 is outside the screenshot of 1280 x 720 pixels."]
    assert "wheel is not supported" in api.texts(2)[0]


def test_a_model_that_only_asks_for_what_cannot_be_is_the_agents_fault_after_three_turns() -> None:
    with responses_api(response(call(click(-1, 5)))) as api:
        with pytest.raises(ValueError, match="3 times in a row"):
            agent(api).propose(FIRST)
        assert len(api.asked) == 3


# -- safety checks


def test_an_approved_safety_check_is_acknowledged() -> None:
    with responses_api(response(call(click(1, 2), click(3, 4), checks=(CHECK,))), DONE) as api:
        made = agent(api)
        first, second = made.propose(FIRST), made.propose(after(approval="approved"))
        assert made.propose(after()).final_status == "success"
    assert first.safety_checks == ("malicious_instructions: look first",)
    assert second.safety_checks == ()
    assert api.outputs(1)[0]["acknowledged_safety_checks"] == [CHECK]


@pytest.mark.parametrize("last", [
    after("not_executed", "approval_required", "denied"), after("not_executed", "approval_required", "expired"), after("not_executed", "blocked"), after(),
])
def test_a_safety_check_without_an_approval_is_never_acknowledged_and_ends_the_run(last) -> None:
    with responses_api(response(call(click(1, 2), checks=(CHECK,))), DONE) as api:
        made = agent(api)
        made.propose(FIRST)
        end = made.propose(last)
    assert (end.action_type, end.final_status) == ("finish", "failure")
    assert "safety check" in end.decision_summary
    assert len(api.asked) == 1  # nothing was acknowledged, nothing more was asked


def test_an_approval_of_a_later_act_does_not_acknowledge_the_check_of_a_refused_one() -> None:
    with responses_api(response(call(click(1, 2), id="a"), call(click(3, 4), id="b", checks=(CHECK,))), DONE) as api:
        made = agent(api)
        made.propose(FIRST)
        end = made.propose(after("not_executed", "approval_required", "denied"))
    assert end.final_status == "failure"
    assert len(api.asked) == 1


def test_a_check_on_an_action_that_cannot_be_proposed_is_not_acknowledged() -> None:
    with responses_api(response(call(click(-1, 2), checks=(CHECK,))), DONE) as api:
        assert agent(api).propose(FIRST).final_status == "failure"
        assert len(api.asked) == 1


# -- how it ends


@pytest.mark.parametrize(("text", "status", "answer"), [
    ("The total is $1.\nSTATUS: success", "success", "The total is $1."), ("I cannot.\nSTATUS: failure", "failure", "I cannot."),
    ("Which one?\n**STATUS: needs_help**", "needs_help", "Which one?"), ("All is done.", "failure", "All is done."),
    ("STATUS: success\nor not", "failure", "STATUS: success\nor not"), ("x\nSTATUS: splendid", "failure", "x\nSTATUS: splendid"), ("", "failure", ""),
])
def test_the_end_is_what_the_last_line_says_and_otherwise_a_failure(text: str, status: str, answer: str) -> None:
    with responses_api(response(message(text))) as api:
        end = agent(api).propose(FIRST)
    assert (end.final_status, end.answer) == (status, answer)


@pytest.mark.parametrize("answer", [
    response(message("I will not do that.", "refusal")), response(status="incomplete", incomplete_details={"reason": "content_filter"}),
    response(status="failed", error={"code": "misalignment_policy_violation", "message": "no"}),
])
def test_a_refusal_ends_as_a_failure_and_says_so(answer: dict) -> None:
    with responses_api(answer) as api:
        end = agent(api).propose(FIRST)
    assert end.final_status == "failure"
    assert end.decision_summary.startswith("the model refused: ")
    assert end.usage == BILLED


def test_an_end_that_is_refused_is_told_and_the_model_goes_on() -> None:
    with responses_api(DONE, response(call(click(1, 2)))) as api:
        made = agent(api)
        assert made.propose(FIRST).action_type == "finish"
        assert made.propose(after("not_executed", "blocked", message="not yet")).action_type == "click"
    assert api.texts(1) == ["Your end was not accepted: not yet"]
    assert api.refused == []


def test_a_dialog_is_told_and_answered_by_keys() -> None:
    dialog = Dialog(kind="confirm", message="Sure?")
    with responses_api(response(call({"type": "keypress", "keys": ["ENTER"]})), response(call({"type": "keypress", "keys": ["ENTER"]})), DONE) as api:
        made = agent(api)
        assert made.propose(FIRST).action_type == "press"
        asked = made.propose(after(dialog=dialog))
        made.propose(after())
    assert (asked.action_type, asked.accept) == ("handle_dialog", True)
    assert "confirm dialog is open: 'Sure?'" in api.texts(1)[0]
    assert api.texts(2) == []  # the answer was carried out


# -- faults


@pytest.mark.parametrize("code", [401, 403, 404, 408, 409, 429, 500, 503, 529])
def test_a_failed_service_is_the_models_fault(code: int) -> None:
    with responses_api(code) as api, pytest.raises(ModelServiceError, match=str(code)):
        agent(api).propose(FIRST)


def test_the_client_retries_first() -> None:
    with responses_api(500, DONE) as api:
        assert agent(api, max_retries="1").propose(FIRST).final_status == "success"
        assert len(api.asked) == 2


def short_body(handler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"id": "resp_')
    handler.connection.shutdown(socket.SHUT_RDWR)


def late(handler) -> None:
    time.sleep(0.6)


@pytest.mark.parametrize("answer", [
    None, short_body, late, b'{"id": "resp_', b"<html>gateway</html>", b'"text"', b"[]", b"\xff\xfe", response(status="failed", error={"code": "server_error", "message": "x"}),
    response(status="failed", error={"code": "rate_limit_exceeded", "message": "x"}),
], ids=["cut", "cut in the body", "time-out", "half", "html", "string", "list", "no text", "server_error", "rate limit"])
def test_a_cut_or_senseless_answer_is_the_models_fault(answer) -> None:
    with responses_api(answer) as api, pytest.raises(ModelServiceError):
        agent(api, timeout_seconds="0.3").propose(FIRST)


def test_nobody_there_is_the_models_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ModelServiceError):
        agent(Api(answers=[], url=f"http://127.0.0.1:{port}/v1")).propose(FIRST)


@pytest.mark.parametrize(("answer", "why"), [
    (400, "code 400"), (422, "code 422"),
    (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "more max_output_tokens"),
    (response(status="incomplete", incomplete_details={"reason": "something new"}), "something new"),
    (response(status="a new one"), "'a new one'"), (response(status=None), "None"), (response(status="in_progress"), "in_progress"),
    (response(status="failed", error={"code": "invalid_image", "message": "x"}), "invalid_image"),
    (response({"type": "computer_call", "id": "x", "status": "completed", "actions": [click(1, 2)], "pending_safety_checks": []}), "malformed"),
    (response({**call(), "actions": "click"}), "malformed"), (response({**call(click(1, 2)), "pending_safety_checks": [{"code": "x"}]}), "malformed"),
    (response({"type": "function_call", "id": "f", "call_id": "c", "name": "shell", "arguments": "{}"}), "function_call, which it was not offered"),
])
def test_what_the_model_may_not_say_is_the_agents_fault(answer, why: str) -> None:
    with responses_api(answer) as api, pytest.raises(Exception, match=why) as raised:
        agent(api).propose(FIRST)
    assert not isinstance(raised.value, ModelServiceError)


def test_a_call_without_actions_and_a_malformed_action_are_told() -> None:
    with responses_api(response(call()), response(call({"type": "click", "button": "left"})), DONE) as api:
        assert agent(api).propose(FIRST).final_status == "success"
    assert "holds no action" in api.texts(1)[0]
    assert "no point" in api.texts(2)[0]


@pytest.mark.parametrize("usage", [None, {"input_tokens": 5}, {**USAGE, "input_tokens_details": None}])
def test_missing_usage_is_said_as_missing_and_never_as_nothing(usage) -> None:
    with responses_api(response(call(click(1, 2), click(3, 4)), usage=usage), DONE) as api:
        made = agent(api)
        assert made.propose(FIRST).usage is None


# -- actions


@pytest.mark.parametrize(("action", "proposal"), [
    ({"type": "click", "button": "left", "x": 1, "y": 2}, Proposal(action_type="click", target=Target(x=1, y=2))),
    ({"type": "click", "button": "right", "x": 1, "y": 2}, Proposal(action_type="right_click", target=Target(x=1, y=2))),
    ({"type": "click", "button": "back", "x": 1, "y": 2}, Proposal(action_type="go_back")),
    ({"type": "click", "button": "forward", "x": 1, "y": 2}, Proposal(action_type="go_forward")),
    ({"type": "double_click", "x": 1, "y": 2}, Proposal(action_type="dblclick", target=Target(x=1, y=2))),
    ({"type": "move", "x": 0, "y": 719}, Proposal(action_type="hover", target=Target(x=0, y=719))),
    ({"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}, Proposal(action_type="drag_to", target=Target(x=1, y=2), to=Target(x=3, y=4))),
    ({"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300}, Proposal(action_type="scroll", target=Target(x=1, y=2), delta_y=300)),
    ({"type": "keypress", "keys": ["A"]}, Proposal(action_type="press", value="A")),
    ({"type": "keypress", "keys": ["ENTER"]}, Proposal(action_type="press", value="Enter")),
    ({"type": "keypress", "keys": ["CTRL", "SHIFT", "Z"]}, Proposal(action_type="press", value="Control+Shift+z")),
    ({"type": "keypress", "keys": ["ALT", "LEFT"]}, Proposal(action_type="press", value="Alt+ArrowLeft")),
    ({"type": "keypress", "keys": [" "]}, Proposal(action_type="press", value="Space")),
    ({"type": "type", "text": ""}, Proposal(action_type="type", value="")),
    ({"type": "wait"}, Proposal(action_type="wait_for", timeout_seconds=2)), ({"type": "screenshot"}, Proposal(action_type="screenshot")),
])
def test_each_action_is_the_same_act(action: dict, proposal: Proposal) -> None:
    assert proposal_of(action, (1280, 720)) == proposal


@pytest.mark.parametrize("action", [
    {"type": "click", "button": "left", "x": 1, "y": 2, "keys": ["CTRL"]}, {"type": "click", "button": "wheel", "x": 1, "y": 2}, {"type": "click", "x": 1, "y": 2},
    {"type": "click", "button": "left", "x": 1, "y": 720}, {"type": "click", "button": "left", "x": "1", "y": 2},
    {"type": "drag", "path": [{"x": 1, "y": 2}]}, {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}]},
    {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4000}]}, {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 0},
    {"type": "keypress", "keys": []}, {"type": "keypress", "keys": ["A", "B"]}, {"type": "keypress", "keys": ["HYPER"]}, {"type": "keypress", "keys": [3]},
    {"type": "type"}, {"type": "type", "text": "\ud800"}, {"type": "teleport"}, {},
])
def test_what_no_proposal_says_exactly_is_refused(action: dict) -> None:
    with pytest.raises(ValueError):
        proposal_of(action, (1280, 720))


def test_a_dialogs_keys() -> None:
    answers = [proposal_of(action, (1280, 720), dialog=True) for action in (
        {"type": "keypress", "keys": ["ESC"]}, {"type": "type", "text": "7"}, {"type": "keypress", "keys": ["A"]})]
    assert [(each.action_type, each.accept, each.value) for each in answers] == [("handle_dialog", False, None), ("handle_dialog", True, "7"), ("press", None, "A")]


# -- options and conformance


@pytest.mark.parametrize(("options", "why"), [
    ({}, "needs the option model"), ({"model": "m", "colour": "red"}, "no option colour"), ({"model": "m", "tool": "shell"}, "'shell'"),
    ({"model": "m", "max_output_tokens": "many"}, "many"),
])
def test_wrong_options_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        OpenAI(options)


def test_it_conforms() -> None:
    turn = response(call(click(1, 2), {"type": "type", "text": "é"}, {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 9}))
    with responses_api(turn, DONE, turn, DONE) as api:
        given = check_adapter(OpenAI, options={"model": "model-x", "base_url": api.url}, sees=[after()])
    assert [each.action_type for each in given] == ["click", "type", "scroll", "finish"]


def test_it_conforms_in_its_own_process() -> None:
    env = {"OPENAI_API_KEY": "sk-test-key"}
    with responses_api(response(call(click(1, 2))), DONE) as api:
        check_adapter_process(OpenAI, options={"model": "model-x", "base_url": api.url}, env=env, sees=[after()])
    with responses_api(503) as api:
        check_model_fault(OpenAI, options={"model": "model-x", "base_url": api.url, "max_retries": "0"}, env=env, sees=[after()])
