"""Each member of the toolsets, and the legacy tool: exactly the act that was asked for, or a refusal. No SDK is needed to read them."""

from __future__ import annotations

import pytest

from deskcert_adapters.agents.claude.keys import UnknownKey, presses
from deskcert_adapters.agents.claude.members import DISABLED, SERVED, Hand, tool
from deskcert_adapters.agents.claude.service import Call, read_options
from deskcert_core import schemas, wire
from deskcert_core.api import ActionType, Dialog, Proposal, Target

pytestmark = pytest.mark.sdk
ALL = tuple(map(str, ActionType))
POINT = Target(x=10, y=20)
AT = {"type": "coordinate", "x": 10, "y": 20}
BUTTON = {"type": "ref", "ref": "button=Save"}


def hand(toolset: str = "computer", allowed: tuple[str, ...] = ALL) -> Hand:
    return Hand(toolset, (1280, 720), allowed)


def acts(name: str, given: object, toolset: str = "computer", dialog: Dialog | None = None, allowed: tuple[str, ...] = ALL) -> list:
    return hand(toolset, allowed).acts(Call(id="c", name=name, toolset_name=toolset, input=given), dialog)


def proposals(name: str, given: object, toolset: str = "computer", dialog: Dialog | None = None) -> list[Proposal]:
    got = acts(name, given, toolset, dialog)
    assert not [act.text for act in got if act.failed]
    for act in got:
        assert act.proposal is None or schemas.named("proposal").holds(wire.plain(act.proposal))
    return [act.proposal for act in got if act.proposal]


def refusal(name: str, given: object, toolset: str = "computer", dialog: Dialog | None = None) -> str:
    (act,) = acts(name, given, toolset, dialog)
    assert act.failed
    assert act.proposal is None
    return act.text


@pytest.mark.parametrize(("name", "given", "wanted"), [
    ("left_click", {"coordinate": [10, 20]}, Proposal(action_type=ActionType.CLICK, target=POINT)),
    ("double_click", {"coordinate": [10, 20]}, Proposal(action_type=ActionType.DBLCLICK, target=POINT)),
    ("right_click", {"coordinate": [10, 20]}, Proposal(action_type=ActionType.RIGHT_CLICK, target=POINT)),
    ("mouse_move", {"coordinate": [10, 20]}, Proposal(action_type=ActionType.HOVER, target=POINT)),
    ("type", {"text": "12.50"}, Proposal(action_type=ActionType.TYPE, value="12.50")),
    ("key", {"text": "ctrl+a"}, Proposal(action_type=ActionType.PRESS, value="Control+a")),
    ("scroll", {"coordinate": [10, 20], "scroll_direction": "down", "scroll_amount": 2}, Proposal(action_type=ActionType.SCROLL, target=POINT, delta_y=200)),
    ("scroll", {"scroll_direction": "up", "scroll_amount": 1}, Proposal(action_type=ActionType.SCROLL, delta_y=-100)),
    ("scroll", {"scroll_direction": "left", "scroll_amount": 1}, Proposal(action_type=ActionType.SCROLL, delta_x=-100)),
    ("wait", {"duration": 2}, Proposal(action_type=ActionType.WAIT_FOR, timeout_seconds=2)),
    ("screenshot", {}, Proposal(action_type=ActionType.SCREENSHOT)),
])
def test_the_computer_toolset(name: str, given: dict, wanted: Proposal) -> None:
    assert proposals(name, given) == [wanted]
    legacy = hand("legacy").acts(Call(id="c", name="computer", input={"action": name, **given}), None)
    assert [act.proposal for act in legacy] == [wanted]


