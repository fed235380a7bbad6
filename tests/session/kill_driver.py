"""Runs deskcert, and kills itself with SIGKILL at one chosen write or sync of evidence. Usage: kill_driver.py N HOW FILE -- deskcert words…

HOW is before, half or after. With N 0 nothing is killed, and the number of writes and syncs is left in FILE.
"""

import os
import signal
import sys
from pathlib import Path

from deskcert_core.evidence import store

at, how, count_file = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
sys.argv = ["deskcert", *sys.argv[5:]]
real_write, real_fsync = os.write, os.fsync
calls = 0


class Hooked:
    """The store's `os`, counting."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def write(self, fd: int, data: bytes) -> int:
        if due() and how != "after":
            if how == "half":
                real_write(fd, bytes(data)[: len(data) // 2])
            die()
        done = real_write(fd, data)
        if now():
            die()
        return done

    def fsync(self, fd: int) -> None:
        if due() and how == "before":
            die()
        real_fsync(fd)
        if now():
            die()


def due() -> bool:
    global calls
    calls += 1
    return now()


def now() -> bool:
    return at > 0 and calls == at


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


store.os = Hooked()

from deskcert_adapters.frontends.cli.main import main  # noqa: E402

try:
    main()
finally:
    if at == 0:
        count_file.write_text(str(calls))
