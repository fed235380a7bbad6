"""The invoice and Django's admin with a real model, on your key and under a spending cap: `nox -s live -- claude --model NAME --input-usd 3 --output-usd 15`.

The key comes from the environment (ANTHROPIC_API_KEY or OPENAI_API_KEY) and reaches the agent's process alone. The prices are yours to state, in USD per million
tokens: without them nothing is limited, so nothing is run. Each of the four trials may spend a quarter of `--max-usd`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE / "players")]

import yaml  # noqa: E402
from cli_support import EXAMPLES, deskcert  # noqa: E402

KEYS = {"claude": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
ENDPOINTS = {"claude": "https://api.anthropic.com", "openai": "https://api.openai.com"}
TRIALS = 4


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agent", choices=KEYS)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input-usd", type=float, required=True, help="USD per million tokens")
    parser.add_argument("--output-usd", type=float, required=True, help="USD per million tokens")
    parser.add_argument("--max-usd", type=float, default=2.0, help="for all trials together")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="a further option of the adapter")
    parser.add_argument("--endpoint", help="the service, if it is not the vendor's own")
    parser.add_argument("--out", type=Path, default=Path("live-runs"))
    return parser.parse_args(words)


def prepare(suite: str, given: argparse.Namespace) -> Path:
    """A copy of the example with the agent, its prices and its cap."""
    copy = given.out / f"{suite}-suite"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(EXAMPLES / suite, copy, ignore=shutil.ignore_patterns("runs", "__pycache__", "failures", "file", "attacks"))
    options = {"model": given.model, **dict(pair.split("=", 1) for pair in given.option)}
    entry = {"adapter": given.agent, "options": options, "env": [KEYS[given.agent]], "endpoint": given.endpoint or ENDPOINTS[given.agent]}
    price = {"input_usd_per_million": given.input_usd, "output_usd_per_million": given.output_usd}
    # cached tokens at the full price: never less than what is billed
    price |= {"cache_read_usd_per_million": given.input_usd, "cache_write_usd_per_million": round(given.input_usd * 2, 6)}
    change(copy / "deskcert.yaml", agents={given.agent: entry})
    change(copy / "costs.yaml", models={given.model: price})
    change(copy / "policy.yaml", limits={"max_cost_usd": round(given.max_usd / TRIALS, 6), "max_runtime_seconds": 600, "max_steps": 40})
    return copy


def change(file: Path, **parts: dict[str, Any]) -> None:
    data = yaml.safe_load(file.read_text())
    for name, part in parts.items():
        data[name] = {**(data.get(name) or {}), **part}
    file.write_text(yaml.safe_dump(data))


def main(words: list[str] | None = None) -> int:
    given = arguments(words)
    if not os.environ.get(KEYS[given.agent]):
        print(f"live: set {KEYS[given.agent]}", file=sys.stderr)
        return 64
    worst = 0
    for suite in ("invoice", "django_admin"):
        done = deskcert("run", prepare(suite, given), "--agent", given.agent, "--out", given.out / "runs", cwd=Path.cwd(), timeout=3600)
        print(done.stdout + done.stderr)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
