"""Progress on standard error: what a page or an agent says in it steers no terminal, with and without one."""

from __future__ import annotations

import io
import sys
import unicodedata

import pytest

from deskcert_adapters.frontends.cli.watching import LONGEST, watching
from deskcert_core.session.progress import Progress

ATTACK = "goto http://x.test/\x1b[2J\x1b[7mPASS\x1b]0;owned\x07\r\n[1/1] t trial 1\u2028\u202egnp\u2066\u200f\x9b31m\x00\u200b\ud800 [/bold][link=http://evil.test]here[/link]"
KINDS = ("run", "step", "ask", "answer", "trial_end")


class Screen(io.StringIO):
    """A standard error that is a terminal, or none."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def shown(patch: pytest.MonkeyPatch, text: str, *, terminal: bool) -> str:
    screen = Screen(terminal=terminal)
    patch.setattr(sys, "stderr", screen)
    patch.setenv("TERM", "xterm")
    patch.setenv("COLUMNS", "400")
    with watching(quiet=False) as watcher:
        for kind in KINDS:
            watcher(Progress(kind=kind, text=text, task_id="t", step=1, max_steps=2, number=1, total=1))  # type: ignore[arg-type]
    return screen.getvalue()


def test_each_event_is_one_printable_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, ATTACK, terminal=False).split("\n")
    assert len(lines) == len(KINDS) + 1
    assert [c for line in lines for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")] == []
    assert all("PASS" in line and "[/bold][link=http://evil.test]" in line for line in lines[:-1])


def test_a_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, "x" * 1_000_000, terminal=False).split("\n")
    assert [line.count("x") for line in lines[:-1]] == [LONGEST - 1] * len(KINDS)
    assert shown(monkeypatch, "y" * LONGEST, terminal=False).count("y") == LONGEST * len(KINDS)


def test_on_a_terminal_the_sequences_are_rich_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, ATTACK, terminal=True)
    assert "\x1b[" in said, "the control: a bar is drawn"
    for part in ("\x1b[2J", "\x1b[7m", "\x1b]0", "\x1b]8", "\x07", "\x9b", "\u202e", "\u2066"):
        assert part not in said
    assert "x.test/" in said
    assert "[/x][bold]no markup[/bold]" in shown(monkeypatch, "[/x][bold]no markup[/bold]", terminal=True)


@pytest.mark.parametrize("text", ["click label 'Größe \"L\" → 你好'", "fill selector '#a[href]'", "approval asked for: POST http://127.0.0.1/x"])
def test_ordinary_text_stays(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    assert shown(monkeypatch, text, terminal=False).count(text) == len(KINDS)


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=False)
    monkeypatch.setattr(sys, "stderr", screen)
    with watching(quiet=True) as watcher:
        watcher(Progress(kind="run", text="x"))
    assert screen.getvalue() == ""
