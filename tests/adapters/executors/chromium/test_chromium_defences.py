"""Pages that try to fool the executor. Each judged by what reached the server, each with the same act without the trick, which must get through."""

from __future__ import annotations

import pytest
from conftest import Shower
from page_world import Lab, Trial

from deskcert_core.execution import SecretValue
from deskcert_core.proposal import ActionType, Proposal, Target

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("impatient")]
A = ActionType
VALUE = "correct horse battery"
HANDLE = "{{secret:pw}}"


@pytest.mark.parametrize("patched", [True, False])
def test_a_page_that_patches_its_prototypes_fools_nobody(show: Shower, patched: bool) -> None:
    patch = """for (const [p, n] of [[HTMLElement, 'innerText'], [Node, 'textContent'], [Document, 'title']]) Object.defineProperty(p.prototype, n, {get: () => 'all is well'});
      Document.prototype.elementFromPoint = Document.prototype.querySelectorAll = Element.prototype.getAttribute = () => null;
      window.deskcert = {observe: () => ({url: 'x', title: 'x', text: 'all is well'})}; JSON.stringify = () => 'x';"""
    page = show(f"<p>Overdue</p><button id=b>Erase</button><script>{patch if patched else ''}</script>")
    seen = page.see()
    assert (seen.title, seen.text) == ("Test", "Overdue\n\nErase")
    assert page.element(A.CLICK, Target(selector="#b")).name == "Erase"
    assert (page.js("document.body.innerText") == "all is well") is patched


def moved(page: Trial, change: str, action: ActionType = A.CLICK, **more: str) -> str:
    """Ground, let the page change, act on the old grounding."""
    proposal = Proposal(action_type=action, target=Target(selector="#b"), **more)  # type: ignore[arg-type]  # value only
    grounding = page.lab.run(page.page.ground(proposal))
    assert grounding.problem is None
    page.js(change)
    return page.carry_out(proposal, grounding).status


TWO = """<style>button{position:absolute;left:20px;width:120px;height:40px}</style>
<button id=b style='top:20px' onclick="fetch('/keep',{method:'POST'})">Keep</button><button id=drop style='top:90px' onclick="fetch('/drop',{method:'POST'})">Drop</button>"""


@pytest.mark.parametrize(("change", "status", "reached"), [
    ("0", "success", ["/keep"]), ("drop.style.top='20px'", "error", []), ("b.style.top='300px'", "error", []), ("b.remove()", "error", []),
    ("b.style.left='40px'", "success", ["/keep"]), ("b.outerHTML = b.outerHTML", "error", []),
])
def test_what_moved_between_ground_and_act_is_not_hit(lab: Lab, show: Shower, change: str, status: str, reached: list[str]) -> None:
    page = show(TWO)
    assert moved(page, change) == status
    assert [hit.path for hit in lab.site.hits] == reached


@pytest.mark.parametrize(("event", "status", "reached"), [
    ("none", "success", ["/keep"]), ("pointerenter", "error", []), ("pointerdown", "error", []), ("mousedown", "error", []), ("mouseup", "error", []),
])
def test_what_slips_under_the_pointer_gets_no_click(lab: Lab, show: Shower, event: str, status: str, reached: list[str]) -> None:
    page = show(TWO + f"<script>b.addEventListener('{event}', () => {{ drop.style.top = '20px'; b.style.zIndex = -1 }})</script>")
    result = page.do(A.CLICK, Target(selector="#b"))
    if event != "mouseup":  # by then the press has happened on the right one, and so does the click
        assert result.status == status
        assert [hit.path for hit in lab.site.hits] == reached
    assert lab.site.got("POST", "/drop") == []


def test_the_trick_works_without_the_guard(lab: Lab, show: Shower) -> None:
    page = show(TWO + "<script>b.addEventListener('pointerenter', () => { drop.style.top = '20px'; b.style.zIndex = -1 })</script>")
    lab.run(page.page.watch.tab.mouse.click(80, 40))
    lab.run(page.page.settle())
    assert lab.site.got("POST", "/drop") == [""]


@pytest.mark.parametrize(("change", "status", "sent"), [
    ("0", "success", ["amount=10"]), ("amount.value='9000'", "error", []), ("b.form.action='/elsewhere'", "error", []), ("b.formMethod='get'", "error", []),
])
@pytest.mark.parametrize("action", [A.CLICK, A.SUBMIT_FORM])
def test_a_form_that_drifts_is_not_sent(lab: Lab, show: Shower, action: ActionType, change: str, status: str, sent: list[str]) -> None:
    page = show("<form method=post action=/pay><input name=amount id=amount value=10><button id=b>Pay</button></form>")
    assert moved(page, change, action) == status
    assert lab.site.got("POST", "/pay") == sent
    assert len(lab.site.hits) == len(sent)


