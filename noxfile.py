"""What CI runs, and what you can run: `nox` for tests (tests_agents: those with the clients of model providers), lint, types and imports; `nox -s demo`
for the demonstration."""

from __future__ import annotations

import os
import shutil

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests_agents", "tests", "lint", "types", "imports"]
nox.options.reuse_existing_virtualenvs = True

EXTRAS = "[claude,langgraph,llm,openai]"
PROJECT = nox.project.load_toml("pyproject.toml")
CI = bool(os.environ.get("CI"))


def group(name: str) -> list[str]:
    return nox.project.dependency_groups(PROJECT, name)


@nox.session
def demo(session: nox.Session) -> None:
    """The invoice suite, from an installed DeskCert, ending in a verdict and a report."""
    session.install(".")
    session.run("deskcert", "browser", "install")
    session.run("deskcert", "demo", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests. With CI=true a test that is skipped for lack of a browser or of bubblewrap is a failure."""
    browser_and_tests(session)
    session.run("pytest", "-n", "2", "--dist", "worksteal", "--ignore", "tests/agents_sdk", *session.posargs)


@nox.session
def tests_agents(session: nox.Session) -> None:
    """The agents that need a provider's client library, driven by the real one before servers of our own."""
    session.install(*group("agents"))
    browser_and_tests(session, EXTRAS)
    session.run("pytest", "-m", "sdk", "-n", "2", "tests/agents_sdk", *session.posargs)


@nox.session
def live(session: nox.Session) -> None:
    """The examples with a real model, on your key and under your cap: `nox -s live -- claude --model NAME --input-usd 3 --output-usd 15`."""
    session.install("-e", f".{EXTRAS}", *group("test"))
    session.run("deskcert", "browser", "install")
    session.run("python", "tests/agents_sdk/live.py", *session.posargs)


@nox.session
def campaign(session: nox.Session) -> None:
    """The long form of the randomised and of the crash tests."""
    browser_and_tests(session)
    session.run("pytest", "-m", "campaign", *session.posargs, env={"DESKCERT_CAMPAIGN": "1"})


@nox.session
def lint(session: nox.Session) -> None:
    session.install(*group("lint"))
    session.run("ruff", "check", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    session.install("-e", f".{EXTRAS}", *group("types"))
    session.run("mypy", *session.posargs)


@nox.session
def imports(session: nox.Session) -> None:
    """Who may import whom: the contracts in pyproject.toml."""
    session.install("-e", ".", *group("imports"))
    session.run("lint-imports", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """The performance ratios of docs/performance.md, measured here and printed."""
    session.install("-e", ".", *group("test"))
    session.run("deskcert", "browser", "install")
    session.run("python", "benchmarks", *session.posargs)


def browser_and_tests(session: nox.Session, extras: str = "") -> None:
    session.install("-e", f".{extras}", *group("test"))
    bubblewrap(session)
    session.run("deskcert", "browser", "install", success_codes=[0] if CI else [0, 69])


def bubblewrap(session: nox.Session) -> None:
    """What agents are held by; no Python package has it."""
    if shutil.which("bwrap"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        session.run("apt-get", "update", "-qq", external=True)
        session.run("apt-get", "install", "-y", "-qq", "bubblewrap", external=True)
    else:
        session.warn("tests of the agents' sandbox need bubblewrap: sudo apt-get install bubblewrap")
