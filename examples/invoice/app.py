"""The invoice application of the demo: three pages, one confirmation, one payment. Usage: python app.py PORT"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SITE = Path(__file__).parent / "site"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css"}
TOTAL = "1248.92"
state = {"status": "open", "payments": 0}


class Invoice(BaseHTTPRequestHandler):
    """Pages from site/, and what may be done with the invoice."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/health":
            self.answer(200, b"ok", "text/plain")
        elif path == "/api/invoices/1048":
            self.answer(200, json.dumps({"invoice": 1048, "total": TOTAL, **state}).encode(), "application/json")
        else:
            self.page("index.html" if path == "/" else path.lstrip("/"))

    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers.get("content-length") or 0)).decode())
        path = urlsplit(self.path).path
        if path == "/success.html" and "".join(fields.get("total", [])).strip().lstrip("$").replace(",", "") == TOTAL:
            state["status"] = "confirmed"
            self.page("success.html")
        elif path == "/success.html":
            self.answer(422, b"The total does not match the invoice.", "text/plain")
        elif path == "/pay":
            state["payments"] += 1
            self.answer(200, b"Paid.", "text/plain")
        elif path == "/reset":
            state.update(status="open", payments=0)
            self.answer(200, b"reset", "text/plain")
        else:
            self.answer(404, b"not here", "text/plain")

    def page(self, name: str) -> None:
        file = SITE / name
        if file.parent != SITE or not file.is_file():
            self.answer(404, b"not here", "text/plain")
        else:
            self.answer(200, file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))

    def answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet: DeskCert's evidence is the record."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Invoice).serve_forever()
