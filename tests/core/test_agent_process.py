"""The agent process with real children: what breaks is named, nothing outlives it, nothing leaks into it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from deskcert_core.agent import Brief, Observation
from deskcert_core.errors import AgentFault, HarnessFault, PluginError
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.child import MAX_OUTPUT

PATIENCE = 30.0
LOOK = Observation(step=1, url="http://127.0.0.1/", title="", text="invoice")


def brief(task_id: str = "t1", script: tuple[Proposal, ...] | None = None) -> Brief:
    return Brief(task_id=task_id, goal="g", start_url="http://127.0.0.1/", max_steps=3, script=script)


@contextlib.asynccontextmanager
async def agent(*, env: Mapping[str, str] | None = None, value: str = "odd_agents:Odd", begin: bool = True, **options: str) -> AsyncIterator[AgentProcess]:
    process = await AgentProcess.start("odd", value, options, env or {}, PATIENCE)
    try:
        if begin:
            await process.begin(brief())
        yield process
    finally:
        await process.close()


def answer_of(*, env: Mapping[str, str] | None = None, value: str = "odd_agents:Odd", look: Observation = LOOK, **options: str) -> Any:
    async def run() -> Any:
        async with agent(env=env, value=value, **options) as process:
            proposal = await process.propose(look, PATIENCE)
            assert proposal.answer is not None
            return json.loads(proposal.answer)

    return asyncio.run(run())


def fault_of(timeout: float = PATIENCE, **options: str) -> tuple[str, bool]:
    """The agent's fault in propose, and whether the process lives on."""

    async def run() -> tuple[str, bool]:
        async with agent(**options) as process:
            with pytest.raises(AgentFault) as caught:
                await process.propose(LOOK, timeout)
            assert caught.value.whose == "agent"
            return str(caught.value), process.alive

    return asyncio.run(run())


def living(pid: int) -> bool:
    """A zombie has ended; only its parent has not asked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int) -> bool:
    for _ in range(1000):
        if not living(pid):
            return True
        time.sleep(0.01)
    return False


def test_one_process_serves_many_trials_sync_and_async() -> None:
    async def run() -> list[Any]:
        async with agent(begin=False) as process:
            assert (process.isolation, process.wants_script, process.alive) == ("process", False, True)
            for name in ("a", "b"):
                await process.begin(brief(name))
            look = Observation(step=1, url="", title="", text="caf\u00e9 \ud800!", screenshot=bytes(3_000_000))
            answers = [(await process.propose(look, PATIENCE)).answer]
        async with agent(value="odd_agents:Slow") as process:
            answers += [(await process.propose(LOOK, PATIENCE)).answer for _ in range(2)]
        return [json.loads(a or "") for a in answers]

    assert asyncio.run(run()) == [{"trials": ["a", "b"], "text": "caf\u00e9 ?!", "picture": 3_000_000}] + [{"same_loop": True, "text": "invoice"}] * 2


@pytest.mark.parametrize(("value", "options", "words"), [
    ("odd_agents:Missing", {}, "no attribute 'Missing'"),
    ("no_such_agent:Odd", {}, "No module named 'no_such_agent'"),
    ("broken_agent:Odd", {}, "SystemExit: no licence"),
    ("odd_agents:FromTheFuture", {}, "deskcert_api = 2, this DeskCert speaks 1"),
    ("odd_agents:NotForUs", {}, "deskcert_api = None"),
    ("odd_agents:Odd", {"do": "exit", "when": "init"}, "ended with exit code 7; last line of its stderr: the last word"),
    ("odd_agents:Odd", {"do": "old", "when": "init"}, "speaks version 2 of the protocol, not 1"),
    ("odd_agents:Odd", {"do": "garbage", "when": "init"}, "it sent not a message"),
    ("odd_agents:Odd", {"do": "early", "when": "init"}, "answered Started, not Ready"),
])
def test_an_adapter_that_cannot_be_made_is_a_plugin_error_in_one_line(value: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(PluginError) as caught:
        asyncio.run(AgentProcess.start("odd", value, options, {}, PATIENCE))
    assert words in str(caught.value)
    assert f"agent 'odd' ({value})" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("do", "words", "lives"), [
    ("raise_once", "KeyError: 'first\\nsecond'", True),
    ("system_exit", "SystemExit: 3", True),
    ("not_a_proposal", "propose gave dict, not a Proposal", True),
    ("unencodable", "cannot be sent as JSON", True),
    ("no_target", "its click is no valid proposal: \"target\" is a required property", True),
    ("foreign_field", "its read is no valid proposal", True),
    ("exit", "it ended with exit code 7; last line of its stderr: the last word", False),
    ("killed", "it was killed by signal 9", False),
    ("fork_and_exit", "it ended with exit code 9", False),
    ("garbage", "it sent not a message", False),
    ("huge", "it sent a frame of 67108865 bytes, over the limit", False),
    ("unknown", "unknown type 'please'", False),
    ("early", "answered Started, not Propose", False),
    ("extra_key", "proposal.proposal.target has no key 'safe'", False),
    ("bad_action", "Invalid enum value 'rob'", False),
])
def test_what_breaks_in_propose_is_the_agents_fault(do: str, words: str, lives: bool) -> None:
    said, alive = fault_of(do=do)
    assert words in said
    assert said.startswith("agent 'odd' (odd_agents:Odd): ")
    assert alive is lives


def test_after_an_exception_the_next_trial_is_served() -> None:
    async def run() -> str | None:
        async with agent(do="raise_once") as process:
            with pytest.raises(AgentFault):
                await process.propose(LOOK, PATIENCE)
            await process.begin(brief("again"))
            return (await process.propose(LOOK, PATIENCE)).answer

    assert json.loads(asyncio.run(run()) or "")["trials"] == ["t1", "again"]


def test_after_a_crash_every_call_says_so() -> None:
    async def run() -> None:
        async with agent(do="exit") as process:
            for _ in range(2):
                with pytest.raises(AgentFault):
                    await process.propose(LOOK, PATIENCE)
            with pytest.raises(AgentFault, match="its process has ended"):
                await process.begin(brief())

    asyncio.run(run())


def test_a_failing_model_service_is_not_the_agents_fault() -> None:
    async def run() -> HarnessFault:
        async with agent(do="model") as process:
            with pytest.raises(HarnessFault) as caught:
                await process.propose(LOOK, PATIENCE)
            assert process.alive
            return caught.value

    fault = asyncio.run(run())
    assert (fault.whose, "529 overloaded" in str(fault)) == ("model", True)


def test_the_script_goes_only_to_an_adapter_that_replays_it() -> None:
    async def run() -> None:
        async with agent() as process:
            with pytest.raises(ValueError, match="wants_script"):
                await process.begin(brief(script=(Proposal(action_type=ActionType.READ),)))

    asyncio.run(run())


@pytest.mark.parametrize("how", ["timeout", "cancel", "close"])
def test_a_hanging_agent_is_killed_with_its_deaf_grandchild(how: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def run() -> list[int]:
        async with agent(do="hang", pids=str(pids)) as process:
            both = [int(p) for p in pids.read_text().split()]
            assert all(map(living, both)), "negative control"
            asked = asyncio.create_task(process.propose(LOOK, 0.5 if how == "timeout" else PATIENCE))
            await asyncio.sleep(0.2)
            if how == "timeout":
                with pytest.raises(AgentFault, match=r"no answer within 0\.5 seconds"):
                    await asked
            elif how == "cancel":
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
            assert process.alive is (how == "close")
            await process.close()
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            return both

    assert all(map(ends, asyncio.run(run())))


def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = f"""
import asyncio
from deskcert_core.agent import Brief, Observation
from deskcert_core.session.agent_process import AgentProcess
async def main():
    a = await AgentProcess.start("odd", "odd_agents:Odd", {{"do": "hang", "pids": {str(pids)!r}}}, {{}}, 30)
    await a.begin(Brief(task_id="t", goal="", start_url="", max_steps=1))
    await a.propose(Observation(step=1, url="", title="", text=""), 60)