@pytest.mark.parametrize(("name", "given", "wanted"), [
    ("left_click", {"target": AT, "tab_id": "1"}, Proposal(action_type=ActionType.CLICK, target=POINT)),
    ("left_click", {"target": BUTTON}, Proposal(action_type=ActionType.CLICK, target=Target(role="button", name="Save"))),
    ("hover", {"target": AT}, Proposal(action_type=ActionType.HOVER, target=POINT)),
    ("navigate", {"url": "http://x.test/"}, Proposal(action_type=ActionType.GOTO, url="http://x.test/")),
    ("navigate", {"url": "back"}, Proposal(action_type=ActionType.GO_BACK)),
    ("navigate", {"url": "forward"}, Proposal(action_type=ActionType.GO_FORWARD)),
    ("navigate", {"url": "reload"}, Proposal(action_type=ActionType.RELOAD)),
    ("read_page", {"filter": "interactive", "depth": 3}, Proposal(action_type=ActionType.READ)),
    ("get_page_text", {}, Proposal(action_type=ActionType.READ)),
    ("find", {"query": "the total"}, Proposal(action_type=ActionType.READ)),
    ("scroll", {"target": AT, "scroll_direction": "right"}, Proposal(action_type=ActionType.SCROLL, target=POINT, delta_x=300)),
    ("form_input", {"target": {"type": "ref", "ref": "label=Total"}, "value": "5"}, Proposal(action_type=ActionType.FILL, target=Target(label="Total"), value="5")),
    ("form_input", {"target": {"type": "ref", "ref": "label=Total"}, "value": 5.5}, Proposal(action_type=ActionType.FILL, target=Target(label="Total"), value="5.5")),
    ("form_input", {"target": {"type": "ref", "ref": "label=Agree"}, "value": True}, Proposal(action_type=ActionType.CHECK, target=Target(label="Agree"))),
    ("form_input", {"target": {"type": "ref", "ref": "label=Agree"}, "value": False}, Proposal(action_type=ActionType.UNCHECK, target=Target(label="Agree"))),
    (
        "form_input", {"target": {"type": "ref", "ref": "combobox=Country"}, "value": "Peru"},
        Proposal(action_type=ActionType.SELECT_OPTION, target=Target(role="combobox", name="Country"), value="Peru"),
    ),
    ("left_click", {"target": {"type": "ref", "ref": "text=a=b"}}, Proposal(action_type=ActionType.CLICK, target=Target(text="a=b"))),
])
def test_the_browser_toolset(name: str, given: dict, wanted: Proposal) -> None:
    assert proposals(name, given, "browser") == [wanted]


def test_presses_follow_each_other_under_one_call() -> None:
    got = acts("key", {"text": "Tab BackSpace", "repeat": 2})
    assert [act.proposal.value for act in got] == ["Tab", "Backspace", "Tab", "Backspace"]
    assert {act.call for act in got} == {"c"}


@pytest.mark.parametrize(("text", "wanted"), [
    ("Return", ["Enter"]), ("ctrl+shift+Escape", ["Control+Shift+Escape"]), ("Page_Down", ["PageDown"]), ("Up", ["ArrowUp"]), ("cmd+c", ["Meta+c"]), ("F5", ["F5"]),
    ("ctrl++", ["Control++"]), ("+", ["+"]), (" ", ["Space"]), ("A", ["A"]), ("alt+Tab", ["Alt+Tab"]), ("DELETE", ["Delete"]), ("super", ["Meta"]), ("ctrl+minus", ["Control+-"]),
])
def test_key_names(text: str, wanted: list[str]) -> None:
    assert presses(text) == wanted


@pytest.mark.parametrize("text", ["Hyper", "ctrl+Nonsense", "foo+a", "ctrl+"])
def test_a_key_that_is_not_known_is_not_pressed(text: str) -> None:
    with pytest.raises(UnknownKey):
        presses(text)
    assert "no key" in refusal("key", {"text": text})


@pytest.mark.parametrize("point", [[1280, 5], [5, 720], [-1, 5], [5, -0.5], [100000, 100000]])
@pytest.mark.parametrize("name", ["left_click", "mouse_move", "scroll"])
def test_a_point_outside_the_picture_is_refused_and_never_clamped(name: str, point: list[float]) -> None:
    more = {"scroll_direction": "up", "scroll_amount": 1} if name == "scroll" else {}
    assert "outside the picture of 1280 x 720" in refusal(name, {"coordinate": point, **more})
    assert "outside the picture" in refusal(name, {"target": {"type": "coordinate", "x": point[0], "y": point[1]}, **more}, "browser")


