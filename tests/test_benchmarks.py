"""Each benchmark runs, checks what it measures, and prints its ratios. Nothing here is timed: one round is no measurement, and must say so."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def bench(*words: str) -> str:
    return subprocess.run(
        [sys.executable, str(FOLDER), "--rounds", "1", "--batch", "1", *words], capture_output=True, text=True, timeout=300, check=True, stdin=subprocess.DEVNULL,
    ).stdout


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_measure", FOLDER / "measure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks it up
    spec.loader.exec_module(module)
    return module


@pytest.mark.browser
@pytest.mark.parametrize(("name", "ratios"), [
    ("P3", ["deskcert / raw, wall", "deskcert / raw, cpu", "no pictures / raw, wall", "no pictures / raw, cpu"]),
    ("P4", ["ours 50 / usual 50, wall", "ours 2000 / ours 50, wall"]),
    ("P9", ["hop with picture, wall"]),
])
def test_a_browser_benchmark_prints_its_ratios(name: str, ratios: list[str]) -> None:
    answer = json.loads(bench("--only", name, "--json"))
    assert answer["versions"].keys() >= {"deskcert", "python", "playwright", "browser"}
    targets = {figure["name"]: figure for figure in answer["benchmarks"][name]["figures"] if figure["limit"] is not None}
    assert list(targets) == ratios
    for figure in targets.values():
        assert figure["n"] == 1
        assert figure["median"] > 0
        assert figure["verdict"].startswith("inconclusive")


@pytest.mark.browser
def test_the_help_benchmark_prints_a_table() -> None:
    table = bench("--only", "P10")
    assert "≤ 100 ms  1  inconclusive: fewer than 6 rounds" in table
    assert [line.split(",")[0] for line in table.splitlines() if ", cpu" in line] == ["deskcert --help", "python -c 'import click'", "python -c pass"]


@pytest.mark.parametrize(("values", "verdict"), [
    ((1.0, 1.1, 1.2, 1.3, 1.4, 1.5), "met"),
    ((1.7, 1.8, 1.9, 2.0, 2.1, 2.2), "missed"),
    ((1.1, 1.2, 1.3, 1.4, 1.5, 1.7), "inconclusive: the spread covers the limit"),
    ((1.1, 1.1, 1.1, 1.1, 1.1), "inconclusive: fewer than 6 rounds"),
])
def test_a_verdict_needs_six_rounds_on_one_side_of_the_limit(measure: ModuleType, values: tuple[float, ...], verdict: str) -> None:
    assert measure.Figure(name="x", unit="×", values=values, limit=1.6).verdict == verdict


@pytest.mark.parametrize(("n", "place"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5)])
def test_the_spread_is_the_interval_of_the_median(measure: ModuleType, n: int, place: int) -> None:
    """Places from the tables of the sign test at 5 %."""
    assert measure.spread(list(range(n, 0, -1))) == (1 + place, n - place)


def test_the_cpu_of_a_tree_counts_its_processes_also_the_ended_ones(measure: ModuleType) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\nprint('done', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        below, without = measure.tree_cpu(os.getpid()), measure.tree_cpu(os.getpid(), [process.pid])
        process.stdin.close()
    assert below - without >= 250
