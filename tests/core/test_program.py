"""Which files of a suite a command names, and what its process may read because of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from suite_folder import SuiteFolder

from deskcert_core.errors import InputError, UsageError
from deskcert_core.session.program import placed
from deskcert_core.session.run import RunOptions, agent_plan
from deskcert_core.task import AgentPlan


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("agent.py", "bin/agent", "python/other.py", "lib/part.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "agent").chmod(0o755)
    return tmp_path


def plan(command: str, **options: str) -> AgentPlan:
    return AgentPlan(name="mine", adapter="command", options={"command": command, **options})


@pytest.mark.parametrize(
    ("command", "words", "files"),
    [
        ("python agent.py --fast", "python {base}/agent.py --fast", ["{python}", "{base}/agent.py"]),
        ("python no.py", "python no.py", ["{python}"]),
        ("python -m lib", "python -m {base}/lib", ["{python}", "{base}/lib"]),
        ("bin/agent lib/part.py", "{base}/bin/agent {base}/lib/part.py", ["{base}/bin/agent", "{base}/lib/part.py"]),
        ("no-such-program", "no-such-program", []),
        ("", "", []),
    ],
)
def test_words_that_are_files_are_made_absolute_and_readable(base: Path, command: str, words: str, files: list[str]) -> None:
    """`python` is the program, though the folder has a `python` too."""
    new = placed(plan(command), base)
    known = {"base": base, "python": shutil.which("python")}
    assert new.options == {"command": words.format(**known)}
    assert list(new.files) == [file.format(**known) for file in files if known["python"] or file != "{python}"]


def test_with_cwd_the_whole_folder_is_readable_and_nothing_else_of_the_suite(base: Path) -> None:
    new = placed(plan("bash part.py agent.py", cwd="lib"), base)
    assert new.options == {"command": f"bash {base}/lib/part.py agent.py", "cwd": f"{base}/lib"}
    assert new.files == (shutil.which("bash"), f"{base}/lib", f"{base}/lib/part.py")


def test_what_cannot_be_is_said(base: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        placed(plan("python agent.py", cwd="nowhere"), base)
    with pytest.raises(UsageError, match="is not whole: No closing quotation"):
        placed(plan("python 'agent.py"), base)


def test_other_adapters_keep_their_options(base: Path) -> None:
    other = AgentPlan(name="a", adapter="a", options={"command": "python agent.py", "cwd": "lib"})
    assert placed(other, base) is other


def test_the_suites_words_are_the_suites_and_the_command_lines_are_of_where_it_is_typed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = base / "lib"
    monkeypatch.chdir(base)
    agents = {"mine": plan("bash part.py")}
    given = RunOptions(agent="mine", out=base)
    assert agent_plan(agents, given, suite).options["command"] == f"bash {suite}/part.py"
    typed = RunOptions(agent="mine", out=base, agent_options={"command": "bash agent.py"})
    assert agent_plan(agents, typed, suite).options["command"] == f"bash {base}/agent.py"


def test_a_suite_lists_files_for_an_agent(tmp_path: Path) -> None:
    suite = SuiteFolder(tmp_path)
    suite.change("deskcert.yaml", "agents: {scripted: {adapter: scripted}}", "agents: {scripted: {adapter: scripted, files: [weights, costs.yaml]}}")
    with pytest.raises(InputError, match=r"deskcert.yaml:12:48: 'weights' does not exist"):
        suite.load()
    (tmp_path / "weights").mkdir()
    assert suite.load().suite.agents["scripted"].files == (str(tmp_path / "weights"), str(tmp_path / "costs.yaml"))


def test_the_path_of_a_users_modules_is_placed_and_may_be_read(base: Path) -> None:
    for adapter in ("langgraph", "llm"):
        new = placed(AgentPlan(name="mine", adapter=adapter, options={"path": "lib"}), base)
        assert (new.options, new.files) == ({"path": str(base / "lib")}, (str(base / "lib"),))
    with pytest.raises(UsageError, match="is no folder"):
        placed(AgentPlan(name="mine", adapter="llm", options={"path": "agent.py"}), base)
    other = AgentPlan(name="mine", adapter="other", options={"path": "lib"})
    assert placed(other, base) is other
