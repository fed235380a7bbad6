"""Each kind of target: what it finds, and what it says when it finds nothing, too much, or something that lies beneath."""

from __future__ import annotations

import pytest
from conftest import Shower
from page_world import Lab

from deskcert_core.effect import UNKNOWN
from deskcert_core.proposal import ActionType, Proposal, Target

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("impatient")]
A = ActionType
SHADOW = "<div id=host></div><script>host.attachShadow({mode: 'MODE'}).innerHTML = '<button id=deep onclick=\"fetch(`/deep`,{method:`POST`})\">Inside</button>'</script>"
FRAME = "<iframe src=/frame style='position:absolute;left:50px;top:60px;border:7px solid;padding:5px'></iframe>"
IN_FRAME = "<!doctype html><button id=in style='margin:20px' onclick=\"fetch('/framed',{method:'POST'})\">Framed</button><input aria-label=Inner id=i>"


@pytest.mark.parametrize("target", [
    Target(selector="#pay"), Target(role="button", name="Pay now"), Target(role="button", name="pay  NOW"),
    Target(text="Pay now"), Target(text="now"), Target(test_id="payer"), Target(x=60, y=60),
])
def test_one_button_by_each_kind_of_target(lab: Lab, show: Shower, target: Target) -> None:
    page = show("""<button id=pay data-testid=payer style='position:absolute;left:20px;top:40px;width:100px;height:40px'
      onclick="fetch('/paid',{method:'POST'})"><span>Pay <b>now</b></span></button>
      <button hidden>Pay now</button><button>Cancel</button><style>.x{content:'Pay now'}</style>""")
    element = page.element(A.CLICK, target)
    assert (element.tag, element.attributes["id"]) == ("button", "pay")
    assert str(element.origin) == lab.site.origin
    assert page.do(A.CLICK, target).status == "success"
    assert lab.site.got("POST", "/paid") == [""]


def test_role_and_accessible_name_are_the_browsers(show: Shower) -> None:
    page = show("<span id=n>Close it</span><div role=button tabindex=0 id=b aria-labelledby=n>x</div><img alt=Logo id=i width=9 height=9 src=data:>")
    button = page.element(A.CLICK, Target(selector="#b"))
    assert (button.role, button.name, button.text) == ("button", "Close it", "x")
    assert page.element(A.CLICK, Target(role="img", name="Logo")).role == "img"


@pytest.mark.parametrize(("target", "count"), [
    (Target(selector="button"), 2), (Target(role="button", name="Go"), 2), (Target(text="Go"), 2), (Target(label="Go there"), 2), (Target(test_id="t"), 2),
])
def test_more_than_one_match_is_ambiguous(lab: Lab, show: Shower, target: Target, count: int) -> None:
    page = show("<button data-testid=t aria-label='Go there'>Go</button>".replace(" aria-label='Go there'", "") * 2 + "<input aria-label='Go there'>" * 2)
    grounding = page.ground(A.CLICK, target)
    assert grounding.problem_kind == "ambiguous"
    assert f"{count} elements match" in (grounding.problem or "")
    assert page.carry_out(Proposal(action_type=A.CLICK, target=target), grounding).status == "error"


@pytest.mark.parametrize("target", [
    Target(selector="#none"), Target(role="button", name="None"), Target(text="None"), Target(label="None"), Target(test_id="none"), Target(x=5000, y=5000),
])
def test_none_is_missing(show: Shower, target: Target) -> None:
    assert show("<button>Go</button>").ground(A.CLICK, target).problem_kind == "missing"


@pytest.mark.parametrize(("html", "target", "kind"), [
    ("<button id=b disabled>Go</button>", Target(selector="#b"), "unusable"), ("<button id=b style='display:none'>Go</button>", Target(selector="#b"), "unusable"),
    ("<p>", Target(selector="p["), "unusable"), ("<p>", Target(ref="e1"), "unusable"),
    ("<button id=b>Go</button><div style='position:fixed;inset:0' id=veil>Wait</div>", Target(selector="#b"), "covered"),
])
def test_what_cannot_be_clicked_says_why(show: Shower, html: str, target: Target, kind: str) -> None:
    assert show(html).ground(A.CLICK, target).problem_kind == kind


def test_a_cover_is_named_and_not_clicked(lab: Lab, show: Shower) -> None:
    page = show("<button id=b>Go</button><div style='position:fixed;inset:0' id=veil onclick=\"fetch('/veil',{method:'POST'})\">Wait</div>")
    element = page.element(A.CLICK, Target(selector="#b"))
    assert element.covered_by == 'div#veil "Wait"'
    assert page.do(A.CLICK, Target(selector="#b")).status == "error"
    assert lab.site.hits == []
    page.js("veil.remove()")
    assert page.do(A.CLICK, Target(selector="#b")).status == "success"


