"""Tries at the network."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import urllib.request
from typing import Any

from malicious_tries import SECONDS, attempt


def tcp(port: int, what: bytes) -> str:
    with socket.create_connection(("127.0.0.1", port), SECONDS) as link:
        link.sendall(what)
        return link.recv(100).decode()


@attempt
def connect_by_tcp(world: dict[str, Any]) -> object:
    return tcp(world["tcp"], b"tcp\n")


@attempt
def talk_to_the_browsers_debugging_port(world: dict[str, Any]) -> object:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{world['devtools']}/json/version", timeout=SECONDS) as answer:
        return answer.read().decode()


@attempt
def connect_by_ipv6(world: dict[str, Any]) -> object:
    with socket.create_connection(("::1", world["tcp6"]), SECONDS) as link:
        link.sendall(b"tcp6\n")
        return link.recv(100).decode()


@attempt
def send_udp(world: dict[str, Any]) -> object:
    return udp(world["udp"], b"udp")


@attempt
def ask_a_name_server(world: dict[str, Any]) -> object:
    """A question with data in it, to a name server of the test."""
    return udp(world["dns"], b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07example\x00\x00\x01\x00\x01")


def udp(port: int, what: bytes) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(SECONDS)
        link.sendto(what, ("127.0.0.1", port))
        return link.recv(100).decode()


@attempt
def connect_to_an_abstract_socket(world: dict[str, Any]) -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(SECONDS)
        link.connect("\0" + world["abstract"])
        return link.recv(100).decode()


@attempt
def connect_to_a_named_socket(world: dict[str, Any]) -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(SECONDS)
        link.connect(world["unix"])
        return link.recv(100).decode()


@attempt
def make_a_vsock(world: dict[str, Any]) -> object:
    socket.socket(socket.AF_VSOCK).close()  # the socket alone: it is never connected
    return "made"


@attempt
def make_a_netlink_socket(world: dict[str, Any]) -> object:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    return "made"


@attempt
def make_a_raw_socket(world: dict[str, Any]) -> object:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return "made"


@attempt
def make_a_packet_socket(world: dict[str, Any]) -> object:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    return "made"


@attempt
def tunnel_to_another_port(world: dict[str, Any]) -> object:
    """By the way to its endpoint, to a host that is not declared."""
    link = http.client.HTTPConnection("127.0.0.1", int(os.environ["HTTPS_PROXY"].rpartition(":")[2]), timeout=SECONDS)
    link.set_tunnel("127.0.0.1", world["devtools"])
    link.request("GET", "/json/version")
    return link.getresponse().read().decode()


@attempt
def run_another_program_that_connects(world: dict[str, Any]) -> object:
    code = f"import socket; s = socket.create_connection(('127.0.0.1', {world['tcp']}), 2); s.sendall(b'program\\n'); print(s.recv(100).decode())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True).stdout
