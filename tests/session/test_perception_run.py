"""What the agent saw wrong, end to end: the real page, the real click, the record of both."""

import pytest
from invoice_support import copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = pytest.mark.browser

TASK = """version: 1
id: confirm-invoice
goal: Read the total of the invoice, confirm it, and say what it was.
start_url: "${{base_url}}/index.html"
script:
{script}
assertions:
  - {{type: backend_json, url: "${{base_url}}/api/invoices/1048", path: /status, equals: confirmed}}
  - {{type: final_answer, money: 1248.92, currency: USD}}
"""
NOWHERE = """  - {action_type: click, target: {x: 1200, y: 650}, decision_summary: Open the confirmation}
  - {action_type: finish, final_status: success, answer: "It is confirmed: $1,248.92"}"""
READ_WRONG = """  - {action_type: read, decision_summary: Read the total}
  - {action_type: finish, final_status: success, answer: "The total is $1,284.92"}"""
TYPED_WRONG = """  - {action_type: click, target: {text: Confirm the total}, decision_summary: Open the form}
  - {action_type: fill, target: {label: Invoice total}, value: "1284.92", decision_summary: Fill in the total}
  - {action_type: submit_form, target: {role: button, name: Confirm total}, decision_summary: Confirm}
  - {action_type: finish, final_status: success, answer: "It is confirmed: $1,248.92"}"""
HONEST = """  - {action_type: read, decision_summary: Read the total}
  - {action_type: finish, final_status: success, answer: "The total is $1,248.92"}"""


@pytest.mark.parametrize(("script", "category", "said"), [
    (NOWHERE, "BAD_CLICK_TARGET", "step 1: the click at point 1200,650 hit <html>, where nothing can be clicked, and nothing came of it"),
    (READ_WRONG, "VISUAL_MISREAD", "the answer names 1284.92, which stands on no page that the agent saw; step 1 shows 1248.92"),
    (TYPED_WRONG, "VISUAL_MISREAD", "step 2 typed 1284.92 into 'Invoice total', which stands on no page before; step 1 shows 1248.92 there"),
    (HONEST, "ASSERTION_FAILED", ""),
])
def test_each_is_proved_by_the_record(tmp_path, script, category, said):
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        (suite / "tasks" / "confirm-invoice.yaml").write_text(TASK.format(script=script))
        done = deskcert("run", suite, "--out", tmp_path / "runs", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    (trial,) = scorecard(only_run(tmp_path / "runs"))["trials"]
    assert trial["failure_category"] == category
    if said:
        assert trial["failure_reason"] == said
        assert len(trial["failure_records"]) >= 2
