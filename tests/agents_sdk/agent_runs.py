"""The invoice suite run by the command with one more agent, on an application whose requests are counted. Tests add what the agent is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cli_support import deskcert, only_run, scorecard

sys.path.append(str(Path(__file__).parents[1] / "session"))

from invoice_support import App, copy_suite, invoice_app

__all__ = ["PRICE", "SCRIPT", "App", "Ran", "changed", "copy_suite", "equal", "invoice_app", "play"]

PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0, "cache_read_usd_per_million": 0.5, "cache_write_usd_per_million": 2.0}
SCRIPT: list[dict[str, Any]] = [
    {"action_type": "read"}, {"action_type": "click", "target": {"role": "link", "name": "Confirm the total"}},
    {"action_type": "fill", "target": {"label": "Invoice total"}, "value": "1248.92"},
    {"action_type": "submit_form", "target": {"role": "button", "name": "Confirm total"}}, {"action_type": "read"},
    {"action_type": "finish", "final_status": "success", "answer": "The total of invoice 1048 is $1,248.92, and it is confirmed."},
]
SAME = ("verdict", "task_success", "steps_taken", "policy_violations", "approval_requests", "blocked_actions", "failure_category", "final_answer")


@dataclass(frozen=True)
class Ran:
    """How the command ended, the trial's card, its journal, and what reached the application."""

    code: int
    said: str
    trial: dict[str, Any]
    journal: list[dict[str, Any]]
    posts: list[str]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [record["body"] for record in self.journal if record["kind"] == kind]

    def points(self) -> list[tuple[int, int]]:
        """The middle of each element that was acted on."""
        boxes = [body["grounding"]["element"]["box"] for body in self.bodies("decision") if body["grounding"]["element"]]
        return [(round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2)) for box in boxes]


def changed(file: Path, change: Mapping[str, Any]) -> None:
    """The YAML file with these keys set: `a/b` is the key b of a."""
    data = yaml.safe_load(file.read_text())
    for path, value in change.items():
        at, keys = data, path.split("/")
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value
    file.write_text(yaml.safe_dump(data))


def play(folder: Path, app: App, agent: str, entry: Mapping[str, Any], *, task: Mapping[str, Any] | None = None, policy: Mapping[str, Any] | None = None,
         approver: str = "auto", prices: Mapping[str, Any] | None = None, **env: str) -> Ran:
    """One run of the suite's task in `folder`/suite (made here if it is not there) with that agent."""
    suite = folder / "suite"
    if not suite.exists():
        copy_suite(suite, app.url)
    changed(suite / "deskcert.yaml", {f"agents/{agent}": dict(entry)})
    changed(suite / "costs.yaml", {"models": dict(prices or {"model-x": PRICE})})
    changed(suite / "policy.yaml", policy or {})
    changed(suite / "tasks" / "confirm-invoice.yaml", task or {})
    app.state.update(status="open", payments=0)
    app.hits.clear()
    out = folder / f"runs-{agent}"
    done = deskcert("run", suite, "--agent", agent, "--approver", approver, "--out", out, cwd=folder, env=env)
    said = done.stdout + done.stderr
    assert out.is_dir(), said
    run = only_run(out)
    lines = (run / "trials" / "confirm-invoice" / "1" / "journal.jsonl").read_text().splitlines()
    (trial,) = scorecard(run)["trials"]
    return Ran(code=done.returncode, said=said, trial=trial, journal=[json.loads(line) for line in lines], posts=app.posts())


def equal(one: Ran, other: Ran) -> bool:
    """Whether both came to the same by the same number of the same acts, and the same reached the application."""
    acts = [[body["proposal"]["action_type"] for body in ran.bodies("proposal")] for ran in (one, other)]
    cards = [{key: ran.trial[key] for key in SAME} for ran in (one, other)]
    return acts[0] == acts[1] and cards[0] == cards[1] and one.posts == other.posts and one.code == other.code
