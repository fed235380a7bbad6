"""Native dialogs: nothing is accepted by itself, a dialog is seen alone, and no number of them holds a call up."""

from __future__ import annotations

import pytest
from conftest import Shower
from page_world import Lab

from deskcert_core.proposal import ActionType, Target

pytestmark = pytest.mark.browser
A = ActionType
CONFIRM = "<button id=one onclick=\"fetch('/answer',{method:'POST',body:String(confirm('Erase all?'))})\">Tidy up</button>"
PROMPT = "<button id=one onclick=\"fetch('/answer',{method:'POST',body:String(prompt('How much?','4500'))})\">Balance</button>"


@pytest.mark.parametrize(("html", "answer", "sent"), [
    (CONFIRM, {"accept": True}, "true"), (CONFIRM, {"accept": False}, "false"), (PROMPT, {"accept": True}, "4500"), (PROMPT, {"accept": True, "value": "1"}, "1"),
    (PROMPT, {"accept": False}, "null"),
])
def test_a_dialog_waits_for_its_answer(lab: Lab, show: Shower, html: str, answer: dict[str, object], sent: str) -> None:
    page = show(html)
    assert page.do(A.CLICK, Target(selector="#one")).message == "a dialog opened"
    seen = page.see()
    assert seen.dialog is not None
    assert (seen.dialog.message, seen.dialog.default_value) in (("Erase all?", ""), ("How much?", "4500"))
    assert (seen.text, seen.screenshot, seen.whole) == ("", None, False)
    assert lab.site.hits == []
    assert page.do(A.HANDLE_DIALOG, **answer).status == "success"
    assert lab.site.got("POST", "/answer") == [sent]
    after = page.see()
    assert (after.dialog, after.whole) == (None, True)
    assert page.do(A.HANDLE_DIALOG, accept=True).status == "error"


@pytest.mark.parametrize("action", ["click", "goto"])
def test_any_other_act_dismisses_it(lab: Lab, show: Shower, action: str) -> None:
    page = show(CONFIRM + "<button id=two onclick=\"fetch('/two',{method:'POST'})\">Two</button>")
    page.do(A.CLICK, Target(selector="#one"))
    if action == "click":
        assert page.do(A.CLICK, Target(selector="#two")).status == "success"
        assert lab.site.got("POST", "/two") == [""]
    else:
        page.goto(lab.site.origin + "/next")
    assert lab.site.got("POST", "/answer") == ["false"]
    assert "confirm dialog dismissed" in page.see().events


@pytest.mark.parametrize("leave", [True, False])
def test_leaving_with_unsaved_text_is_a_dialog_too(lab: Lab, show: Shower, leave: bool) -> None:
    page = show("<input id=x><script>onbeforeunload = e => { if (x.value) e.preventDefault() }</script>")
    page.do(A.TYPE, Target(selector="#x"), value="draft")
    page.do(A.GOTO, url="/bye")
    seen = page.see()
    assert seen.dialog is not None
    assert seen.dialog.kind == "beforeunload"
    assert lab.site.got("GET", "/bye") == []
    page.do(A.HANDLE_DIALOG, accept=leave)
    assert (lab.site.got("GET", "/bye") == [""]) is leave
    assert page.see().url.endswith("/bye") is leave


def test_a_storm_of_dialogs_holds_nothing_up(lab: Lab, show: Shower) -> None:
    page = show("""<button id=storm onclick="let i=0; (function again() { alert('Notice ' + ++i); if (i < 120) setTimeout(again, 0);
      else fetch('/over', {method: 'POST'}) })()">Notices</button>""")
    assert page.do(A.CLICK, Target(selector="#storm")).message == "a dialog opened"
    for number in range(1, 6):
        seen = page.see()
        assert seen.dialog is not None
        assert seen.dialog.message == f"Notice {number}"
        assert page.do(A.HANDLE_DIALOG, accept=True).status == "success"
    assert page.ground(A.CLICK, Target(selector="#storm")).problem_kind == "unusable"
    assert lab.site.hits == []


def test_a_page_with_an_open_dialog_can_be_closed(lab: Lab, show: Shower) -> None:
    page = show("<script>setTimeout(() => alert('hello'), 50)</script>")
    page.do(A.WAIT_FOR, timeout_seconds=0.3)
    page.close()
    assert show("<p>next").see().text == "next"


def test_a_popups_dialog_is_dismissed(lab: Lab, show: Shower) -> None:
    page = show("<a href=/pop target=_blank id=a>Pop</a>")
    lab.site.pages["/pop"] = "<script>fetch('/answer', {method: 'POST', body: String(confirm('Sure?'))})</script>"
    page.do(A.CLICK, Target(selector="#a"))
    page.do(A.WAIT_FOR, timeout_seconds=0.3)
    assert lab.site.got("POST", "/answer") == ["false"]
    assert page.see().dialog is None
