"""The order of the flow is stated in one place, and the rest of the project agrees with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import deskcert_core
from deskcert_core import api, testing
from deskcert_core.plugins import groups

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def layers() -> list[set[str]]:
    """Contract 2, read upwards: each layer a set of modules that may not know each other."""
    (flow,) = (each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["name"].startswith("2 "))
    return [set(re.split(r"\s*\|\s*", layer)) for layer in reversed(flow["layers"])]


def told() -> list[str]:
    return re.findall(r"^(\w+) {2,}\S", deskcert_core.__doc__ or "", re.MULTILINE)


def test_the_cores_docstring_tells_the_flow_in_the_contracts_order() -> None:
    assert sorted(told()) == sorted(set().union(*layers()))
    rank = {module: place for place, layer in enumerate(layers()) for module in layer}
    assert [rank[module] for module in told()] == sorted(rank[module] for module in told())


def test_the_flow_page_tells_it_in_the_same_order() -> None:
    page = (ROOT / "docs" / "flow.md").read_text().partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == told()


def test_every_module_of_the_core_is_told() -> None:
    core = ROOT / "deskcert_core"
    there = {path.stem for path in core.glob("*.py")} | {path.parent.name for path in core.glob("*/__init__.py")}
    assert there - {"__init__"} == set(told())


def test_the_wheel_has_every_package() -> None:
    there = {".".join(path.parent.relative_to(ROOT).parts) for top in ("core", "adapters", "criteria") for path in (ROOT / f"deskcert_{top}").rglob("__init__.py")}
    mapped = set(PROJECT["tool"]["setuptools"]["package-dir"])
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == there | mapped


def test_entry_points_are_of_known_groups() -> None:
    stated = PROJECT["project"]["entry-points"]
    assert set(stated) <= {group.name for group in groups.GROUPS}
    for name, members in stated.items():
        assert list(members) == sorted(members), name


def test_the_public_doors_say_what_they_hold() -> None:
    for door in (api, testing):
        assert list(door.__all__) == sorted(door.__all__)
        assert [name for name in door.__all__ if not hasattr(door, name)] == []
    public = {name for name, value in vars(api).items() if not name.startswith("_") and getattr(value, "__module__", "").startswith("deskcert_core")}
    assert public <= set(api.__all__)


def test_every_file_that_a_page_names_is_there() -> None:
    """`path/to/file` in backticks, from the project's root; a `*` stands for one file at least."""
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    named = {(page.name, path) for page in pages for path in re.findall(r"`((?:tests|docs|schema|examples|benchmarks|deskcert_\w+)/[\w./*-]+)`", page.read_text())}
    assert ("claims.md", "tests/session/test_effects.py") in named
    assert sorted((page, path) for page, path in named if not list(ROOT.glob(path.rstrip("/")))) == []


def test_the_flow_page_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "flow.md").read_text().partition("\n## ")[2]
    named = set(re.findall(r"`((?:session|executors|policy|evidence)/[\w/]+\.\w+)`", page))
    assert "session/trial.py" in named
    assert [path for path in sorted(named) if not list(ROOT.glob(f"deskcert_*/{path}"))] == []
