"""kill -9 at a chosen write or sync of evidence: every journal reads back, and nothing reached the application without a durable record that let it.

50 points in the normal run, all of them and in three ways (before, half, after) in `nox -s campaign`. Judged by what reached the server.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from invoice_support import App, copy_suite, invoice_app, only_run

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence.record import Intended, Requested, Resulted, RunEnded
from deskcert_core.evidence.store import RunFolder
from deskcert_core.judging import judge_run
from deskcert_core.proposal import ActionType
from deskcert_core.trial import read_trial

pytestmark = pytest.mark.browser
POINTS = 50
BATCHES = 10
WAYS = ("before", "half", "after")


def run_and_die(tmp_path: Path, app: App, at: int, how: str) -> tuple[int, Path]:
    suite = copy_suite(tmp_path / f"suite-{at}-{how}", app.url)
    out = tmp_path / f"runs-{at}-{how}"
    out.mkdir()
    driver = Path(__file__).with_name("kill_driver.py")
    words = [sys.executable, str(driver), str(at), how, str(tmp_path / "count"), "--", "run", str(suite), "--out", str(out)]
    app.hits.clear()
    app.state.update(status="open", payments=0)
    done = subprocess.run(words, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    return done.returncode, out


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> int:
    """How many writes and syncs a whole run has."""
    tmp_path = tmp_path_factory.mktemp("whole")
    with invoice_app() as app:
        code, _ = run_and_die(tmp_path, app, 0, "after")
        assert code == 0
        assert app.state["status"] == "confirmed"
    return int((tmp_path / "count").read_text())


def check(out: Path, app: App) -> None:
    runs = [path for path in out.iterdir() if path.is_dir()]
    if not runs:
        assert app.hits == []
        return
    run = only_run(out)
    try:
        folder = RunFolder.open(run)
    except EvidenceError:
        assert app.hits == []  # killed before the manifest: nothing can have been done
        return
    lines = folder.lines("confirm-invoice", 1) if folder.trials() else ()
    let_go = [line.body.request for line in lines if isinstance(line.body, Requested) and line.body.let_go]
    for method, path in app.hits:
        if path != "/health" and not path.startswith("/api/"):
            assert any(request.method == method and request.address.path == path for request in let_go), (method, path)
    intents = {line.body.step for line in lines if isinstance(line.body, Intended)}
    if any(method == "POST" for method, _ in app.hits):
        assert 4 in intents  # submit_form is step 4
    unfinished = intents - {line.body.step for line in lines if isinstance(line.body, Resulted)}
    evidence = read_trial(folder.suite.tasks[0], lines, folder.text, folder.suite.costs) if lines else None
    for step in evidence.steps if evidence else ():
        if step.number in unfinished:
            assert step.result.status == "outcome_unknown"
            assert step.proposal.action_type is not ActionType.FINISH
    whole = any(isinstance(line.body, RunEnded) for line in folder.run_lines())
    if lines:
        assert judge_run(run).card.verdict == ("PASS" if whole else "INCONCLUSIVE")


def test_fifty_moments(tmp_path, calls, request, batch):
    with invoice_app() as app:
        for place in range(batch, POINTS, BATCHES):
            at = 1 + place * calls // POINTS
            how = WAYS[place % len(WAYS)]
            code, out = run_and_die(tmp_path, app, at, how)
            assert code == -9, (at, how)
            check(out, app)


def pytest_generate_tests(metafunc):
    if "batch" in metafunc.fixturenames:
        metafunc.parametrize("batch", range(BATCHES))


@pytest.mark.campaign
def test_every_moment(tmp_path, calls):
    with invoice_app() as app:
        for at in range(1, calls + 1):
            for how in WAYS:
                code, out = run_and_die(tmp_path, app, at, how)
                assert code == -9, (at, how)
                check(out, app)
