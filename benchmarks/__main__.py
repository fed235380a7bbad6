"""python benchmarks [--rounds N] [--batch N] [--only P3] [--json]: the ratios that the targets in docs/performance.md speak of."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version

from measure import Figure, Result, spread

from deskcert_adapters.executors.chromium.launch import Chromium
from deskcert_core.errors import DeskCertError

BENCHMARKS = {"P3": "p3_task", "P4": "p4_observe", "P9": "p9_hop", "P10": "p10_help"}
WHAT = {
    "P3": "the six-step invoice task, full evidence, request gate on, against plain Playwright", "P4": "one observation", "P9": "one hop to the agent's process and back, with a picture",
    "P10": "deskcert --help",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=12, metavar="N", help="at least 6 for a verdict; 12 by default")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="only this benchmark; may be given more than once")
    parser.add_argument("--batch", type=positive, metavar="N", help="how often a round repeats each mode; each benchmark's own number by default")
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    given = parser.parse_args()
    results: dict[str, Result] = {}
    try:
        about = versions()
        for name in given.only or BENCHMARKS:
            if not given.json:
                print(f"measuring {name}: {WHAT[name]} …", file=sys.stderr, flush=True)
            results[name] = asyncio.run(importlib.import_module(BENCHMARKS[name]).run(given.rounds, given.batch))
    except DeskCertError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return int(error.exit_code)
    print(as_json(about, results) if given.json else as_tables(about, results))
    return 0


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least one round")
    return number


def versions() -> dict[str, str]:
    browser = Chromium.find()
    return {
        "deskcert": version("deskcert"), "python": platform.python_version(), "playwright": version("playwright"), "browser": f"{browser.name} {browser.version}",
        "system": f"{platform.system()} {platform.release()}", "cores": str(os.cpu_count()), "load": f"{os.getloadavg()[0]:.2f}",
    }


def as_tables(about: Mapping[str, str], results: Mapping[str, Result]) -> str:
    lines = [" · ".join(f"{name} {value}" for name, value in about.items())]
    for name, result in results.items():
        rows = [("", "median", "spread", "target", "n", ""), *map(row, result.figures)]
        widths = [max(len(line[column]) for line in rows) for column in range(6)]
        lines += ["", f"{name}  {WHAT[name]}"]
        lines += ["  ".join([line[0].ljust(widths[0]), *(line[i].rjust(widths[i]) for i in range(1, 5)), line[5]]).rstrip() for line in rows]
        lines += [f"- {note}" for note in result.notes]
    return "\n".join(lines)


def row(figure: Figure) -> tuple[str, ...]:
    low, high = spread(figure.values)
    digits = 2 if figure.unit == "×" else 1
    limit = "" if figure.limit is None else f"≤ {figure.limit:g} {figure.unit}"
    return (
        figure.name, f"{figure.value:.{digits}f} {figure.unit}", f"{low:.{digits}f}-{high:.{digits}f}", limit, str(len(figure.values)), figure.verdict,
    )


def as_json(about: Mapping[str, str], results: Mapping[str, Result]) -> str:
    return json.dumps({
        "versions": dict(about),
        "benchmarks": {
            name: {
                "figures": [
                    {
                        "name": f.name, "unit": f.unit, "median": f.value, "spread": spread(f.values), "limit": f.limit, "n": len(f.values),
                        "verdict": f.verdict, "values": f.values,
                    } for f in result.figures
                ],
                "notes": result.notes,
            } for name, result in results.items()
        },
    }, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