def test_an_old_grounding_is_not_acted_on(lab: Lab, show: Shower) -> None:
    page = show(TWO)
    first = page.ground(A.CLICK, Target(selector="#b"))
    page.ground(A.CLICK, Target(selector="#drop"))
    assert page.carry_out(Proposal(action_type=A.CLICK, target=Target(selector="#b")), first).status == "error"
    assert lab.site.hits == []


# -- secrets
def login(lab: Lab, field: str = "<input type=password id=p name=p>", action: str = "/login") -> str:
    return f"<form method=post action='{action}' id=f><input name=user id=u>{field}<button>Log in</button></form>"


@pytest.mark.parametrize("action", [A.FILL, A.TYPE])
def test_a_secret_is_typed_into_its_field(lab: Lab, show: Shower, action: ActionType) -> None:
    page = show(login(lab))
    result = page.do(action, Target(selector="#p"), {"pw": SecretValue(value=VALUE, origins=(lab.site.origin,))}, value=HANDLE)
    assert (result.status, result.message) == ("success", "")
    form = page.form(A.SUBMIT_FORM, Target(selector="#f"))
    assert [f.value for f in form.fields] == ["", None]
    page.js("p.type = 'text'")
    form = page.form(A.SUBMIT_FORM, Target(selector="#f"))
    assert VALUE not in repr(form)
    assert [(f.kind, f.value) for f in form.fields] == [("text", ""), ("password", None)]
    page.do(A.SUBMIT_FORM, Target(selector="#f"))
    assert lab.site.got("POST", "/login") == ["user=&p=" + VALUE.replace(" ", "+")]


@pytest.mark.parametrize(("field", "action", "value", "origins", "target"), [
    ("<input type=password id=p name=p>", "/login", HANDLE, ("https://bank.example",), "#p"),
    ("<input type=password id=p name=p>", "/login", HANDLE, ("http://127.0.0.1:1",), "#p"),
    ("<input type=password id=p name=p>", "OTHER/steal", HANDLE, ("SITE",), "#p"),
    ("<input type=password id=p name=p><button formaction=OTHER/steal>x</button>", "/login", HANDLE, ("SITE",), "#p"),
    ("<input type=password id=p name=p>", "/login", HANDLE, ("SITE",), "#u"),
    ("<input type=password id=p name=p>", "/login", "{{secret:other}}", ("SITE",), "#p"),
    ("<input type=password id=p name=p>", "/login", "x" + HANDLE, ("SITE",), "#p"),
    ("<input type=password id=p name=p oninput='u.value=p.value'>", "/login", HANDLE, ("SITE",), "#p"),
    ("<input type=password id=p name=p onfocus='u.focus()'>", "/login", HANDLE, ("SITE",), "#p"),
    ("<input type=password id=p name=p maxlength=5>", "/login", HANDLE, ("SITE",), "#p"),
])
def test_a_secret_is_typed_nowhere_else(
    lab: Lab, show: Shower, field: str, action: str, value: str, origins: tuple[str, ...], target: str,
) -> None:
    def named(text: str) -> str:
        return text.replace("OTHER", lab.other.origin).replace("SITE", lab.site.origin)

    page = show(login(lab, named(field), named(action)))
    secret = SecretValue(value=VALUE, origins=tuple(map(named, origins)))
    result = page.do(A.FILL, Target(selector=target), {"pw": secret}, value=value)
    assert result.status == "error"
    assert page.js("[u.value, p.value]") == ["", ""]
    assert "horse" not in repr(result)
    assert "horse" not in repr(secret)


def test_a_secret_of_two_lines_would_press_enter(lab: Lab, show: Shower) -> None:
    page = show(login(lab))
    result = page.do(A.TYPE, Target(selector="#p"), {"pw": SecretValue(value="one\ntwo", origins=(lab.site.origin,))}, value=HANDLE)
    assert (result.status, lab.site.hits) == ("error", [])


def test_documents_that_pass_no_gate_are_told(lab: Lab, show: Shower) -> None:
    page = show("<iframe src='data:text/html,<p>x'></iframe>")
    assert any(event.startswith("a frame opened data:text/html") for event in page.see().events)


def test_a_secret_stays_out_of_a_foreign_frame(lab: Lab, show: Shower) -> None:
    lab.other.pages["/login"] = "<!doctype html><body style='margin:0'><input type=password id=p autofocus style='width:300px;height:150px' oninput=\"fetch('/got',{method:'POST'})\">"
    page = show(f"<iframe id=f src={lab.other.origin}/login></iframe>")
    page.do(A.CLICK, Target(selector="#f"))
    result = page.do(A.TYPE, None, {"pw": SecretValue(value=VALUE, origins=(lab.other.origin, lab.site.origin))}, value=HANDLE)
    assert result.status == "error"
    assert lab.other.got("POST", "/got") == []
