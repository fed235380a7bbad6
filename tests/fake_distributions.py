"""Distributions that exist only as a `*.dist-info` folder and a module on sys.path: what an installer leaves, without an installer."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CRITERION = """
class Plain:
    deskcert_api = 1
    version = "1"
    schema = {"type": "object"}
    def probes(self, params): return ()
    def judge(self, params, evidence): raise NotImplementedError
"""


class Site:
    """A folder on sys.path to install fakes into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: list[str] = []

    def add(self, distribution: str, name: str, source: str = CRITERION, *, attribute: str = "Plain", group: str = "deskcert.criteria",
            version: str = "1.0", module: str = "") -> str:
        """Install one distribution with one entry point; the name of its module."""
        module = module or distribution.replace("-", "_") + "_mod"
        colon = f":{attribute}" if attribute else ""
        (self.root / f"{module}.py").write_text(source)
        self.metadata(distribution, version, f"[{group}]\n{name} = {module}{colon}\n", f"{module}.py,,\n")
        self.modules.append(module)
        return module

    def metadata(self, distribution: str, version: str, entry_points: str, record: str = "") -> Path:
        info = self.root / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(entry_points)
        (info / "RECORD").write_text(record + f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
        importlib.invalidate_caches()
        return info

    def imported(self) -> set[str]:
        return {module for module in self.modules if module in sys.modules}


@contextmanager
def on_path(root: Path, patch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A Site on sys.path; its modules are forgotten afterwards. No plug-in of the developer's own takes part."""
    root.mkdir()
    patch.syspath_prepend(str(root))
    patch.delenv("DESKCERT_PLUGINS", raising=False)
    site = Site(root)
    yield site
    for module in site.modules:
        sys.modules.pop(module, None)