def test_the_last_point_of_the_picture_is_inside() -> None:
    assert proposals("left_click", {"coordinate": [1279, 719]})


@pytest.mark.parametrize("family", ["computer", "browser"])
def test_what_is_switched_off_is_refused_by_name(family: str) -> None:
    for name in DISABLED[family]:
        assert "not supported" in (said := refusal(name, {}, family)) or "never executes" in said
    assert "never executes" in refusal("javascript_exec", {"text": "pay()"}, "browser")
    assert "never executes" in refusal("file_upload", {"target": BUTTON, "paths": ["/etc/passwd"]}, "browser")


def test_every_member_of_the_toolsets_is_served_or_switched_off() -> None:
    beta = pytest.importorskip("anthropic.types")
    assert set(beta.browser_member_name.BROWSER_MEMBER_NAME_VALUES) == SERVED["browser"] | DISABLED["browser"]
    assert set(beta.computer_member_name.COMPUTER_MEMBER_NAME_VALUES) == SERVED["computer"] | DISABLED["computer"]


@pytest.mark.parametrize(("name", "given", "said"), [
    ("left_click", {}, "coordinate is missing"),
    ("left_click", {"coordinate": [1]}, "malformed"),
    ("left_click", {"coordinate": ["a", "b"]}, "malformed"),
    ("left_click", {"coordinate": [1, 2], "text": "ctrl"}, "keys held down"),
    ("left_click", {"coordinate": [1, 2], "force": True}, "takes no 'force'"),
    ("left_click", "10,20", "not an object"),
    ("left_click", None, "not an object"),
    ("type", {}, "text is missing"),
    ("type", {"text": ""}, "text is missing"),
    ("key", {"text": "a", "repeat": 0}, "1 to 100 times"),
    ("key", {"text": "a", "repeat": 10_000}, "1 to 100 times"),
    ("key", {"text": "  "}, "1 to 100 times"),
    ("scroll", {"scroll_direction": "down"}, "scroll_amount is missing"),
    ("scroll", {"scroll_direction": "down", "scroll_amount": 0}, "1 to 100"),
    ("scroll", {"scroll_direction": "sideways", "scroll_amount": 1}, "malformed"),
    ("scroll", {"scroll_direction": "down", "scroll_amount": 1, "text": "ctrl"}, "keys held down"),
    ("wait", {"duration": 31}, "at most 30 seconds"),
    ("wait", {"duration": 0}, "more than 0"),
    ("brand_new", {}, "no action 'brand_new'"),
    ("navigate", {"url": "http://x.test/"}, "no action 'navigate'"),
])
def test_a_call_that_does_not_fit_is_refused(name: str, given: object, said: str) -> None:
    assert said in refusal(name, given)


@pytest.mark.parametrize(("name", "given", "said"), [
    ("left_click", {"target": {"type": "ref", "ref": "ref_7"}}, "no element 'ref_7'"),
    ("left_click", {"target": {"type": "ref"}}, "ref is missing"),
    ("left_click", {"target": {"type": "coordinate", "x": 5}}, "y is missing"),
    ("left_click", {"target": AT, "modifiers": "shift"}, "keys held down"),
    ("left_click", {"target": AT, "tab_id": "2"}, "there is one tab"),
    ("read_page", {"ref": "ref_7"}, "leave out ref"),
    ("form_input", {"target": {"type": "ref", "ref": "label=Total"}}, "value is missing"),
    ("form_input", {"target": {"type": "ref", "ref": "ref_3"}, "value": "x"}, "no element 'ref_3'"),
])
def test_a_call_of_the_browser_toolset_that_does_not_fit_is_refused(name: str, given: object, said: str) -> None:
    assert said in refusal(name, given, "browser")


