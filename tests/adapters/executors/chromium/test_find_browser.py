"""Which browser is taken, and what a person is told where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskcert_adapters.executors.chromium import find
from deskcert_adapters.executors.chromium.launch import Chromium
from deskcert_core.errors import UnavailableError
from deskcert_core.execution import BrowserPlan


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it."""
    for name in ("bin", "own"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    monkeypatch.delenv("DESKCERT_BROWSER", raising=False)
    return tmp_path


def put(path: Path, says: str = "Chromium 100.0.1", code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_the_cheapest_comes_first(machine: Path) -> None:
    order = [
        put(machine / "bin" / "microsoft-edge"), put(machine / "bin" / "google-chrome"), put(machine / "bin" / "chromium"),
        put(machine / "own" / "chromium-1200" / "chrome-linux" / "chrome"), put(machine / "own" / "chromium_headless_shell-999" / "chrome-linux" / "headless_shell"),
        put(machine / "own" / "chromium_headless_shell-1200" / "chrome-linux" / "headless_shell", says="HeadlessChrome 101.2"), put(machine / "bin" / "chromium-headless-shell"),
    ]
    names = ["edge", "chrome", "chromium", "playwright", "playwright", "playwright", "chromium-headless-shell"]
    for path, name in zip(reversed(order), reversed(names), strict=True):
        found = find.find_browser()
        assert (found.name, found.path) == (name, str(path))
        path.unlink()
    with pytest.raises(UnavailableError, match="deskcert browser install"):
        find.find_browser()


def test_one_that_does_not_run_is_passed_over(machine: Path) -> None:
    put(machine / "bin" / "chromium-headless-shell", code=127)
    good = put(machine / "bin" / "chromium")
    assert find.find_browser() == find.FoundBrowser(name="chromium", path=str(good), version="100.0.1")


def test_the_users_choice_is_taken_or_refused_but_never_replaced(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(machine / "bin" / "chromium")
    mine = put(machine / "mine")
    monkeypatch.setenv("DESKCERT_BROWSER", str(mine))
    assert find.find_browser().path == str(mine)
    mine.unlink()
    with pytest.raises(UnavailableError, match="DESKCERT_BROWSER"):
        find.find_browser()


def test_install_tries_playwright_then_the_system_and_ends_with_one_command(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []
    monkeypatch.setattr(find, "run", lambda command: bool(tried.append(command)))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    put(machine / "bin" / "apt-get")
    with pytest.raises(UnavailableError, match="sudo apt-get install -y chromium"):
        find.install_browser()
    assert [command[1:4] for command in tried[:1]] == [["-m", "playwright", "install"]]
    assert [command[-1] for command in tried[1:]] == ["-q", "chromium-headless-shell", "chromium"]
    tried.clear()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnavailableError):
        find.install_browser()
    assert len(tried) == 1


def test_install_ends_with_the_browser_that_came(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "run", lambda _: put(machine / "own" / "chromium_headless_shell-1" / "linux" / "headless_shell").exists())
    assert Chromium.install().name == "playwright"
    assert Chromium.find().version == "100.0.1"


def test_netns_is_refused_until_it_is_built() -> None:
    import asyncio

    with pytest.raises(UnavailableError, match="netns"):
        asyncio.run(Chromium().start(BrowserPlan(containment="netns"), None))  # type: ignore[arg-type]  # never reached


@pytest.mark.browser
def test_a_program_that_is_no_browser_does_not_start(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from page_world import AllowAll

    monkeypatch.setenv("DESKCERT_BROWSER", str(put(machine / "sham")))
    with pytest.raises(UnavailableError, match="does not start"):
        asyncio.run(Chromium().start(BrowserPlan(), AllowAll()))
