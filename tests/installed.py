"""DeskCert as a stranger gets it: sdist and wheel built from a copy of the tree, installed into fresh environments, without network.

A fresh environment borrows the dependencies of the one that runs the tests, by a .pth file behind its own site-packages.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = (
    "deskcert_core", "deskcert_adapters", "deskcert_criteria", "schema", "examples", "docs", "tests", "benchmarks", ".ci",
    "pyproject.toml", "MANIFEST.in", "noxfile.py", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE",
)
LITTER = shutil.ignore_patterns("__pycache__", "*.egg-info", "runs", ".*_cache", "deskcert-demo")


@dataclass(frozen=True, kw_only=True)
class Built:
    """What `python -m build` made, and the copy of the tree that it was made from."""

    tree: Path
    wheel: Path
    sdist: Path


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A fresh virtual environment."""

    root: Path

    def run(self, *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command with the environment's programs first on the path; its output is in the failure."""
        clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "DESKCERT_PLUGINS")}
        path = os.pathsep.join([str(self.root / "bin"), clean.get("PATH", os.defpath)])
        program = shutil.which(str(command[0]), path=path) or str(command[0])
        whole = {**clean, "PATH": path, "VIRTUAL_ENV": str(self.root), **(env or {})}
        done = subprocess.run([program, *map(str, command[1:])], cwd=cwd or self.root, env=whole, capture_output=True, text=True, timeout=300, check=False)
        assert not check or done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def install(self, *what: str | Path) -> None:
        """pip install, of local files alone."""
        pip = [sys.executable, "-m", "pip", "--python", self.root / "bin" / "python", "--disable-pip-version-check"]
        self.run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", *what)


def fresh(root: Path) -> Environment:
    """An environment that has DeskCert's dependencies and not DeskCert."""
    venv.create(root, symlinks=True)
    (site,) = (root / "lib").glob("python*/site-packages")
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    return Environment(root=root)


def copy_tree(target: Path) -> Path:
    """The tree as it is now, without litter: building in the tree itself would leave some there."""
    target.mkdir(parents=True)
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=LITTER)
        elif source.exists():
            shutil.copy2(source, target / name)
    return target


def build(factory: pytest.TempPathFactory) -> Built:
    """Built once, however many workers ask."""
    base = factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else factory.getbasetemp()
    home = base / "deskcert-built"
    with (base / "deskcert-built.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            tree = copy_tree(home / "tree")
            command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(home / "dist"), str(tree)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (home / "dist").glob("*.whl")
    (sdist,) = (home / "dist").glob("*.tar.gz")
    return Built(tree=home / "tree", wheel=wheel, sdist=sdist)
