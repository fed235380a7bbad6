"""A page that shows a password it was given, wherever a page can; and an agent that writes down what it is sent."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import yaml
from cli_support import deskcert, only_run
from fake_distributions import Site as Distributions
from grants_support import Counting, counting, files

__all__ = ["SECRET", "Kept", "run"]

SECRET = "hunter2-äß/secret+42 |^`"
PAGE = """<meta charset=utf-8><form action=/send method=post><input type=password id=p name=p><input name=h id=h value=""><button id=send>Send</button></form>
<button id=al type=button>al</button><button id=pr type=button>pr</button><button id=ask type=button>ask</button>
<script>al.onclick = () => alert('it is ' + p.value); pr.onclick = () => prompt('what', p.value);
ask.onclick = () => { h.value = p.value; document.title = p.value;
  fetch('/log/' + p.value + '?q=' + p.value + '#' + p.value, {method: 'POST', body: new URLSearchParams({word: p.value})}) }</script>"""
AGENT = """
from pathlib import Path

class Spy:
    deskcert_api = 1
    wants_script = True

    def __init__(self, options):
        self.out = Path(options["out"])

    def start(self, brief):
        self.script = list(brief.script)

    def propose(self, observation):
        with self.out.open("a", encoding="utf-8") as out:
            out.write(repr((observation.url, observation.title, observation.text, observation.dialog, observation.last_result)) + "\\n")
        return self.script.pop(0)
"""
APPROVER = """
import os
from pathlib import Path
from deskcert_core.api import Approval

class Spy:
    deskcert_api = 1
    assurance = "auto"

    async def ask(self, request):
        with Path(os.environ["SPY_APPROVER"]).open("a", encoding="utf-8") as out:
            out.write(repr(request) + "\\n")
        return Approval(outcome="denied", who="test", assurance="auto")
"""
CLOSE = {"action_type": "handle_dialog", "accept": False}


def click(selector: str) -> dict[str, object]:
    return {"action_type": "click", "target": {"selector": selector}}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What the agent, the approver and the terminal were shown, and all bytes of the run's folder."""

    agent: str
    approver: str
    terminal: str
    disk: bytes
    hits: list[tuple[str, str, str]]


def run(folder: Path, *, named: bool) -> Kept:
    """One trial. `named`: the suite names the password as a secret; else the agent's script has it as plain text, and nobody can know."""
    with counting(PAGE) as server:
        suite = prepared(folder, server, named=named)
        env = {"PYTHONPATH": os.pathsep.join([str(folder)]), "PASSWORD": SECRET, "SPY_APPROVER": str(folder / "approver.txt")}
        done = deskcert("run", suite, "--out", folder / "runs", "--agent", "spy", cwd=folder, env=env)
        assert done.returncode in (0, 1, 2), done.stdout + done.stderr
        run = only_run(folder / "runs")
        return Kept(
            agent=(folder / "agent.txt").read_text(), approver=(folder / "approver.txt").read_text(), terminal=done.stdout + done.stderr, hits=server.hits,
            disk=b"\n".join(file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file() and file.suffix != ".jpg"),
        )


def prepared(folder: Path, server: Counting, *, named: bool) -> Path:
    suite = folder / "suite"
    (suite / "tasks").mkdir(parents=True)
    sites = Distributions(folder)
    sites.add("spy-agent", "spy_agent", AGENT, attribute="Spy", group="deskcert.adapters")
    sites.add("spy-approver", "spy_approver", APPROVER, attribute="Spy", group="deskcert.approvers")
    word = "{{secret:password}}" if named else SECRET
    script = [
        {"action_type": "fill", "target": {"selector": "#p"}, "value": word}, click("#al"), {**CLOSE}, click("#pr"), {**CLOSE}, click("#ask"), click("#send"),
    ]
    policy = {"actions": {"allowed": ["fill", "click", "handle_dialog", "wait_for", "finish"]}}
    url = f"http://127.0.0.1:{server.server_port}"
    texts = files(url, script, policy, "spy_approver", "/")
    labels = [*texts["policy.yaml"]["effects"]["allowed"], "dialog", "popup", "password_change"]
    texts["policy.yaml"]["effects"]["allowed"] = sorted(set(labels))
    texts["deskcert.yaml"]["agents"] = {"spy": {"adapter": "spy_agent", "isolation": "process", "options": {"out": str(folder / "agent.txt")}}}
    if named:
        texts["deskcert.yaml"]["secrets"] = {"password": {"env": "PASSWORD", "origins": ["${base_url}"]}}
    for name, what in texts.items():
        (suite / name).write_text(yaml.safe_dump(what))
    return suite
