"""`deskcert doctor`: what works on this machine, what does not, and what to type."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from typing import Any

import click

from deskcert_adapters.frontends.cli.browser import chromium
from deskcert_adapters.frontends.cli.plugins import every
from deskcert_core import __version__
from deskcert_core.errors import DeskCertError, ExitCode


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def doctor(as_json: bool) -> None:
    """Say what works on this machine, and what does not. Exit 69 if a run could not start."""
    checks = [python(), browser(), start(), plugins(), agents(), sandbox()]
    if as_json:
        click.echo(json.dumps([{"check": name, "ok": ok, "detail": detail} for name, ok, detail, _ in checks], indent=2))
    else:
        for name, ok, detail, needed in checks:
            mark = "ok  " if ok else ("FAIL" if needed else "no  ")
            click.echo(f"{mark} {name:<12} {detail}")
    if any(needed and not ok for _, ok, _, needed in checks):
        sys.exit(ExitCode.UNAVAILABLE)


Check = tuple[str, bool, str, bool]


def python() -> Check:
    return "deskcert", True, f"{__version__} on Python {platform.python_version()}, {platform.system()} {platform.release()}", True


def browser() -> Check:
    try:
        found = chromium().find()
    except DeskCertError as error:
        return "browser", False, str(error), True
    return "browser", True, f"{found.name} {found.version} at {found.path}", True


def start() -> Check:
    """Start it once, behind the gate."""
    import asyncio

    try:
        info = asyncio.run(started())
    except DeskCertError as error:
        return "start", False, str(error), True
    sandbox = "on" if info.sandbox else "off (started as root)"
    return "start", True, f"containment {info.containment}, Chromium's own sandbox {sandbox}", True


async def started() -> Any:
    from deskcert_core.execution import BrowserPlan, Verdict

    class Nothing:
        async def decide(self, page: str, request: object, body: bytes | None) -> tuple[int, Verdict]:
            return 0, Verdict(allow=False, reason="doctor")

        def answered(self, page: str, number: int, status: int | None) -> None:
            """Nothing is let go, so nothing is answered."""

    made = chromium()()
    try:
        return await made.start(BrowserPlan(), Nothing())
    finally:
        await made.close()


def plugins() -> Check:
    from deskcert_core.plugins import drivers

    try:
        found = every()
    except DeskCertError as error:
        return "plug-ins", False, str(error), True
    strangers = sorted({f"{one.distribution} {one.version}" for one in found if drivers.canonical(one.distribution) != drivers.OURS})
    return "plug-ins", True, f"{len(found)} in all; from others: {', '.join(strangers) or 'none'}", True


def agents() -> Check:
    """Whether an agent's process can be held. A run goes on without; `deskcert ci` does not."""
    from deskcert_core.session.sandbox import ADVICE, available

    reason = available()
    return "agents", reason is None, f"not held: {reason}; {ADVICE}" if reason else "their processes run in a sandbox (bubblewrap)", False


def sandbox() -> Check:
    path = shutil.which("bwrap")
    detail = f"bubblewrap at {path}" if path else "bubblewrap is not installed"
    root = " (running as root)" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    return "netns", False, f"{detail}{root}; containment netns comes with a later version, use containment: proxy", False
