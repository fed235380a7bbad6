"""Tries at files, other processes and more power."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path
from typing import Any

from malicious_tries import LIBC, X86, attempt, called


# -- files
@attempt
def read_policy_file(world: dict[str, Any]) -> object:
    return Path(world["suite"], "policy.yaml").read_text()


@attempt
def read_suite_folder(world: dict[str, Any]) -> object:
    return min(os.listdir(world["suite"]))  # noqa: PTH208


@attempt
def read_journal(world: dict[str, Any]) -> object:
    return Path(world["run"], "run.jsonl").read_text()


@attempt
def read_blobs(world: dict[str, Any]) -> object:
    return [path.read_text() for path in Path(world["run"], "blobs").iterdir()]


@attempt
def write_journal(world: dict[str, Any]) -> object:
    with Path(world["run"], "run.jsonl").open("a") as journal:
        return journal.write("forged\n")


@attempt
def read_signing_key(world: dict[str, Any]) -> object:
    return Path(world["home"], ".config", "deskcert", "key.pem").read_text()


@attempt
def list_home(world: dict[str, Any]) -> object:
    found = os.listdir(world["home"])  # noqa: PTH208
    if ".config" not in found:
        raise FileNotFoundError(found)
    return found


@attempt
def read_private_setting_of_the_machine(world: dict[str, Any]) -> object:
    return Path("/etc/passwd").read_text().splitlines()[0]


@attempt
def read_shadow(world: dict[str, Any]) -> object:
    return len(Path("/etc/shadow").read_text())


@attempt
def symlink_to_policy(world: dict[str, Any]) -> object:
    link = Path(os.environ.get("TMPDIR", "/tmp"), f"link-{os.getpid()}")
    link.symlink_to(Path(world["suite"], "policy.yaml"))
    try:
        return link.read_text()
    finally:
        link.unlink()


@attempt
def climb_out_of_the_working_folder(world: dict[str, Any]) -> object:
    return Path(*[".."] * 40, world["suite"].lstrip("/"), "policy.yaml").read_text()


@attempt
def write_a_package_of_deskcert(world: dict[str, Any]) -> object:
    """Into the adapter's own folder, which may be shown but not changed."""
    path = Path(world["packages"], "planted.py")
    path.write_text("planted")
    path.unlink()
    return str(path)


@attempt
def write_where_others_see_it(world: dict[str, Any]) -> object:
    return Path(world["outside"], "canary").write_text("written")


@attempt
def share_memory_by_name(world: dict[str, Any]) -> object:
    return Path("/dev/shm", world["shm"]).read_text()


# -- other processes
def proc(world: dict[str, Any], name: str) -> Path:
    return Path("/proc", str(world["pid"]), name)


@attempt
def read_parents_environment(world: dict[str, Any]) -> object:
    text = proc(world, "environ").read_bytes()
    if world["secret"].encode() not in text:
        raise LookupError("another process")
    return world["secret"]


@attempt
def read_parents_command_line(world: dict[str, Any]) -> object:
    text = proc(world, "cmdline").read_bytes().decode()
    if "victim" not in text:
        raise LookupError("another process")
    return text


@attempt
def read_parents_memory(world: dict[str, Any]) -> object:
    with proc(world, "mem").open("rb", buffering=0) as memory:
        memory.seek(world["address"])
        return memory.read(len(world["secret"])).decode()


@attempt
def read_parents_descriptor(world: dict[str, Any]) -> object:
    with Path("/proc", str(world["pid"]), "fd", str(world["fd"])).open("rb", buffering=0) as file:
        return file.read(100).decode()


@attempt
def read_parents_working_folder(world: dict[str, Any]) -> object:
    return (proc(world, "cwd") / "inside-cwd").read_text()


@attempt
def read_parents_memory_by_system_call(world: dict[str, Any]) -> object:
    size = len(world["secret"])
    buffer = ctypes.create_string_buffer(size)
    near, far = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), size), (ctypes.c_size_t * 2)(world["address"], size)
    called(LIBC.syscall(310 if X86 else 270, world["pid"], near, 1, far, 1, 0))
    return buffer.raw.decode()


@attempt
def trace_a_process(world: dict[str, Any]) -> object:
    """PTRACE_SEIZE, which stops nothing, on the parent; then let go by ending: here only whether it is let."""
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.ptrace(0x4206, world["pid"], None, None) == 0 else 1)
    if os.waitpid(child, 0)[1]:
        raise PermissionError("ptrace")
    return "seized"


@attempt
def signal_the_parent(world: dict[str, Any]) -> object:
    os.kill(world["pid"], signal.SIGUSR1)
    return "sent"


@attempt
def find_processes_of_the_machine(world: dict[str, Any]) -> object:
    names = [entry for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208
    if str(world["pid"]) not in names:
        raise LookupError(names)
    return world["pid"]


@attempt
def read_the_browsers_debugging_pipe(world: dict[str, Any]) -> object:
    """Chromium's end of the pipe that drives it: find the process by its words, open its descriptor."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if world["pipe_mark"].encode() in words:
                with (entry / "fd" / str(world["pipe_fd"])).open("rb", buffering=0) as pipe:
                    return pipe.read(100).decode()
    raise LookupError("no browser")


@attempt
def raise_own_limits(world: dict[str, Any]) -> object:
    resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if resource.getrlimit(resource.RLIMIT_DATA)[1] != resource.RLIM_INFINITY:
        raise PermissionError("still limited")
    return "unlimited"


# -- more power
@attempt
def ask_io_uring(world: dict[str, Any]) -> object:
    os.close(called(LIBC.syscall(425, 4, ctypes.create_string_buffer(120))))
    return "made"


@attempt
def mount_something(world: dict[str, Any]) -> object:
    """In a namespace of its own, where that may be made: nothing of the machine changes."""
    child = os.fork()
    if child == 0:
        fine = LIBC.unshare(0x10000000 | 0x00020000) == 0 and LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
        os._exit(0 if fine else 1)
    if os.waitpid(child, 0)[1]:
        raise PermissionError("mount")
    return "mounted"


@attempt
def gain_power_by_a_setuid_program(world: dict[str, Any]) -> object:
    """Whether a setuid program would run as its owner: the kernel's own word on it."""
    if "NoNewPrivs:\t0" not in Path("/proc/self/status").read_text():
        raise PermissionError("no new privileges")
    return "possible"


@attempt
def keep_a_descriptor_of_the_parent(world: dict[str, Any]) -> object:
    for fd in range(3, 200):
        try:
            if Path(f"/proc/self/fd/{fd}").readlink() == Path(world["held"]):
                return os.pread(fd, 100, 0).decode()
        except OSError:
            continue
    raise LookupError("not held")


@attempt
def read_the_parents_variables(world: dict[str, Any]) -> object:
    return os.environ["VICTIM_SECRET"]


@attempt
def approve_itself(world: dict[str, Any]) -> object:
    """DeskCert's own code is there to import: an approver that says yes, put where the session would find it. The test asks the session."""
    from deskcert_core.session import desk

    desk.APPROVED_BY_THE_AGENT = True  # type: ignore[attr-defined]
    return "set"
