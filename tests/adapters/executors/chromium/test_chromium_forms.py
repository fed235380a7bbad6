"""The form that an act would send: after the submitter's overrides, through DOM clobbering, with the fields that a browser would send."""

from __future__ import annotations

import pytest
from conftest import Shower
from page_world import Lab

from deskcert_core.effect import UNKNOWN, Form
from deskcert_core.proposal import ActionType, Target

pytestmark = pytest.mark.browser
A = ActionType
MANY = """<form method=post action=/all id=f><input name=t value=1><input name=off value=2 disabled><fieldset disabled><input name=set value=3></fieldset>
<input type=checkbox name=c value=on1 checked><input type=checkbox name=c value=on2><input type=radio name=r value=r1><input type=radio name=r value=r2 checked>
<select name=s multiple><option selected>a<option>b<option selected>c</select><textarea name=x>area</textarea><input type=hidden name=h value=hid>
<input type=submit name=no value=no formaction=/no id=no><datalist><input name=dl value=dl></datalist><input value=nameless><button name=yes value=yes id=yes>Send</button></form>
<input name=outside value=out form=f>"""


def test_fields_are_those_that_the_browser_sends(lab: Lab, show: Shower) -> None:
    page = show(MANY)
    form = page.form(A.CLICK, Target(selector="#yes"))
    assert [(f.name, f.value) for f in form.fields] == [tuple(pair) for pair in page.js("[...new FormData(f, yes)]")]
    page.do(A.CLICK, Target(selector="#yes"))
    assert lab.site.got("POST", "/all") == ["&".join(f"{f.name}={f.value}" for f in form.fields)]


def test_passwords_and_files_are_named_without_their_value(show: Shower) -> None:
    page = show("<form method=post enctype=multipart/form-data><input type=password name=p value=hush autocomplete=current-password><input type=file name=f><button>Go</button></form>")
    form = page.form(A.CLICK, Target(text="Go"))
    assert [(f.name, f.kind, f.autocomplete, f.value) for f in form.fields] == [("p", "password", "current-password", None), ("f", "file", "", "")]
    assert form.enctype == "multipart/form-data"


def test_what_cannot_be_read_is_told_from_a_password(show: Shower) -> None:
    page = show("<form id=f method=post><x-a name=a></x-a><x-a></x-a><input type=image name=i alt=go width=9 height=9 id=b></form>")
    page.js("customElements.define('x-a', class extends HTMLElement { static formAssociated = true })")
    form = page.form(A.CLICK, Target(selector="#b"))
    assert [(f.name, f.kind, f.value) for f in form.fields] == [("a", "x-a", None), ("", "x-a", None), ("i.x", "image", None), ("i.y", "image", None)]


def test_the_submitter_overrides(lab: Lab, show: Shower) -> None:
    page = show(f"<form action=/calm><button id=b formaction={lab.other.origin}/pay formmethod=post formtarget=_blank>Go</button></form>")
    form = page.form(A.CLICK, Target(selector="#b"))
    assert form.action is not None
    assert (form.action.href, form.method, form.new_window) == (lab.other.origin + "/pay", "POST", True)
    assert page.element(A.CLICK, Target(selector="#b")).submits


def test_a_clobbered_form_is_read_through_the_prototypes(lab: Lab, show: Shower) -> None:
    names = ["action", "method", "id", "elements", "getAttribute", "target", "enctype", "submit", "requestSubmit", "querySelectorAll", "parentElement", "shadowRoot"]
    page = show("<form method=post action=/real id=f>" + "".join(f"<input name={name} value=/fake>" for name in names) + "<button id=b>Go</button></form><img name=body><img name=title>")
    assert page.js("f.action.value") == "/fake"
    form = page.form(A.CLICK, Target(selector="#b"))
    assert form.action is not None
    assert (form.action.path, form.method, [f.name for f in form.fields]) == ("/real", "POST", names)
    assert page.do(A.SUBMIT_FORM, Target(selector="#f")).status == "success"
    assert len(lab.site.got("POST", "/real")) == 1


@pytest.mark.parametrize(("attributes", "path", "method"), [("", "/", "GET"), ("action='' method=POST", "/", "POST"), ("action='x?y=1' method=put", "/deep/x", "GET")])
def test_defaults_and_relative_actions(lab: Lab, show: Shower, attributes: str, path: str, method: str) -> None:
    page = show(f"{'<base href=/deep/>' if 'x?' in attributes else ''}<form {attributes}><button>Go</button></form>")
    form = page.form(A.CLICK, Target(text="Go"))
    assert form.action is not None
    assert (form.action.path, form.method) == (path, method)


@pytest.mark.parametrize(("html", "sends"), [
    ("<form method=dialog><button id=b>Go</button></form>", False), ("<form><button id=b type=button>Go</button></form>", False),
    ("<button id=b>Go</button>", False), ("<form><input type=reset id=b></form>", False), ("<form><input type=image id=b alt=go width=9 height=9></form>", True),
    ("<form id=f></form><button form=f id=b>Go</button>", True), ("<form><label for=b id=l>Go</label><input type=submit id=b></form>", True),
    ("<form><button><span id=b role=link>Go</span></button></form>", True),
])
def test_which_clicks_send(show: Shower, html: str, sends: bool) -> None:
    grounding = show(html).ground(A.CLICK, Target(selector="#b"))
    assert isinstance(grounding.form, Form) is sends


def test_an_action_that_cannot_be_read_is_unknown(show: Shower) -> None:
    page = show("<form action='http://user:pw@127.0.0.1/'><button>Go</button></form>")
    assert page.ground(A.CLICK, Target(text="Go")).form is UNKNOWN


@pytest.mark.parametrize(("key", "html", "sends"), [
    ("Enter", "<button id=b>Go</button>", True), ("Space", "<button id=b>Go</button>", True), ("Space", "<input id=b>", False), ("Enter", "<textarea id=b></textarea>", False),
    ("Control+Enter", "<input id=b>", True), ("Enter", "<input id=b><button disabled>Go</button>", False), ("Tab", "<button id=b>Go</button>", False),
])
def test_which_keys_send(show: Shower, key: str, html: str, sends: bool) -> None:
    grounding = show(f"<form>{html}</form>").ground(A.PRESS, Target(selector="#b"), value=key)
    assert isinstance(grounding.form, Form) is sends


def test_enter_on_a_link_leads_where_the_link_leads(lab: Lab, show: Shower) -> None:
    page = show("<a href=/there id=a>Go</a>")
    element = page.element(A.PRESS, Target(selector="#a"), value="Enter")
    assert element.href is not None
    assert element.href.path == "/there"