asyncio.run(main())
"""
    paths = os.pathsep.join(p for p in sys.path if p)
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(tmp_path)})
    try:
        while not (pids.exists() and pids.read_text().endswith("hangs\n")):
            assert parent.poll() is None
            time.sleep(0.02)
    finally:
        parent.kill()
        parent.wait()
    child, grandchild = map(int, pids.read_text().split()[:2])
    try:
        assert ends(child)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(grandchild, 9)


def test_printing_breaks_nothing_and_is_kept_up_to_a_limit() -> None:
    async def run() -> str:
        async with agent(do="print") as process:
            assert (await process.propose(LOOK, PATIENCE)).final_status == "success"
            text = await process.close()
            assert text == await process.close()
            return text

    text = asyncio.run(run())
    assert text.startswith("--- stdout\nooo")
    assert "--- stderr\neee" in text
    assert text.count("more bytes were dropped") == 2
    assert 2 * MAX_OUTPUT < len(text) < 2 * MAX_OUTPUT + 200


def test_the_value_of_a_passed_variable_is_masked_in_faults_and_output() -> None:
    key = "sk-very-secret-1"

    async def run() -> tuple[str, str]:
        async with agent(do="leak", env={"MODEL_KEY": key}) as process:
            with pytest.raises(AgentFault) as caught:
                await process.propose(LOOK, PATIENCE)
            return str(caught.value), await process.close()

    fault, output = asyncio.run(run())
    assert fault.endswith("401 for [MODEL_KEY]")
    assert "key [MODEL_KEY]" in output
    assert key not in fault + output


def test_the_environment_holds_what_is_listed_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLICATION_KEY", "parent-only")
    monkeypatch.setenv("MODEL_KEY", "parent-only")
    seen = answer_of(do="environment", env={"MODEL_KEY": "given"})
    assert seen.pop("MODEL_KEY") == "given"
    assert "parent-only" not in seen.values()
    assert set(seen) - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH"}
    assert seen["HOME"] != os.environ.get("HOME")
    assert not Path(seen["HOME"]).exists(), "its folder is gone with it"


def test_no_descriptor_is_inherited_but_three_and_two_pipes(tmp_path: Path) -> None:
    with (tmp_path / "journal.jsonl").open("w") as journal:
        os.set_inheritable(journal.fileno(), True)
        plain = subprocess.run([sys.executable, "-c", "import os; print([os.path.realpath(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')])"],
                               capture_output=True, text=True, close_fds=False, check=True)
        assert "journal.jsonl" in plain.stdout, "negative control: an ordinary child would have it"
        found = answer_of(do="descriptors")
    kinds = [target.partition(":")[0] for fd, target in found.items() if int(fd) > 2]
    ours = [k for k in kinds if k not in ("anon_inode", "socket")]  # the host's own event loop
    assert ours == ["pipe", "pipe"]
    assert "journal.jsonl" not in str(found)
    assert found["0"] == "/dev/null"


def test_the_child_stands_in_an_empty_folder_and_imports_nothing_from_the_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decoy_module.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert answer_of(do="look_around") == {"cwd": [], "decoy": False, "argv": []}
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert answer_of(do="look_around")["decoy"] is True, "negative control: asked for by the user"
