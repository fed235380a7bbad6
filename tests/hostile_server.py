"""Small server for the hostile pages: one port, many host names, every request written down.

Chromium resolves every ``*.localhost`` name to loopback without DNS, so ``app.localhost`` plays the allowed
site and any other name plays the outside world.  A test asserts on the hits, never on what the page claims.

In a test:  ``with FixtureServer(".../hostile/NN-name") as srv: ... srv.hits.match(host="!app")``
Needs PyYAML.  Binds 127.0.0.1 and ::1 only.
"""
from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import yaml

APP = "app.localhost"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css",
         ".json": "application/json", ".txt": "text/plain; charset=utf-8"}
WS_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def path_matches(pattern: str, path: str) -> bool:
    """Exact path, or a prefix when the pattern ends in ``*``."""
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


class Hits:
    """What reached the server, in order; optionally also appended to a JSONL file."""

    def __init__(self, log: Path | None = None):
        self.items: list[dict] = []
        self._lock = threading.Lock()
        self._log = log

    def add(self, **hit):
        with self._lock:
            hit = {"n": len(self.items), "t": round(time.time(), 3), **hit}
            self.items.append(hit)
            if self._log:
                with self._log.open("a", encoding="utf-8") as fh:
                    fh.write(json.dumps(hit, ensure_ascii=True) + "\n")

    def match(self, host=None, method=None, path=None, proto=None, body=None, query=None):
        """Hits that fit every given pattern; ``host="!app"`` means any host but the allowed one."""
        def ok(h):
            if proto and h["proto"] != proto:
                return False
            if host and (h["host"] == APP if host == "!app" else h["host"] != host):
                return False
            if method and h.get("method") != method:
                return False
            if path and not path_matches(path, h.get("path", "")):
                return False
            if body and body not in h.get("body", ""):
                return False
            return not query or query in h.get("query", "")
        with self._lock:
            return [h for h in self.items if ok(h)]


