"""The invoice suite on an application that the test itself serves, so that what arrived there can be asked."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path

from cli_support import EXAMPLES, deskcert, only_run, scorecard

__all__ = ["EXAMPLES", "App", "copy_suite", "deskcert", "invoice_app", "only_run", "scorecard"]


@dataclass
class App:
    """The running application: its address, and every request that reached it."""

    url: str
    state: dict
    hits: list[tuple[str, str]] = field(default_factory=list)

    def posts(self) -> list[str]:
        return [path for method, path in self.hits if method == "POST"]


@contextlib.contextmanager
def invoice_app(site: Path | None = None) -> Iterator[App]:
    """The application on a port of its own; `site` is another folder of pages."""
    spec = importlib.util.spec_from_file_location("invoice_app_under_test", EXAMPLES / "invoice" / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SITE = site or module.SITE
    hits: list[tuple[str, str]] = []

    class Counting(module.Invoice):
        def parse_request(self) -> bool:
            fine = super().parse_request()
            if fine:
                hits.append((self.command, self.path))
            return fine

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield App(url=f"http://127.0.0.1:{server.server_port}", state=module.state, hits=hits)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def copy_suite(target: Path, url: str, example: str = "invoice") -> Path:
    """The example's files, pointed at a running application: no serve, no reset."""
    shutil.copytree(EXAMPLES / example, target, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    for suite in target.rglob("deskcert.yaml"):
        text = suite.read_text()
        text = re.sub(r"\n    serve:.*", "", text)
        text = re.sub(r"\n    reset:.*", "", text)
        suite.write_text(text.replace("http://127.0.0.1:${port}", url))
    return target
