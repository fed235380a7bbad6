"""`nox -s live`, as far as it can be tried without a key: the cap holds against a service that only spends."""

import json

import pytest
from fake_messages_api import asks, messages_api, use
from live import main

pytestmark = [pytest.mark.sdk, pytest.mark.browser]


def test_without_a_key_nothing_is_run(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["claude", "--model", "m", "--input-usd", "1", "--output-usd", "1", "--out", str(tmp_path / "live")]) == 64
    assert "set ANTHROPIC_API_KEY" in capsys.readouterr().err
    assert not (tmp_path / "live").exists()


def test_the_cap_ends_each_trial(monkeypatch, tmp_path):
    """1,000 input tokens a call at 100 USD a million are 0.1 USD: of the quarter of a dollar for each trial two calls can be paid, a third cannot."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-1234567")
    with messages_api(lambda body: asks(use(len(body["messages"]), "get_page_text", "browser")), forever=True) as api:
        words = ["--max-usd", "1", "--option", f"base_url={api.url}", "--option", "toolset=browser", "--endpoint", api.url, "--out", str(tmp_path / "live")]
        main(["claude", "--model", "claude-test", "--input-usd", "100", "--output-usd", "1", *words])
        cards = [json.loads(path.read_text()) for path in (tmp_path / "live" / "runs").glob("*/derived/scorecard.json")]
        trials = [trial for card in cards for trial in card["trials"]]
        assert [trial["failure_category"] for trial in trials] == ["EXCEEDED_BUDGET"] * 4
        assert all(trial["estimated_cost_usd"] <= 0.4 for trial in trials)
        assert len(api.requests) <= 8
