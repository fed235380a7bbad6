"""What breaks is not the agent's failure, and never a pass: browser, application, agent process, disk. Judged by exit code and record."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from invoice_support import copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = pytest.mark.browser


def children(pid: int) -> list[int]:
    """Every process below one that the test started, from /proc."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, front = [], [pid]
    while front:
        front = [child for child, parent in parents.items() if parent in front]
        found += front
    return found


def named(pids: list[int], part: str) -> list[int]:
    hits = []
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if part.encode() in words[0] and not any(word.startswith(b"--type=") for word in words):
            hits.append(pid)
    return hits


def start(tmp_path: Path, suite: Path) -> subprocess.Popen:
    words = [sys.executable, "-m", "deskcert_adapters.frontends.cli", "run", str(suite), "--out", str(tmp_path / "runs")]
    return subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def slow_task(suite: Path) -> None:
    """The first step waits, so that there is time to break something."""
    task = suite / "tasks" / "confirm-invoice.yaml"
    text = task.read_text().replace("script:\n", "script:\n  - {action_type: wait_for, timeout_seconds: 20, target: {selector: '#never'}, decision_summary: wait}\n")
    task.write_text(text)


def wait_for_step(process: subprocess.Popen) -> None:
    for line in process.stderr:
        if "step 1" in line:
            return
    raise AssertionError("the run ended before its first step")


def test_a_killed_browser_is_inconclusive(tmp_path):
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        slow_task(suite)
        process = start(tmp_path, suite)
        wait_for_step(process)
        (browser, *_) = named(children(process.pid), os.environ.get("DESKCERT_BROWSER", "chrom"))
        os.kill(browser, signal.SIGKILL)
        out, err = process.communicate(timeout=90)
        assert process.returncode == 3, out + err
        assert app.posts() == []
    card = scorecard(only_run(tmp_path / "runs"))
    assert (card["verdict"], card["trials"][0]["failure_category"]) == ("INCONCLUSIVE", "TOOL_EXECUTION_ERROR")


def test_ctrl_c_leaves_sealed_off_evidence_and_no_process(tmp_path):
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        slow_task(suite)
        process = start(tmp_path, suite)
        wait_for_step(process)
        below = children(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, out + err
        assert "Traceback" not in err
        assert app.posts() == []
    lines = [json.loads(line) for line in (only_run(tmp_path / "runs") / "trials/confirm-invoice/1/journal.jsonl").read_text().splitlines()]
    assert lines[-1]["body"]["reason"] == "interrupted"
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in below) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_an_application_that_is_not_there_is_inconclusive(tmp_path):
    suite = copy_suite(tmp_path / "suite", "http://127.0.0.1:9")
    done = deskcert("run", suite, "--out", tmp_path / "runs", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert scorecard(only_run(tmp_path / "runs"))["verdict"] == "INCONCLUSIVE"


def test_a_full_disk_stops_the_run_before_the_next_act(tmp_path):
    """The store's writes fail once the first step is recorded: nothing may reach the application after that."""
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        driver = tmp_path / "full.py"
        driver.write_text(
            "import os, errno, sys\nfrom deskcert_core.evidence import store\nreal = os.write\n"
            "class Full:\n"
            "    full = False\n"
            "    def __getattr__(self, name): return getattr(os, name)\n"
            "    def write(self, fd, data):\n"
            "        if b'\"kind\":\"result\"' in bytes(data): Full.full = True\n"
            "        if Full.full: raise OSError(errno.ENOSPC, 'No space left on device')\n"
            "        return real(fd, data)\n"
            "store.os = Full()\nfrom deskcert_adapters.frontends.cli.main import main\nmain()\n"
        )
        words = [sys.executable, str(driver), "run", str(suite), "--out", str(tmp_path / "runs")]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        assert done.returncode not in (0, 1, 2), done.stdout
        assert "No space left" in done.stderr
        assert app.posts() == []
        assert all(path in ("/index.html", "/style.css", "/favicon.ico") for _, path in app.hits)


def test_two_runs_at_once_do_not_meet(tmp_path):
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        codes = []
        threads = [
            threading.Thread(target=lambda: codes.append(deskcert("run", suite, "--out", tmp_path / "runs", cwd=tmp_path).returncode)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert codes == [0, 0]
    assert len([path for path in (tmp_path / "runs").iterdir() if path.is_dir()]) == 2
