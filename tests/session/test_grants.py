"""An approved act covers what was shown of it and nothing else. Every case is judged by what reached the server, and has a control that did."""

from __future__ import annotations

from pathlib import Path

import pytest
from grants_support import counting

pytestmark = pytest.mark.browser
ASK = {"id": "ask", "decision": "approval_required", "when": {"request": {"path": "/danger/**"}}}
LINKS = """<a id=safe href=/safe>Safe</a><a id=hop href=/hop>Hop</a><a id=danger href=/danger/seen>Seen</a>
<script>safe.onclick = () => { fetch('/danger/script') }</script>"""


def click(*selectors: str) -> list[dict[str, object]]:
    return [step for one in selectors for step in ({"action_type": "goto", "url": "${base_url}/"}, {"action_type": "click", "target": {"selector": one}})]


@pytest.mark.parametrize(("rules", "arrived"), [([ASK], ["/safe", "/danger/seen"]), ([], ["/safe", "/danger/script", "/danger/hop", "/danger/seen"])])
def test_an_act_on_an_origin_lifts_no_rule_there(tmp_path: Path, rules: list[object], arrived: list[str]) -> None:
    """Approved are the acts: the link to /safe needs no approval, the link to /danger/seen shows where it leads. What a script reads and where a hop leads was not shown."""
    with counting(LINKS) as app:
        app.run(tmp_path, click("#safe", "#hop", "#danger"), {"rules": rules}, "acts_only")
        assert sorted(path for _, path, _ in app.hits) == sorted(arrived)


@pytest.mark.parametrize("rules", [[ASK], []])
def test_a_start_page_may_stand_under_a_rule_and_lifts_it_for_nothing_else(tmp_path: Path, rules: list[object]) -> None:
    with counting("<script>fetch('/danger/script')</script>") as app:
        app.run(tmp_path, [], {"rules": rules}, "acts_only", start="/danger/start")
        assert "/danger/start" in [path for _, path, _ in app.hits]
        assert ("/danger/script" in [path for _, path, _ in app.hits]) is (not rules)


def test_an_origin_that_asks_is_read_whole_once_it_was_approved(tmp_path: Path) -> None:
    with counting("<a id=safe href=/safe>Safe</a><script>fetch('/part' + location.pathname)</script>") as app:
        app.run(tmp_path, click("#safe"), {"domains": {"allowed": [], "approval_required": ["${base_url}"], "blocked": []}}, "acts_only")
        assert {"/safe", "/part/safe"} <= {path for _, path, _ in app.hits}


PAY = "<form id=f action=/pay method=post {more}><input name=amount value=10>{field}<button id=ok>Save</button></form>{script}"
CUSTOM = """<script>customElements.define('x-a', class extends HTMLElement { static formAssociated = true
  constructor() { super(); this.inside = this.attachInternals(); this.inside.setFormValue('1') } })</script>"""
MULTIPART = "enctype=multipart/form-data"
AS_FILE = """<script>f.onsubmit = e => { e.preventDefault(); const d = new FormData(); d.append('amount', new Blob(['9000']), '10'); fetch('/pay', {method: 'POST', body: d}) }</script>"""
AS_JSON = """<script>f.onsubmit = e => { e.preventDefault()
  fetch('/pay', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{"amount": "10"}'}) }</script>"""


@pytest.mark.parametrize(
    ("more", "field", "script", "arrives"),
    [
        ("", "", "", True), ("", "<input name=pin type=password value=1>", "", True), (MULTIPART, "<input type=file name=u>", "", True),
        (MULTIPART, "<input type=file name=u id=u>", "<script>const d = new DataTransfer(); d.items.add(new File(['x'], 'a')); u.files = d.files</script>", False),
        ("", "<x-a name=x></x-a>", CUSTOM, False), ("", "<x-a></x-a>", CUSTOM, False), (MULTIPART, "", AS_FILE, False), ("", "", AS_JSON, False),
    ],
)
def test_what_nobody_saw_is_asked_for_by_itself(tmp_path: Path, more: str, field: str, script: str, arrives: bool) -> None:
    """The approver says yes to the act and no to the request: what arrives was covered by the act."""
    with counting(PAY.format(more=more, field=field, script=script)) as app:
        app.run(tmp_path, click("#ok"), {}, "acts_only")
        assert ("POST", "/pay") in [hit[:2] for hit in app.hits] if arrives else app.hits == []


def test_a_form_without_fields_is_covered_by_its_act(tmp_path: Path) -> None:
    with counting("<form action=/pay method=post><button id=ok>Save</button></form>") as app:
        app.run(tmp_path, click("#ok"), {}, "acts_only")
        assert app.hits == [("POST", "/pay", "")]
