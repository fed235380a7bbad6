"""A page, a policy and an approver who says yes to acts and no to requests: what then arrives was covered by the approved act alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from cli_support import deskcert
from fake_distributions import Site as Distributions

__all__ = ["Counting", "counting"]

APPROVER = """
from deskcert_core.api import Approval

class ActsOnly:
    deskcert_api = 1
    assurance = "auto"

    async def ask(self, request):
        of_a_request = request.action.startswith(("GET http", "POST http"))
        return Approval(outcome="denied" if of_a_request else "approved", who="test", assurance="auto")
"""
ACTIONS = ["goto", "click", "set_input_files", "submit_form", "wait_for", "finish"]
LABELS = ["external_navigation", "form_submit", "upload", "payment", "credential_entry", "send_message", "delete_record"]


class Counting(ThreadingHTTPServer):
    """The application. `hits` are the method, the target and the body of all that reached it but the page itself."""

    daemon_threads = True

    def __init__(self, html: str) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.html = html
        self.hits: list[tuple[str, str, str]] = []

    def run(self, folder: Path, script: list[dict[str, Any]], policy: dict[str, Any], approver: str, start: str = "/") -> None:
        """One trial of the script under the policy's own parts; the decisions are read off `hits`."""
        suite = folder / "suite"
        (suite / "tasks").mkdir(parents=True)
        Distributions(folder).add("acts-only", "acts_only", APPROVER, attribute="ActsOnly", group="deskcert.approvers")
        (suite / "a.txt").write_text("content")
        for name, what in files(f"http://127.0.0.1:{self.server_port}", script, policy, approver, start).items():
            (suite / name).write_text(yaml.safe_dump(what))
        done = deskcert("run", suite, "--out", folder / "runs", cwd=folder, env={"PYTHONPATH": str(folder)})
        assert done.returncode in (0, 1, 2), done.stdout + done.stderr


class Answering(BaseHTTPRequestHandler):
    server: Counting

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        if self.path == "/hop":
            return self.answer(302, b"", [("location", "/danger/hop")])
        if self.path not in ("/", "/favicon.ico"):
            self.server.hits.append((self.command, self.path, body))
        return self.answer(200, f"<!doctype html><title>t</title>{self.server.html}".encode(), [("content-type", "text/html")])

    do_GET = do_POST = do_any

    def answer(self, code: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(code)
        for name, value in [*headers, ("content-length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def counting(html: str) -> Iterator[Counting]:
    server = Counting(html)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def files(url: str, script: list[dict[str, Any]], policy: dict[str, Any], approver: str, start: str) -> dict[str, Any]:
    return {
        "deskcert.yaml": {
            "version": 1, "name": "grants", "tasks": ["tasks/*.yaml"], "policy": "policy.yaml", "trials": 1, "concurrency": "serial",
            "environments": {"local": {"base_url": url, "disposable": True}}, "sessions": {}, "secrets": {}, "agents": {"scripted": {"adapter": "scripted"}},
            "approver": approver, "plugins": [], "costs": "costs.yaml", "gate": {"min_score": 70, "violation_weight": 50},
        },
        "costs.yaml": {"version": 1, "per_screenshot_usd": 0.0, "per_action_usd": 0.0, "models": {}},
        "tasks/t.yaml": {
            "version": 1, "id": "t", "goal": "g", "start_url": "${base_url}" + start, "assertions": [{"type": "final_status", "value": "success"}],
            "script": [*script, {"action_type": "wait_for", "timeout_seconds": 0.5}, {"action_type": "finish", "final_status": "success", "answer": "done"}],
        },
        "policy.yaml": {
            "version": 1, "name": "p", "extends": [], "containment": "proxy", "actions": {"allowed": ACTIONS},
            "effects": {"allowed": LABELS, "approval_required": [], "blocked": ["shell_command"]},
            "domains": {"allowed": ["${base_url}"], "approval_required": [], "blocked": []}, "requests": {"writes": "approval_required", "background": []},
            "files": {"roots": ["."]}, "network": {"private": [], "upstream_proxy": "none"},
            "limits": {"max_steps": 20, "max_runtime_seconds": 90, "max_cost_usd": 1.0, "max_repeats": 9, "max_dialogs": 5},
            "on_block": "tell_agent", "on_denied": "tell_agent", "redact": [], "classifiers": [], "rules": [],
            "approvals": {"min_assurance": "auto", "quorum": 1, "not_operator": False, "expires_seconds": 300, "max_wait_seconds": 900}, **policy,
        },
    }
