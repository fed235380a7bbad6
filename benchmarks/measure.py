"""How a benchmark measures: modes side by side in random order, wall and cpu of the whole process tree, ratios round by round.

A figure is the median over the rounds; its spread is the interval that holds the true median in 19 of 20 cases (by order statistics, no distribution
assumed; with six rounds it is least and greatest). A target that lies inside the spread is neither met nor missed.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import median

ENOUGH = 6
REST_SECONDS = 0.1
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")

Mode = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One operation in one round, in ms: the median wall of its batch, and the mean cpu."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `values` are the rounds'; `limit` is the most that meets the target, None where there is no target."""

    name: str
    unit: str
    values: tuple[float, ...]
    limit: float | None = None

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        if len(self.values) < ENOUGH:
            return f"inconclusive: fewer than {ENOUGH} rounds"
        low, high = spread(self.values)
        return "met" if high <= self.limit else "missed" if low > self.limit else "inconclusive: the spread covers the limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one benchmark found. `notes` say what the figures do not: what was checked, what was left out."""

    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()


async def measured(modes: Mapping[str, Mode], *, rounds: int, batch: int, without: Sequence[int] = ()) -> dict[str, list[Cost]]:
    """Each mode `batch` times in a row, all modes once a round in random order; the first go of each is not counted. Processes `without` are left out."""
    for mode in modes.values():
        await mode()
    costs: dict[str, list[Cost]] = {name: [] for name in modes}
    for _ in range(rounds):
        for name in random.sample(list(modes), len(modes)):
            costs[name].append(await cost(modes[name], batch, without))
    return costs


async def cost(mode: Mode, batch: int, without: Sequence[int]) -> Cost:
    """The rest before the second reading lets what the mode left behind (a renderer's end) be counted as the mode's."""
    walls = []
    before = tree_cpu(os.getpid(), without)
    for _ in range(batch):
        began = time.perf_counter()
        await mode()
        walls.append((time.perf_counter() - began) * 1000)
    await asyncio.sleep(REST_SECONDS)
    return Cost(wall=median(walls), cpu=(tree_cpu(os.getpid(), without) - before) / batch)


def tree_cpu(root: int, without: Sequence[int] = ()) -> float:
    """User and system time in ms of a process and all below it, the ended ones too: a parent's record holds the children that it has waited for."""
    parents, ticks = dict[int, int](), dict[int, int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))

    def below(pid: int) -> int:
        return ticks[pid] + sum(below(child) for child, parent in parents.items() if parent == pid and child not in without)

    return below(root) * TICK_MS


def compare(costs: Mapping[str, Sequence[Cost]], mode: str, base: str, *, wall: float | None = None, cpu: float | None = None) -> list[Figure]:
    """A mode against a base, wall and cpu, each with its limit."""
    pairs = list(zip(costs[mode], costs[base], strict=True))
    return [
        Figure(name=f"{mode} / {base}, wall", unit="×", values=tuple(a.wall / b.wall for a, b in pairs), limit=wall),
        Figure(name=f"{mode} / {base}, cpu", unit="×", values=tuple(a.cpu / max(b.cpu, TICK_MS) for a, b in pairs), limit=cpu),
    ]


def absolute(costs: Mapping[str, Sequence[Cost]]) -> list[Figure]:
    """The same in ms, for scale: only ratios of one run mean anything on another machine."""
    return [
        figure for name, each in costs.items() for figure in (
            Figure(name=f"{name}, wall", unit="ms", values=tuple(one.wall for one in each)),
            Figure(name=f"{name}, cpu", unit="ms", values=tuple(one.cpu for one in each)),
        )
    ]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The j-th least and greatest: the median lies outside with probability 2·P(Binomial(n, ½) < j), at most 0.05."""
    ordered, n = sorted(values), len(values)
    j = max([1, *(j for j in range(1, n // 2 + 1) if 2 * sum(comb(n, i) for i in range(j)) <= 0.05 * 2**n)])
    return ordered[j - 1], ordered[-j]
