"""Wheel, sdist and editable install all carry what DeskCert needs at run time, and work from a folder that is not this one."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from installed import ROOT, Built, Environment, build, copy_tree, fresh

SCHEMAS = {path.name for path in (ROOT / "schema").glob("*.json")}
SAYS = "import json; from deskcert_core import schemas; print(json.dumps([str(schemas.FOLDER), sorted(schemas.named(n).data['title'] for n in schemas.NAMES)]))"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = fresh(tmp_path_factory.mktemp("wheel") / "env")
    environment.install(built.wheel)
    return environment


def example_files(folder: Path) -> set[str]:
    ours = (path for path in folder.rglob("*") if path.is_file() and not {"__pycache__", "runs"} & set(path.relative_to(folder).parts))
    return {str(path.relative_to(folder)) for path in ours if path.suffix not in (".pyc", ".sqlite3")}


def test_the_wheel_carries_schemas_scripts_and_the_demo(built: Built) -> None:
    names = set(zipfile.ZipFile(built.wheel).namelist())
    assert SCHEMAS
    assert {f"deskcert_core/schema/{name}" for name in SCHEMAS} <= names
    scripts = {str(path.relative_to(ROOT)) for path in (ROOT / "deskcert_adapters").rglob("*.js")}
    assert scripts
    assert scripts <= names
    assert {f"deskcert_adapters/demo/{name}" for name in example_files(built.tree / "examples" / "invoice")} <= names
    assert {f"deskcert_{part}/py.typed" for part in ("core", "adapters", "criteria")} <= names


def test_the_wheel_carries_nothing_else(built: Built) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(built.wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"deskcert_core", "deskcert_adapters", "deskcert_criteria"}


def test_the_sdist_carries_what_the_tests_need(built: Built) -> None:
    with tarfile.open(built.sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wanted = {"noxfile.py", "docs/design.md", "examples/plugins/suite/deskcert.yaml", "tests/conftest.py", "tests/installed.py", ".ci/run", "LICENSE"}
    assert wanted | {f"schema/{name}" for name in SCHEMAS} <= names
    assert not {name for name in names if name.endswith((".pyc", ".sqlite3")) or "/runs/" in name}


def test_a_wheel_in_an_empty_environment_finds_its_schemas(installed: Environment, tmp_path: Path) -> None:
    folder, titles = json.loads(installed.run("python", "-c", SAYS, cwd=tmp_path).stdout)
    assert Path(folder).is_relative_to(installed.root)
    assert len(titles) == 5
    assert "DeskCert suite" in titles


def test_the_command_lists_the_built_ins(installed: Environment, tmp_path: Path) -> None:
    rows = json.loads(installed.run("deskcert", "plugins", "--json", cwd=tmp_path).stdout)
    found = {(row["group"], row["name"]): row for row in rows}
    assert found["deskcert.adapters", "scripted"]["state"] == "installed"
    assert {row["distribution"] for row in rows} == {"deskcert"}
    shown = installed.run("deskcert", "plugins", "show", "scripted", "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)[0]["distribution"].startswith("deskcert ")


def test_an_editable_install_finds_its_schemas_and_demo(tmp_path: Path) -> None:
    tree, environment = copy_tree(tmp_path / "tree"), fresh(tmp_path / "env")
    environment.install("-e", tree)
    folder, titles = json.loads(environment.run("python", "-c", SAYS).stdout)
    assert (Path(folder), len(titles)) == (tree / "schema", 5)
    says = "from deskcert_adapters.frontends.cli.demo import source; print(source())"
    assert Path(environment.run("python", "-c", says).stdout.strip()) == tree / "examples" / "invoice"


@pytest.mark.browser
def test_the_demo_from_a_wheel_and_another_folder(installed: Environment, tmp_path: Path) -> None:
    done = installed.run("deskcert", "demo", cwd=tmp_path)
    assert "PASS" in done.stdout
    (card,) = tmp_path.glob("deskcert-demo/runs/*/derived/scorecard.json")
    assert json.loads(card.read_text())["verdict"] == "PASS"
