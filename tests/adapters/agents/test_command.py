"""The command adapter in its real process, before real programs: what breaks is named by its command, and nothing of it stays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import AgentFault, HarnessFault, PluginError
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.session.agent_process import AgentProcess

VALUE = "deskcert_adapters.agents.command:Command"
ODD = Path(__file__).parents[2] / "odd_program.py"
LOOK = Observation(step=1, url="http://127.0.0.1/", title="", text="invoice")
PATIENCE = 30.0


def brief(task_id: str = "t", script: tuple[Proposal, ...] | None = None) -> Brief:
    return Brief(task_id=task_id, goal="g", start_url="http://127.0.0.1/", max_steps=3, script=script)


def command(do: str) -> str:
    return f"python {ODD} {do}"


@contextlib.asynccontextmanager
async def agent(do: str, env: dict[str, str] | None = None, **options: str) -> AsyncIterator[AgentProcess]:
    process = await AgentProcess.start("mine", VALUE, {"command": command(do), **options}, env or {}, PATIENCE)
    try:
        yield process
    finally:
        await process.close()


async def answer(process: AgentProcess, look: Observation = LOOK) -> Any:
    return json.loads((await process.propose(look, PATIENCE)).answer or "null")


def answer_of(do: str = "good", env: dict[str, str] | None = None, **options: str) -> Any:
    async def run() -> Any:
        async with agent(do, env, **options) as process:
            await process.begin(brief())
            return await answer(process)

    return asyncio.run(run())


def living(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def ends(pid: int) -> bool:
    for _ in range(1000):
        if not living(pid):
            return True
        time.sleep(0.01)
    return False


def test_the_program_is_told_and_answers() -> None:
    said = answer_of(model="small")
    assert said["argv"] == ["good"]
    assert said["hello"] == {"type": "hello", "version": 1, "adapter": VALUE, "options": {"model": "small"}}
    assert said["brief"] == {"task_id": "t", "goal": "g", "start_url": "http://127.0.0.1/", "max_steps": 3}


def test_its_environment_is_the_agents_without_our_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING_ELSE", "secret")
    env = answer_of(env={"MODEL_KEY": "k-123456"})["env"]
    assert env["MODEL_KEY"] == "k-123456"
    assert {"SOMETHING_ELSE", "PYTHONPATH"} & set(env) == set()


def test_it_starts_in_an_empty_folder_or_in_cwd(tmp_path: Path) -> None:
    assert Path(answer_of()["cwd"]).name == "work"
    assert answer_of(cwd=str(tmp_path))["cwd"] == str(tmp_path)


def test_what_it_says_of_itself_is_heard() -> None:
    async def run() -> tuple[bool, bool, Any]:
        async with agent("says") as process:
            await process.begin(brief(script=(Proposal(action_type=ActionType.READ),)))
            return process.wants_script, process.calls_model, await answer(process)

    wants, calls, said = asyncio.run(run())
    assert (wants, calls, said["brief"]["script"]) == (True, True, [{"action_type": "read"}])


def test_a_look_larger_than_any_pipe_arrives() -> None:
    async def run() -> None:
        async with agent("good") as process:
            await process.begin(brief())
            await answer(process, Observation(step=1, url="u", title="", text="x" * 3_000_000, screenshot=b"j" * 1_000_000))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("do", "said"),
    [
        ("crash", "ended with exit code 7"),
        ("killed", "was killed by signal 9"),
        ("closes", "closed its standard output"),
        ("silent", "gave no answer within 1 seconds"),
        ("prints", "sent what is no message: a frame of 1751477356 bytes, over the limit of 67108864 (its standard output belongs to the protocol"),
        ("garbage", "sent what is no message: not a message"),
        ("extra-key", "sent what is no message: proposal has no key 'please'"),
        ("wrong-kind", "answered Started, not Propose"),
    ],
)
def test_what_breaks_is_the_agents_fault_by_its_command_and_the_next_trial_has_a_new_program(tmp_path: Path, do: str, said: str) -> None:
    async def run() -> tuple[str, int, int]:
        async with agent(do, timeout="1" if do == "silent" else "30", pids=str(tmp_path / "pid")) as process:
            await process.begin(brief())
            first = int((tmp_path / "pid").read_text())
            with pytest.raises(AgentFault) as caught:
                await process.propose(LOOK, PATIENCE)
            assert not living(first)
            assert process.alive
            await process.begin(brief("t2"))
            return str(caught.value), first, int((tmp_path / "pid").read_text())

    message, first, second = asyncio.run(run())
    assert str(ODD) in message
    assert said in message
    assert first != second
    assert not living(second)


def test_what_it_wrote_to_stderr_is_kept() -> None:
    async def run() -> str:
        process = await AgentProcess.start("mine", VALUE, {"command": command("crash")}, {}, PATIENCE)
        await process.begin(brief())
        with pytest.raises(AgentFault):
            await process.propose(LOOK, PATIENCE)
        return await process.close()

    assert "the last word" in asyncio.run(run())


def test_a_fault_that_it_tells_leaves_it_running(tmp_path: Path) -> None:
    async def run() -> tuple[str, str]:
        async with agent("fault", pids=str(tmp_path / "pid")) as process:
            await process.begin(brief())
            with pytest.raises(AgentFault, match="I do not know") as caught:
                await process.propose(LOOK, PATIENCE)
            assert str(ODD) in str(caught.value)
            first = (tmp_path / "pid").read_text()
            await process.begin(brief())
            return first, (tmp_path / "pid").read_text()

    first, second = asyncio.run(run())
    assert first == second


def test_a_fault_of_its_model_service_is_not_the_agents() -> None:
    async def run() -> HarnessFault:
        async with agent("model") as process:
            await process.begin(brief())
            with pytest.raises(HarnessFault) as caught:
                await process.propose(LOOK, PATIENCE)
            return caught.value

    fault = asyncio.run(run())
    assert fault.whose == "model"
    assert "529 overloaded" in str(fault)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"command": ""}, "needs the option command"),
        ({"command": "no-such-program-at-all x"}, "no-such-program-at-all x cannot be started"),
        ({"command": command("no-start")}, "ended with exit code 1"),
        ({"command": command("old")}, "speaks version 2 of the protocol, not 1"),
        ({"command": command("good"), "timeout": "soon"}, "could not convert string to float"),
        ({"command": command("good"), "timeout": "nan"}, "timeout is a number of seconds"),
        ({"command": command("good"), "cwd": "/no/such/folder"}, "cannot be started"),
    ],
)
def test_a_program_that_cannot_be_started_is_a_broken_plugin(options: dict[str, str], said: str) -> None:
    with pytest.raises(PluginError) as caught:
        asyncio.run(AgentProcess.start("mine", VALUE, options, {}, PATIENCE))
    assert said in str(caught.value)


@pytest.mark.parametrize("do", ["silent", "good"])
def test_no_program_outlives_the_agents_process(tmp_path: Path, do: str) -> None:
    """It ignores SIGTERM, and one of the two also ignores the end of its input: it hangs in an answer."""
    async def run() -> int:
        async with agent(do, pids=str(tmp_path / "pid")) as process:
            await process.begin(brief())
            with contextlib.suppress(AgentFault):
                await process.propose(LOOK, 0.5)
        return int((tmp_path / "pid").read_text())

    assert ends(asyncio.run(run()))


def test_a_host_that_is_killed_takes_its_program_along(tmp_path: Path) -> None:
    async def run() -> int:
        async with agent("silent", pids=str(tmp_path / "pid")) as process:
            await process.begin(brief())
            pid = int((tmp_path / "pid").read_text())
            host = parent_of(pid)
            asking = asyncio.ensure_future(process.propose(LOOK, PATIENCE))
            await asyncio.sleep(0.2)  # so that the program hangs in its answer
            os.kill(host, signal.SIGKILL)
            with pytest.raises(AgentFault, match="killed by signal 9"):
                await asking
            return pid

    assert ends(asyncio.run(run()))