class FixtureServer:
    def __init__(self, folder: str | Path, port: int = 0, log: str | Path | None = None):
        self.dir = Path(folder).resolve()
        case = self.dir / "case.yaml"
        self.case = yaml.safe_load(case.read_text(encoding="utf-8")) if case.exists() else {}
        self.spec = self.case.get("server") or {}
        self.hits = Hits(Path(log) if log else None)
        self._servers, self._threads = [], []
        handler = self._handler()
        srv = ThreadingHTTPServer(("127.0.0.1", port), handler)
        srv.daemon_threads = True
        self.port = srv.server_address[1]
        self._servers.append(srv)
        try:                                   # same port on ::1 for the IPv6 spellings
            class V6(ThreadingHTTPServer):
                address_family = socket.AF_INET6
                daemon_threads = True
            self._servers.append(V6(("::1", self.port), handler))
        except OSError:
            pass
        self._udp = None
        if self.spec.get("udp"):
            self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._udp.bind(("127.0.0.1", self.port))
            self._udp.settimeout(0.2)

    # -- life cycle
    def __enter__(self):
        for s in self._servers:
            self._start(lambda s=s: s.serve_forever(poll_interval=0.05))
        if self._udp:
            self._stop_udp = False
            self._start(self._udp_loop)
        return self

    def _start(self, target):
        t = threading.Thread(target=target, daemon=True)
        t.start()
        self._threads.append(t)

    def __exit__(self, *exc):
        for s in self._servers:
            s.shutdown()
            s.server_close()
        if self._udp:
            self._stop_udp = True
            time.sleep(0.25)
            self._udp.close()

    def _udp_loop(self):
        while not self._stop_udp:
            try:
                data, _ = self._udp.recvfrom(4096)
            except (TimeoutError, OSError):
                continue
            self.hits.add(proto="udp", host="(udp)", method="UDP", path="", query="", body=data[:20].hex())

    # -- names
    @property
    def app(self):
        return f"http://{APP}:{self.port}"

    @property
    def evil(self):
        return f"http://evil.localhost:{self.port}"

    def fill(self, text: str) -> str:
        return (text.replace("{{PORT}}", str(self.port)).replace("{{APP}}", self.app)
                    .replace("{{EVIL}}", self.evil))

    # -- requests
    def _route(self, host, method, path):
        for r in self.spec.get("routes", []):
            rh = r.get("host", APP)
            if rh == "!app":
                if host == APP:
                    continue
            elif rh != "*" and rh != host:
                continue
            if "method" in r and method not in str(r["method"]).split("|"):
                continue
            if path_matches(r["path"], path):
                return r
        return None

    def _handler(fixture):
        class H(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *a):
                pass

            def _any(self):
                raw_host = self.headers.get("Host") or ""
                host = raw_host.rsplit(":", 1)[0] if not raw_host.endswith("]") else raw_host
                host = host.lower().rstrip(".")
                u = urlsplit(self.path)
                path = u.path or "/"
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size) if size else b""
                if path == "/favicon.ico":
                    return self._send(204, {}, b"")
                is_ws = self.headers.get("Upgrade", "").lower() == "websocket"
                fixture.hits.add(proto="ws" if is_ws else "http", method=self.command, host=host, raw_host=raw_host,
                                 path=path, query=u.query, body=body[:4000].decode("utf-8", "backslashreplace"),
                                 ctype=self.headers.get("Content-Type", ""),
                                 purpose=self.headers.get("Sec-Purpose", ""), origin=self.headers.get("Origin", ""))
                if is_ws:
                    return self._websocket(host)
                r = fixture._route(host, self.command, path)
                return self._static(host, path) if r is None else self._scripted(r)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _any

            def do_OPTIONS(self):
                self._send(204, {"Access-Control-Allow-Methods": "*", "Access-Control-Allow-Headers": "*"}, b"")

            def _scripted(self, r):
                if r.get("delay_ms"):
                    time.sleep(r["delay_ms"] / 1000)
                if r.get("hang"):
                    time.sleep(r.get("hang_s", 60))
                    self.close_connection = True
                    return None
                headers = {k: fixture.fill(str(v)) for k, v in (r.get("headers") or {}).items()}
                if "redirect" in r:
                    headers["Location"] = fixture.fill(r["redirect"])
                    return self._send(r.get("status", 302), headers, b"")
                data = r.get("body", "ok")
                if "file" in r:
                    f = fixture.dir / r["file"]
                    headers.setdefault("Content-Type", TYPES.get(f.suffix, "application/octet-stream"))
                    data = f.read_text("utf-8")
                headers.setdefault("Content-Type", "text/html; charset=utf-8")
                return self._send(r.get("status", 200), headers, fixture.fill(str(data)).encode("utf-8"))

            def _static(self, host, path):
                if host == APP and self.command == "GET":
                    f = fixture.dir / (path.lstrip("/") or "index.html")
                    if f.is_file() and fixture.dir in f.resolve().parents and f.suffix in TYPES:
                        return self._send(200, {"Content-Type": TYPES[f.suffix]},
                                          fixture.fill(f.read_text("utf-8")).encode("utf-8"))
                    return self._send(404, {"Content-Type": "text/plain"}, b"not found")
                return self._send(200, {"Content-Type": "text/html; charset=utf-8"},
                                  f"<title>{host}</title><h1>reached {host}</h1>".encode())

            def _send(self, status, headers, data):
                try:
                    self.send_response(status)
                    for k, v in headers.items():
                        self.send_header(k, v)
                    self.send_header("Access-Control-Allow-Origin", "*")
                    if "Cache-Control" not in headers:
                        self.send_header("Cache-Control", "no-store")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def _websocket(self, host):
                key = self.headers["Sec-WebSocket-Key"] + WS_GUID
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
                self.end_headers()
                self.wfile.flush()
                self.connection.settimeout(5)
                try:
                    n = self.rfile.read(2)[1] & 0x7F
                    if n == 126:
                        n = int.from_bytes(self.rfile.read(2), "big")
                    mask = self.rfile.read(4)
                    data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(n)))
                    fixture.hits.add(proto="ws", method="FRAME", host=host, path="", query="",
                                     body=data.decode("utf-8", "backslashreplace"))
                except Exception:
                    pass
                self.close_connection = True
        return H
