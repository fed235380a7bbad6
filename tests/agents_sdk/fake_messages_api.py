"""A scripted Messages API on loopback. It speaks the wire format, and refuses with 400 what the real service would not take."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
USAGE = {
    "input_tokens": 1000, "output_tokens": 50, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 200,
    "output_tokens_details": {"thinking_tokens": 7}, "server_tool_use": None, "service_tier": "standard",
}
FAULTS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
Turn = dict


@dataclass
class FakeApi:
    """Its address, the requests it got, and what it refused of its own accord."""

    url: str
    turns: list[Turn | Callable[[dict], Turn]]
    requests: list[dict] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    threads: dict[str, dict] = field(default_factory=dict)

    def results(self, number: int = -1) -> list[dict]:
        """The tool results in the last message of a request."""
        return [block for block in self.requests[number]["body"]["messages"][-1]["content"] if block["type"] == "tool_result"]


def use(number: int, name: str, family: str | None = "computer", **given: object) -> dict:
    """A `tool_use` block; without a family in the form of the legacy tool."""
    if family is None:
        return {"type": "tool_use", "id": f"toolu_{number}", "name": "computer", "input": {"action": name, **given}}
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given, "toolset_name": family, "caller": {"type": "direct"}}


def asks(*blocks: dict, text: str = "", **changes: object) -> Turn:
    said = [{"type": "text", "text": text}] if text else []
    return {"content": [*said, *blocks], "stop_reason": "tool_use", **changes}


def ends(text: str = "Done.\nSTATUS: success", **changes: object) -> Turn:
    return {"content": [{"type": "text", "text": text}] if text else [], "stop_reason": "end_turn", **changes}


@contextlib.contextmanager
def messages_api(*turns: Turn | Callable[[dict], Turn], forever: bool = False) -> Iterator[FakeApi]:
    """Serve the turns in order; `forever` starts again after the last."""
    api = FakeApi(url="", turns=list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            api.requests.append({"path": self.path, "headers": {key.lower(): value for key, value in self.headers.items()}, "body": body})
            if problem := wrong(body := self.whole(body), self.path):
                api.refusals.append(problem)
                self.fault(400, problem)
                return
            if not api.turns:
                self.fault(400, "the script has ended")
                return
            turn = api.turns.pop(0)
            if forever:
                api.turns.append(turn)
            self.play(turn(body) if callable(turn) else turn, body)

        def whole(self, body: dict) -> dict:
            """The SDK's own harness sends only what is new of a conversation that the service keeps. Content may be a text."""
            for message in body["messages"]:
                if isinstance(message["content"], str):
                    message["content"] = [{"type": "text", "text": message["content"]}]
            before = api.threads.get(body.get("thread", {}).get("previous_message_id"), {"messages": []})
            return {**before, **body, "messages": [*before["messages"], *body["messages"]]}

        def play(self, turn: Turn, body: dict) -> None:
            if "status" in turn:
                self.fault(turn["status"], "scripted")
            elif turn.get("cut"):
                self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{\"id\":")
            elif "hang" in turn:
                turn["hang"].wait(30)
            elif "garbage" in turn:
                self.answer(200, turn["garbage"])
            else:
                message = {"id": f"msg_{len(api.requests)}", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None, "usage": USAGE, **turn}
                api.threads[message["id"]] = {**body, "messages": [*body["messages"], {"role": "assistant", "content": message["content"]}]}
                self.answer(200, json.dumps(message).encode())

        def fault(self, status: int, message: str) -> None:
            error = {"type": FAULTS.get(status, "invalid_request_error"), "message": message}
            self.answer(status, json.dumps({"type": "error", "error": error}).encode())

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            for name, value in (("content-type", "application/json"), ("content-length", str(len(body))), ("retry-after-ms", "1"), ("request-id", "req_1")):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def wrong(body: dict, path: str) -> str | None:
    """What the real service would not take, in one line."""
    if not path.startswith("/v1/messages"):
        return f"no such path: {path}"
    if not {"model", "max_tokens", "messages", "tools"} <= set(body):
        return f"a field is missing: {sorted(body)}"
    if json.dumps(body).count('"cache_control"') > 4:
        return "more than four cache marks"
    asked: list[dict] = []
    for message in body["messages"]:
        if not message["content"]:
            return "a message is empty"
        got = [block for block in message["content"] if block["type"] == "tool_result"]
        if message["role"] == "user" and [one["tool_use_id"] for one in got] != [one["id"] for one in asked]:
            return "tool results do not answer the tool uses before them, in order"
        for use_block, block in zip(asked, got, strict=True) if message["role"] == "user" else ():
            if problem := wrong_result(use_block, block):
                return problem
        asked = [block for block in message["content"] if block["type"] == "tool_use"]
    return "the last message is the assistant's and holds tool uses" if asked else None


def wrong_result(asked: dict, block: dict) -> str | None:
    if block.get("toolset_name") != asked.get("toolset_name"):
        return "toolset_name does not match"
    if block.get("is_error"):
        return None if isinstance(block["content"], str) and block["content"] else text_only(block["content"])
    states = [part for part in block["content"] if part["type"] == "browser_state"]
    if len(states) > 1 or (states and asked.get("toolset_name") != "browser"):
        return "browser_state out of place"
    if states and (sum(tab["active"] for tab in states[0]["tabs"]) != 1 or states[0].get("state_changes") == []):
        return "browser_state is malformed"
    return None


def text_only(content: object) -> str | None:
    fine = isinstance(content, list) and content and all(part["type"] == "text" for part in content)
    return None if fine else "an error that is not words"
