"""P10: the cpu of `deskcert --help`, next to a bare Python and to one that imports click."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

from measure import Figure, Result

TIMES = 10


async def run(rounds: int, batch: int | None = None) -> Result:
    times = batch or TIMES
    commands = {
        "deskcert --help": [str(script()), "--help"], "python -c 'import click'": [sys.executable, "-c", "import click"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    least: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        cpu(command)
    for _ in range(rounds):
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for name in random.sample(list(commands) * times, times * len(commands)):
            taken[name].append(cpu(commands[name]))
        for name, each in taken.items():
            least[name].append(min(each))
    limits = {"deskcert --help": 100.0}
    figures = [Figure(name=f"{name}, cpu", unit="ms", values=tuple(values), limit=limits.get(name)) for name, values in least.items()]
    return Result(figures=tuple(figures), notes=(f"a round is {times} of each in random order, its figure the least of them; files warm",))


def script() -> Path:
    """The command as it is installed beside this Python."""
    path = Path(sys.executable).with_name("deskcert")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: install DeskCert into this Python first")
    return path


def cpu(command: list[str]) -> float:
    """User and system time of one command, in ms. A command that fails is no measurement. Byte code may be written: an installed DeskCert has it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000
