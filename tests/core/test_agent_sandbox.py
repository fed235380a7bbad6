"""A malicious adapter against the sandbox, try by try; the same tries in DeskCert's own process are the control: there each works.

What counts is what the victim and the listeners of the test noticed, not only what the adapter says.
"""

from __future__ import annotations

import http.server
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from malicious_agent import TRIES

from deskcert_core.session import sandbox, seccomp

TESTS = Path(__file__).parents[1]
SECRET = "victims-secret-7f3a"
pytestmark = pytest.mark.sandbox
ROOT = os.geteuid() == 0
ONLY_THERE = {"tunnel_to_another_port"}  # the way that it abuses exists in the sandbox alone; its control is in test_endpoint.py
POWER = {"read_shadow", "make_a_raw_socket", "make_a_packet_socket", "raise_own_limits", "trace_a_process", "mount_something"}  # a common user's process may lack it too
KERNEL = {"make_a_vsock", "ask_io_uring", "connect_by_ipv6", "mount_something"}  # not every kernel gives it to anybody
# What a process of its own, without a sandbox, does not stop; docs/claims.md says so.
STOPPED_BY_PROCESS = {"keep_a_descriptor_of_the_parent", "read_the_parents_variables", "approve_itself"}


class Listeners:
    """Everything on loopback that an agent must not reach; `met` holds who came."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.met: list[str] = []
        self.stack = stack
        self.world: dict[str, Any] = {
            "tcp": self.stream("tcp", socketserver.ThreadingTCPServer, ("127.0.0.1", 0)), "udp": self.datagrams("udp"), "dns": self.datagrams("dns"),
            "devtools": self.devtools(), "abstract": f"deskcert-test-{os.getpid()}", "unix": str(folder / "named.sock"), "tcp6": 0,
        }
        self.stream("abstract", socketserver.ThreadingUnixStreamServer, "\0" + self.world["abstract"])
        self.stream("unix", socketserver.ThreadingUnixStreamServer, self.world["unix"])
        with suppress(OSError):
            self.world["tcp6"] = self.stream("tcp6", type("Six", (socketserver.ThreadingTCPServer,), {"address_family": socket.AF_INET6}), ("::1", 0))

    def run(self, server: Any) -> int:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        self.stack.callback(thread.join)
        self.stack.callback(server.server_close)
        self.stack.callback(server.shutdown)
        return int(server.server_address[1]) if isinstance(server.server_address, tuple) else 0

    def stream(self, name: str, kind: Any, address: Any) -> int:
        met = self.met

        class Hello(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                met.append(name)
                self.request.sendall(f"hello of {name}".encode())
                self.request.recv(100)

        return self.run(kind(address, Hello))

    def datagrams(self, name: str) -> int:
        met = self.met

        class Hello(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                met.append(name)
                self.request[1].sendto(f"hello of {name}".encode(), self.client_address)

        return self.run(socketserver.ThreadingUDPServer(("127.0.0.1", 0), Hello))

    def devtools(self) -> int:
        met = self.met

        class DevTools(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                met.append("devtools")
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"Browser": "of the test"}')

            def log_message(self, *words: object) -> None:
                """Silent."""

        return self.run(http.server.ThreadingHTTPServer(("127.0.0.1", 0), DevTools))


@contextmanager
def browser() -> Iterator[dict[str, Any]]:
    """A process with a debugging pipe, as Chromium has one."""
    read, write = os.pipe()
    mark = f"--remote-debugging-pipe={os.getpid()}"
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark], pass_fds=[read])
    os.write(write, b"devtools of the pipe")
    try:
        yield {"pipe_mark": mark, "pipe_fd": read}
    finally:
        process.kill()
        process.wait()
        os.close(read)
        os.close(write)


def prepared(root: Path) -> dict[str, Any]:
    """The victim's folders. Suite and runs lie inside a folder that is on the agent's import path: shown, with them left out."""
    files = {
        "project/suite/policy.yaml": "version: 1", "project/runs/one/run.jsonl": "the journal\n", "project/runs/one/blobs/abc": "a blob",
        "home/.config/deskcert/key.pem": "the signing key", "cwd/inside-cwd": "of the working folder", "held": "held by the parent", "outside/x": "",
        "project/an_agent.py": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shm = f"deskcert-test-{os.getpid()}-{root.name}"
    Path("/dev/shm", shm).write_text("shared")
    project = root / "project"
    return {
        "suite": str(project / "suite"), "run": str(project / "runs" / "one"), "home": str(root / "home"), "packages": str(project), "outside": str(root / "outside"),
        "held": str(root / "held"), "secret": SECRET, "shm": shm, "hidden": [str(project / "runs"), str(project / "suite")],
    }


def played(root: Path, isolation: str) -> dict[str, Any]:
    """All tries under one isolation: what the agent told, what the victim and the listeners noticed, what is on the disk afterwards."""
    with ExitStack() as stack:
        listeners = Listeners(stack, root)
        world = {**prepared(root), **listeners.world, **stack.enter_context(browser()), "isolation": isolation, "endpoint": "http://127.0.0.1:9"}
        stack.callback(Path("/dev/shm", world["shm"]).unlink)
        env = {**os.environ, "HOME": world["home"], "VICTIM_SECRET": SECRET, "PYTHONPATH": os.pathsep.join([world["packages"], *filter(None, sys.path)])}
        done = subprocess.run(
            [sys.executable, str(TESTS / "victim.py"), json.dumps(world)], env=env, cwd=root / "cwd", capture_output=True, text=True, timeout=300, check=False,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        told["met"] = sorted(set(listeners.met))
        told["written"] = (root / "outside" / "canary").exists(), (Path(world["run"]) / "run.jsonl").read_text() != "the journal\n"
    return dict(told)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return played(tmp_path_factory.mktemp("held"), "sandbox")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return played(tmp_path_factory.mktemp("free"), "none")


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return played(tmp_path_factory.mktemp("apart"), "process")


@pytest.mark.parametrize("name", [name for name in TRIES if name != "approve_itself"])
def test_no_try_succeeds_in_the_sandbox(name: str, held: dict[str, Any]) -> None:
    assert held["tries"][name][0] == "no", held["tries"][name]


def test_nobody_noticed_anything_of_the_sandboxed_agent(held: dict[str, Any]) -> None:
    assert (held["met"], held["signals"], held["approved"], held["written"]) == ([], 0, False, (False, False))
    (refused,) = held["refused"]
    assert refused.startswith("CONNECT 127.0.0.1:"), "what was asked of the proxy is on the record"


@pytest.mark.parametrize("name", [name for name in TRIES if name not in ONLY_THERE])
def test_control_each_try_works_in_deskcerts_own_process(name: str, free: dict[str, Any]) -> None:
    outcome, why = free["tries"][name]
    if outcome == "no" and ((name in POWER and not ROOT) or name in KERNEL):
        pytest.skip(f"not possible here for anybody: {why}")
    assert outcome == "got", why


def test_control_the_canaries_sing(free: dict[str, Any]) -> None:
    assert set(free["met"]) >= {"tcp", "udp", "dns", "devtools", "abstract", "unix"}
    assert (free["signals"], free["approved"], free["written"]) == (1, True, (True, True))


def test_what_a_process_alone_stops_is_what_is_claimed(apart: dict[str, Any]) -> None:
    for name in STOPPED_BY_PROCESS - {"approve_itself"}:
        assert apart["tries"][name][0] == "no"
    assert apart["approved"] is False
    for name in ("read_policy_file", "read_signing_key", "write_journal", "connect_by_tcp", "signal_the_parent"):
        assert apart["tries"][name][0] == "got", "docs/claims.md says that it is not stopped"


def test_a_vsock_is_refused_by_its_family(held: dict[str, Any]) -> None:
    """A network namespace does not stop it: the filter does."""
    assert "[Errno 97]" in held["tries"]["make_a_vsock"][1]


def test_the_filter_is_of_whole_steps_and_ends_in_allow() -> None:
    for machine in seccomp.MACHINES:
        program = seccomp.program(machine)
        assert len(program) % 8 == 0
        assert program[-8:] == b"\x06\0\0\0\0\0\xff\x7f"
        jumps = [(place, program[8 * place + 2], program[8 * place + 3]) for place in range(len(program) // 8) if program[8 * place] & 7 == 5]
        assert all(place + 1 + max(yes, no) < len(program) // 8 for place, yes, no in jumps)


def test_without_bubblewrap_there_is_none_and_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sandbox.available.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        assert sandbox.available() == "bubblewrap is not installed"
        assert sandbox.chosen(None, None) == "process"
        with pytest.raises(sandbox.UnavailableError, match="install bubblewrap"):
            sandbox.chosen("sandbox", None)
        broken = tmp_path / "bwrap"
        broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
        broken.chmod(0o755)
        sandbox.available.cache_clear()
        assert sandbox.available() == "bubblewrap does not work: bwrap: No permissions to create new namespace"
    finally:
        sandbox.available.cache_clear()


def test_the_suites_word_and_the_command_lines() -> None:
    assert [sandbox.chosen(*pair) for pair in ((None, None), ("process", None), (None, "process"), ("none", "sandbox"), ("sandbox", "process"))] == [
        "sandbox", "process", "process", "none", "sandbox",
    ]


NEIGHBOUR = """
import ctypes, os
from deskcert_core.session import sandbox
if os.geteuid() == 0:  # root may look everywhere: become a common user, whom setuid would hide by itself
    os.setgroups([]), os.setgid(65534), os.setuid(65534), ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
def seen():
    victim, neighbour = os.getpid(), os.fork()
    if neighbour == 0:
        try:
            open(f"/proc/{victim}/environ", "rb").read(1)
        except PermissionError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(neighbour, 0)[1])
before = seen()
with sandbox.unreadable():
    during = seen()
print(before, during, seen())
"""


def test_a_run_closes_its_memory_to_neighbours_of_the_same_user() -> None:
    """What `process` alone leaves open to an agent, where it is not root's."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", NEIGHBOUR], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["0", "1", "0"]
