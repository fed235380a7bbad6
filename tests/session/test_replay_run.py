"""Recorded proposals against the live application: grounded and decided anew. Judged by the scorecard and by what reached the application."""

import json
import shutil

import pytest
from invoice_support import EXAMPLES, copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The invoice task, done once by its script."""
    home = tmp_path_factory.mktemp("recorded")
    with invoice_app() as app:
        done = deskcert("run", copy_suite(home / "suite", app.url), "--out", home / "runs", cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return only_run(home / "runs")


def site(tmp_path, page="", old="", new=""):
    """The application's pages, with one place changed."""
    copy = tmp_path / "site"
    shutil.copytree(EXAMPLES / "invoice" / "site", copy)
    if page:
        text = (copy / page).read_text()
        assert old in text
        (copy / page).write_text(text.replace(old, new))
    return copy


def replay(tmp_path, app, run, *words, policy=("", "")):
    suite = copy_suite(tmp_path / "suite", app.url)
    file = suite / "policy.yaml"
    assert policy[0] in file.read_text()
    file.write_text(file.read_text().replace(*policy))
    return deskcert("run", suite, "--agent", f"replay:{run}", "--out", tmp_path / "runs", *words, cwd=tmp_path)


def drifts(tmp_path):
    (trial,) = scorecard(only_run(tmp_path / "runs"))["trials"]
    return [finding["message"] for finding in trial["findings"] if finding["kind"] == "drift"]


def test_a_passing_run_passes_again_without_drift_and_is_judged_without_the_recorded_one(recorded, tmp_path):
    copy = tmp_path / "recorded"
    shutil.copytree(recorded, copy)
    with invoice_app() as app:
        done = replay(tmp_path, app, copy)
        assert done.returncode == 0, done.stdout + done.stderr
        assert app.state == {"status": "confirmed", "payments": 0}
        assert app.posts() == ["/success.html"]
    run = only_run(tmp_path / "runs")
    card = scorecard(run)
    assert (card["verdict"], card["steps_taken"], card["trials"][0]["findings"]) == ("PASS", 6, [])
    assert any("another run" in line for line in card["not_covered"])
    assert json.loads((run / "manifest.json").read_text())["replay"] == {"run_id": recorded.name, "agent": "scripted"}
    before = (run / "derived" / "scorecard.json").read_bytes()
    shutil.rmtree(copy)
    shutil.rmtree(run / "derived")
    assert deskcert("evaluate", run, cwd=tmp_path).returncode == 0
    assert (run / "derived" / "scorecard.json").read_bytes() == before


@pytest.mark.parametrize(("page", "old", "new", "step", "said"), [
    ("confirm.html", "<button>Confirm total", "<button>Confirm amount", 4, "the element hit was button 'Confirm total' <button> and is missing"),
    ("confirm.html", "<button>", '<input type="hidden" name="note"><button>', 4, "/success.html (total, note)"),
    ("index.html", "Northwind", "Southwind", 1, "the page's text is another"),
])
def test_a_changed_site_is_named_at_its_step(recorded, tmp_path, page, old, new, step, said):
    with invoice_app(site(tmp_path, page, old, new)) as app:
        replay(tmp_path, app, recorded)
    found = [message for message in drifts(tmp_path) if said in message]
    assert found[0].startswith(f"step {step}, ")
    earlier = [message for message in drifts(tmp_path) for n in range(1, step) if message.startswith(f"step {n}, ")]
    assert all(message.endswith(": the page's text is another") for message in earlier)


def test_what_the_policy_now_blocks_is_not_done_again(recorded, tmp_path):
    """The control is the first test: the same recording under the old policy does send it."""
    with invoice_app() as app:
        done = replay(tmp_path, app, recorded, policy=("approval_required: [form_submit, download", "approval_required: [download"))
        assert done.returncode == 2, done.stdout + done.stderr
        assert app.posts() == []
        assert app.state["status"] == "open"
    first, last = drifts(tmp_path)
    assert first.startswith("step 4, submit_form button 'Confirm total': the decision was approval_required (approval_required.form_submit) and is blocked")
    assert last.startswith("the recorded run has 6 steps, the replay ended after 4")


def test_what_cannot_be_replayed_is_refused_before_anything_starts(recorded, tmp_path):
    with invoice_app() as app:
        done = replay(tmp_path, app, recorded, "--trials", "2")
        assert (done.returncode, "has no trial confirm-invoice 2 to replay" in done.stderr) == (64, True), done.stderr
        done = deskcert("run", tmp_path / "suite" / "failures", "--agent", f"replay:{recorded}", "--task", "loop", cwd=tmp_path)
        assert (done.returncode, "has no trial loop 1" in done.stderr) == (64, True), done.stderr
        for agent, said in (("replay", "replay:RUN"), ("replay:nowhere", "no run to replay")):
            done = deskcert("run", tmp_path / "suite", "--agent", agent, cwd=tmp_path)
            assert (done.returncode, said in done.stderr) == (64, True), done.stderr
        assert app.hits == []
    assert not (tmp_path / "runs").exists()


def test_a_recording_that_was_changed_is_not_replayed(recorded, tmp_path):
    copy = tmp_path / "recorded"
    shutil.copytree(recorded, copy)
    journal = copy / "trials" / "confirm-invoice" / "1" / "journal.jsonl"
    text = journal.read_text()
    assert '"value":"1248.92"' in text
    journal.write_text(text.replace('"value":"1248.92"', '"value":"1.00"', 1))
    with invoice_app() as app:
        done = replay(tmp_path, app, copy)
        assert done.returncode == 4, done.stdout + done.stderr
        assert app.hits == []
