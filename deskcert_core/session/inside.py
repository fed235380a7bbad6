"""What runs first in an agent's process, before any code of a stranger: it sets the limits, then becomes the host, or stays as its keeper.

`python -I -S inside.py MEMORY PROCESSES SOCKET PARENT -- COMMAND…`. With PROCESSES it is process 1 of a sandbox: it starts the command, carries its
connections from a loopback port to SOCKET, counts processes and memory, and by ending takes everything with it. No signal from inside reaches it.
It imports the standard library alone, and knows no message.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import NoReturn

__all__ = ["PORT"]

PORT = 3128
MAX_FILE = 256 << 20
MAX_OPEN = 1024
PER_NAMESPACE = (5, 14)  # the kernel since which RLIMIT_NPROC counts inside a user namespace alone
TICK_SECONDS = 0.05
SIGNALLED = 128
STOPPED = 70
PR_SET_DUMPABLE = 4
CHUNK = 1 << 16


def main(arguments: list[str]) -> None:
    memory, processes, gate, parent = int(arguments[0]), int(arguments[1]), arguments[2], arguments[3]
    command = arguments[5:]
    if not processes:
        limit(memory, 0)
        os.execv(command[0], [*command, parent])
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody inside reads or writes the keeper's memory
    listener = listening() if gate != "-" else None
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    child = os.fork()
    if not child:
        become(command, memory, processes)
    drop(listener.fileno() if listener is not None else 3)
    if listener is not None:
        threading.Thread(target=bridge, args=(listener, gate), daemon=True).start()
    keep(child, memory, processes)


def limit(memory: int, processes: int) -> None:
    """Hard limits, so that they cannot be raised again. Address space is not limited: some runtimes only reserve it."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: MAX_FILE, resource.RLIMIT_NOFILE: MAX_OPEN}
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if processes and release >= PER_NAMESPACE:
        limits[resource.RLIMIT_NPROC] = processes
    for kind, most in limits.items():
        now = resource.getrlimit(kind)[1]
        most = most if now == resource.RLIM_INFINITY else min(most, now)
        resource.setrlimit(kind, (most, most))


def become(command: list[str], memory: int, processes: int) -> NoReturn:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        limit(memory, processes)
        os.execv(command[0], [*command, str(os.getppid())])
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(STOPPED)


def drop(kept: int) -> None:
    """Close every other descriptor: the pipes to DeskCert are the command's alone, so that their end is seen."""
    os.closerange(3, kept)
    os.closerange(kept + 1, 256)


def keep(child: int, memory: int, processes: int) -> NoReturn:
    """Until the child ends, or there is too much of something."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            os._exit(SIGNALLED + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
        if ended:
            continue
        threads, used = crowd()
        if threads > processes:
            stop(f"more than {processes} processes and threads")
        if used > memory:
            stop(f"more than {memory >> 20} MB of memory")
        with contextlib.suppress(InterruptedError):
            signal.sigtimedwait({signal.SIGCHLD}, TICK_SECONDS)


def crowd() -> tuple[int, int]:
    """Threads and resident bytes of all processes but this one."""
    threads = pages = 0
    for entry in os.listdir("/proc"):  # noqa: PTH208 - twenty times a second
        if entry.isdigit() and entry != "1":
            with contextlib.suppress(OSError):
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                threads, pages = threads + int(fields[17]), pages + int(fields[21])
    return threads, pages * resource.getpagesize()


def stop(why: str) -> NoReturn:
    os.write(2, f"\nstopped by DeskCert: {why}\n".encode())
    os._exit(STOPPED)


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", PORT), backlog=64)


def bridge(listener: socket.socket, gate: str) -> None:
    """Each connection to the port goes on to the gate's socket, byte for byte."""
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(gate)
        except OSError:
            near.close()
            far.close()
            continue
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for end, how in ((source, socket.SHUT_RD), (target, socket.SHUT_WR)):
        with contextlib.suppress(OSError):
            end.shutdown(how)


if __name__ == "__main__":
    main(sys.argv[1:])
