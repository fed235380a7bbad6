"""Which code took part: each distribution by name, version and a digest of its files. Imports none of it, believes no RECORD's hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from deskcert_core.errors import PluginError
from deskcert_core.plugins.drivers import Found

__all__ = ["TakingPart", "digest", "taking_part"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TakingPart:
    """One plug-in of a run, for the manifest. `digest` (sha256 hex) is its whole distribution's."""

    group: str
    name: str
    distribution: str
    version: str
    value: str
    digest: str


def taking_part(found: Iterable[Found]) -> tuple[TakingPart, ...]:
    """The manifest's entries for these plug-ins, sorted, each once."""
    unique = set(found)
    digests = {f.distribution: f for f in unique}
    known = {name: digest(f) for name, f in digests.items()}
    return tuple(sorted(
        TakingPart(group=f.group, name=f.name, distribution=f.distribution, version=f.version, value=f.value, digest=known[f.distribution])
        for f in unique
    ))


def digest(found: Found) -> str:
    """sha256 (hex) over the paths and contents of the distribution's files; the same for a wheel and an editable install of one source.

    Counted are the files that its RECORD lists and every file in its top-level packages, listed or not: a file laid beside them may be
    imported before them. Left out: what the installer adds, bytecode, scripts. Raises PluginError if there is nothing to count.
    """
    try:
        dist = distribution(found.distribution)
    except PackageNotFoundError as error:
        raise PluginError(f"{found.distribution} is not installed, so its files cannot be named") from error
    files = _listed(dist) | {label: path for top in _tops(dist) for label, path in _beneath(top).items()}
    if not files:
        raise PluginError(f"{found} has no file that can be named")
    whole = hashlib.sha256()
    for label in sorted(files):
        whole.update(f"{label}\0{_content(files[label])}\n".encode())
    return whole.hexdigest()


def _listed(dist: Distribution) -> dict[str, Path]:
    if dist.read_text("RECORD") is None:
        return {}
    return {str(file): Path(str(dist.locate_file(file))) for file in dist.files or () if _counts(Path(str(file)))}


def _tops(dist: Distribution) -> set[str]:
    named = (dist.read_text("top_level.txt") or "").split()
    return {*named, *(point.value.partition(":")[0].partition(".")[0].strip() for point in dist.entry_points)}


def _beneath(top: str) -> dict[str, Path]:
    """The files of a top-level module. A namespace package is shared with other distributions: there only RECORD speaks."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return {}
    if spec is None or spec.origin is None or spec.origin in ("built-in", "frozen"):
        return {}
    home = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    files = sorted(home.rglob("*")) if home.is_dir() else [home]
    return {str(path.relative_to(home.parent)): path for path in files if path.is_file() and _counts(path.relative_to(home.parent))}


def _counts(path: Path) -> bool:
    inside = not path.is_absolute() and ".." not in path.parts
    installers = path.parts[0].endswith((".dist-info", ".egg-info")) or path.name.startswith("__editable__")
    return inside and not installers and "__pycache__" not in path.parts and path.suffix != ".pyc"


def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
