"""`deskcert new`: what it writes installs, passes its own tests and runs, before anybody has changed a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from installed import Environment, build, fresh


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with DeskCert and both packages, written in its folder and installed as the command says."""
    home = tmp_path_factory.mktemp("new")
    environment = fresh(home / "env")
    environment.install(build(tmp_path_factory).wheel)
    said = environment.run("deskcert", "new", "adapter", "my-agent", cwd=home).stdout
    assert "Next: pip install -e ./deskcert-adapter-my-agent && deskcert run deskcert-adapter-my-agent/suite --agent my-agent" in said
    assert "Next: pip install -e ./deskcert-criterion-says-it" in environment.run("deskcert", "new", "criterion", "says_it", cwd=home).stdout
    for package in ("deskcert-adapter-my-agent", "deskcert-criterion-says-it"):
        environment.install("-e", home / package)
    return environment


@pytest.mark.parametrize(("package", "tests"), [("deskcert-adapter-my-agent", 3), ("deskcert-criterion-says-it", 1)])
def test_its_own_tests_pass_at_once(made: Environment, package: str, tests: int) -> None:
    done = made.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", made.root.parent / package)
    assert f"{tests} passed" in done.stdout


def test_both_are_found(made: Environment) -> None:
    rows = json.loads(made.run("deskcert", "plugins", "--json").stdout)
    found = {(row["group"], row["name"]): row["distribution"] for row in rows}
    assert found["deskcert.adapters", "my-agent"] == "deskcert-adapter-my-agent"
    assert found["deskcert.criteria", "says_it"] == "deskcert-criterion-says-it"


@pytest.mark.browser
def test_it_runs(made: Environment, tmp_path: Path) -> None:
    home = made.root.parent / "deskcert-adapter-my-agent"
    done = made.run("deskcert", "run", home / "suite", "--agent", "my-agent", "--json", "--out", tmp_path / "runs")
    card = json.loads(done.stdout)
    assert (card["verdict"], card["steps_taken"], card["final_answer"]) == ("PASS", 2, "This page is A small page")
    assert "nothing to do" in made.run("deskcert", "plugins", "lock", "--check", home / "suite").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("adapter", "scripted"), "there is already one called scripted: deskcert"),
        (("criterion", "max_steps"), "there is already one called max_steps: deskcert"),
        (("adapter", "Bad Name"), "'Bad Name' cannot be the name of a plug-in"),
        (("adapter", "../up"), "'../up' cannot be the name of a plug-in"),
        (("adapter", "a" * 51), "cannot be the name of a plug-in"),
        (("adapter", "other"), "deskcert-adapter-other is there already; nothing was written"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(made: Environment, tmp_path: Path, words: tuple[str, str], said: str) -> None:
    (tmp_path / "deskcert-adapter-other").mkdir()
    done = made.run("deskcert", "new", *words, cwd=tmp_path, check=False)
    assert done.returncode == 64
    assert said in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["deskcert-adapter-other"]
