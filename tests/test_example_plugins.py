"""The example plug-ins, installed by pip beside DeskCert: they conform, are listed, locked, and used by a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from installed import ROOT, Environment, build, fresh

PLUGINS = ("deskcert-adapter-hello", "deskcert-criterion-hello")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    home = tmp_path_factory.mktemp("plugins")
    for name in (*PLUGINS, "suite"):
        shutil.copytree(ROOT / "examples" / "plugins" / name, home / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "runs"))
    environment = fresh(home / "env")
    environment.install(build(tmp_path_factory).wheel, *(home / name for name in PLUGINS))
    return environment


@pytest.fixture
def suite(installed: Environment, tmp_path: Path) -> Path:
    return Path(shutil.copytree(installed.root.parent / "suite", tmp_path / "suite"))


@pytest.mark.parametrize("name", PLUGINS)
def test_its_own_tests_pass(installed: Environment, name: str) -> None:
    done = installed.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", installed.root.parent / name)
    assert "2 passed" in done.stdout


def test_they_are_listed(installed: Environment) -> None:
    lines = [line.split() for line in installed.run("deskcert", "plugins").stdout.splitlines()]
    assert ["deskcert.adapters", "hello", "deskcert-adapter-hello", "1.0.0", "installed"] in lines
    assert ["deskcert.criteria", "says_hello", "deskcert-criterion-hello", "1.0.0", "installed"] in lines


def test_show(installed: Environment) -> None:
    (shown,) = json.loads(installed.run("deskcert", "plugins", "show", "says_hello", "--json").stdout)
    assert shown["about"].startswith("The final answer contains")
    assert "word" in shown["schema"]["properties"]


def test_lock(installed: Environment, suite: Path) -> None:
    file = suite / "deskcert.yaml"
    whole = file.read_text()
    assert "nothing to do" in installed.run("deskcert", "plugins", "lock", "--check", suite).stdout
    file.write_text(whole.replace("plugins: [deskcert-adapter-hello, deskcert-criterion-hello]", "plugins: [other]  # who may load"))
    refused = installed.run("deskcert", "plugins", "lock", "--check", suite, check=False)
    assert refused.returncode == 65
    assert "the suite uses deskcert-adapter-hello, deskcert-criterion-hello" in refused.stderr
    said = installed.run("deskcert", "plugins", "lock", suite).stdout
    assert "(added deskcert-adapter-hello, added deskcert-criterion-hello, removed other)" in said
    assert file.read_text() == whole.replace("-criterion-hello]", "-criterion-hello]  # who may load")


@pytest.mark.browser
def test_a_run_uses_both(installed: Environment, suite: Path, tmp_path: Path) -> None:
    done = installed.run("deskcert", "ci", suite, "--agent", "hello", "--json", "--out", tmp_path / "runs")
    card = json.loads(done.stdout)
    assert (card["verdict"], card["steps_taken"], card["final_answer"]) == ("PASS", 2, "Hello, this page is A small page")
    (manifest,) = (json.loads(path.read_text()) for path in tmp_path.glob("runs/*/manifest.json"))
    part = {plugin["name"]: plugin for plugin in manifest["plugins"]}
    assert [part[name]["distribution"] for name in ("hello", "says_hello")] == list(PLUGINS)
    assert all(len(plugin["digest"]) == 64 for plugin in part.values())


@pytest.mark.browser
def test_ci_refuses_what_is_not_listed(installed: Environment, suite: Path, tmp_path: Path) -> None:
    file = suite / "deskcert.yaml"
    file.write_text(file.read_text().replace("[deskcert-adapter-hello, deskcert-criterion-hello]", "[deskcert-adapter-hello]"))
    done = installed.run("deskcert", "ci", suite, "--agent", "hello", "--out", tmp_path / "runs", check=False)
    assert done.returncode == 69
    assert "does not list deskcert-criterion-hello" in done.stderr
    assert not (tmp_path / "runs").exists()
