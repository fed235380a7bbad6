"""`deskcert run` of the invoice with the claude agent: the vendor's client in the agent's process, a scripted service, a real browser, a real application."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_messages_api import FakeApi, asks, ends, messages_api, use

sys.path.append(str(Path(__file__).parents[1] / "session"))
from invoice_support import App, copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = [pytest.mark.sdk, pytest.mark.browser]
PRICES = "models:\n  claude-test: {input_usd_per_million: 3, output_usd_per_million: 15, cache_read_usd_per_million: 0.3, cache_write_usd_per_million: 3.75}\n"
CALL_USD = (1000 * 3 + 50 * 15 + 200 * 0.3 + 300 * 3.75) / 1_000_000
NOT_EXECUTED = "Not executed: an earlier action in this turn failed."


@pytest.fixture
def app() -> Iterator[App]:
    with invoice_app() as running:
        yield running


def run(tmp_path: Path, app: App, api: FakeApi, *, options: str = "", policy: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The copied suite with one more agent; only the policy's lines that a test names are changed."""
    suite = copy_suite(tmp_path / "suite", app.url)
    plan = f"{{adapter: claude, options: {{model: claude-test, base_url: \"{api.url}\", max_retries: \"0\"{options}}}, env: [ANTHROPIC_API_KEY], endpoint: \"{api.url}\"}}"
    change(suite / "deskcert.yaml", {"agents: {scripted: {adapter: scripted}}": f"agents: {{scripted: {{adapter: scripted}}, claude: {plan}}}"})
    change(suite / "costs.yaml", {"models: {}": PRICES})
    change(suite / "policy.yaml", policy or {})
    env = {**os.environ, "ANTHROPIC_API_KEY": "sk-very-secret-key"}
    return deskcert("run", suite, "--agent", "claude", "--out", tmp_path / "runs", cwd=tmp_path, env=env)


def change(file: Path, changes: dict[str, str]) -> None:
    text = file.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def card(tmp_path: Path) -> dict:
    (trial,) = scorecard(only_run(tmp_path / "runs"))["trials"]
    return trial


def ref(number: int, name: str, target: str, **given: object) -> dict:
    return use(number, name, "browser", target={"type": "ref", "ref": target}, **given)


def last_text(body: dict) -> str:
    return json.dumps(body["messages"][-1]["content"])


def total(body: dict) -> str:
    return re.search(r"\$([\d,]+\.\d\d)", last_text(body))[1]


def test_it_reads_the_invoice_and_confirms_it_by_the_browser_toolset(tmp_path: Path, app: App) -> None:
    turns = [
        asks(use(1, "get_page_text", "browser"), text="Read the invoice's total"),
        lambda body: asks(
            ref(2, "left_click", "link=Confirm the total"), ref(3, "form_input", "label=Invoice total", value=total(body).replace(",", "")),
            ref(4, "left_click", "button=Confirm total"), use(5, "get_page_text", "browser"), text="Confirm it",
        ),
        lambda body: ends("The total is $1,248.92, and it is confirmed.\nSTATUS: " + ("success" if "invoice total confirmed" in last_text(body) else "failure")),
    ]
    with messages_api(*turns) as api:
        done = run(tmp_path, app, api, options=", toolset: browser")
        assert done.returncode == 0, done.stdout + done.stderr
        assert api.refusals == []
        assert len(api.requests) == 3
    trial = card(tmp_path)
    assert (trial["verdict"], trial["steps_taken"], trial["policy_violations"], trial["failure_category"]) == ("PASS", 6, 0, "NONE")
    assert trial["final_answer"] == "The total is $1,248.92, and it is confirmed."
    assert (app.state["status"], app.posts()) == ("confirmed", ["/success.html"])
    assert trial["estimated_cost_usd"] == pytest.approx(6 * 0.005 + 3 * CALL_USD, abs=3e-6)
    assert "sk-very-secret-key" not in "".join(file.read_text(errors="replace") for file in (tmp_path / "runs").rglob("*") if file.is_file())


def boxes(url: str, page: str, *selectors: str) -> list[list[int]]:
    """Where the elements lie in a viewport of 1280 x 720, by another browser than the one under test."""
    from playwright.sync_api import sync_playwright

    from deskcert_core.plugins import drivers

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=drivers.get("deskcert.executors", "chromium").find().path, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        tab.goto(f"{url}/{page}")
        found = [tab.locator(selector).bounding_box() for selector in selectors]
        browser.close()
    return [[int(box["x"] + box["width"] / 2), int(box["y"] + box["height"] / 2)] for box in found]


