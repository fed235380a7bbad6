"""`--help` imports none of the heavy modules: the set of them is what start-up time depends on, and unlike the time it is the same everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "asyncio", "importlib.metadata", "jsonschema", "jsonschema_rs", "mcp", "msgspec", "playwright", "pluggy", "rich", "stevedore", "structlog", "yaml",
}
PROGRAM = """
import json, sys
sys.argv = ["deskcert", *sys.argv[1:]]
from deskcert_adapters.frontends.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def imported(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported(*arguments) & HEAVY == set()


@pytest.mark.parametrize("command", ["run", "plugins"])
def test_nor_does_the_help_of_a_command(command: str) -> None:
    assert imported(command, "--help") & (HEAVY - {"importlib.metadata", "asyncio"}) == set()


def test_the_control_sees_what_is_imported() -> None:
    assert {"stevedore", "importlib.metadata"} <= imported("plugins", "show", "auto")
