"""Drivers from fake distributions: a row of the table of stevedore's traps each, and each error is one line that names who."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_distributions import CRITERION, Site, on_path

from deskcert_core import api
from deskcert_core.errors import PluginError
from deskcert_core.plugins import drivers, groups

CRITERIA = "deskcert.criteria"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with on_path(tmp_path / "site", monkeypatch) as made:
        yield made


def refusal(name: str, group: str = CRITERIA) -> str:
    with pytest.raises(PluginError) as caught:
        drivers.load(group, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_found_one_loads_alone(site: Site) -> None:
    good, other = site.add("good-dist", "good"), site.add("other-dist", "other")
    listed = {f.name: str(f) for f in drivers.find(CRITERIA)}
    assert listed["good"] == f"good-dist 1.0 ({good}:Plain)"
    assert {"good", "other"} <= set(drivers.names(CRITERIA))
    assert site.imported() == set()
    loaded = drivers.load(CRITERIA, "good")
    assert loaded.object is sys.modules[good].Plain
    assert (loaded.found.distribution, loaded.found.version, loaded.notes) == ("good-dist", "1.0", ())
    assert other not in sys.modules


def test_listing_is_sorted(site: Site) -> None:
    for name in ("b", "c", "a"):
        site.add(f"{name}-dist", name)
    found = drivers.find(CRITERIA)
    assert list(found) == sorted(found)


def test_missing_names_the_nearest(site: Site) -> None:
    site.add("good-dist", "weighs_nothing")
    said = refusal("weighs_nothin")
    assert "there is no criterion 'weighs_nothin'; did you mean 'weighs_nothing'? installed: " in said
    assert site.imported() == set()


def test_missing_without_anything_installed(site: Site) -> None:
    assert "none is installed" in refusal("x", "deskcert.effects")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise SystemExit(0)", "called exit(0) at import"),
        ("raise SystemExit('bye')", "called exit('bye') at import"),
        ("assert False, 'not today'", "AssertionError: not today"),
        ("class Panic(BaseException): pass\nraise Panic('native')", "Panic: native"),
        ("raise ValueError('two\\nlines\\x1b[31m')", "ValueError: two lines [31m"),
        ("raise ValueError('x' * 9999)", "…"),
        ("def (", "SyntaxError"),
        ("class Else: pass", "has no attribute 'Plain'"),
    ],
)
def test_a_broken_one_is_one_line(site: Site, source: str, said: str) -> None:
    site.add("broken-dist", "broken", source)
    line = refusal("broken")
    assert "criterion 'broken' of broken-dist 1.0 (broken_dist_mod:Plain)" in line
    assert said in line
    assert "repair or uninstall broken-dist" in line
    assert len(line) < 600


def test_a_broken_one_leaves_its_neighbours(site: Site) -> None:
    site.add("broken-dist", "broken", "import no_such_module_at_all")
    site.add("good-dist", "good")
    refusal("broken")
    assert drivers.get(CRITERIA, "good")


def test_ctrl_c_is_the_users(site: Site) -> None:
    site.add("slow-dist", "slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        drivers.load(CRITERIA, "slow")


def test_a_bad_entry_point_is_one_line(site: Site) -> None:
    site.metadata("odd-dist", "1.0", "[deskcert.criteria]\nodd = not a module\n")
    assert "criterion 'odd' of odd-dist 1.0 (not a module) cannot be imported" in refusal("odd")


def test_two_of_a_name_import_neither(site: Site) -> None:
    site.add("one-dist", "twice")
    site.add("two-dist", "twice", version="2.1")
    said = refusal("twice")
    assert "one-dist 1.0 (one_dist_mod:Plain) and by two-dist 2.1 (two_dist_mod:Plain)" in said
    assert site.imported() == set()
    assert [f.duplicates for f in drivers.find(CRITERIA) if f.distribution == "one-dist"] == [("two-dist 2.1 (two_dist_mod:Plain)",)]


def test_two_of_a_name_need_not_be_neighbours(site: Site) -> None:
    site.add("a-dist", "twice")
    site.add("b-dist", "between")
    site.add("c-dist", "twice")
    assert "is claimed by" in refusal("twice")


def test_the_name_of_a_built_in_is_taken(site: Site) -> None:
    site.metadata("deskcert", "0.1.0", "[deskcert.criteria]\ncontains_text = deskcert_criteria.text:ContainsText\n")
    site.add("sly-dist", "contains_text")
    said = refusal("contains_text")
    assert "deskcert 0.1.0" in said
    assert "sly-dist 1.0" in said
    assert site.imported() == set()


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("", "does not say which plug-in API it speaks"),
        ("deskcert_api = 2", "speaks plug-in API 2"),
        ("deskcert_api = True", "speaks plug-in API True"),
        ("deskcert_api = '1'", "speaks plug-in API '1'"),
    ],
)
def test_another_api_is_refused(site: Site, stated: str, said: str) -> None:
    site.add("skew-dist", "skew", CRITERION.replace("deskcert_api = 1", stated or "pass"), version="3.2")
    line = refusal("skew")
    assert f"criterion 'skew' of skew-dist 3.2 (skew_dist_mod:Plain) {said}" in line
    assert "this DeskCert speaks 1" in line


def test_what_is_lacking_is_named(site: Site) -> None:
    site.add("thin-dist", "thin", "class Plain:\n    deskcert_api = 1\n    version = '1'\n    def judge(self): ...\n")
    assert "of thin-dist 1.0 (thin_dist_mod:Plain) lacks probes, schema" in refusal("thin")


def test_a_falsy_object_is_itself(site: Site) -> None:
    """stevedore's `.driver` gives the class for a falsy instance."""
    site.add("falsy-dist", "falsy", CRITERION + "    def __bool__(self): return False\nIt = Plain()\n", attribute="It")
    assert drivers.get(CRITERIA, "falsy") is sys.modules["falsy_dist_mod"].It


