"""Which browser is used, and how one is got. No page is opened here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from deskcert_core.errors import UnavailableError

__all__ = ["FoundBrowser", "find_browser", "install_browser"]

VARIABLE = "DESKCERT_BROWSER"
COMMAND = "deskcert browser install"
NAMES = {
    "chromium": ("chromium", "chromium-browser"), "chrome": ("google-chrome", "google-chrome-stable", "chrome"),
    "edge": ("microsoft-edge", "microsoft-edge-stable", "msedge"),
}
OWN = ("chromium_headless_shell-*/*/headless_shell", "chromium_headless_shell-*/*/chrome-headless-shell", "chromium-*/*/chrome", "chromium-*/*/*.app/Contents/MacOS/*")
VERSION_SECONDS = 20
INSTALL_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBrowser:
    """A browser on this machine. `name` is its kind: chromium-headless-shell, playwright, chromium, chrome, edge, or env."""

    name: str
    path: str
    version: str


def find_browser() -> FoundBrowser:
    """The first that runs, the cheapest first. Raises UnavailableError with the one command to type."""
    if chosen := os.environ.get(VARIABLE):
        path = shutil.which(chosen)
        if path is None or (version := version_of(path)) is None:
            raise UnavailableError(f"{VARIABLE} names {chosen!r}, which does not run", hint=f"unset it, or type: {COMMAND}")
        return FoundBrowser(name="env", path=path, version=version)
    for name, path in candidates():
        if (version := version_of(path)) is not None:
            return FoundBrowser(name=name, path=path, version=version)
    raise UnavailableError("no Chromium, Chrome or Edge on this machine", hint=f"type: {COMMAND}")


def candidates() -> list[tuple[str, str]]:
    """Name and path of everything that looks like a browser, in the order of preference."""
    found = [("chromium-headless-shell", path) for path in [shutil.which("chromium-headless-shell")] if path]
    found += [("playwright", str(path)) for pattern in OWN for path in sorted(own_folder().glob(pattern), key=revision, reverse=True) if os.access(path, os.X_OK)]
    return found + [(kind, path) for kind, names in NAMES.items() for name in names if (path := shutil.which(name))]


def own_folder() -> Path:
    """Where Playwright keeps its browsers."""
    if set_by_user := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return Path(set_by_user)
    caches = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return caches / "ms-playwright"


def revision(path: Path) -> int:
    numbers = re.findall(r"/chromium(?:_headless_shell)?-(\d+)/", path.as_posix())
    return int(numbers[0]) if numbers else 0


def version_of(path: str) -> str | None:
    """What `--version` prints, without the product's name; None if it does not run."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    found = re.search(r"\d+(?:\.\d+)+", said)
    return found[0] if found else None


def install_browser() -> FoundBrowser:
    """Get one: by Playwright's installer, else by the system's package manager where we may. Raises UnavailableError with the one command to type."""
    for command in ways():
        print(f"+ {' '.join(command)}", file=sys.stderr)
        if run(command):
            try:
                return find_browser()
            except UnavailableError:
                continue  # it came without the libraries that it needs
    raise UnavailableError("no browser could be installed", hint=f"type: {by_hand()}")


def ways() -> list[list[str]]:
    """The commands to try, in order."""
    playwright = [[sys.executable, "-m", "playwright", "install", "chromium-headless-shell"]]
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return playwright
    return playwright + [command for command in package_commands() if shutil.which(command[0])]


def package_commands() -> list[list[str]]:
    return [
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-yq", "--no-install-recommends", "chromium-headless-shell"], ["apt-get", "install", "-yq", "--no-install-recommends", "chromium"],
        ["dnf", "install", "-yq", "chromium-headless"], ["dnf", "install", "-yq", "chromium"],
    ]


def by_hand() -> str:
    if shutil.which("apt-get"):
        return "sudo apt-get install -y chromium"
    return "sudo dnf install -y chromium" if shutil.which("dnf") else f"{sys.executable} -m playwright install --with-deps chromium-headless-shell"


def run(command: list[str]) -> bool:
    try:
        return subprocess.run(command, timeout=INSTALL_SECONDS, check=False, stdin=subprocess.DEVNULL).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
