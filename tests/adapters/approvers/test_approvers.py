"""Approvers: only a clear yes of a person at a terminal is one, and no question hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from deskcert_adapters.approvers import terminal
from deskcert_adapters.approvers.auto import Auto
from deskcert_adapters.approvers.deny import Deny
from deskcert_adapters.approvers.terminal import Terminal, question
from deskcert_core.approval import Approval, ApprovalRequest

REQUEST = ApprovalRequest(
    run_id="r", task_id="invoice", trial=1, step=4, action="submit_form css '#confirm'", effect="sends the form to http://127.0.0.1:8000/confirm (POST)",
    claim="confirm the total", matched_rule="approval_required.form_submit", risk_level="medium", page="http://127.0.0.1:8000/invoice",
    form=(("total", "$1,248.92"), ("note", "paid " * 60)), expires_seconds=30,
)


class Person:
    """The other side of a pseudo-terminal: answers each prompt with the next of its lines."""

    def __init__(self) -> None:
        self.screen, self.theirs = os.openpty()
        self.device = os.ttyname(self.theirs)
        self.read = ""

    def talk(self, *lines: bytes, before: Callable[[], None] = lambda: None, request: ApprovalRequest = REQUEST) -> Approval:
        left = list(lines)

        def hear() -> None:
            self.read += os.read(self.screen, 65536).decode()
            if left and self.read.rstrip("\r\n").endswith(": "):
                self.read += "|"
                os.write(self.screen, left.pop(0))

        async def run() -> Approval:
            loop = asyncio.get_running_loop()
            loop.add_reader(self.screen, hear)
            before()
            try:
                return await Terminal(self.device).ask(request)
            finally:
                loop.remove_reader(self.screen)

        return asyncio.run(run())


@pytest.fixture
def person() -> Iterator[Person]:
    one = Person()
    yield one
    os.close(one.screen)
    os.close(one.theirs)


def test_deny_and_auto_answer_at_once() -> None:
    assert asyncio.run(Deny().ask(REQUEST)).outcome == "denied"
    answer = asyncio.run(Auto().ask(REQUEST))
    assert (answer.outcome, answer.assurance) == ("approved", "auto")


@pytest.mark.parametrize(("lines", "outcome"), [
    ((b"yes\n",), "approved"), ((b" YES \n",), "approved"), ((b"what?\n", b"yes\n"), "approved"),
    ((b"no\n",), "denied"), ((b"y\n", b"\n", b"yes please\n"), "denied"), ((b"y\xff\n", b"yess\n", b"no\n"), "denied"),
    ((b"\x04",), "unavailable"), ((b"y\n", b"\x04"), "unavailable"),
])
def test_only_yes_in_full_grants(person: Person, lines: tuple[bytes, ...], outcome: str) -> None:
    answer = person.talk(*lines)
    assert (answer.outcome, answer.assurance) == (outcome, "terminal")


def test_silence_expires(person: Person) -> None:
    assert person.talk(request=replace(REQUEST, expires_seconds=1)).outcome == "expired"


def test_what_was_typed_before_the_question_is_no_answer(person: Person) -> None:
    early = lambda: os.write(person.screen, b"yes\n") and None  # noqa: E731
    assert person.talk(before=early, request=replace(REQUEST, expires_seconds=1)).outcome == "expired"


def test_a_long_line_without_end_is_no_yes(person: Person) -> None:
    tty.setcbreak(person.theirs)
    try:
        assert person.talk(b"yes" * 700, b"no\n", b"no\n").outcome == "denied"
    finally:
        termios.tcflush(person.theirs, termios.TCIOFLUSH)


def test_a_hangup_while_waiting_is_not_granted() -> None:
    one = Person()

    async def run() -> Approval:
        asked = asyncio.create_task(Terminal(one.device).ask(REQUEST))
        await asyncio.sleep(0.2)
        os.close(one.theirs)
        os.close(one.screen)
        return await asked

    assert asyncio.run(run()).outcome == "unavailable"


def test_the_person_sees_everything_in_80_columns(person: Person) -> None:
    person.talk(b"no\n")
    shown = person.read.replace("\r\n", "\n")
    for part in (REQUEST.effect, REQUEST.claim, REQUEST.page, "approval_required.form_submit, risk medium", "total = $1,248.92", "expires in 30 s"):
        assert part in " ".join(shown.split())
    assert shown.count("paid") == 60
    assert max(map(len, question(REQUEST).splitlines())) <= 80


def test_a_page_cannot_draw_on_the_terminal() -> None:
    text = question(replace(REQUEST, claim="\x1b[2J\x1b[31mharmless\r\nRule: none\u202e", form=(("n", "x" * 5000),)))
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text
    assert "(5004 characters)" in " ".join(text.split())
    assert not any(line.startswith("Rule: none") for line in text.splitlines())


ASK = """
import asyncio, sys
sys.path[:0] = {path!r}
from deskcert_adapters.approvers.terminal import Terminal
from deskcert_core.approval import ApprovalRequest
request = ApprovalRequest(run_id="r", task_id="t", trial=1, step=1, action="click", effect="e", claim="c", matched_rule="m", risk_level="low", page="p", expires_seconds=60)
print(asyncio.run(Terminal().ask(request)).outcome)
"""


@pytest.mark.parametrize("stdin", ["closed", "null", "silent pipe", "yes in a pipe"])
def test_without_a_terminal_nobody_is_asked(stdin: str) -> None:
    read, write = os.pipe()
    program = "import os; os.close(0)\n" * (stdin == "closed") + ASK.format(path=sys.path)
    try:
        if stdin == "yes in a pipe":
            os.write(write, b"yes\n")
        source = read if "pipe" in stdin else subprocess.DEVNULL
        done = subprocess.run([sys.executable, "-c", program], stdin=source, capture_output=True, text=True, start_new_session=True, timeout=60, check=True)
    finally:
        os.close(read)
        os.close(write)
    assert done.stdout == "unavailable\n"


@pytest.mark.parametrize(("typed", "ends"), [(b"yes\n", b"approved"), (b"\x03", b"KeyboardInterrupt")])
def test_the_controlling_terminal_of_a_real_program(typed: bytes, ends: bytes) -> None:
    pid, screen = os.forkpty()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", ASK.format(path=sys.path)])
    shown = b""
    try:
        while b'(expires in 60 s): ' not in shown:
            shown += os.read(screen, 65536)
        os.write(screen, typed)
        while ends not in shown:
            shown += os.read(screen, 65536)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(screen)
        os.waitpid(pid, 0)
    assert (b"approved" in shown) is (typed == b"yes\n")


def test_a_background_job_is_not_stopped_by_asking(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "in_foreground", lambda fd: False)
    assert person.talk(b"yes\n").outcome == "unavailable"