def test_what_appears_later_is_waited_for(show: Shower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deskcert_adapters.executors.chromium.resolve.APPEAR_SECONDS", 3.0)
    page = show("<p id=p></p><script>setTimeout(() => p.innerHTML = '<button disabled>Go</button>', 300); setTimeout(() => p.firstChild.disabled = false, 600)</script>")
    assert page.ground(A.CLICK, Target(text="Go")).problem is None


def test_a_moving_element_is_grounded_where_it_comes_to_rest(show: Shower) -> None:
    page = show("<style>@keyframes in{from{margin-left:600px}} #b{animation:in .6s linear; width:80px}</style><button id=b onclick='n=1'>Go</button><script>n=0</script>")
    assert page.do(A.CLICK, Target(selector="#b")).status == "success"
    assert page.js("n") == 1


def test_it_is_scrolled_into_view(show: Shower) -> None:
    page = show("<div style='height:3000px'></div><div style='height:60px;overflow:auto'><div style='height:500px'></div><button id=b onclick='n=1'>Go</button></div>")
    assert page.do(A.CLICK, Target(selector="#b")).status == "success"
    assert page.js("n") == 1


@pytest.mark.parametrize("target", [Target(selector="#deep"), Target(text="Inside"), Target(role="button", name="Inside"), Target(x=20, y=20)])
def test_open_shadow_roots_are_pierced(lab: Lab, show: Shower, target: Target) -> None:
    page = show("<style>body{margin:8px}</style>" + SHADOW.replace("MODE", "open"))
    assert page.element(A.CLICK, target).attributes["id"] == "deep"
    assert page.do(A.CLICK, target).status == "success"
    assert lab.site.got("POST", "/deep") == [""]
    assert page.see().text == "Inside"


def test_a_closed_shadow_root_is_unknown(show: Shower) -> None:
    page = show("<style>body{margin:8px}</style>" + SHADOW.replace("MODE", "closed"))
    grounding = page.ground(A.CLICK, Target(x=20, y=20))
    assert (grounding.element, grounding.form) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("target", [Target(selector="#in"), Target(text="Framed"), Target(role="button", name="Framed"), Target(x=110, y=110)])
def test_frames_of_the_same_origin_are_entered(lab: Lab, show: Shower, target: Target) -> None:
    lab.site.pages["/frame"] = IN_FRAME
    page = show(FRAME)
    element = page.element(A.CLICK, target)
    assert (element.attributes["id"], str(element.origin)) == ("in", lab.site.origin)
    assert page.do(A.CLICK, target).status == "success"
    assert lab.site.got("POST", "/framed") == [""]
    assert page.do(A.FILL, Target(label="Inner"), value="typed").status == "success"
    assert page.js("document.querySelector('iframe').contentDocument.getElementById('i').value") == "typed"


@pytest.mark.parametrize("far", [True, False])
def test_a_foreign_frame_is_unknown(lab: Lab, show: Shower, far: bool) -> None:
    lab.other.pages["/frame"] = IN_FRAME
    page = show(f"<iframe id=f src={lab.other.origin}/frame></iframe>" if far else "<iframe id=f sandbox srcdoc='<button>x</button>'></iframe>")
    grounding = page.ground(A.CLICK, Target(selector="#f"))
    assert (grounding.element, grounding.form) == (UNKNOWN, UNKNOWN)
    assert grounding.point is not None
    assert "Framed" not in page.see().text


def test_an_unknown_frame_can_be_clicked_once_it_is_granted(lab: Lab, show: Shower) -> None:
    lab.other.pages["/frame"] = "<!doctype html><body style='margin:0'><button style='width:300px;height:150px' onclick=\"fetch('/hit',{method:'POST'})\">x</button>"
    page = show(f"<iframe id=f src={lab.other.origin}/frame></iframe>")
    assert page.do(A.CLICK, Target(selector="#f")).status == "success"
    assert lab.other.got("POST", "/hit") == [""]


def test_the_element_that_would_be_hit_is_the_one_that_is_told(show: Shower) -> None:
    page = show("<div id=card style='width:200px'><p>Invoice</p><center><button class=danger>Delete</button></center><p>&nbsp;</p></div>", selectors=(".danger", "#card", ".none"))
    element = page.element(A.CLICK, Target(selector="#card"))
    assert (element.role, element.name) == ("button", "Delete")
    assert element.selectors == (".danger", "#card")


def test_a_link_around_a_button_keeps_its_address(lab: Lab, show: Shower) -> None:
    page = show("<a href='/away?x=1' target=_blank><span role=button id=b>Look</span></a>")
    element = page.element(A.CLICK, Target(selector="#b"))
    assert element.role == "button"
    assert element.href is not None
    assert (element.href.href, element.new_window) == (lab.site.origin + "/away?x=1", True)


@pytest.mark.parametrize("label", ["Your  name", "your name", "name", "Town", "Street", "Both parts"])
def test_labels_by_text_aria_label_and_labelledby(show: Shower, label: str) -> None:
    page = show('''<label for=a>Your
      name</label><input id=a class="Your-name"><label>Town <select id=b><option>x</select></label><input id=c aria-label=Street><i id=p>Both</i><i id=q>parts</i>
      <input id=d aria-labelledby="p q">''')
    found = {"Town": "b", "Street": "c", "Both parts": "d"}.get(label, "a")
    assert page.element(A.CLICK, Target(label=label)).attributes["id"] == found


def test_a_label_stands_for_its_control(show: Shower) -> None:
    page = show("<label>Name <input id=i name=n></label>")
    assert page.element(A.CLICK, Target(text="Name")).attributes["id"] == "i"
    assert page.do(A.FILL, Target(text="Name"), value="x").status == "success"
    assert page.js("i.value") == "x"


def test_press_without_target_is_grounded_on_the_focus(show: Shower) -> None:
    page = show("<button id=b autofocus>Erase</button>")
    page.js("b.focus()")
    assert page.element(A.PRESS, value="Enter").name == "Erase"
    page.js("b.blur()")
    assert page.element(A.PRESS, value="Enter").tag == "body"
