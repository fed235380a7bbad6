"""The digest of a distribution: any change of its code shows, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_distributions import Site, on_path

from deskcert_core.errors import PluginError
from deskcert_core.plugins import drivers
from deskcert_core.plugins.drivers import Found
from deskcert_core.plugins.provenance import digest, taking_part

CRITERIA = "deskcert.criteria"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with on_path(tmp_path / "site", monkeypatch) as made:
        yield made


def package(site: Site, record: str) -> Found:
    home = site.root / "pack"
    home.mkdir()
    (home / "__init__.py").write_text("raise SystemExit('nobody may import this')")
    (home / "part.py").write_text("a = 1")
    site.metadata("pack-dist", "1.0", "[deskcert.criteria]\nx = pack.part:A\n", record)
    site.modules.append("pack")
    return drivers.pick(CRITERIA, "x")


def test_it_imports_nothing_and_is_stable(site: Site) -> None:
    found = package(site, "pack/__init__.py,,\npack/part.py,,\n../../bin/tool,,\n")
    assert digest(found) == digest(found)
    assert len(digest(found)) == 64
    assert site.imported() == set()


def test_a_wheel_and_an_editable_install_agree(site: Site) -> None:
    found = package(site, "pack/__init__.py,,\npack/part.py,,\n")
    wheel = digest(found)
    info = site.root / "pack_dist-1.0.dist-info"
    (info / "RECORD").write_text("__editable__.pack_dist-1.0.pth,,\n")
    assert digest(found) == wheel


@pytest.mark.parametrize("change", ["edit", "add beside", "remove", "rename"])
def test_any_change_of_code_shows(site: Site, change: str) -> None:
    found = package(site, "pack/__init__.py,,\npack/part.py,,\n")
    before, part = digest(found), site.root / "pack" / "part.py"
    match change:
        case "edit":
            part.write_text("a = 2")
        case "add beside":
            (part.parent / "part.cpython-311-x86_64-linux-gnu.so").write_bytes(b"imported before part.py, and in no RECORD")
        case "remove":
            part.unlink()
        case "rename":
            part.rename(part.with_name("trap.py"))
    assert digest(found) != before


def test_bytecode_and_the_installers_files_do_not_count(site: Site) -> None:
    found = package(site, "pack/__init__.py,,\npack/part.py,,\n")
    before = digest(found)
    cache = site.root / "pack" / "__pycache__"
    cache.mkdir()
    (cache / "part.cpython-311.pyc").write_bytes(b"x")
    (site.root / "pack_dist-1.0.dist-info" / "INSTALLER").write_text("somebody")
    assert digest(found) == before


def test_a_single_module(site: Site) -> None:
    module = site.add("good-dist", "good")
    found = drivers.pick(CRITERIA, "good")
    before = digest(found)
    (site.root / f"{module}.py").write_text("else")
    assert digest(found) != before


def test_nothing_to_name_is_an_error(site: Site) -> None:
    site.metadata("hollow-dist", "1.0", "[deskcert.criteria]\nhollow = no_such_module_at_all:A\n")
    with pytest.raises(PluginError, match=r"hollow-dist 1\.0 .* has no file that can be named"):
        digest(drivers.pick(CRITERIA, "hollow"))


def test_what_took_part_is_listed_once_and_sorted(site: Site) -> None:
    site.add("b-dist", "b")
    site.add("a-dist", "a")
    a, b = drivers.pick(CRITERIA, "a"), drivers.pick(CRITERIA, "b")
    part = taking_part([b, a, b])
    assert [(p.group, p.name, p.distribution, p.version, p.value) for p in part] == [
        (CRITERIA, "a", "a-dist", "1.0", "a_dist_mod:Plain"), (CRITERIA, "b", "b-dist", "1.0", "b_dist_mod:Plain"),
    ]
    assert [p.digest for p in part] == [digest(a), digest(b)]