@pytest.mark.parametrize(("toolset", "call"), [
    ("computer", Call(id="c", name="left_click", toolset_name="browser", input={"coordinate": [1, 2]})),
    ("computer", Call(id="c", name="left_click", input={"coordinate": [1, 2]})),
    ("legacy", Call(id="c", name="left_click", toolset_name="computer", input={"coordinate": [1, 2]})),
    ("legacy", Call(id="c", name="bash", input={"command": "rm"})),
])
def test_a_tool_that_was_not_offered_is_refused(toolset: str, call: Call) -> None:
    (act,) = hand(toolset).acts(call, None)
    assert act.failed
    assert "there is no tool" in act.text


def test_without_a_point_the_pointer_stays_where_it_was() -> None:
    mine = hand()
    mine.acts(Call(id="a", name="mouse_move", toolset_name="computer", input={"coordinate": [10, 20]}), None)
    (click,) = mine.acts(Call(id="b", name="left_click", toolset_name="computer", input={}), None)
    (where,) = mine.acts(Call(id="c", name="cursor_position", toolset_name="computer", input={}), None)
    assert click.proposal.target == POINT
    assert (where.proposal, where.text, where.failed) == (None, "X=10,Y=20", False)


def test_a_look_is_proposed_by_an_action_that_the_policy_knows() -> None:
    assert [act.proposal.action_type for act in acts("screenshot", {}, allowed=("read",))] == ["read"]
    assert [act.proposal.action_type for act in acts("get_page_text", {}, "browser", allowed=("screenshot",))] == ["screenshot"]
    (act,) = acts("screenshot", {}, allowed=("click",))
    assert (act.proposal, act.failed) == (None, False)


@pytest.mark.parametrize(("kind", "name", "given", "wanted"), [
    ("confirm", "key", {"text": "Return"}, Proposal(action_type=ActionType.HANDLE_DIALOG, accept=True)),
    ("confirm", "key", {"text": "Escape"}, Proposal(action_type=ActionType.HANDLE_DIALOG, accept=False)),
    ("prompt", "type", {"text": "42"}, Proposal(action_type=ActionType.HANDLE_DIALOG, accept=True, value="42")),
])
def test_a_dialog_is_answered_by_the_keyboard(kind: str, name: str, given: dict, wanted: Proposal) -> None:
    assert proposals(name, given, dialog=Dialog(kind=kind, message="Sure?")) == [wanted]


@pytest.mark.parametrize(("name", "given"), [("left_click", {"coordinate": [1, 2]}), ("key", {"text": "a"}), ("key", {"text": "Return", "repeat": 2}), ("type", {"text": "x"})])
def test_nothing_else_is_done_while_a_dialog_is_open(name: str, given: dict) -> None:
    assert "a confirm dialog is open" in refusal(name, given, dialog=Dialog(kind="confirm", message="Sure?"))


def test_the_tool_entries() -> None:
    assert tool(read_options({"model": "m", "toolset": "legacy"}), (1280, 720)) == {
        "type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 720,
    }
    entry = tool(read_options({"model": "m"}), (1280, 720))
    assert entry["type"] == "computer_toolset_20260801"
    assert entry["configs"]["zoom"] == {"enabled": False}
    assert "left_click" not in entry["configs"]
    assert tool(read_options({"model": "m", "toolset": "browser"}), (1280, 720))["configs"]["javascript_exec"] == {"enabled": False}


@pytest.mark.parametrize(("options", "said"), [
    ({}, "model"), ({"model": ""}, "model"), ({"model": "m", "toolset": "vision"}, "toolset"), ({"model": "m", "max_tokens": "0"}, "max_tokens"),
    ({"model": "m", "max_tokens": "many"}, "max_tokens"), ({"model": "m", "client": "other"}, "client"), ({"model": "m", "temperature": "1"}, "no option 'temperature'"),
])
def test_options_that_are_wrong_are_refused_by_name(options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_options(options)
