"""Pages that hang, load for ever or crash, and a browser that dies: each call ends in a result or a fault that says whose it is, and in time."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Shower
from page_world import Lab, Trial

from deskcert_core.errors import HarnessFault, InputError
from deskcert_core.execution import ExecutionResult, PagePlan
from deskcert_core.proposal import ActionType, Proposal, Target

pytestmark = pytest.mark.browser
A = ActionType
PART = "deskcert_adapters.executors.chromium."


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ends, sooner."""
    for name, seconds in (("act.ACT_SECONDS", 1.0), ("observe.FACTS_SECONDS", 0.7), ("observe.PICTURE_SECONDS", 0.7), ("resolve.ANSWER_SECONDS", 0.5), ("page.SETTLE_SECONDS", 1.0), ("page.ANSWER_SECONDS", 1.0)):
        monkeypatch.setattr(PART + name, seconds)


@pytest.mark.usefixtures("hasty")
def test_a_busy_loop_is_a_timeout_and_then_a_page_that_does_not_answer(lab: Lab, show: Shower) -> None:
    page = show("<button id=spin onclick='for(;;){}'>Compute</button>")
    result = page.do(A.CLICK, Target(selector="#spin"))
    assert result.status == "timeout"
    seen = page.see()
    assert (seen.text, seen.screenshot, seen.url, seen.whole) == ("", None, lab.site.origin + "/", False)
    assert any("did not answer" in event for event in seen.events)
    assert any("no picture" in event for event in seen.events)
    assert page.ground(A.CLICK, Target(selector="#spin")).problem_kind == "unusable"
    with pytest.raises(HarnessFault) as fault:
        lab.run(page.page.exists("#spin"))
    assert fault.value.whose == "application"
    page.close()
    assert show("<p>next").see().text == "next"


def test_a_text_that_was_cut_is_not_whole(show: Shower) -> None:
    cut, whole = show("<p>" + "word " * 45_000).see(), show("<p>" + "word " * 30_000).see()
    assert (len(cut.text), cut.whole) == (200_000, False)
    assert (len(whole.text) > 149_000, whole.whole) == (True, True)


@pytest.mark.usefixtures("hasty")
def test_a_font_that_never_comes_holds_nothing_up(lab: Lab, show: Shower) -> None:
    page = show("<style>@font-face{font-family:slow;src:url(/hang.woff2)}h1{font-family:slow,sans-serif}</style><h1>Waiting</h1><button id=b onclick='n=1'>Go</button>")
    seen = page.see()
    assert seen.screenshot is not None
    assert "Waiting" in seen.text
    assert page.do(A.CLICK, Target(selector="#b")).status == "success"
    assert page.js("n") == 1
    assert len(lab.site.hits) <= 1


@pytest.mark.usefixtures("hasty")
def test_an_address_that_never_answers_is_a_timeout(lab: Lab, show: Shower) -> None:
    page = show("<p>Here")
    assert page.do(A.GOTO, url="/hang").status == "timeout"


def test_a_refused_connection_is_an_error_or_the_gates_answer(show: Shower) -> None:
    result = show("<p>Here").do(A.GOTO, url="http://127.0.0.1:1/")
    assert result.status == "error" or result.message.startswith("HTTP 5")


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("way", ["crash", "close"])
def test_a_page_that_is_gone_is_the_applications_fault(lab: Lab, show: Shower, way: str) -> None:
    page = show("<p>Here")
    result = lab.run(go_away(page, way))
    assert result.status == "error"
    assert "crash" not in way or "page crashed" in page.page.watch.events
    for call in (page.see, lambda: page.ground(A.READ), lambda: page.do(A.GOTO, url="/")):
        with pytest.raises(HarnessFault) as fault:
            call()
        assert fault.value.whose == "application"
    lab.run(page.page.settle())
    page.close()
    assert show("<p>next").see().text == "next"


async def go_away(page: Trial, way: str) -> ExecutionResult:
    """The renderer dies, or the page is closed, while an act is under way."""
    proposal = Proposal(action_type=A.WAIT_FOR, timeout_seconds=20)
    act = asyncio.ensure_future(page.page.act(proposal, await page.page.ground(proposal), {}))
    await asyncio.sleep(0.1)
    tab = page.page.watch.tab
    dying = asyncio.ensure_future(tab.goto("chrome://crash") if way == "crash" else tab.close())
    result = await act
    await asyncio.gather(dying, return_exceptions=True)
    return result


@pytest.fixture
def mortal() -> Iterator[tuple[Lab, set[int]]]:
    """A browser of its own, and its main processes."""
    before = browsers_of_this_process()
    with Lab() as made:
        yield made, browsers_of_this_process() - before


def browsers_of_this_process() -> set[int]:
    """The main processes of the browsers below us: those with a debugging pipe that are no helper of another."""
    parent: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    ours = [pid for pid in parent if ancestor(pid, parent, os.getpid())]
    return {pid for pid in ours if b"--remote-debugging-pipe" in command_line(pid) and b"--type=" not in command_line(pid)}


def ancestor(pid: int, parent: dict[int, int], of: int) -> bool:
    while pid in parent:
        pid = parent[pid]
        if pid == of:
            return True
    return False


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_killed_browser_is_the_browsers_fault(mortal: tuple[Lab, set[int]]) -> None:
    lab, mine = mortal
    assert mine
    page = lab.show("<button id=b>Go</button>")
    found = page.ground(A.CLICK, Target(selector="#b"))
    for pid in mine:
        os.kill(pid, signal.SIGKILL)
    calls = [
        lambda: page.carry_out(Proposal(action_type=A.CLICK, target=Target(selector="#b")), found), page.see, lambda: page.ground(A.CLICK, Target(selector="#b")),
        lambda: lab.run(page.page.settle()), lambda: lab.run(page.page.storage_state()), lambda: lab.run(lab.browser.open(PagePlan(name="again"))),
    ]
    for call in calls:
        with pytest.raises(HarnessFault) as fault:
            call()
        assert fault.value.whose == "browser"
    page.close()


def test_bad_plans_are_refused(lab: Lab) -> None:
    with pytest.raises(InputError, match="button"):
        lab.open(selectors=("button[",))
    with pytest.raises(HarnessFault) as fault:
        lab.open(storage_state="{nonsense")
    assert fault.value.whose == "session"
    lab.open(selectors=("button",)).close()
