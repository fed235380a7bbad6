"""A small suite that loads, to be broken in one place at a time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from deskcert_core.errors import InputError
from deskcert_core.loading import Loaded, load_suite

VALUE = {"type": "object", "properties": {"value": {}, "new": {"type": "boolean"}}, "required": ["value"]}
STEPS = {"type": "object", "properties": {"value": {"type": "integer", "minimum": 1}}, "required": ["value"], "additionalProperties": False}
URL = {"type": "object", "properties": {"url": {"type": "string"}, "matches": {"type": "string"}}}
CRITERIA: Any = {
    "contains_text": SimpleNamespace(version="1", schema=VALUE), "max_steps": SimpleNamespace(version="1", schema=STEPS),
    "request_made": SimpleNamespace(version="1", schema=URL), "no_policy_violations": SimpleNamespace(version="1", schema=VALUE),
    "final_status": SimpleNamespace(version="1", schema=VALUE), "max_cost_usd": SimpleNamespace(version="1", schema=VALUE),
}
FILES = {
    "deskcert.yaml": """\
version: 1
name: small
tasks: ["tasks/*.yaml"]
policy: policy.yaml
environments:
  local: {base_url: "http://127.0.0.1:8000", disposable: true}
  other: {base_url: "https://app.example:8443", disposable: false}
sessions:
  clerk: {setup: tasks/login.yaml, check: {url: "/admin/", selector: "#user"}}
secrets:
  password: {env: PASSWORD, origins: ["${base_url}"]}
agents: {scripted: {adapter: scripted}}
costs: costs.yaml
gate: {min_score: 70, violation_weight: 50}
""",
    "costs.yaml": """\
version: 1
per_screenshot_usd: 0.004
per_action_usd: 0.001
models:
  m: {input_usd_per_million: 3, output_usd_per_million: 15.000001, cache_read_usd_per_million: 0.3}
""",
    "policy.yaml": """\
version: 1
name: small
extends: []
containment: proxy
actions: {allowed: [goto, click, fill, finish]}
effects: {allowed: [], approval_required: [form_submit], blocked: [payment]}
domains: {allowed: ["${base_url}"], approval_required: [], blocked: []}
requests: {writes: approval_required, background: [{method: [POST], path: "/metrics"}]}
files: {roots: []}
network: {private: [], upstream_proxy: none}
limits: {max_steps: 20, max_runtime_seconds: 60, max_cost_usd: 1.0, max_repeats: 3, max_dialogs: 5}
on_block: stop
on_denied: stop
approvals: {min_assurance: auto, quorum: 1, not_operator: false, expires_seconds: 300, max_wait_seconds: 900}
redact: []
classifiers: []
rules:
  - {id: never-delete, decision: blocked, when: {request: {method: DELETE, path: ["/api/**", "/v2/**"]}}}
  - {id: no-danger, decision: blocked, when: {element: {role: button, name: {matches: "(?i)delete"}}}}
""",
    "tasks/buy.yaml": """\
version: 1
id: buy
goal: Buy it
start_url: /shop
session: clerk
script:
  - {action_type: fill, target: {label: Password}, value: "{{secret:password}}"}
  - {action_type: goto, url: "/end"}
  - {action_type: finish, final_status: success}
assertions:
  - {type: contains_text, value: bought}
  - {type: max_steps, value: 5}
""",
    "tasks/login.yaml": """\
version: 1
id: login
goal: Log in
start_url: /login
script:
  - {action_type: fill, target: {label: Password}, value: "{{secret:password}}"}
""",
}


class SuiteFolder:
    """The small suite on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, content: str | bytes) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text()
        assert old in text, f"{old!r} is not in {name}"
        self.write(name, text.replace(old, new, 1))

    def load(self, env: str | None = None) -> Loaded:
        return load_suite(self.path, env=env, criteria=CRITERIA)

    def problems(self) -> list[str]:
        """What is wrong, file names relative to the suite. Fails if nothing is."""
        try:
            self.load()
        except InputError as error:
            return [str(problem).removeprefix(f"{self.path}/") for problem in error.problems]
        raise AssertionError("the suite loads")
