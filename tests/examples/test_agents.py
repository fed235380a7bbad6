"""The agents of examples/agents, run as their page says, do the invoice as well as the script does: the same acts, the same verdict."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from examples_support import EXAMPLES, Ran, deskcert, run_suite

from deskcert_core.session import sandbox

pytestmark = pytest.mark.browser
PAGE = (EXAMPLES / "agents" / "README.md").read_text()
COMMANDS = {name: shlex.split(line) for name, line in re.findall(r"^\| `(\w+)/` \| `deskcert (.*)` \|$", PAGE, re.MULTILINE)}
KEYS = ("verdict", "steps_taken", "policy_violations", "approval_requests", "estimated_cost_usd", "failure_category", "final_answer")


def test_the_page_has_a_command_for_each() -> None:
    assert set(COMMANDS) == {path.name for path in (EXAMPLES / "agents").iterdir() if path.is_dir()} == {"python", "node"}


@pytest.mark.parametrize("name", ["python", pytest.param("node", marks=pytest.mark.skipif(not shutil.which("node"), reason="there is no Node here"))])
def test_it_reaches_the_scripts_verdict_by_equal_acts(tmp_path: Path, name: str) -> None:
    done = deskcert(*COMMANDS[name], "--out", tmp_path / "runs", cwd=EXAMPLES.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    by_program = Ran(code=0, said="", out=tmp_path / "runs").card
    by_script = run_suite(EXAMPLES / "invoice", tmp_path / "scripted").card
    assert (by_program["verdict"], by_program["steps_taken"]) == ("PASS", 6)
    same = [key for key in KEYS if key != "final_answer"]
    assert {key: by_program[key] for key in same} == {key: by_script[key] for key in same}
    assert "$1,248.92" in by_program["final_answer"]


def test_it_decides_by_the_page_and_not_by_heart(tmp_path: Path) -> None:
    """The same program before another invoice: it says what that page says. The application knows its total, so the policy's word is all it gets."""
    suite = Path(shutil.copytree(EXAMPLES / "invoice", tmp_path / "suite", ignore=shutil.ignore_patterns("runs", "__pycache__")))
    for file in (suite / "site" / "index.html", suite / "app.py"):
        file.write_text(file.read_text().replace("1,248.92", "7.15").replace("1248.92", "7.15"))
    shutil.copy(EXAMPLES / "agents" / "python" / "agent.py", suite / "clerk.py")
    file = suite / "deskcert.yaml"
    file.write_text(file.read_text().replace("{scripted: {adapter: scripted}}", '{clerk: {adapter: command, options: {command: "python clerk.py"}}}'))
    ran = run_suite(suite, tmp_path / "runs", "--agent", "clerk")
    assert "$7.15, and it is confirmed" in ran.card["final_answer"]
    assert ran.card["approval_requests"] == 1


def test_a_program_that_breaks_is_a_recorded_outcome_that_names_it(tmp_path: Path) -> None:
    odd = EXAMPLES.parent / "tests" / "odd_program.py"
    ran = run_suite(EXAMPLES / "invoice", tmp_path / "runs", "--agent", "command", "--agent-option", f"command=python {odd} crash")
    (trial,) = ran.trials.values()
    assert trial["verdict"] == "FAIL"
    journal = next(ran.folder.glob("trials/*/*/journal.jsonl")).read_text()
    assert "odd_program.py crash ended with exit code 7" in journal


PEEK = """
import json, sys
from pathlib import Path

def receive():
    header = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(int.from_bytes(header, "big"))) if len(header) == 4 else {"type": "end"}

def answer(kind):
    beside = Path(__file__).with_name("policy.yaml")
    said = "it reads the policy" if beside.exists() and beside.read_text() else "it sees no policy"
    finish = {"type": "proposal", "proposal": {"action_type": "finish", "final_status": "failure", "answer": said}}
    return {"hello": {"type": "ready", "version": 1}, "start": {"type": "started"}, "observe": finish}[kind]

while (kind := receive()["type"]) != "end":
    body = json.dumps(answer(kind)).encode()
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize(("isolation", "said"), [("sandbox", "it sees no policy"), ("process", "it reads the policy")])
def test_in_a_sandbox_a_program_sees_its_own_file_and_no_other_of_the_suite(tmp_path: Path, isolation: str, said: str) -> None:
    """The control is the bare process, which holds nobody back."""
    if isolation == "sandbox" and (why := sandbox.available()):
        pytest.skip(why)
    suite = Path(shutil.copytree(EXAMPLES / "invoice", tmp_path / "suite", ignore=shutil.ignore_patterns("runs", "__pycache__")))
    (suite / "peek.py").write_text(PEEK)
    file = suite / "deskcert.yaml"
    file.write_text(file.read_text().replace("{scripted: {adapter: scripted}}", '{peek: {adapter: command, options: {command: "python peek.py"}}}'))
    ran = run_suite(suite, tmp_path / "runs", "--agent", "peek", "--agent-isolation", isolation)
    assert ran.card["final_answer"] == said
