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
