"""Hung, crashing, flooding, forking, hogging adapters: each ends in an outcome that names it, in time, and nothing of it lives on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import AgentFault, PluginError
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.child import MAX_OUTPUT
from deskcert_core.session.sandbox import Cell, Isolation

LOOK = Observation(step=1, url="", title="", text="")
PATIENCE = 60.0
BRIEF = Brief(task_id="t", goal="", start_url="", max_steps=1)
pytestmark = pytest.mark.sandbox
BOTH = pytest.mark.parametrize("isolation", ["sandbox", "process"])


@asynccontextmanager
async def agent(isolation: Isolation, *, memory_mb: int = 2048, value: str = "greedy_agent:Greedy", **options: str) -> AsyncIterator[AgentProcess]:
    process = await AgentProcess.start("greedy", value, options, {}, PATIENCE, Cell(isolation=isolation, memory_mb=memory_mb))
    try:
        await process.begin(BRIEF)
        yield process
    finally:
        await process.close()


def outcome(isolation: Isolation, timeout: float = PATIENCE, memory_mb: int = 2048, **options: str) -> tuple[str, bool]:
    """The answer, or the fault in words; and whether the process lives on."""

    async def run() -> tuple[str, bool]:
        async with agent(isolation, memory_mb=memory_mb, **options) as process:
            try:
                return (await process.propose(LOOK, timeout)).answer or "", process.alive
            except AgentFault as fault:
                return str(fault), process.alive

    return asyncio.run(run())


def marked(mark: str) -> list[int]:
    """Processes of the whole machine with that word in their command line, also those inside a sandbox."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def until(true: Callable[[], bool]) -> bool:
    for _ in range(3000):
        if true():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"mark-of-{tmp_path.name}-{os.getpid()}"


@pytest.mark.parametrize("do", ["leave_a_daemon", "hang_with_a_daemon"])
def test_a_daemon_in_a_session_of_its_own_dies_with_the_sandbox(do: str, mark: str) -> None:
    async def run() -> str:
        async with agent("sandbox", do=do, mark=mark) as process:
            asked = asyncio.create_task(process.propose(LOOK, 3.0))
            while not marked(mark):  # noqa: ASYNC110 - another process's birth
                await asyncio.sleep(0.05)
            assert marked(mark), "negative control: it was there"
            try:
                return (await asked).answer or ""
            except AgentFault as fault:
                return str(fault)

    assert asyncio.run(run()) == {"leave_a_daemon": "left", "hang_with_a_daemon": "agent 'greedy' (greedy_agent:Greedy): no answer within 3 seconds"}[do]
    assert until(lambda: not marked(mark))


PARENT = """
import asyncio, sys
from deskcert_core.agent import Brief, Observation
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.sandbox import Cell
async def main():
    agent = await AgentProcess.start("greedy", "greedy_agent:Greedy", {"do": "hang_with_a_daemon", "mark": sys.argv[1]}, {}, 60, Cell(isolation="sandbox"))
    await agent.begin(Brief(task_id="t", goal="", start_url="", max_steps=1))
    await agent.propose(Observation(step=1, url="", title="", text=""), 60)
asyncio.run(main())
"""


def test_the_sandbox_dies_with_deskcert_even_by_kill_nine(mark: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, f"{mark}-child"], env=env)
    try:
        assert until(lambda: len(marked(mark + "-child")) > 1), "the parent and the daemon"
    finally:
        parent.kill()
        parent.wait()
    assert until(lambda: not marked(mark + "-child"))


def test_control_without_a_sandbox_such_a_daemon_lives_on(mark: str) -> None:
    assert outcome("process", do="leave_a_daemon", mark=mark)[0] == "left"
    alive = marked(mark)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert alive


def test_a_fork_bomb_is_stopped_and_swept_away(mark: str) -> None:
    said, alive = outcome("sandbox", do="fork_bomb", mark=mark)
    assert "stopped by DeskCert: more than 256 processes and threads" in said or "BlockingIOError" in said, said
    assert "agent 'greedy' (greedy_agent:Greedy)" in said
    assert alive is ("BlockingIOError" in said)
    assert until(lambda: not marked(mark))


@BOTH
def test_a_memory_hog_gets_no_more_than_its_share(isolation: Isolation) -> None:
    said, _ = outcome(isolation, memory_mb=512, do="hog")
    assert said == "agent 'greedy' (greedy_agent:Greedy): MemoryError"


def test_control_with_more_memory_it_is_no_hog() -> None:
    assert outcome("sandbox", memory_mb=2048, do="hog") == ("hogged", True)