def test_what_it_prints_is_a_note(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.add("loud-dist", "loud", "import os, sys\nprint('hello')\nos.write(1, b'raw\\n')\nprint('err', file=sys.stderr)\nos.system('echo child')\n" + CRITERION)
    loaded = drivers.load(CRITERIA, "loud")
    print("mine")
    assert capfd.readouterr() == ("mine\n", "")
    (note,) = loaded.notes
    assert note.startswith("loud-dist 1.0 (loud_dist_mod:Plain) printed at import: ")
    assert all(word in note for word in ("hello", "raw", "err", "child"))


def test_a_log_handler_made_at_import_goes_on_working(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    source = "import logging, sys\nhandler = logging.StreamHandler(sys.stderr)\nprint('hello')\n" + CRITERION
    module = site.add("logs-dist", "logs", source)
    drivers.load(CRITERIA, "logs")
    sys.modules[module].handler.emit(logging.makeLogRecord({"msg": "later"}))
    assert capfd.readouterr() == ("", "later\n")


def test_what_a_broken_one_prints_is_in_the_line(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.add("loud-dist", "loud", "print('on my way')\nraise OSError('out')")
    assert "OSError: out; it printed: on my way" in refusal("loud")
    assert capfd.readouterr() == ("", "")


def test_only_named_distributions_may_load(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("good-dist", "good")
    site.add("other.dist", "other", module="other_mod")
    monkeypatch.setenv("DESKCERT_PLUGINS", "Good_Dist, nobody")
    assert drivers.get(CRITERIA, "good")
    assert "may not load: DESKCERT_PLUGINS does not name other-dist" in refusal("other")
    monkeypatch.setenv("DESKCERT_PLUGINS", "")
    assert "may not load" in refusal("good")
    assert not {"good", "other"} & set(drivers.names(CRITERIA))
    assert "other_mod" not in sys.modules


def test_one_that_is_off_clashes_with_nobody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("one-dist", "twice")
    site.add("two-dist", "twice")
    monkeypatch.setenv("DESKCERT_PLUGINS", "two-dist")
    assert drivers.load(CRITERIA, "twice").found.distribution == "two-dist"
    assert "one_dist_mod" not in sys.modules


def test_a_closed_group_takes_no_stranger(site: Site) -> None:
    site.add("sly-dist", "mine", group="deskcert.executors")
    assert "deskcert.executors is not open to other distributions" in refusal("mine", "deskcert.executors")
    assert site.imported() == set()


def test_stevedores_file_cache_is_not_asked(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cache would be stale for minutes, and whoever writes it chooses the object. Ours is filled before it looks, and emptied after."""
    from stevedore.extension import ExtensionManager

    monkeypatch.setattr("stevedore._cache.get_group_all", lambda group: pytest.fail("stevedore looked by itself"))
    site.add("good-dist", "good")
    assert drivers.get(CRITERIA, "good")
    assert CRITERIA not in ExtensionManager.ENTRY_POINT_CACHE
    monkeypatch.setattr("stevedore._cache.get_group_all", lambda group: [])
    assert ExtensionManager(CRITERIA).extensions == [], "the control: without the filling it does look"
    ExtensionManager.ENTRY_POINT_CACHE.pop(CRITERIA)


def test_unreadable_metadata_is_named(site: Site) -> None:
    (site.metadata("rotten-dist", "1.0", "") / "entry_points.txt").write_bytes(b"\xff\xfe\x00[")
    with pytest.raises(PluginError, match=r"the metadata of .*rotten_dist-1\.0\.dist-info cannot be read"):
        drivers.find(CRITERIA)


def test_closed_descriptors_do_not_matter(site: Site) -> None:
    site.add("good-dist", "good", "print('hello')\n" + CRITERION)
    saved = os.dup(2)
    os.close(2)
    try:
        assert drivers.get(CRITERIA, "good")
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def test_groups_are_sorted_and_known() -> None:
    assert [g.name for g in groups.GROUPS] == sorted(g.name for g in groups.GROUPS)
    with pytest.raises(KeyError):
        drivers.find("deskcert.nothing")


def test_groups_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
    assert drivers.ALLOW in page
    for group in groups.GROUPS:
        assert f"`{group.name}`" in page
        assert not group.open or not group.needs or f"`{' '.join(group.needs)}`" in page


def test_one_api_version() -> None:
    assert api.API_VERSION == groups.API_VERSION
