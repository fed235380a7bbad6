"""The claude agent with the vendor's own client against a scripted service: what is proposed, what the model is told, what is billed, how it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_messages_api import PNG, FakeApi, asks, ends, messages_api, use

from deskcert_adapters.agents.claude.adapter import Claude
from deskcert_core.api import ActionType, Dialog, LastResult, Observation, Proposal, Target, Usage
from deskcert_core.testing import brief, check_adapter, observation

pytestmark = pytest.mark.sdk
FINE = LastResult(status="success", decision="allowed")
BLOCKED = LastResult(status="not_executed", decision="blocked", message="rule no-pay: the button is named Pay")
NOT_EXECUTED = "Not executed: an earlier action in this turn failed."
BILLED = Usage(model="claude-test", input_tokens=1000, output_tokens=50, cache_read_tokens=200, cache_write_tokens=300, reasoning_tokens=7)
FREE = Usage(model="claude-test")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


def agent(api: FakeApi, **options: str) -> Claude:
    made = Claude({"model": "claude-test", "base_url": api.url, "max_retries": "0", "timeout_seconds": "5", **options})
    made.start(brief())
    return made


def seen(last: LastResult | None = FINE, text: str = "Hello", **changes: object) -> Observation:
    return observation(text, **{"last_result": last, "screenshot": PNG, **changes})


def click(number: int, x: float = 10) -> dict:
    return use(number, "left_click", coordinate=[x, 20])


def texts(result: dict) -> str:
    return result["content"] if isinstance(result["content"], str) else "\n".join(part.get("text", "") for part in result["content"])


def kinds(result: dict) -> list[str]:
    return [part["type"] for part in result["content"]]


@pytest.fixture
def talk() -> Iterator[FakeApi]:
    with messages_api() as api:
        yield api
    assert api.refusals == []


def test_it_conforms() -> None:
    turns = [asks(use(1, "screenshot"), click(2), text="look"), asks(use(3, "key", text="Return")), ends("It is done.\nSTATUS: success")]
    with messages_api(*turns, forever=True) as api:
        proposals = check_adapter(Claude, options={"model": "claude-test", "base_url": api.url})
        assert [each.action_type for each in proposals][-1] == "finish"
        assert api.refusals == []


def test_a_batch_is_given_out_one_by_one_and_answered_in_order(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), use(2, "type", text="5"), use(3, "key", text="Tab Tab"), text="Fill\nthe form"), ends()]
    made = agent(talk)
    proposed = [made.propose(seen(None)), *(made.propose(seen()) for _ in range(3))]
    assert [(each.action_type, each.value, each.decision_summary) for each in proposed] == [
        ("click", None, "Fill the form"), ("type", "5", "Fill the form"), ("press", "Tab", "Fill the form"), ("press", "Tab", "Fill the form"),
    ]
    assert len(talk.requests) == 1
    assert made.propose(seen()).action_type is ActionType.FINISH
    assert [(one["tool_use_id"], "is_error" in one) for one in talk.results()] == [("toolu_1", False), ("toolu_2", False), ("toolu_3", False)]


def test_the_rest_of_a_turn_is_not_executed_after_a_refusal(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2), click(3)), ends("Blocked.\nSTATUS: failure")]
    made = agent(talk)
    made.propose(seen(None))
    made.propose(seen())
    end = made.propose(seen(BLOCKED))
    assert (end.action_type, end.final_status, end.answer) == ("finish", "failure", "Blocked.")
    first, second, third = talk.results()
    assert "is_error" not in first
    assert (second["is_error"], second["content"]) == (True, "Blocked by policy: rule no-pay: the button is named Pay")
    assert (third["is_error"], third["content"]) == (True, NOT_EXECUTED)


def test_one_that_goes_well_is_not_answered_as_refused(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2), click(3)), ends()]
    made = agent(talk)
    for last in (None, FINE, FINE, FINE):
        made.propose(seen(last))
    assert ["is_error" in one for one in talk.results()] == [False, False, False]


@pytest.mark.parametrize(("last", "said"), [
    (LastResult(status="not_executed", decision="approval_required", approval="denied", message="form_submit"), "Not approved (denied): form_submit"),
    (LastResult(status="error", decision="allowed", message="nothing is there"), "nothing is there"),
    (LastResult(status="timeout", decision="allowed", message="no answer within 10 s"), "no answer within 10 s"),
])
def test_the_model_is_told_why(talk: FakeApi, last: LastResult, said: str) -> None:
    talk.turns += [asks(click(1)), ends()]
    made = agent(talk)
    made.propose(seen(None))
    made.propose(seen(last))
    assert talk.results() == [{"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "is_error": True, "content": said, "cache_control": {"type": "ephemeral"}}]


def test_a_point_outside_the_picture_reaches_no_one(talk: FakeApi) -> None:
    talk.turns += [asks(click(1, 1280), click(2)), asks(click(3)), ends()]
    made = agent(talk)
    assert made.propose(seen(None)).target == Target(x=10, y=20)
    outside, rest = talk.results()
    assert "outside the picture" in outside["content"]
    assert rest["content"] == NOT_EXECUTED


def test_pictures_are_sent_as_they_are_and_only_where_the_page_is_shown(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2)), asks(use(3, "screenshot")), ends()]
    made = agent(talk)
    for last in (None, FINE, FINE, FINE):
        made.propose(seen(last, screenshot=b"\xff\xd8jpeg"))
    opened = talk.requests[0]["body"]["messages"][0]["content"]
    assert opened[-1]["source"] == {"type": "base64", "media_type": "image/jpeg", "data": "/9hqcGVn"}
    assert [kinds(one) for one in talk.results(1)] == [["text"], ["text", "text", "image"]]
    assert [kinds(one) for one in talk.results(2)] == [["text", "text", "image"]]


def test_each_call_is_billed_once_with_its_cached_tokens(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2)), asks(use(3, "cursor_position")), asks(click(4)), ends()]
    made = agent(talk)
    used = [made.propose(seen(last)).usage for last in (None, FINE, FINE, FINE)]
    twice = Usage(model="claude-test", input_tokens=2000, output_tokens=100, cache_read_tokens=400, cache_write_tokens=600, reasoning_tokens=14)
    assert used == [BILLED, FREE, twice, BILLED]


def test_a_call_without_usage_is_not_billed_as_nothing(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2), usage=None), asks(click(3))]
    made = agent(talk)
    assert [made.propose(seen(last)).usage for last in (None, FINE, FINE)] == [None, None, BILLED]


def test_the_model_that_answered_is_the_one_that_is_billed(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), model="claude-test-20260801")]
    assert agent(talk).propose(seen(None)).usage.model == "claude-test-20260801"


def test_the_cache_is_marked_as_documented(talk: FakeApi) -> None:
    talk.turns += [asks(click(1)), asks(click(2)), asks(click(3)), ends()]
    made = agent(talk)
    for last in (None, FINE, FINE, FINE):
        made.propose(seen(last))
    for request in talk.requests:
        body = request["body"]
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["system"] == talk.requests[0]["body"]["system"]
        users = [message for message in body["messages"] if message["role"] == "user"]
        marks = ["cache_control" in message["content"][-1] for message in users]
        assert marks == [False] * (len(users) - 2) + [True] * min(2, len(users))
    first, last = talk.requests[0]["body"]["messages"], talk.requests[-1]["body"]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant"] * 3 + ["user"]
    assert {**first[0]["content"][0]} == last[0]["content"][0]  # what was sent stays as it was: else nothing could be read from the cache


def test_blocks_come_back_to_the_service_as_they_came(talk: FakeApi) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    odd = {"type": "from_the_future", "data": {"a": [1, None]}}
    talk.turns += [{"content": [thought, odd, click(1)], "stop_reason": "tool_use"}, ends()]
    made = agent(talk)
    made.propose(seen(None))
    made.propose(seen())
    assert talk.requests[1]["body"]["messages"][1]["content"] == [thought, odd, click(1)]


def test_the_task_is_told_once_and_names_no_value_of_a_secret(talk: FakeApi) -> None:
    talk.turns += [asks(click(1)), ends()]
    made = agent(talk, system="Be brief.")
    made.start(brief(goal="Confirm it.", inputs={"invoice": "1048"}, secrets=("clerk",), max_steps=7))
    made.propose(seen(None))
    body = talk.requests[0]["body"]
    said = body["messages"][0]["content"][0]["text"]
    for words in ("Confirm it.", "Input invoice: 1048", "{{secret:clerk}}", "at most 7 steps"):
        assert words in said
    assert "STATUS: success" in body["system"][0]["text"]
    assert body["system"][0]["text"].endswith("Be brief.")
    assert body["tools"][0]["type"] == "computer_toolset_20260801"


@pytest.mark.parametrize(("turn", "status", "said"), [
    (ends("The total is 5.\nSTATUS: success"), "success", "The total is 5."),
    (ends("No.\nSTATUS: failure"), "failure", "No."),
    (ends("Which one?\nSTATUS: needs_help"), "needs_help", "Which one?"),
    (ends("It is all done."), "failure", "It is all done."),
    (ends("STATUS: success\nor so I think"), "failure", "STATUS: success\nor so I think"),
    (ends(""), "failure", ""),
    (ends("Done.\nSTATUS: success", stop_reason="stop_sequence"), "success", "Done."),
    (ends("I will not.", stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber", "explanation": "no"}), "failure", "refused to go on (cyber: no). I will not."),
    (ends("", stop_reason="refusal"), "failure", "The model refused to go on."),
    (ends("Done.\nSTATUS: success", stop_reason="max_tokens"), "failure", "cut off at 4096 tokens"),
    (asks(click(1), stop_reason="max_tokens"), "failure", "nothing of that turn was done"),
    (ends("", stop_reason="model_context_window_exceeded"), "failure", "context window"),
])
def test_how_it_ends(talk: FakeApi, turn: dict, status: str, said: str) -> None:
    talk.turns.append(turn)
    end = agent(talk).propose(seen(None))
    assert (end.action_type, end.final_status, end.usage) == ("finish", status, BILLED)
    assert said in end.answer


@pytest.mark.parametrize("turn", [
    ends(stop_reason="a_new_reason"), ends(stop_reason=None), asks(click(1), stop_reason="a_new_reason"), asks(click(1), stop_reason="end_turn"), ends(stop_reason="tool_use"),
])
def test_a_stop_reason_that_is_not_known_is_no_end(talk: FakeApi, turn: dict) -> None:
    talk.turns.append(turn)
    with pytest.raises(RuntimeError, match="stop reason"):
        agent(talk).propose(seen(None))


def test_a_pause_is_continued_and_billed(talk: FakeApi) -> None:
    talk.turns += [ends("let me think", stop_reason="pause_turn"), asks(click(1))]
    first = agent(talk).propose(seen(None))
    assert (first.action_type, first.usage.input_tokens) == ("click", 2000)
    assert talk.requests[1]["body"]["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "let me think"}]}


def test_pauses_come_to_an_end() -> None:
    with messages_api(ends("hm", stop_reason="pause_turn"), forever=True) as api:
        with pytest.raises(RuntimeError, match="paused more than 5 times"):
            agent(api).propose(seen(None))
        assert len(api.requests) == 6


def test_malformed_calls_are_fed_back_three_times_and_no_more() -> None:
    with messages_api(asks(use(1, "left_click", coordinate="here")), forever=True) as api:
        with pytest.raises(RuntimeError, match=r"4 times in a row.*malformed"):
            agent(api).propose(seen(None))
        assert [api.results(number)[0]["is_error"] for number in (1, 2, 3)] == [True, True, True]
        assert (len(api.requests), api.refusals) == (4, [])


def test_one_good_call_starts_the_count_again(talk: FakeApi) -> None:
    bad = asks(use(1, "left_click", coordinate="here"))
    talk.turns += [bad, bad, bad, asks(click(2)), bad, bad, bad, asks(click(3))]
    made = agent(talk)
    assert [made.propose(seen(last)).action_type for last in (None, FINE)] == ["click", "click"]


def test_an_end_that_the_policy_refuses_is_told(talk: FakeApi) -> None:
    talk.turns += [ends(), asks(click(1))]
    made = agent(talk)
    assert made.propose(seen(None)).action_type is ActionType.FINISH
    assert made.propose(seen(BLOCKED)).action_type is ActionType.CLICK
    assert "Blocked by policy" in talk.requests[1]["body"]["messages"][-1]["content"][0]["text"]


def test_a_dialog_is_told_in_words_and_answered(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2)), asks(use(3, "key", text="Escape"), click(4)), ends()]
    made = agent(talk)
    made.propose(seen(None))
    dialog = Dialog(kind="confirm", message="Delete everything?")
    assert made.propose(seen(dialog=dialog, screenshot=None)) == Proposal(action_type=ActionType.HANDLE_DIALOG, accept=False, usage=BILLED)
    done, rest = talk.results()
    assert "Delete everything?" in texts(done) + texts(rest)
    assert rest["is_error"]
    assert made.propose(seen()).action_type is ActionType.CLICK


def test_a_look_at_a_dialog_does_not_let_the_next_act_through(talk: FakeApi) -> None:
    talk.turns += [asks(use(1, "screenshot"), click(2)), asks(use(3, "key", text="Return")), ends()]
    made = agent(talk)
    opened = seen(None, dialog=Dialog(kind="confirm", message="Sure?"), screenshot=None)
    assert made.propose(opened).action_type is ActionType.HANDLE_DIALOG
    look, refused = talk.results()
    assert "Sure?" in texts(look)
    assert (refused["is_error"], "a confirm dialog is open" in refused["content"]) == (True, True)


def test_the_browser_toolset_reads_words_and_tells_its_tab(talk: FakeApi) -> None:
    talk.turns += [asks(*(use(number, name, "browser", **given) for number, name, given in (
        (1, "get_page_text", {}), (2, "find", {"query": "confirm the invoice total"}), (3, "list_tabs", {}), (4, "screenshot", {}),
    ))), ends()]
    made = agent(talk, toolset="browser")
    page = "Invoice #1048\n\nTotal $5\nConfirm the total"
    for last in (None, FINE, FINE, FINE):
        made.propose(seen(last, page))
    text, found, tabs, picture = talk.results()
    assert texts(text).startswith(page)
    assert texts(found) == "[text=Invoice #1048]\n[text=Total $5]\n[text=Confirm the total]\n"
    state = {"type": "browser_state", "tabs": [{"tab_id": "1", "title": "Page", "url": "http://127.0.0.1:8000/", "active": True}]}
    assert [one["content"][-1] for one in (text, found, tabs, picture)] == [state] * 4
    assert "image" in kinds(picture)
    assert "label=LABEL" in talk.requests[0]["body"]["system"][0]["text"]


def test_the_legacy_tool(talk: FakeApi) -> None:
    talk.turns += [asks(use(1, "left_click", None, coordinate=[10, 20]), use(2, "zoom", None, region=[0, 0, 5, 5])), ends()]
    made = agent(talk, toolset="legacy")
    assert made.propose(seen(None)).target == Target(x=10, y=20)
    made.propose(seen())
    request = talk.requests[0]
    assert request["headers"]["anthropic-beta"] == "computer-use-2025-11-24"
    assert request["body"]["tools"] == [{"type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 720}]
    done, zoom = talk.results()
    assert "toolset_name" not in done
    assert (zoom["is_error"], zoom["content"]) == (True, "zoom is not supported here")


def test_a_trial_begins_with_nothing_of_the_last(talk: FakeApi) -> None:
    talk.turns += [asks(click(1), click(2)), asks(click(3))]
    made = agent(talk)
    made.propose(seen(None))
    made.start(brief(goal="Another."))
    made.propose(seen(None))
    (message,) = talk.requests[1]["body"]["messages"]
    assert "Another." in message["content"][0]["text"]