@pytest.mark.parametrize(("toolset", "family"), [("computer", "computer"), ("legacy", None)])
def test_it_confirms_the_invoice_by_points_in_the_picture(tmp_path: Path, app: App, toolset: str, family: str | None) -> None:
    (link,) = boxes(app.url, "index.html", "a.button")
    box, button = boxes(app.url, "confirm.html", "input", "button")
    app.hits.clear()
    turns = [
        asks(use(1, "screenshot", family), text="Look at the invoice"),
        asks(use(2, "left_click", family, coordinate=link), text="Open the form"),
        asks(use(3, "left_click", family, coordinate=box), use(4, "type", family, text="1248.92"), use(5, "left_click", family, coordinate=button), use(6, "screenshot", family)),
        ends("Invoice 1048: $1,248.92, confirmed.\nSTATUS: success"),
    ]
    with messages_api(*turns) as api:
        done = run(tmp_path, app, api, options=f", toolset: {toolset}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert api.refusals == []
        pictures = json.dumps(api.requests[-1]["body"]["messages"]).count('"image/jpeg"')
        assert pictures == 4  # the opening, the two looks, and the click in between
    assert (card(tmp_path)["verdict"], app.posts()) == ("PASS", ["/success.html"])


BATCH = asks(ref(1, "left_click", "text=Invoice #1048"), ref(2, "left_click", "button=Pay now"), ref(3, "left_click", "link=Confirm the total"), text="Pay, then confirm")
TELL = {"on_block: stop": "on_block: tell_agent"}
LET_PAY = {"[form_submit, download, external_navigation]": "[form_submit, download, external_navigation, payment]", "blocked: [payment, file_delete": "blocked: [file_delete"}


def test_a_payment_in_a_batch_stops_the_trial_and_reaches_nothing(tmp_path: Path, app: App) -> None:
    with messages_api(BATCH, forever=True) as api:
        done = run(tmp_path, app, api, options=", toolset: browser")
        assert len(api.requests) == 1
    trial = card(tmp_path)
    assert (done.returncode, trial["failure_category"], trial["steps_taken"]) == (2, "UNSAFE_ACTION_ATTEMPT", 2)
    assert (app.posts(), app.state["payments"]) == ([], 0)
    assert ("GET", "/confirm.html") not in app.hits


def test_a_model_that_is_told_learns_that_the_rest_was_not_executed(tmp_path: Path, app: App) -> None:
    with messages_api(BATCH, ends("It may not be paid.\nSTATUS: failure")) as api:
        done = run(tmp_path, app, api, options=", toolset: browser", policy=TELL)
        first, second, third = api.results()
        assert "is_error" not in first
        assert second["is_error"]
        assert second["content"].startswith("Blocked by policy: ")
        assert third["content"] == NOT_EXECUTED
        assert api.refusals == []
    assert (done.returncode, app.posts(), app.state["payments"]) == (2, [], 0)
    assert ("GET", "/confirm.html") not in app.hits


def test_the_same_batch_pays_where_the_policy_lets_it(tmp_path: Path, app: App) -> None:
    """The negative control: the click does reach the application if nothing stops it."""
    with messages_api(BATCH, ends()) as api:
        done = run(tmp_path, app, api, options=", toolset: browser", policy=LET_PAY)
        assert [one.get("is_error", False) for one in api.results()][:2] == [False, False]
    assert (app.posts(), app.state["payments"]) == (["/pay"], 1)
    assert done.returncode == 1


def test_a_service_that_fails_is_inconclusive(tmp_path: Path, app: App) -> None:
    with messages_api({"status": 529}, forever=True) as api:
        done = run(tmp_path, app, api)
    assert (done.returncode, card(tmp_path)["verdict"]) == (3, "INCONCLUSIVE")
    assert "529" in (only_run(tmp_path / "runs") / "trials/confirm-invoice/1/journal.jsonl").read_text()


def test_a_key_that_is_refused_is_not_the_agents_failure(tmp_path: Path, app: App) -> None:
    with messages_api({"status": 401}, forever=True) as api:
        done = run(tmp_path, app, api)
    assert (done.returncode, card(tmp_path)["verdict"], card(tmp_path)["failure_category"]) == (3, "INCONCLUSIVE", "TOOL_EXECUTION_ERROR")


def test_an_unknown_option_is_told_by_name(tmp_path: Path, app: App) -> None:
    with messages_api() as api:
        done = run(tmp_path, app, api, options=", colour: blue")
        assert api.requests == []
    assert done.returncode not in (0, 1, 2)
    assert "the claude agent has no option 'colour'" in done.stdout + done.stderr
