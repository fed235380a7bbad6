"""Each action type, judged by what reached the server or stands in the page."""

from __future__ import annotations

import pytest
from conftest import Shower
from page_world import Lab

from deskcert_core.proposal import ActionType, Proposal, Target

pytestmark = pytest.mark.browser
A = ActionType


def test_goto_back_forward_and_reload(lab: Lab, show: Shower) -> None:
    page = show("<h1>First</h1>")
    lab.site.pages["/second"] = "<h1>Second</h1>"
    page.goto("/second")
    assert "Second" in page.see().text
    back = page.ground(A.GO_BACK)
    assert str(back.destination) == lab.site.origin + "/"
    assert page.do(A.GO_BACK).status == "success"
    assert "First" in page.see().text
    assert page.do(A.GO_FORWARD).status == "success"
    assert "Second" in page.see().text
    lab.site.hits.clear()
    assert page.do(A.RELOAD).status == "success"
    assert len(lab.site.got("GET", "/second")) == 1
    assert page.ground(A.GO_FORWARD).problem_kind == "unusable"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "data:text/html,x", "javascript:alert(1)", "http://me:secret@127.0.0.1/", "about:srcdoc"])
def test_goto_opens_nothing_else(show: Shower, url: str) -> None:
    page = show("<h1>Here</h1>")
    grounding = page.ground(A.GOTO, url=url)
    assert (grounding.destination, grounding.problem_kind) == (None, "unusable")
    assert page.carry_out(Proposal(action_type=A.GOTO, url=url), grounding).status == "error"
    assert "Here" in page.see().text


@pytest.mark.parametrize(("action", "heard"), [
    (A.CLICK, ["mousedown", "mouseup", "click"]),
    (A.DBLCLICK, ["mousedown", "mouseup", "click", "mousedown", "mouseup", "click", "dblclick"]),
    (A.RIGHT_CLICK, ["mousedown", "contextmenu", "mouseup"]),
    (A.HOVER, []),
])
def test_mouse(show: Shower, action: ActionType, heard: list[str]) -> None:
    page = show("""<button id=b>Push</button><script>heard=[]; over=0; b.onmouseenter=()=>over++;
      for (const t of ['mousedown','mouseup','click','dblclick','contextmenu']) b.addEventListener(t, e => heard.push([e.type, e.isTrusted]))</script>""")
    result = page.do(action, Target(selector="#b"))
    assert result.status == "success"
    assert "Push" in result.landed_on
    assert sorted(page.js("heard")) == sorted([kind, True] for kind in heard)
    assert page.js("over") == 1


def test_fill_replaces_and_type_appends(show: Shower) -> None:
    page = show("<input id=a value=old><textarea id=t>one</textarea><div id=e contenteditable>was</div><input id=d type=date><input id=n type=number>")
    for field, value in (("#a", "new"), ("#t", "two\nlines"), ("#e", "is"), ("#d", "2026-11-30"), ("#n", "12.5")):
        assert page.do(A.FILL, Target(selector=field), value=value).status == "success", field
    assert page.js("[a.value, t.value, e.innerText, d.value, n.value]") == ["new", "two\nlines", "is", "2026-11-30", "12.5"]
    assert page.do(A.TYPE, Target(selector="#a"), value="er").status == "success"
    assert page.do(A.FILL, Target(selector="#t"), value="").status == "success"
    assert page.js("[a.value, t.value]") == ["newer", ""]


def test_fill_says_when_the_field_holds_something_else(show: Shower) -> None:
    page = show("<input id=cut maxlength=3><input id=mask oninput=\"this.value=this.value.replace(/^(...)/, '($1) ')\"><input id=ro readonly><input id=c type=checkbox>")
    assert page.do(A.FILL, Target(selector="#cut"), value="12345").status == "error"
    assert page.do(A.FILL, Target(selector="#mask"), value="555123").message == "the page reformatted the text"
    for field in ("#ro", "#c"):
        assert page.ground(A.FILL, Target(selector=field), value="x").problem_kind == "unusable"


