"""What the benchmarks visit: the application of examples/invoice, and /rows/N, a page of N rows with links, fields and buttons. Prints its port."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

INVOICE = Path(__file__).parents[1] / "examples" / "invoice"
ROW = (
    '<tr><td>Customer {0}</td><td><a href="/customers/{0}">INV-{0:06}</a></td><td>${1}.{2:02}</td><td>{3}</td>'
    '<td><form action="/rows/{0}" method="post"><label>Note <input name="note" value="" autocomplete="off"></label>'
    '<select name="state"><option>open</option><option>paid</option><option>late</option></select>'
    '<input type="hidden" name="invoice" value="{0}"><button name="save">Save</button><button name="remove" type="submit">Remove</button></form></td></tr>'
)
STYLE = "table { border-collapse: collapse; font: 14px/1.4 system-ui, sans-serif } td { padding: .2rem .6rem; border-bottom: 1px solid #dde1e6 }"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The running server: its address, and its process, which is no part of what is measured."""

    url: str
    pid: int


@contextmanager
def served() -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(url=f"http://127.0.0.1:{int(process.stdout.readline())}", pid=process.pid)
    finally:
        process.terminate()
        process.communicate()


def rows(count: int) -> str:
    body = "\n".join(ROW.format(i, i * 37 % 9000, i % 100, ("open", "paid", "late")[i % 3]) for i in range(1, count + 1))
    return f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{count} rows</title><style>{STYLE}</style></head><body><table>\n{body}\n</table></body></html>"


def handler() -> type[BaseHTTPRequestHandler]:
    spec = importlib.util.spec_from_file_location("benchmarked_invoice", INVOICE / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class WithRows(module.Invoice):  # type: ignore[misc, name-defined]
        def do_GET(self) -> None:
            if self.path.startswith("/rows/"):
                self.answer(200, rows(int(self.path.removeprefix("/rows/"))).encode(), "text/html; charset=utf-8")
            else:
                super().do_GET()

    return WithRows


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler())
    print(server.server_port, flush=True)
    server.serve_forever()
