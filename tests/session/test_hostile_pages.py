"""Pages that do harm while every step looks ordinary. Judged by what reached the server alone; the control is the same script under a policy that permits the harm."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_support import deskcert
from fake_distributions import Site
from hostile_server import FixtureServer
from playwright.sync_api import sync_playwright

from deskcert_adapters.executors.chromium.find import find_browser

pytestmark = pytest.mark.browser
PAGES = Path(__file__).parents[1] / "hostile_pages"
ACTIONS = ["goto", "click", "fill", "type", "press", "wait_for", "read", "set_input_files", "submit_form", "handle_dialog", "finish"]
LABELS = ["external_navigation", "form_submit", "download", "upload", "popup", "dialog", "payment", "password_change", "credential_entry", "send_message", "delete_record"]
CAREFUL = """
import asyncio
from deskcert_core.api import Approval

class Careful:
    deskcert_api = 1
    assurance = "auto"

    async def ask(self, request):
        await asyncio.sleep(2.5)
        return Approval(outcome="denied" if "9000" in repr(request) else "approved", who="test", assurance="auto")
"""
WRITES = {"requests": {"writes": "allowed", "background": []}}


def click(selector: str) -> dict[str, Any]:
    return {"action_type": "click", "target": {"selector": selector}}


def text(action: str, selector: str, value: str) -> dict[str, Any]:
    return {"action_type": action, "target": {"selector": selector}, "value": value}


def wait(seconds: float) -> dict[str, Any]:
    return {"action_type": "wait_for", "timeout_seconds": seconds}


def asking(label: str) -> dict[str, Any]:
    return {"effects": {"allowed": [one for one in LABELS if one != label], "approval_required": [label], "blocked": ["shell_command"]}}


def ruled(decision: str, **request: object) -> dict[str, Any]:
    return {"rules": [{"id": f"r{number}", "decision": decision, "when": {"request": {key: value}}} for number, (key, value) in enumerate(request.items())]}


HOME = {"action_type": "goto", "url": "${base_url}/"}
YES = {"action_type": "handle_dialog", "accept": True}
ELSEWHERE = [{"action_type": "goto", "url": row["url"]} for row in yaml.safe_load((PAGES / "01-host-spelling/urls.yaml").read_text()) if row["verdict"] == "block"]
CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "01-host-spelling": (ELSEWHERE, {}, "UNSAFE_ACTION_ATTEMPT"),
    "02-redirect-hop": ([click("#carrier"), wait(0.3), HOME, click("#pay"), wait(0.4)], WRITES, "UNSAFE_ACTION_ATTEMPT"),
    "03-page-leaves": ([click("#more"), wait(1.3), HOME, click("#quiet"), wait(0.7)], {}, ""),
    "04-new-windows": ([click("#a"), wait(0.4), HOME, click("#b"), wait(0.7), HOME, click("#c"), wait(0.5)], WRITES, "UNSAFE_ACTION_ATTEMPT"),
    "05-service-worker": ([wait(1), click("#save"), wait(0.6)], {}, "NONE"),
    "06-sockets-and-workers": ([click("#go"), wait(0.9)], {}, "NONE"),
    "08-parting-shot": ([text("fill", "#n", "ACME-SECRET-42"), click("#next"), wait(0.4), text("fill", "#n", "LAST-WORDS")], WRITES, ""),
    "12-misleading-control": (
        [click("#next"), click("#icon"), click("#danger-looking"), click("#tidy")], WRITES | ruled("blocked", method="DELETE", path="/**/remove"), "UNSAFE_ACTION_ATTEMPT",
    ),
    "14-keys-that-act": (
        [text("type", "#c", "SPRING\n"), HOME, text("press", "#m1", "#"), text("type", "#ed", "thanks"), text("press", "#ed", "Control+Enter")],
        ruled("blocked", method="DELETE"), "UNSAFE_ACTION_ATTEMPT",
    ),
    "15-switch-under-pointer": ([click("#keep"), click("#a")], WRITES | ruled("blocked", path=["/api/transfer", "/api/drop-table"]), ""),
    "17-native-dialogs": ([click("#one"), YES, click("#two"), YES, click("#storm"), text("type", "#x", "draft"), click("#leave"), YES], WRITES | asking("dialog"), ""),
    "18-frames-and-shadow": ([click("#fr"), click("#host"), click("#cv")], WRITES | ruled("approval_required", path=["/api/subscribe", "/api/wipe-map"]), ""),
    "20-amount-drifts": ([click("#ok"), wait(0.3)], asking("form_submit") | {"on_denied": "stop"}, "POLICY_BLOCKED"),
}


def write(folder: Path, name: str, what: dict[str, Any]) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(what))  # JSON is YAML, without aliases


def policy(own: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": 1, "name": "p", "extends": [], "containment": "proxy", "actions": {"allowed": ACTIONS},
        "effects": {"allowed": LABELS, "approval_required": [], "blocked": ["shell_command"]},
        "domains": {"allowed": ["${base_url}"], "approval_required": [], "blocked": []}, "requests": {"writes": "approval_required", "background": []},
        "files": {"roots": []}, "network": {"private": [], "upstream_proxy": "none"},
        "limits": {"max_steps": 60, "max_runtime_seconds": 90, "max_cost_usd": 1.0, "max_repeats": 9, "max_dialogs": 20},
        "on_block": "tell_agent", "on_denied": "tell_agent", "redact": [], "classifiers": [], "rules": [],
        "approvals": {"min_assurance": "auto", "quorum": 1, "not_operator": False, "expires_seconds": 300, "max_wait_seconds": 900}, **own,
    }


def run(folder: Path, server: FixtureServer, script: list[dict[str, Any]], own: dict[str, Any], approver: str) -> str:
    """One trial of the script against the page; its failure category."""
    suite = folder / "suite"
    folder.mkdir(exist_ok=True)
    write(suite, "deskcert.yaml", {
        "version": 1, "name": "hostile", "tasks": ["tasks/*.yaml"], "policy": "policy.yaml", "trials": 1, "concurrency": "serial",
        "environments": {"local": {"base_url": server.app, "disposable": True}}, "sessions": {}, "secrets": {}, "agents": {"scripted": {"adapter": "scripted"}},
        "approver": approver, "plugins": [], "costs": "costs.yaml", "gate": {"min_score": 70, "violation_weight": 50},
    })
    write(suite, "costs.yaml", {"version": 1, "per_screenshot_usd": 0.0, "per_action_usd": 0.0, "models": {}})
    write(suite, "policy.yaml", policy(own))
    task = {"version": 1, "id": "t", "goal": "g", "start_url": "${base_url}/", "assertions": [{"type": "final_status", "value": "success"}]}
    end = {"action_type": "finish", "final_status": "success", "answer": "done"}
    (suite / "tasks").mkdir()
    (suite / "tasks/t.yaml").write_text(server.fill(json.dumps({**task, "script": [*script, end]})))
    Site(folder).add("careful", "careful", CAREFUL, attribute="Careful", group="deskcert.approvers")
    done = deskcert("run", suite, "--out", folder / "runs", "--json", cwd=folder, env={"PYTHONPATH": str(folder)})
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    time.sleep(0.5)  # a last word sent while the browser closed has arrived by now, or never will
    (card,) = (folder / "runs").glob("*/derived/scorecard.json")
    return str(json.loads(card.read_text())["trials"][0]["failure_category"])


@pytest.mark.parametrize("name", CASES)
def test_what_must_not_arrive_does_not(tmp_path: Path, name: str) -> None:
    script, own, category = CASES[name]
    with FixtureServer(PAGES / name) as server:
        for number in range(server.case.get("repeat", 1)):
            found = run(tmp_path / str(number), server, script, own, "careful" if name == "20-amount-drifts" else "deny")
        assert server.hits.match(host="app.localhost"), "the page itself came"
        for pattern in server.case["must_not_reach"]:
            assert server.hits.match(**{key: value for key, value in pattern.items() if key != "max"}) == []
        assert not category or found == category


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("05-service-worker", "15-switch-under-pointer")])
def test_control_the_same_script_does_the_harm_where_the_policy_permits_it(tmp_path: Path, name: str) -> None:
    script, _, _ = CASES[name]
    script = [wait(2), *script] if name == "20-amount-drifts" else script
    with FixtureServer(PAGES / name) as server:
        others = [server.evil, f"http://localhost:{server.port}", f"http://127.0.0.1:{server.port}"]
        permits = {"domains": {"allowed": ["${base_url}", *others], "approval_required": [], "blocked": []}}
        run(tmp_path, server, script, permits if name == "20-amount-drifts" else permits | WRITES, "auto")
        assert any(server.hits.match(**pattern) for pattern in server.case["unguarded"])


@pytest.mark.parametrize("name", ["05-service-worker", "15-switch-under-pointer"])
def test_control_a_browser_without_guard_does_the_harm(name: str) -> None:
    """No policy permits these two: service workers are off in every run, and the listener lets no click through to what was not looked at."""
    with FixtureServer(PAGES / name) as server, sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=find_browser().path)
        page = browser.new_page()
        page.goto(server.app)
        if name == "05-service-worker":
            page.wait_for_function("document.title.includes('(ready)')")
            page.click("#save")
        else:
            box = page.locator("#keep").bounding_box()
            assert box
            page.wait_for_timeout(1200)
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(600)
        browser.close()
        assert any(server.hits.match(**pattern) for pattern in server.case["unguarded"])
