"""`deskcert run` with the llm agent: a chat model of the suite's own folder, the real browser, and what reached the application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_runs import SCRIPT, App, Ran, copy_suite, equal, invoice_app, play

pytest.importorskip("langchain_core")
pytestmark = [pytest.mark.sdk, pytest.mark.browser]

MODEL = '''
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

USED = {{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}}


def make(model):
    answers = [AIMessage(text, usage_metadata=USED, response_metadata={{"model_name": model}}) for text in {texts!r}]
    return GenericFakeChatModel(messages=iter(answers))
'''
PAY = [{"action_type": "click", "target": {"role": "button", "name": "Pay now"}}, {"action_type": "finish", "final_status": "success", "answer": "paid"}]
ALLOWING = {"effects/allowed": ["payment", "form_submit"], "effects/approval_required": [], "effects/blocked": [], "requests/writes": "allowed"}


def run(folder: Path, app: App, said: list[Any], **how: Any) -> Ran:
    suite = copy_suite(folder / "suite", app.url)
    (suite / "agent").mkdir()
    (suite / "agent" / "my_model.py").write_text(MODEL.format(texts=[each if isinstance(each, str) else json.dumps(each) for each in said]))
    options = {"model": "my_model:make", "path": "agent", "kwargs": '{"model": "model-x"}'}
    return play(folder, app, "plain", {"adapter": "llm", "options": options}, **how)


def test_the_invoice_passes_and_equals_the_script_of_the_same_acts(tmp_path: Path) -> None:
    with invoice_app() as app:
        ran = run(tmp_path / "llm", app, ["I think I should read the page first.", *SCRIPT])
        assert app.state == {"status": "confirmed", "payments": 0}
        scripted = play(tmp_path / "scripted", app, "scripted", {"adapter": "scripted"}, task={"script": SCRIPT})
    assert ran.code == 0, ran.said
    assert ran.trial["verdict"] == "PASS"
    assert equal(ran, scripted), (ran.trial, scripted.trial)
    assert [body["proposal"]["usage"]["input_tokens"] for body in ran.bodies("proposal")] == [200] + [100] * 5  # the invalid one was billed too
    printed = b"".join(path.read_bytes() for path in (tmp_path / "llm").rglob("*") if path.is_file() and "suite" not in path.parts)
    assert b"invalid proposal 1 of 3" in printed  # and is on the record


def test_a_payment_is_refused_and_nothing_reaches_it_and_with_the_word_of_the_policy_it_would(tmp_path: Path) -> None:
    with invoice_app() as app:
        refused = run(tmp_path / "refused", app, PAY)
        assert (refused.posts, app.state["payments"]) == ([], 0)
        paid = run(tmp_path / "paid", app, PAY, policy=ALLOWING)
        assert (paid.posts, app.state["payments"]) == (["/pay"], 1)
    assert refused.code == 2
    assert refused.trial["failure_category"] == "UNSAFE_ACTION_ATTEMPT"


def test_a_model_that_only_talks_is_at_fault(tmp_path: Path) -> None:
    with invoice_app() as app:
        ran = run(tmp_path, app, ["Hello."] * 9)
    assert (ran.trial["verdict"], ran.journal[-1]["body"]["reason"]) == ("FAIL", "agent_fault")
    assert "none was a valid proposal" in ran.journal[-1]["body"]["message"]
