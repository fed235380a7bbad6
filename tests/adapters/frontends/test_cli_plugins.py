"""`deskcert plugins` in a process of its own: it lists without importing, shows one, and changes one line of a suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_distributions import CRITERION, Site, on_path

from deskcert_adapters.frontends.cli.plugins import edited, write
from deskcert_core.errors import InputError

Deskcert = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[3]
MAIN = "from deskcert_adapters.frontends.cli.main import main; main()"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with on_path(tmp_path / "site", monkeypatch) as made:
        yield made


@pytest.fixture
def deskcert(site: Site) -> Deskcert:
    def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(site.root), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-c", MAIN, *arguments], env={**os.environ, "PYTHONPATH": path, **env}, capture_output=True, text=True, timeout=60, check=False
        )

    return call


def rows(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, str]]:
    assert done.returncode == 0, done.stderr
    return {(row["name"], row["distribution"]): row for row in json.loads(done.stdout)}


def test_the_list_imports_nothing(site: Site, deskcert: Deskcert) -> None:
    site.add("exits-dist", "exits", "raise SystemExit(9)")
    site.add("loud-dist", "loud", "print('hello')\n" + CRITERION)
    site.add("hook-dist", "hook", "import no_such_module_at_all", attribute="", group="deskcert.hooks")
    found = rows(deskcert("plugins", "--json"))
    assert found["exits", "exits-dist"] == {
        "group": "deskcert.criteria", "name": "exits", "distribution": "exits-dist", "version": "1.0", "state": "installed",
    }
    assert {("loud", "loud-dist"), ("hook", "hook-dist"), ("contains_text", "deskcert"), ("scripted", "deskcert")} <= set(found)


def test_the_plain_table(site: Site, deskcert: Deskcert) -> None:
    site.add("good-dist", "good")
    lines = deskcert("plugins").stdout.splitlines()
    assert lines[0].split() == ["GROUP", "NAME", "DISTRIBUTION", "VERSION", "STATE"]
    assert ["deskcert.criteria", "good", "good-dist", "1.0", "installed"] in [line.split() for line in lines]


def test_states(site: Site, deskcert: Deskcert) -> None:
    site.add("one-dist", "twice")
    site.add("two-dist", "twice")
    site.add("sly-dist", "mine", group="deskcert.executors")
    found = rows(deskcert("plugins", "--json"))
    assert found["twice", "one-dist"]["state"] == "duplicate of two-dist 1.0 (two_dist_mod:Plain)"
    assert found["mine", "sly-dist"]["state"] == "off: deskcert.executors is not open to other distributions"
    assert rows(deskcert("plugins", "--json", DESKCERT_PLUGINS=""))["twice", "one-dist"]["state"] == "off: DESKCERT_PLUGINS does not name one-dist"


def test_show_says_what_it_is(site: Site, deskcert: Deskcert) -> None:
    site.add("good-dist", "good", "print('hi')\n" + CRITERION.replace("class Plain:", 'class Plain:\n    """Judges nothing.\n\n    At all."""'))
    (shown,) = json.loads(deskcert("plugins", "show", "good", "--json").stdout)
    assert shown["about"] == "Judges nothing."
    assert shown["distribution"] == "good-dist 1.0"
    assert shown["schema"] == {"type": "object"}
    assert shown["notes"].endswith("printed at import: hi")
    assert len(shown["sha256"]) == 64
    assert "distribution: good-dist 1.0\n" in deskcert("plugins", "show", "good").stdout


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise SystemExit(0)", "called exit(0) at import"),
        ("import no_such_module_at_all", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("class Plain: pass", "does not say which plug-in API it speaks"),
    ],
)
def test_show_of_a_broken_one_is_one_line(site: Site, deskcert: Deskcert, source: str, said: str) -> None:
    site.add("broken-dist", "broken", source)
    done = deskcert("plugins", "show", "broken")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("deskcert: criterion 'broken' of broken-dist 1.0 (broken_dist_mod:Plain) " + said)
    assert done.stderr.count("\n") == 1


def test_show_of_none_names_the_nearest(deskcert: Deskcert) -> None:
    done = deskcert("plugins", "show", "contain_text")
    assert (done.returncode, done.stderr) == (69, "deskcert: there is no plug-in 'contain_text'; did you mean 'contains_text'?\n")


def test_unreadable_metadata_takes_only_the_list_down(site: Site, deskcert: Deskcert) -> None:
    (site.metadata("rotten-dist", "1.0", "") / "entry_points.txt").write_bytes(b"\xff\xfe\x00[")
    done = deskcert("plugins")
    assert done.returncode == 69
    assert "rotten_dist-1.0.dist-info cannot be read" in done.stderr
    assert deskcert("--help").returncode == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: a\nplugins: []   # who may load\ngate: 1\n", "name: a\nplugins: [x, y]   # who may load\ngate: 1\n"),
        ("name: a\nplugins: [y, 'z']\n", "name: a\nplugins: [x, y]\n"),
        ("name: a  # no list yet\ngate: 1", "name: a  # no list yet\ngate: 1\nplugins: [x, y]\n"),
        ("plugins:\n  # ours\n  - y  # kept\n  - z\n# the gate\ngate: 1\n", "plugins:\n  # ours\n  - y  # kept\n  - x\n# the gate\ngate: 1\n"),
        ("plugins:\n- z\ngate: 1\n", "plugins:\n- x\n- y\ngate: 1\n"),
    ],
)
def test_only_the_list_changes(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "deskcert.yaml"
    file.write_text(before)
    file.chmod(0o640)
    write(file, ["x", "y"])
    assert file.read_text() == after
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_an_emptied_list() -> None:
    assert edited(["plugins:  # none\n", "  - z\n", "gate: 1\n"], 0, {1: "z"}, []) == "plugins: []  # none\ngate: 1\n"
    assert edited(["plugins: [z]\n"], 0, {0: "z"}, []) == "plugins: []\n"


@pytest.mark.parametrize("text", ["{name: a, gate: 1}\n", "plugins: [\n  z,\n]\n", "plugins:  # [none]\n  - z\n"])
def test_what_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "deskcert.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"write it by hand: plugins: \[x, y\]"):
        write(file, ["x", "y"])
    assert file.read_text() == text


def suite(folder: Path, criterion: str) -> Path:
    """A suite of one task that uses that criterion."""
    folder.mkdir()
    (folder / "deskcert.yaml").write_text(
        "version: 1\nname: s\ntasks: [t.yaml]\npolicy: p.yaml\ncosts: c.yaml\ngate: {min_score: 70, violation_weight: 50}\n"
        "environments:\n  local: {base_url: 'http://127.0.0.1:8000', disposable: true}\nplugins: []  # none yet\n"
    )
    (folder / "t.yaml").write_text(f"version: 1\nid: t\ngoal: g\nstart_url: /\nassertions:\n  - {{type: {criterion}}}\n")
    (folder / "c.yaml").write_text("version: 1\n")
    return folder
