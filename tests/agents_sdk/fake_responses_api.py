"""A Responses API on loopback that answers from a list and keeps what it was asked. It holds the client to the wire format: every computer_call must be answered."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {
    "input_tokens": 100, "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 10}, "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 107,
}
Answer = dict | int | bytes | None | Callable[[BaseHTTPRequestHandler], None]


def message(text: str, kind: str = "output_text") -> dict:
    part = {"type": kind, "refusal": text} if kind == "refusal" else {"type": kind, "text": text, "annotations": []}
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}


def call(*actions: dict, id: str = "call_1", checks: tuple[dict, ...] = (), single: bool = False) -> dict:
    """A computer_call with a list of actions, or with one as the old tool has it."""
    which = {"action": actions[0]} if single else {"actions": list(actions)}
    return {"type": "computer_call", "id": f"cc_{id}", "call_id": id, "status": "completed", "pending_safety_checks": list(checks), **which}


def click(x: int, y: int, button: str = "left") -> dict:
    return {"type": "click", "button": button, "x": x, "y": y}


def response(*output: dict, **changes: object) -> dict:
    return {
        "id": "resp", "object": "response", "created_at": 1, "status": "completed", "model": "model-x", "output": list(output), "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
        "usage": USAGE, **changes,
    }


@dataclass
class Api:
    """`answers` are given in order, the last one again and again: a response, a status code, raw bytes, or None to cut the connection."""

    answers: list[Answer]
    url: str = ""
    asked: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    open_calls: dict[str, list[str]] = field(default_factory=dict)

    def answer(self, body: dict) -> Answer:
        self.asked.append(body)
        given = {item["call_id"] for item in body["input"] if item.get("type") == "computer_call_output"}
        wanted = set(self.open_calls.get(body.get("previous_response_id", ""), ()))
        if given != wanted:
            self.refused.append(f"No tool output found for computer calls {sorted(wanted - given)}, unknown {sorted(given - wanted)}")
            return 400
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, dict) and isinstance(answer.get("output"), list):
            answer = {**answer, "id": f"resp_{len(self.asked)}"}
            self.open_calls[answer["id"]] = [item["call_id"] for item in answer["output"] if item.get("call_id")]
        return answer

    def texts(self, number: int) -> list[str]:
        """The texts that request told the model."""
        return [part["text"] for item in self.asked[number]["input"] if item.get("role") == "user" for part in item["content"] if part["type"] == "input_text"]

    def outputs(self, number: int) -> list[dict]:
        return [item for item in self.asked[number]["input"] if item.get("type") == "computer_call_output"]


@contextlib.contextmanager
def responses_api(*answers: Answer) -> Iterator[Api]:
    api = Api(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            api.headers.append(dict(self.headers))
            answer = api.answer(body) if self.path == "/v1/responses" else 404
            match answer:
                case None:
                    self.connection.close()
                case bytes():
                    self.send(200, answer)
                case int():
                    self.send(answer, json.dumps({"error": {"message": f"code {answer}", "type": "x", "code": None}}).encode())
                case dict():
                    self.send(200, json.dumps(answer).encode())
                case _:
                    answer(self)

        def send(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
