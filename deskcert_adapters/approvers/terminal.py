"""A person at the terminal is asked. Only a typed `yes` grants; no terminal, end of input, silence and anything else do not.

A pipe is no person: without a terminal nobody is asked, whatever stands in standard input.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import textwrap
from collections.abc import Callable

from deskcert_core.api import Approval, ApprovalOutcome, ApprovalRequest

__all__ = ["Terminal", "question"]

WIDTH = 80
LONGEST_VALUE = 600
TRIES = 3
LINE_BYTES = 1024


class Terminal:
    """Asks on the controlling terminal, or on the one that is standard input. Uses no thread: a pending question never holds up the program's end."""

    deskcert_api = 1
    assurance = "terminal"

    def __init__(self, device: str = "/dev/tty") -> None:
        self._device = device

    async def ask(self, request: ApprovalRequest) -> Approval:
        """The person's answer: approved or denied; expired after `expires_seconds`, unavailable where there is no terminal or input has ended."""
        fd = open_terminal(self._device)
        if fd is None:
            return self._answer("unavailable", "there is no terminal to ask on, or it belongs to another job")
        try:
            async with asyncio.timeout(request.expires_seconds):
                return await self._talk(fd, request)
        except TimeoutError:
            return self._answer("expired", f"no answer within {request.expires_seconds} s")
        except EOFError:
            return self._answer("unavailable", "the terminal's input has ended")
        except OSError as error:
            return self._answer("unavailable", f"the terminal failed: {error.strerror}")
        finally:
            os.close(fd)

    async def _talk(self, fd: int, request: ApprovalRequest) -> Approval:
        termios.tcflush(fd, termios.TCIFLUSH)  # what was typed before the question is no answer to it
        await write(fd, question(request))
        for _ in range(TRIES):
            match (await read_line(fd)).strip().lower():
                case "yes":
                    return self._answer("approved", "yes")
                case "no":
                    return self._answer("denied", "no")
                case _:
                    await write(fd, "Please type yes or no, in full: ")
        return self._answer("denied", f"{TRIES} answers that were neither yes nor no")

    def _answer(self, outcome: ApprovalOutcome, reason: str) -> Approval:
        return Approval(outcome=outcome, who=person(), assurance=self.assurance, reason=reason)


def question(request: ApprovalRequest) -> str:
    """The request in plain words, 80 columns wide. Text of page and agent is shown with its control characters taken out."""
    rows = [
        ("Task", f"{request.task_id}, trial {request.trial}, step {request.step}"),
        ("Action", request.action), ("Effect", request.effect), ("Page", request.page),
        ("Agent says", request.claim or "(nothing)"), ("Rule", f"{request.matched_rule}, risk {request.risk_level}"),
    ]
    rows += [("Would send" if number == 0 else "", f"{name} = {value}") for number, (name, value) in enumerate(request.form)]
    body = "\n".join(row(*r) for r in rows)
    end = f'Allow this once? Type "yes" or "no" (expires in {request.expires_seconds} s): '
    return f"\n{'-' * WIDTH}\nApproval needed\n{body}\n{'-' * WIDTH}\n{end}"


def row(label: str, value: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    if len(shown) > LONGEST_VALUE:
        shown = f"{shown[:LONGEST_VALUE]}… ({len(shown)} characters)"
    return textwrap.fill(shown, WIDTH, initial_indent=f"{label:<12}", subsequent_indent=" " * 12, break_on_hyphens=False) or label


def person() -> str:
    return os.environ.get("LOGNAME") or os.environ.get("USER") or f"uid {os.getuid()}"


def open_terminal(device: str) -> int | None:
    """A descriptor of our own (others share standard input's flags), or None: no terminal, or reading it would stop this process."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK
    try:
        fd = os.open(device, flags)
    except OSError:
        try:
            fd = os.open(os.ttyname(sys.__stdin__.fileno()), flags) if sys.__stdin__ else -1
        except (OSError, ValueError):
            fd = -1
    if fd >= 0 and not (os.isatty(fd) and in_foreground(fd)):
        os.close(fd)
        return None
    return fd if fd >= 0 else None


def in_foreground(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal: reading it stops nobody


async def write(fd: int, text: str) -> None:
    left, loop = memoryview(text.encode("utf-8", "replace")), asyncio.get_running_loop()
    while left:
        try:
            left = left[os.write(fd, left):]
        except BlockingIOError:
            await ready(fd, loop.add_writer, loop.remove_writer)


async def read_line(fd: int) -> str:
    """One line. Raises EOFError at end of input; a line without end is cut."""
    line, loop = b"", asyncio.get_running_loop()
    while not line.endswith(b"\n") and len(line) < LINE_BYTES:
        try:
            part = os.read(fd, LINE_BYTES)
        except BlockingIOError:
            await ready(fd, loop.add_reader, loop.remove_reader)
            continue
        if not part:
            raise EOFError
        line += part
    return line.decode("utf-8", "replace")


async def ready(fd: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
    """Until the terminal can be read or written."""
    event = asyncio.Event()
    add(fd, event.set)
    try:
        await event.wait()
    finally:
        remove(fd)
