"""Whole runs with strange agents: the manifest says how they were held, what broke is recorded as theirs, ci does not do without a sandbox."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from invoice_support import App, copy_suite, deskcert, invoice_app, only_run, scorecard

pytestmark = [pytest.mark.browser, pytest.mark.sandbox]
TESTS = Path(__file__).parents[1]
ADAPTERS = "[deskcert.adapters]\ngreedy = greedy_agent:Greedy\ncalling = calling_agent:Calling\n"


def installed(root: Path) -> dict[str, str]:
    """An environment in which the tests' agents are an installed distribution."""
    info = root / "site" / "strange_agents-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ADAPTERS)
    (info / "RECORD").write_text("")
    paths = [str(root / "site"), str(TESTS), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def ran(tmp_path: Path, app: App, *words: str, agents: str = "", command: str = "run") -> tuple[int, str, Path]:
    suite = copy_suite(tmp_path / "suite", app.url)
    if agents:
        file = suite / "deskcert.yaml"
        text = file.read_text()
        assert "agents: {scripted: {adapter: scripted}}" in text
        file.write_text(text.replace("agents: {scripted: {adapter: scripted}}", f"agents: {agents}").replace("plugins: []", "plugins: [strange-agents]"))
    done = deskcert(command, suite, "--out", tmp_path / "runs", *words, cwd=tmp_path, env=installed(tmp_path))
    return done.returncode, done.stdout + done.stderr, tmp_path / "runs"


def manifest(runs: Path) -> dict[str, object]:
    return dict(json.loads((only_run(runs) / "manifest.json").read_text()))


def bodies(path: Path, kind: str) -> list[dict[str, object]]:
    return [line["body"] for line in map(json.loads, path.read_text().splitlines()) if line["kind"] == kind]


@pytest.mark.parametrize(("word", "isolation"), [("", "sandbox"), ("--agent-isolation=process", "process"), ("--agent-in-process", "none")])
def test_the_same_run_passes_however_the_agent_is_held_and_the_manifest_says_how(word: str, isolation: str, tmp_path: Path) -> None:
    with invoice_app() as app:
        code, out, runs = ran(tmp_path, app, *filter(None, [word]))
    assert code == 0, out
    assert manifest(runs)["agent_isolation"] == isolation
    assert ("it has no sandbox" in out) is (isolation != "sandbox")


def test_each_trial_has_a_new_process_after_a_crash_and_the_fault_names_the_agent(tmp_path: Path) -> None:
    with invoice_app() as app:
        code, out, runs = ran(tmp_path, app, "--agent", "greedy", "--agent-option", "do=crash", "--trials", "2")
        assert app.posts() == []
    assert code == 1, out
    for number in "12":
        faults = bodies(only_run(runs) / "trials/confirm-invoice" / number / "journal.jsonl", "fault")
        assert [(fault["whose"], fault["message"]) for fault in faults] == [("agent", "agent 'greedy' (greedy_agent:Greedy): it ended with exit code 5")]
    assert scorecard(only_run(runs))["verdict"] == "FAIL"


def test_an_agent_that_spoils_its_own_start_is_at_fault_and_the_run_goes_on(tmp_path: Path) -> None:
    """Control: one that never starts is a broken plug-in, and the trial inconclusive."""
    once = tmp_path / "spoilt"
    words = ("--agent", "greedy", "--agent-option", "do=crash", "--agent-option", f"once={once}", "--agent-isolation", "process")
    with invoice_app() as app:
        code, out, runs = ran(tmp_path / "a", app, *words, "--trials", "2")
        again, _, inconclusive = ran(tmp_path / "b", app, *words)
    assert code == 1, out
    (fault,) = bodies(only_run(runs) / "trials/confirm-invoice/2/journal.jsonl", "fault")
    assert (fault["whose"], str(fault["message"]).partition(":")[0]) == ("agent", "it started before and does not any more")
    assert again == 3
    (fault,) = bodies(only_run(inconclusive) / "trials/confirm-invoice/1/journal.jsonl", "fault")
    assert fault["whose"] == "harness"


def test_what_a_sandboxed_agent_asked_of_the_network_is_on_the_record(tmp_path: Path) -> None:
    with invoice_app() as app:
        agents = f'{{calling: {{adapter: calling, endpoint: "http://127.0.0.1:9/v1", options: {{url: "{app.url}/index.html"}}}}}}'
        code, out, runs = ran(tmp_path, app, "--agent", "calling", agents=agents)
        assert app.hits.count(("GET", "/index.html")) == 1, "the browser came, the agent did not"
    assert code == 1, out
    refused = [body["detail"] for body in bodies(only_run(runs) / "run.jsonl", "note") if body["what"] == "agent_egress_refused"]
    assert refused == [{"asked": f"GET {app.url}/index.html HTTP/1.1"}] * 2


@pytest.mark.parametrize("word", ["--agent-in-process", "--agent-isolation=process"])
def test_ci_does_not_take_less_than_a_sandbox_from_the_command_line(word: str, tmp_path: Path) -> None:
    with invoice_app() as app:
        code, out, runs = ran(tmp_path, app, word, command="ci")
    assert (code, "ci runs agents in a sandbox" in out, runs.exists()) == (64, True, False)


def test_ci_without_bubblewrap_does_not_start_unless_the_suite_says_so(tmp_path: Path) -> None:
    python = tmp_path / "bin"
    python.mkdir()
    env = {**installed(tmp_path), "PATH": str(python)}
    with invoice_app() as app:
        suite = copy_suite(tmp_path / "suite", app.url)
        done = deskcert("ci", suite, "--out", tmp_path / "runs", cwd=tmp_path, env=env)
        assert (done.returncode, "bubblewrap is not installed" in done.stderr, app.hits) == (69, True, []), done.stderr
        file = suite / "deskcert.yaml"
        file.write_text(file.read_text().replace("{adapter: scripted}", "{adapter: scripted, isolation: process}"))
        done = deskcert("ci", suite, "--out", tmp_path / "runs", cwd=tmp_path, env={**installed(tmp_path / "again"), "PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stdout + done.stderr
    assert manifest(tmp_path / "runs")["agent_isolation"] == "process"
