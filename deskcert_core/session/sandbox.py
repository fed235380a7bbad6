"""How an agent's process is held: what of the machine it is shown, and the bubblewrap command that shows it nothing else."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import deskcert_core
from deskcert_core.errors import UnavailableError
from deskcert_core.session import inside, seccomp

__all__ = ["ADVICE", "Cell", "Isolation", "available", "chosen", "command", "filter_pipe", "import_path", "proxy_env", "unreadable"]

Isolation = Literal["sandbox", "process", "none"]
ADVICE = "install bubblewrap (apt-get install bubblewrap) and allow user namespaces; or write `isolation: process` into the suite's agent"
GATE = "/run/deskcert/endpoint.sock"
HOME, WORK, TMP = "/home/agent", "/home/agent/work", "/tmp"
PROCESSES = 256
SCRATCH = 256 << 20
PROBE_SECONDS = 20.0
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share", "/usr/local/bin", "/usr/local/lib", "/nix/store")
TOP = ("/bin", "/lib", "/lib32", "/lib64", "/sbin")
SETTINGS = (
    "/etc/alternatives", "/etc/ca-certificates", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types",
    "/etc/pki/ca-trust/extracted", "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/ssl/cert.pem", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
)
OURS = ("deskcert_core", "deskcert_adapters", "deskcert_criteria", "schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where an agent runs. `files` are shown to it beside its packages, `hidden` never are, `gate` is the socket of the proxy to its endpoint.

    Under `process` only `memory_mb` is held, for each process alone; under `none` nothing is.
    """

    isolation: Isolation = "process"
    memory_mb: int = 2048
    files: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    gate: str | None = None


@functools.cache
def available() -> str | None:
    """Why there is no sandbox on this machine, None if there is one. It is started once to see that it works."""
    if sys.platform != "linux" or platform.machine() not in seccomp.MACHINES:
        return f"there is none for {platform.system()} on {platform.machine()}"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    fd = filter_pipe()
    try:
        words = [*command(Cell(isolation="sandbox"), "", fd), sys.executable, "-I", "-c", "print('held')"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PROBE_SECONDS, pass_fds=[fd], env={}, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not work: {error}"[:300]
    finally:
        os.close(fd)
    if done.stdout.strip() == "held":
        return None
    return f"bubblewrap does not work: {(done.stderr.strip().splitlines() or ['no word why'])[0]}"[:300]


def chosen(wanted: Isolation | None, planned: Isolation | None) -> Isolation:
    """What a run's agents run in: as wanted, else as the suite says, else a sandbox where there is one. Raises UnavailableError where one must be and is not."""
    asked = wanted or planned
    if asked in ("process", "none"):
        return asked
    reason = available()
    if reason is not None and asked == "sandbox":
        raise UnavailableError(f"no sandbox for the agent: {reason}", hint=ADVICE)
    return "sandbox" if reason is None else "process"


def command(cell: Cell, module: str, fd: int) -> list[str]:
    """bubblewrap with everything but the program to run. `module` is the adapter's top-level module, `fd` gives the filter of system calls."""
    words = [
        shutil.which("bwrap") or "bwrap", "--seccomp", str(fd), "--die-with-parent", "--as-pid-1", "--unshare-user", "--uid", "1000", "--gid", "1000",
        "--cap-drop", "ALL", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "agent",
        *scratch("/tmp"), *scratch("/home"), *scratch("/run"), "--dir", WORK, "--proc", "/proc", "--dev", "/dev", *scratch("/dev/shm"), "--remount-ro", "/dev",
    ]
    for path in TOP:
        words += ["--symlink", os.readlink(path), path] if Path(path).is_symlink() else ["--ro-bind-try", path, path]  # noqa: PTH115 - as written
    hidden = [Path(path).resolve() for path in cell.hidden]
    bound = [*map(Path, (*SYSTEM, *SETTINGS)), *packages(module, hidden)]
    for one in bound:
        words += ["--ro-bind-try", str(one), str(one)]
    words += masks(bound, hidden)
    for path in cell.files:
        if not shown(Path(path), bound, hidden):
            words += ["--ro-bind", path, path]
    words += masks([*map(Path, cell.files)], hidden)
    if cell.gate:
        words += ["--dir", str(Path(GATE).parent), "--ro-bind", cell.gate, GATE]
    return [*words, "--remount-ro", "/", "--chdir", WORK]


def shown(path: Path, bound: list[Path], hidden: list[Path]) -> bool:
    """Whether a file is there already. Bound again, one that is a link (a virtual environment's python) could not be made."""
    masked = any(path.resolve().is_relative_to(secret) or path.is_relative_to(secret) for secret in hidden)
    return not masked and any(path.is_relative_to(one) for one in bound)


def masks(bound: list[Path], hidden: list[Path]) -> list[str]:
    """An empty folder over each hidden one that lies inside what is shown."""
    pairs = [(one, one.resolve(), secret) for one in bound for secret in hidden if secret.is_dir()]
    inner = [one / secret.relative_to(real) for one, real, secret in pairs if secret != real and secret.is_relative_to(real)]
    return [word for path in inner for word in ("--tmpfs", str(path), "--remount-ro", str(path))]


def scratch(path: str) -> tuple[str, ...]:
    """A folder in memory, which counts against nothing else: hence its size."""
    return ("--size", str(SCRATCH), "--tmpfs", path)


def packages(module: str, hidden: list[Path]) -> list[Path]:
    """Interpreter, its packages, and the sources of DeskCert and of the adapter where they are installed editable; each also by its real path.

    Never a folder that holds the user's home, nor one of the hidden itself.
    """
    home = Path(deskcert_core.__file__).parents[1]
    near = [Path(p) for p in (sys.base_prefix, sys.prefix, *import_path().split(os.pathsep)) if Path(p) != home]
    near += [home] if home.name in ("site-packages", "dist-packages") else [home / name for name in OURS]
    near += [*sources(module)]
    person = Path.home().resolve()
    there = [path for path in near if path.exists() and not person.is_relative_to(path.resolve()) and path.resolve() not in hidden]
    both = dict.fromkeys(one for path in there for one in (path, path.resolve()))
    return [one for one in both if one != Path("/usr")]


def import_path() -> str:
    """Where the child finds modules: where this process does, except its working directory (unless the user put that into PYTHONPATH)."""
    home, here = str(Path(deskcert_core.__file__).parents[1]), str(Path.cwd())
    asked = {str(Path(p).absolute()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    kept = [p for p in sys.path if Path(p).is_absolute() and (p != here or p in asked or p == home)]
    return os.pathsep.join(kept if home in kept else [*kept, home])


def sources(module: str) -> Iterator[Path]:
    """Where a top-level module would be imported from. Nothing of it is run."""
    found = importlib.util.find_spec(module) if module else None
    if found is not None and found.submodule_search_locations is not None:
        yield from map(Path, found.submodule_search_locations)
    elif found is not None and found.origin is not None:
        yield Path(found.origin)


def filter_pipe() -> int:
    """A descriptor to read the filter from, once. The caller closes it."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as pipe:
        pipe.write(seccomp.program(platform.machine()))
    return read


def proxy_env() -> dict[str, str]:
    """The variables by which an agent's HTTP client finds the way to its endpoint."""
    address = f"http://127.0.0.1:{inside.PORT}"
    return {name: address for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())} | {"NODE_USE_ENV_PROXY": "1"}


@contextmanager
def unreadable() -> Iterator[None]:
    """This process's memory, environment and descriptors are closed to other processes of the same user (not to root)."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None)
    before = libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_DUMPABLE, before, 0, 0, 0)
