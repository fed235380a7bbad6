"""`deskcert validate` and `deskcert schema` through the console script's own door: what is printed, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_distributions import on_path
from jsonschema import Draft202012Validator
from suite_folder import CRITERIA, SuiteFolder

from deskcert_adapters.frontends.cli import main as cli
from deskcert_adapters.frontends.cli import validate
from deskcert_core.loading import load_suite
from deskcert_core.plugins import drivers

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    return SuiteFolder(tmp_path / "suite")


@pytest.fixture
def deskcert(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command: exit code, standard output, standard error. Criteria are the small suite's own, whatever is installed."""
    monkeypatch.setattr(validate, "load_suite", lambda path, *, env: load_suite(path, env=env, criteria=CRITERIA))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["deskcert", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_a_good_suite_is_one_line(folder: SuiteFolder, deskcert: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert deskcert("validate", str(folder.path)) == (0, f"{folder.path}: 1 task, policy small: ok\n", "")
    monkeypatch.chdir(folder.path)
    assert deskcert("validate") == (0, ".: 1 task, policy small: ok\n", "")


def test_problems_are_lines_and_end_with_65(folder: SuiteFolder, deskcert: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.path)
    folder.change("policy.yaml", "on_block: stop", "on_block: yes")
    folder.change("tasks/buy.yaml", "value: 5", "value: five")
    code, out, err = deskcert("validate")
    assert (code, err) == (65, "")
    assert [line.split(": ")[0] for line in out.splitlines()] == ["policy.yaml:12:11", "tasks/buy.yaml:12:30"]


def test_several_suites_are_all_looked_at(folder: SuiteFolder, deskcert: Call, tmp_path: Path) -> None:
    other = SuiteFolder(tmp_path / "other")
    other.write("costs.yaml", "")
    code, out, _ = deskcert("validate", str(other.path), str(folder.path))
    assert (code, out.splitlines()) == (65, [f"{other.path}/costs.yaml: is empty", f"{folder.path}: 1 task, policy small: ok"])


@pytest.mark.parametrize(("path", "said"), [
    ("nope", "does not exist"), (".", "has no deskcert.yaml: `deskcert init` writes one"), ("pipe", "is not a file"), ("plain/x", "cannot be read: Not a directory"),
    ("loop", "cannot be read: Too many levels of symbolic links"),
])
def test_no_suite_is_one_clear_line(deskcert: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: str) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    Path("plain").write_text("x")
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    assert deskcert("validate", path) == (65, f"{path}: {said}\n", "")


def test_json(folder: SuiteFolder, deskcert: Call) -> None:
    code, out, _ = deskcert("validate", "--json", str(folder.path))
    assert (code, json.loads(out)) == (0, [{"path": str(folder.path), "ok": True, "problems": [], "suite": "small", "tasks": 1, "policy": "small"}])
    folder.change("policy.yaml", "on_block: stop", "on_block: stpo")
    code, out, _ = deskcert("validate", "--json", str(folder.path))
    (found,) = json.loads(out)
    assert code == 65
    assert found["ok"] is False
    assert found["problems"] == [{
        "file": f"{folder.path}/policy.yaml", "line": 12, "column": 11,
        "message": "on_block: 'stpo' is not known, did you mean 'stop'? Allowed here: stop, tell_agent",
    }]


def test_an_environment_that_does_not_exist_is_a_mistake_of_the_command_line(folder: SuiteFolder, deskcert: Call) -> None:
    assert deskcert("validate", "--env", "other", str(folder.path))[0] == 0
    code, _, err = deskcert("validate", "--env", "othr", str(folder.path))
    assert (code, err) == (64, "deskcert: the suite has no environment 'othr'; did you mean 'other'? There are: local, other\n")


def test_nothing_of_a_file_steers_the_terminal(folder: SuiteFolder, deskcert: Call) -> None:
    folder.write("policy.yaml", 'version: 1\n"\\e]0;x\\a": "\\e[2J"\nname: "\\u202e"\non_block: "\\x9b2J"\n"a\\nb": 1\n')
    _, out, _ = deskcert("validate", str(folder.path))
    assert out.replace("\n", "").isprintable()
    assert all(line.startswith(str(folder.path)) for line in out.splitlines())


@pytest.mark.parametrize("name", ["suite", "policy", "costs", "proposal", "task"])
def test_schemas_are_printed_whole(deskcert: Call, name: str) -> None:
    code, out, err = deskcert("schema", name)
    assert (code, err) == (0, "")
    Draft202012Validator.check_schema(json.loads(out))


def test_a_schema_that_does_not_exist(deskcert: Call) -> None:
    code, _, err = deskcert("schema", "tsak")
    assert code == 64
    assert "'task'" in err


def test_the_task_schema_has_every_installed_criterion_and_a_note_on_the_broken(deskcert: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with on_path(tmp_path / "site", monkeypatch) as site:
        schema = '{"type": "object", "properties": {"mine": {"type": "string"}}, "required": ["mine"]}'
        good = 'class Plain:\n    deskcert_api = 1\n    version = "1"\n    schema = %s\n    def probes(self, params): ...\n    def judge(self, params, evidence): ...\n'
        site.add("good-dist", "mine_is", good % schema)
        site.add("odd-dist", "odd_one", good % '{"type": "nonsense"}')
        site.add("dead-dist", "dead_one", "import no_such_module_at_all")
        installed = set(drivers.names("deskcert.criteria"))
        whole = json.loads(deskcert("schema", "task")[1])
    types = set(whole["$defs"]["assertion"]["properties"]["type"]["enum"])
    assert types == installed - {"odd_one", "dead_one"}
    assert "mine_is" in types
    assert "dead_one" in whole["$comment"]
    assert "dead-dist" in whole["$comment"]
    assert "odd_one" in whole["$comment"]
    task = {"version": 1, "id": "a", "goal": "b", "start_url": "/", "assertions": [{"type": "mine_is", "mine": "x"}]}
    assert Draft202012Validator(whole).is_valid(task)
    assert not Draft202012Validator(whole).is_valid({**task, "assertions": [{"type": "mine_is"}]})
