"""Money end to end: an installed adapter that says it calls a model, and what the session does with what it says. Judged by journal and application."""

import json
import os

import pytest
from fake_distributions import on_path
from invoice_support import copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = pytest.mark.browser

ADAPTER = """
from deskcert_core.api import ActionType, Proposal, Target, Usage

ACTS = [
    dict(action_type=ActionType.CLICK, target=Target(role="link", name="Confirm the total")),
    dict(action_type=ActionType.FILL, target=Target(label="Invoice total"), value="1248.92"),
    dict(action_type=ActionType.SUBMIT_FORM, target=Target(role="button", name="Confirm total")),
    dict(action_type=ActionType.FINISH, final_status="success", answer="$1,248.92"),
]

class Billed:
    deskcert_api = 1
    calls_model = True
    def __init__(self, options):
        self.options = options
    def start(self, brief):
        self.left = iter(ACTS)
    def propose(self, observation):
        o = self.options
        usage = None if o.get("usage") == "none" else Usage(
            model=o.get("model", "m"), output_tokens=int(o.get("output", 10)), cache_write_tokens=int(o.get("written", 0)))
        return Proposal(**next(self.left), usage=usage)
"""
PRICES = "models:\n  m: {input_usd_per_million: 3, output_usd_per_million: 15}\n"


def run(tmp_path, monkeypatch, options, limit="0.05"):
    with on_path(tmp_path / "site", monkeypatch) as site, invoice_app() as app:
        site.add("deskcert-billed", "billed", ADAPTER, attribute="Billed", group="deskcert.adapters")
        suite = copy_suite(tmp_path / "suite", app.url)
        costs = suite / "costs.yaml"
        costs.write_text(costs.read_text().replace("models: {}", PRICES))
        policy = suite / "policy.yaml"
        policy.write_text(policy.read_text().replace("max_cost_usd: 1.0, ", f"max_cost_usd: {limit}, "))
        words = [word for key, value in options.items() for word in ("--agent-option", f"{key}={value}")]
        env = {**os.environ, "PYTHONPATH": str(site.root)}
        deskcert("run", suite, "--agent", "billed", "--out", tmp_path / "runs", *words, cwd=tmp_path, env=env)
        posts = app.posts()
    folder = only_run(tmp_path / "runs")
    lines = [json.loads(line) for line in (folder / "trials/confirm-invoice/1/journal.jsonl").read_text().splitlines()]
    (card,) = scorecard(folder)["trials"]
    return card, posts, [line["kind"] for line in lines], lines[-1]["body"]


def test_priced_calls_are_paid_for_and_go_on(tmp_path, monkeypatch):
    """The negative control of all below."""
    card, posts, _, end = run(tmp_path, monkeypatch, {})
    assert (end["reason"], posts) == ("finished", ["/success.html"])
    assert card["estimated_cost_usd"] == 4 * (0.004 + 0.001 + 10 * 15e-6)


@pytest.mark.parametrize(("options", "said"), [
    ({"model": "unheard-of"}, "model 'unheard-of' has no price in the suite's costs"),
    ({"usage": "none"}, "the agent calls a model and did not say what the call used"),
    ({"written": "300"}, "model 'm' has no cache_write price in the suite's costs, and used 300 such tokens"),
])
def test_a_call_whose_cost_cannot_be_told_stops_before_its_act(tmp_path, monkeypatch, options, said):
    card, posts, kinds, end = run(tmp_path, monkeypatch, options)
    assert (end["reason"], end["message"]) == ("cost_limit", said)
    assert (card["failure_category"], card["verdict"]) == ("EXCEEDED_BUDGET", "FAIL")
    assert (posts, "intent" in kinds, kinds.count("proposal")) == ([], False, 1)


def test_a_call_like_the_dearest_that_would_not_fit_is_not_made(tmp_path, monkeypatch):
    """The first step costs 0.011; a second one would make 0.022 of 0.02.."""
    _, posts, kinds, end = run(tmp_path, monkeypatch, {"output": "400"}, limit="0.02")
    assert (end["reason"], kinds.count("proposal"), posts) == ("cost_limit", 1, [])


def test_with_enough_left_it_is_made(tmp_path, monkeypatch):
    _, _, kinds, end = run(tmp_path, monkeypatch, {"output": "400"}, limit="0.03")
    assert (end["reason"], kinds.count("proposal")) == ("cost_limit", 2)
