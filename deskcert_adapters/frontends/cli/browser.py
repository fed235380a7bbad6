"""`deskcert browser`: which browser is used, and how to get one."""

from __future__ import annotations

from typing import Any

import click


def chromium() -> Any:
    from deskcert_core.plugins import drivers

    return drivers.get("deskcert.executors", "chromium")


@click.group()
def browser() -> None:
    """Find or install the browser."""


@browser.command()
def path() -> None:
    """Print the browser that a run would use."""
    found = chromium().find()
    click.echo(f"{found.path}  ({found.name} {found.version})")


@browser.command()
@click.option("--force", is_flag=True, help="Install even if one is found.")
def install(force: bool) -> None:
    """Install a Chromium, by the system's package manager or Playwright's installer. Does nothing if one is found."""
    from deskcert_core.errors import UnavailableError

    if not force:
        try:
            found = chromium().find()
        except UnavailableError:
            click.echo("no browser found: installing one", err=True)
        else:
            click.echo(f"browser: {found.path} ({found.name} {found.version})")
            return
    found = chromium().install()
    click.echo(f"browser: {found.path} ({found.name} {found.version})")