def test_select_option_by_value_and_by_label(show: Shower) -> None:
    page = show("<select id=s onchange='changed=s.value'><option value=1>One<option value=2>Two</select><input id=i>")
    assert page.do(A.SELECT_OPTION, Target(selector="#s"), value="2").status == "success"
    assert page.js("changed") == "2"
    assert page.do(A.SELECT_OPTION, Target(selector="#s"), value="One").status == "success"
    assert page.js("changed") == "1"
    assert page.ground(A.SELECT_OPTION, Target(selector="#s"), value="Three").problem_kind == "missing"
    assert page.ground(A.SELECT_OPTION, Target(selector="#i"), value="1").problem_kind == "unusable"


def test_check_and_uncheck_click_only_where_needed(show: Shower) -> None:
    page = show("<label><input type=checkbox id=c onclick='n++'>Agree</label><script>n=0</script><input type=checkbox id=never onclick='return false'>")
    assert page.do(A.CHECK, Target(label="Agree")).status == "success"
    assert page.do(A.CHECK, Target(label="Agree")).message == "it already was"
    assert page.js("[c.checked, n]") == [True, 1]
    assert page.do(A.UNCHECK, Target(label="Agree")).status == "success"
    assert page.js("[c.checked, n]") == [False, 2]
    assert page.do(A.CHECK, Target(selector="#never")).status == "error"


def test_a_hidden_checkbox_is_checked_by_its_label(show: Shower) -> None:
    page = show("<input type=checkbox id=c style='display:none'><label for=c>Agree</label>")
    assert page.do(A.CHECK, Target(selector="#c")).status == "success"
    assert page.js("c.checked") is True


def test_press_goes_to_the_target_or_to_the_focus(lab: Lab, show: Shower) -> None:
    page = show("<input id=a onkeydown='keys.push(event.key)'><input id=b><script>keys=[]</script>")
    assert page.do(A.PRESS, Target(selector="#a"), value="Control+Shift+K").status == "success"
    assert page.do(A.PRESS, value="x").status == "success"
    assert page.js("[keys, a.value]") == [["Control", "Shift", "K", "x"], "x"]
    assert page.do(A.PRESS, value="NoSuchKey").status == "error"


def test_enter_in_a_text_field_sends_its_form(lab: Lab, show: Shower) -> None:
    page = show("<form method=post action=/find><input name=q id=q><button name=go value=1>Find</button></form>")
    page.do(A.FILL, Target(selector="#q"), value="tea")
    form = page.form(A.PRESS, Target(selector="#q"), value="Enter")
    assert [(f.name, f.value) for f in form.fields] == [("q", "tea"), ("go", "1")]
    assert page.ground(A.PRESS, Target(selector="#q"), value="a").form is None
    assert page.do(A.PRESS, value="Enter").status == "success"
    assert lab.site.got("POST", "/find") == ["q=tea&go=1"]


def test_typed_newline_is_grounded_as_sending(lab: Lab, show: Shower) -> None:
    page = show("<form method=post action=/find><input name=q id=q></form>")
    assert page.form(A.TYPE, Target(selector="#q"), value="tea\n").method == "POST"
    assert page.ground(A.TYPE, Target(selector="#q"), value="tea").form is None
    page.do(A.TYPE, Target(selector="#q"), value="tea\n")
    assert lab.site.got("POST", "/find") == ["q=tea"]


def test_scroll_moves_what_can_be_moved(show: Shower) -> None:
    page = show("<div id=box style='height:100px;overflow:auto'><div style='height:900px'>in</div></div><div style='height:5000px'></div>")
    assert page.do(A.SCROLL, delta_y=300).status == "success"
    assert page.js("scrollY") == 300
    assert page.do(A.SCROLL, Target(selector="#box"), delta_y=120).status == "success"
    assert page.js("box.scrollTop") == 120
    assert "end" in page.do(A.SCROLL, delta_x=50).message


def test_wait_for_waits_until_it_is_visible(show: Shower) -> None:
    page = show("<p id=late hidden>Here</p><script>setTimeout(() => late.hidden = false, 500)</script>")
    assert page.do(A.WAIT_FOR, Target(text="Here"), timeout_seconds=10).status == "success"
    assert page.js("late.hidden") is False
    assert page.ground(A.WAIT_FOR, Target(text="Nowhere"), timeout_seconds=0.3).problem_kind == "missing"
    assert page.do(A.WAIT_FOR, timeout_seconds=0.1).status == "success"