def test_processes_of_one_agent_share_its_memory(mark: str) -> None:
    said, alive = outcome("sandbox", memory_mb=400, do="hog_together", mark=mark)
    assert (said.endswith("stopped by DeskCert: more than 400 MB of memory"), alive) == (True, False), said
    assert until(lambda: not marked(mark))


@pytest.mark.parametrize(("do", "words"), [("fill_the_disk", "No space left on device"), ("one_big_file", "File too large")])
def test_it_cannot_fill_the_disk(do: str, words: str) -> None:
    assert words in outcome("sandbox", do=do)[0]


@BOTH
def test_a_message_of_100_mb_is_not_taken(isolation: Isolation) -> None:
    said, alive = outcome(isolation, do="flood")
    assert ("a frame of 104857600 bytes, over the limit" in said, alive) == (True, False), said


@BOTH
def test_100_mb_of_words_are_cut(isolation: Isolation) -> None:
    async def run() -> str:
        async with agent(isolation, do="print") as process:
            assert (await process.propose(LOOK, PATIENCE)).answer == "printed"
            return await process.close()

    text = asyncio.run(run())
    assert MAX_OUTPUT < len(text) < MAX_OUTPUT + 200
    assert "more bytes were dropped" in text


@pytest.mark.parametrize(("do", "words", "lives"), [
    ("raise_once", "KeyError", True), ("system_exit", "SystemExit: 3", True), ("exit", "it ended with exit code 7; last line of its stderr: the last word", False),
    ("killed", "it was killed by signal 9", False), ("fork_and_exit", "it ended with exit code 9", False), ("garbage", "it sent not a message", False),
    ("huge", "over the limit", False), ("early", "answered Started, not Propose", False), ("bad_action", "Invalid enum value", False),
])
def test_what_breaks_in_a_sandbox_is_named_as_elsewhere(do: str, words: str, lives: bool) -> None:
    async def run() -> None:
        async with agent("sandbox", value="odd_agents:Odd", do=do) as process:
            assert process.isolation == "sandbox"
            with pytest.raises(AgentFault, match=r"agent 'greedy' \(odd_agents:Odd\)") as caught:
                await process.propose(LOOK, PATIENCE)
            assert words in str(caught.value)
            assert process.alive is lives

    asyncio.run(run())


@pytest.mark.parametrize("isolation", ["sandbox", "none"])
def test_one_host_serves_many_trials(isolation: Isolation) -> None:
    async def run() -> list[str | None]:
        async with agent(isolation, value="odd_agents:Slow") as process:
            answers = []
            for _ in range(3):
                await process.begin(BRIEF)
                answers.append((await process.propose(LOOK, PATIENCE)).answer)
            return answers

    assert asyncio.run(run()) == ['{"same_loop": true, "text": ""}'] * 3


def test_in_process_a_fault_is_named_and_a_missing_adapter_is_a_plugin_error() -> None:
    said, alive = outcome("none", do="no_such")
    assert (said, alive) == ("agent 'greedy' (greedy_agent:Greedy): AttributeError: 'Greedy' object has no attribute 'do_no_such'", True)
    with pytest.raises(PluginError, match="no_such_agent"):
        asyncio.run(AgentProcess.start("odd", "no_such_agent:Odd", {}, {}, PATIENCE, Cell(isolation="none")))


def test_what_a_sandbox_does_not_show_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "outside_agent.py").write_text("from greedy_agent import Greedy\n")
    with pytest.raises(PluginError, match=r"No module named 'outside_agent'; in the sandbox .* `files`"):
        asyncio.run(AgentProcess.start("odd", "outside_agent:Greedy", {}, {}, PATIENCE, Cell(isolation="sandbox")))


def test_listed_files_are_shown_and_cannot_be_changed(tmp_path: Path) -> None:
    shown, hidden = tmp_path / "shown", tmp_path / "shown" / "runs"
    hidden.mkdir(parents=True)
    (shown / "model.txt").write_text("weights")
    (hidden / "journal").write_text("evidence")

    async def run() -> str | None:
        cell = Cell(isolation="sandbox", files=(str(shown),), hidden=(str(hidden),))
        process = await AgentProcess.start("reader", "reading_agent:Reading", {"folder": str(shown)}, {}, PATIENCE, cell)
        try:
            await process.begin(BRIEF)
            return (await process.propose(LOOK, PATIENCE)).answer
        finally:
            await process.close()

    assert asyncio.run(run()) == "weights, [], Read-only file system, Read-only file system"
