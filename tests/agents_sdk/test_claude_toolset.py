"""The SDK's own harness with DeskCert's toolset: its tool_runner runs the turns, each member is a proposal, a refusal comes back as an error."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from fake_messages_api import PNG, FakeApi, asks, ends, messages_api, use

from deskcert_core.api import ActionType, Brief, Dialog, LastResult, ModelServiceError, Observation, Proposal, Target
from deskcert_core.testing import brief, check_adapter, observation

pytestmark = pytest.mark.sdk
anthropic = pytest.importorskip("anthropic")
from deskcert_adapters.agents.claude.toolset import DeskCertBrowserToolset, HarnessAgent  # noqa: E402

FINE = LastResult(status="success", decision="allowed")
BLOCKED = LastResult(status="not_executed", decision="blocked", message="rule no-pay")
NOT_EXECUTED = "Not executed: an earlier action in this turn failed."


class Runner(HarnessAgent):
    """What a user writes: their own program around the SDK's tool_runner."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__()
        self.url = options["base_url"]

    async def drive(self, brief: Brief, toolset: DeskCertBrowserToolset) -> str:
        last = ""
        async with anthropic.AsyncAnthropic(base_url=self.url, api_key="test", max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="claude-test", max_tokens=500, tools=[toolset], messages=[{"role": "user", "content": [{"type": "text", "text": brief.goal}]}],
            )
            async for message in runner:
                toolset.heard(message)
                last = "".join(block.text for block in message.content if block.type == "text")
        return last


def click(number: int, x: int = 10) -> dict:
    return use(number, "left_click", "browser", target={"type": "coordinate", "x": x, "y": 20})


def seen(last: LastResult | None = FINE, text: str = "Hello", **changes: object) -> Observation:
    return observation(text, **{"last_result": last, "screenshot": PNG, **changes})


def trial(api: FakeApi, looks: Sequence[Observation]) -> list[Proposal]:
    """Propose for each look, in one event loop as in the agent's process."""
    async def run() -> list[Proposal]:
        made = Runner({"base_url": api.url})
        await made.start(brief())
        got = [await made.propose(look) for look in looks]
        await made.start(brief())
        return got

    return asyncio.run(run())


def texts(result: dict) -> str:
    return result["content"] if isinstance(result["content"], str) else "\n".join(part.get("text", "") for part in result["content"])


def test_a_refused_act_comes_back_to_the_runner_as_an_error_and_the_rest_is_not_executed() -> None:
    with messages_api(asks(click(1), click(2), click(3), text="pay it"), ends("Blocked.\nSTATUS: failure")) as api:
        proposed = trial(api, [seen(None), seen(), seen(BLOCKED)])
        assert [(each.action_type, each.target) for each in proposed[:2]] == [("click", Target(x=10, y=20))] * 2
        assert (proposed[2].action_type, proposed[2].final_status, proposed[2].answer) == ("finish", "failure", "Blocked.")
        first, second, third = api.results()
        assert not first.get("is_error")
        assert second["is_error"]
        assert "Blocked by policy: rule no-pay" in texts(second)
        assert third["is_error"]
        assert texts(third) == NOT_EXECUTED
        assert api.refusals == []


def test_an_act_that_is_let_through_is_no_error() -> None:
    with messages_api(asks(click(1), click(2), click(3)), ends()) as api:
        assert [each.action_type for each in trial(api, [seen(None), seen(), seen(), seen()])] == ["click", "click", "click", "finish"]
        assert [one.get("is_error", False) for one in api.results()] == [False, False, False]


def test_claims_and_usage_go_with_the_first_act_of_a_turn() -> None:
    with messages_api(asks(click(1), click(2), text="fill\nit"), ends()) as api:
        proposed = trial(api, [seen(None), seen(), seen()])
    assert [each.usage.output_tokens for each in proposed] == [50, 0, 50]
    assert [each.decision_summary for each in proposed[:2]] == ["fill it", "fill it"]


def test_members_that_read_and_show() -> None:
    turn = asks(use(1, "screenshot", "browser"), use(2, "get_page_text", "browser"), use(3, "navigate", "browser", url="http://127.0.0.1:8000/"), use(4, "list_tabs", "browser"))
    with messages_api(turn, ends()) as api:
        assert [each.action_type for each in trial(api, [seen(None), seen(), seen(text="Total $5"), seen()])] == ["screenshot", "read", "goto", "finish"]
        picture, text, where, tabs = api.results()
        assert "image" in [part["type"] for part in picture["content"]]
        assert "Total $5" in texts(text)
        assert "Navigated to http://127.0.0.1:8000/" in texts(where)
        assert not tabs.get("is_error")
        assert all(one["content"][-1]["type"] == "browser_state" for one in (picture, text, where, tabs))
        assert api.refusals == []


def test_what_is_switched_off_or_outside_the_picture_is_never_proposed() -> None:
    turns = [asks(use(1, "javascript_exec", "browser", text="pay()")), asks(click(2, 5000)), asks(use(3, "file_upload", "browser", target={"type": "ref", "ref": "text=x"}, paths=["/etc/passwd"]))]
    with messages_api(*turns, ends()) as api:
        assert [each.action_type for each in trial(api, [seen(None)])] == ["finish"]
        assert [api.results(number)[0]["is_error"] for number in (1, 2, 3)] == [True, True, True]
        assert "outside the picture" in texts(api.results(2)[0])
        assert api.requests[0]["body"]["tools"][0]["configs"]["javascript_exec"] == {"enabled": False}


def test_with_a_dialog_open_only_its_answer_is_proposed() -> None:
    dialog = seen(dialog=Dialog(kind="confirm", message="Sure?"), screenshot=None)
    with messages_api(asks(click(1), click(2)), asks(use(3, "key", "browser", text="Return")), ends()) as api:
        assert [each.action_type for each in trial(api, [seen(None), dialog, seen()])] == ["click", "handle_dialog", "finish"]
        assert "a confirm dialog is open" in texts(api.results(1)[1])


def test_faults_of_the_service_are_told_apart() -> None:
    with messages_api({"status": 529}) as api, pytest.raises(ModelServiceError, match="529"):
        trial(api, [seen(None)])
    with messages_api({"status": 400}) as api, pytest.raises(RuntimeError, match="refused the request"):
        trial(api, [seen(None)])


def test_a_trial_that_is_cut_short_leaves_nothing_behind() -> None:
    with messages_api(asks(click(1)), asks(click(2))) as api:
        async def run() -> tuple[Proposal, Proposal, int]:
            made = Runner({"base_url": api.url})
            await made.start(brief())
            first = await made.propose(seen(None))
            await made.start(brief(goal="Another."))
            second = await made.propose(seen(None))
            await made.start(brief())
            return first, second, len(asyncio.all_tasks())

        first, second, tasks = asyncio.run(run())
    assert (first.action_type, second.action_type, tasks) == ("click", "click", 1)
    assert api.requests[1]["body"]["messages"][0]["content"][0]["text"] == "Another."


def test_it_conforms() -> None:
    with messages_api(asks(click(1), use(2, "key", "browser", text="Return")), ends(), forever=True) as api:
        assert check_adapter(Runner, options={"base_url": api.url}, sees=[seen(None), seen()])[-1].action_type is ActionType.FINISH