def test_read_and_screenshot_do_nothing(lab: Lab, show: Shower) -> None:
    page = show("<p id=p>Text</p>")
    assert page.do(A.READ).status == page.do(A.SCREENSHOT).status == "success"
    assert page.element(A.READ, Target(selector="#p")).text == "Text"
    assert lab.site.hits == []


@pytest.mark.parametrize("target", [Target(selector="form"), Target(selector="#q"), Target(text="Save"), None])
def test_submit_form(lab: Lab, show: Shower, target: Target | None) -> None:
    page = show("<form method=post action=/save><input name=q id=q value=v><button name=b value=1>Save</button></form>")
    assert page.element(A.SUBMIT_FORM, target).name == "Save"
    assert page.do(A.SUBMIT_FORM, target).status == "success"
    assert lab.site.got("POST", "/save") == ["q=v&b=1"]
    assert page.see().url == lab.site.origin + "/save"


def test_a_form_that_is_not_valid_is_not_sent(lab: Lab, show: Shower) -> None:
    page = show("<form method=post action=/save><input name=q required id=need></form><p id=p>none</p>")
    result = page.do(A.SUBMIT_FORM, Target(selector="form"))
    assert (result.status, lab.site.hits) == ("error", [])
    assert "need" in result.message
    assert page.ground(A.SUBMIT_FORM, Target(selector="#p")).problem_kind == "unusable"


@pytest.mark.parametrize("action", [A.DRAG_TO, A.NEW_TAB, A.SWITCH_TAB, A.CLOSE_TAB, A.SET_INPUT_FILES, A.SAVE_DOWNLOAD])
def test_what_is_not_built_says_so(show: Shower, action: ActionType) -> None:
    result = show("<input type=file id=f>").do(action)
    assert result.status == "error"
    assert result.message.endswith("is not built in this version")


def test_the_new_document_is_the_one_that_is_seen(lab: Lab, show: Shower) -> None:
    page = show("<a href=/next>Go</a>")
    lab.site.pages["/next"] = "<title>Next</title><p id=p>old</p><script src=/slow.js></script><script>p.textContent='new'</script>"
    page.do(A.CLICK, Target(text="Go"))
    seen = page.see()
    assert (seen.title, seen.text) == ("Next", "new")
    assert seen.screenshot is not None
    assert seen.screenshot.startswith(b"\xff\xd8")


def test_popups_and_downloads_are_told(lab: Lab, show: Shower) -> None:
    page = show("<a href=/pop target=_blank>Pop</a> <a href=/data download=data.csv>Get</a>")
    assert page.element(A.CLICK, Target(text="Pop")).new_window
    assert page.element(A.CLICK, Target(text="Get")).download
    page.do(A.CLICK, Target(text="Pop"))
    page.do(A.CLICK, Target(text="Get"))
    events = page.see().events
    assert f"popup {lab.site.origin}/pop" in events
    assert "download refused data.csv" in events


def test_exists_and_storage_state(lab: Lab, show: Shower) -> None:
    page = show("<p id=p></p><script>document.cookie='k=v'; localStorage.a='b'</script>")
    assert lab.run(page.page.exists("#p"))
    assert not lab.run(page.page.exists("#q"))
    state = lab.run(page.page.storage_state())
    again = show("<p>later</p>", storage_state=state)
    assert again.js("[document.cookie, localStorage.a]") == ["k=v", "b"]
    assert show("<p>fresh</p>").js("document.cookie") == ""


def test_every_request_passes_the_gate_and_none_the_cache(lab: Lab, show: Shower) -> None:
    lab.site.headers["Cache-Control"] = "max-age=1000"
    page = show("<img src=/pic>")
    lab.traffic.asked.clear()
    page.goto(lab.site.origin + "/")
    assert lab.site.got("GET", "/pic") == [""]
    assert {(name, request.address.path) for name, request in lab.traffic.asked} == {(page.page.name, "/"), (page.page.name, "/pic")}
