"""file: addresses: only where the suite has roots, only inside them, links followed; judged by what the page got to see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_world import Lab, Trial

from deskcert_adapters.executors.chromium.files import inside
from deskcert_core.execution import BrowserPlan
from deskcert_core.proposal import ActionType, Target

A = ActionType


@pytest.fixture
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    (top / "site").mkdir()
    (top / "site" / "in side.html").write_text("<!doctype html><title>In</title><p>inside</p>")
    (top / "outside.html").write_text("<!doctype html><p>outside</p>")
    (top / "outside.js").write_text("document.body.append('outside script')")
    (top / "site" / "link.html").symlink_to(top / "outside.html")
    (top / "site" / "index.html").write_text(
        "<!doctype html><title>Site</title><p>start</p><a href='in%20side.html'>Fine</a> <a href=../outside.html>Climb</a> <a href=link.html>Link</a><script src=../outside.js></script>"
    )
    return top


@pytest.fixture
def files(tree: Path) -> Iterator[Trial]:
    with Lab(plan=BrowserPlan(files=(str(tree / "site"),))) as lab:
        yield lab.open()


@pytest.mark.browser
def test_only_what_lies_in_a_root_is_loaded(files: Trial, tree: Path) -> None:
    start = (tree / "site" / "index.html").as_uri()
    files.goto(start)
    seen = files.see()
    assert seen.text.startswith("start")
    assert "outside script" not in seen.text
    assert f"file allowed: {start}" in seen.events
    assert any(event.startswith("file refused") and event.endswith("outside.js") for event in seen.events)
    element = files.element(A.CLICK, Target(text="Fine"))
    assert (element.origin and element.origin.scheme) == "file"
    assert files.do(A.CLICK, Target(text="Fine")).status == "success"
    assert files.see().text == "inside"
    for text in ("Climb", "Link"):
        files.goto(start)
        files.do(A.CLICK, Target(text=text))
        seen = files.see()
        assert "outside" not in seen.text
        assert any(event.startswith("file refused") for event in seen.events), text
    assert files.do(A.GOTO, url=(tree / "outside.html").as_uri()).status == "error"
    assert "outside" not in files.see().text


@pytest.mark.browser
def test_the_outside_page_loads_where_it_is_a_root(tree: Path) -> None:
    with Lab(plan=BrowserPlan(files=(str(tree),))) as lab:
        page = lab.open()
        page.goto((tree / "site" / "link.html").as_uri())
        assert page.see().text == "outside"


def test_inside_reads_real_paths(tree: Path) -> None:
    roots = ((tree / "site").resolve(),)
    uri = (tree / "site").as_uri()
    assert inside(f"{uri}/in%20side.html?x#y", roots)
    assert inside(f"{uri}/", roots)
    for bad in (f"{uri}/../outside.html", f"{uri}/%2e%2e/outside.html", f"{uri}/link.html", f"file://host{tree}/site/index.html", "http://x/", f"{uri}-not/x"):
        try:
            allowed = inside(bad, roots)
        except OSError:
            allowed = False
        assert not allowed, bad
