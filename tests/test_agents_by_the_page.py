"""docs/agents.md, followed word for word by a stranger: the package that the command writes, and the one that is written by hand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from installed import ROOT, Environment, build, fresh

PAGE = (ROOT / "docs" / "agents.md").read_text()
pytestmark = pytest.mark.browser


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def write_files(home: Path) -> list[str]:
    """Each block that begins with the name of a file of the package."""
    written = []
    for text in blocks(r"\w+"):
        if found := re.match(r"# (my-agent/\S+)\n", text):
            path = home / found[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            written.append(found[1])
    return sorted(written)


def follow(environment: Environment, home: Path, line: str) -> str:
    """A line of the page. `pip` is the environment's, without a network; what it prints is given."""
    words = shlex.split(line)
    if words[:2] == ["pip", "install"]:
        editable = ["-e"] if "-e" in words else []
        environment.install(*editable, home / words[-1])
        return ""
    return environment.run(*words, cwd=home).stdout


def test_the_page_word_for_word(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("stranger")
    environment = fresh(home / "env")
    environment.install(build(tmp_path_factory).wheel)
    assert write_files(home) == ["my-agent/my_agent.py", "my-agent/pyproject.toml", "my-agent/tests/test_my_agent.py"]
    by_command, by_hand = (text.splitlines() for text in blocks("sh"))
    said = [follow(environment, home, line) for line in by_command]
    assert "3 passed" in said[2]
    assert "PASS" in said[3]
    said = [follow(environment, home, line) for line in by_hand]
    assert "1 passed" in said[1]
    assert "by-hand" in said[2]
    assert "PASS" in said[3]
