"""The same acts by every agent, on the invoice and on Django's admin: `python tests/agents_sdk/same_verdict.py` prints the table of docs/agents/same-verdict.md.

The acts are the tasks' own scripts. Who names elements by pictures (openai) or by points (claude) gets the points where the scripted run found them;
what one act is to a script can be three to a mouse and a keyboard. The services are fakes on loopback; clients, agents, browser and applications are real.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE / "players")]

import yaml  # noqa: E402
from acts import for_goal  # noqa: E402
from cli_support import deskcert, only_run, scorecard  # noqa: E402
from fake_messages_api import asks, ends, messages_api, use  # noqa: E402
from fake_responses_api import call, click, message, response, responses_api  # noqa: E402

EXAMPLES = HERE.parents[1] / "examples"
SUITES = ("invoice", "django_admin")
PRICE = {"input_usd_per_million": 0.1, "output_usd_per_million": 0.1, "cache_read_usd_per_million": 0.1, "cache_write_usd_per_million": 0.1}
Plans = list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One run of one suite by one agent: verdict, trials passed, violations, approvals, and every write that was let go."""

    suite: str
    agent: str
    verdict: str
    passed: str
    violations: int
    approvals: int
    writes: tuple[str, ...]

    @property
    def same(self) -> tuple[object, ...]:
        return (self.suite, self.verdict, self.passed, self.violations, self.approvals, self.writes)


@dataclass
class Playing:
    """Where each goal's acts stand, for a fake service that serves one run."""

    plans: Plans
    left: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def next(self, text: str) -> dict[str, Any]:
        goal = next(plan["goal"] for plan in self.plans if plan["goal"] in text)
        return self.left.setdefault(goal, list(for_goal(goal, self.plans))).pop(0)


def claude_turn(playing: Playing, body: dict[str, Any]) -> dict[str, Any]:
    act = playing.next(json.dumps(body, ensure_ascii=False))
    number = len(body["messages"])
    spot = {"type": "coordinate", "x": act["point"][0], "y": act["point"][1]} if act["point"] else None
    match act["action_type"]:
        case "finish":
            return ends(f"{act['answer']}\nSTATUS: {act['final_status']}")
        case "fill":
            return asks(use(number, "form_input", "browser", target=spot, value=act["value"]))
        case "read":
            return asks(use(number, "get_page_text", "browser"))
        case "scroll":
            return asks(use(number, "scroll", "browser", scroll_direction="down", scroll_amount=int(act["delta_y"]) // 100))
        case _:
            return asks(use(number, "left_click", "browser", target=spot))


def openai_turn(playing: Playing, body: dict[str, Any], goal: str) -> dict[str, Any]:
    act = playing.next(goal)
    id = f"call_{sum(map(len, playing.left.values()))}_{abs(hash(goal)) % 1000}"
    match act["action_type"]:
        case "finish":
            return response(message(f"{act['answer']}\nSTATUS: {act['final_status']}"))
        case "fill":
            return response(call(click(*act["point"]), {"type": "keypress", "keys": ["CTRL", "A"]}, {"type": "type", "text": act["value"]}, id=id))
        case "read":
            return response(call({"type": "screenshot"}, id=id))
        case "scroll":
            return response(call({"type": "scroll", "x": 640, "y": 360, "scroll_x": 0, "scroll_y": int(act["delta_y"])}, id=id))
        case _:
            return response(call(click(*act["point"]), id=id))


@contextmanager
def claude(plans: Plans) -> Iterator[dict[str, Any]]:
    playing = Playing(plans)
    with messages_api(lambda body: claude_turn(playing, body), forever=True) as api:
        options = {"model": "claude-test", "base_url": api.url, "toolset": "browser", "max_retries": "0"}
        yield {"adapter": "claude", "options": options, "env": ["ANTHROPIC_API_KEY"], "endpoint": api.url}


@contextmanager
def openai(plans: Plans) -> Iterator[dict[str, Any]]:
    playing, at = Playing(plans), [""]

    def answer(body: dict[str, Any]) -> Any:
        said = json.dumps(body, ensure_ascii=False)
        at[0] = next((plan["goal"] for plan in plans if plan["goal"] in said), at[0])
        api.answers[:] = [openai_turn(playing, body, at[0])]
        return checked(body)

    with responses_api(response()) as api:
        checked, api.answer = api.answer, answer
        options = {"model": "model-x", "base_url": api.url, "max_retries": "0"}
        yield {"adapter": "openai", "options": options, "env": ["OPENAI_API_KEY"], "endpoint": api.url.removesuffix("/v1")}


def local(**entry: Any) -> Callable[[Plans], Any]:
    """An agent that asks no service: it reads the acts from the file."""

    @contextmanager
    def agent(plans: Plans) -> Iterator[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "acts.json"
            file.write_text(json.dumps(plans))
            os.environ["ACTS"] = str(file)
            text = json.dumps(entry).replace("ACTS_FILE", str(file)).replace("PLAYERS", str(HERE / "players"))
            yield {**json.loads(text), "files": [str(folder), str(HERE / "players")]}

    return agent


AGENTS: dict[str, Callable[[Plans], Any]] = {
    "command (Python)": local(adapter="command", options={"command": "python PLAYERS/player.py", "acts": "ACTS_FILE"}),
    "command (Node)": local(adapter="command", options={"command": "node PLAYERS/player.mjs", "acts": "ACTS_FILE"}),
    "claude": claude,
    "openai": openai,
    "langgraph": local(adapter="langgraph", options={"graph": "player_graph:graph", "path": "PLAYERS", "calls_model": "false"}, env=["ACTS"]),
    "llm": local(adapter="llm", options={"model": "player_model:model", "path": "PLAYERS", "method": "text"}, env=["ACTS"]),
}


def play(folder: Path, suite: str, agent: str, entry: dict[str, Any] | None, name: str = "player") -> tuple[Row, Path]:
    """One run of the suite as it stands, with one more entry among its agents and prices for its model."""
    copy = folder / "suite"
    shutil.copytree(EXAMPLES / suite, copy, ignore=shutil.ignore_patterns("runs", "__pycache__", "failures", "file", "attacks"))
    if entry is not None:
        change(copy / "deskcert.yaml", "agents", {name: entry})
        change(copy / "costs.yaml", "models", {"claude-test": dict(PRICE), "model-x": dict(PRICE)})
    env = {"ANTHROPIC_API_KEY": "sk-test-1234567", "OPENAI_API_KEY": "sk-test-1234567"}
    done = deskcert("run", copy, "--agent", name, "--out", folder / "runs", cwd=folder, env=env)
    said = done.stdout + done.stderr
    assert (folder / "runs").is_dir(), said
    run = only_run(folder / "runs")
    card = scorecard(run)
    passed = sum(trial["verdict"] == "PASS" for trial in card["trials"])
    row = Row(
        suite=suite, agent=agent, verdict=card["verdict"], passed=f"{passed} of {len(card['trials'])}", violations=card["policy_violations"],
        approvals=card["approval_requests"], writes=tuple(sorted(writes(run))),
    )
    assert row.verdict == "PASS", said
    return row, run


def change(file: Path, key: str, entries: dict[str, Any]) -> None:
    data = yaml.safe_load(file.read_text())
    data[key] = {**(data.get(key) or {}), **entries}
    file.write_text(yaml.safe_dump(data))


def records(run: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for journal in sorted(run.glob("trials/*/*/journal.jsonl")):
        for line in journal.read_text().splitlines():
            record = json.loads(line)
            yield journal.parent.parent.name, record["kind"], record["body"]


def writes(run: Path) -> Iterator[str]:
    for _, kind, body in records(run):
        if kind == "request" and body["let_go"] and body["request"]["method"] not in ("GET", "HEAD", "OPTIONS"):
            yield f"{body['request']['method']} {body['request']['address']['path']}"


def plans_of(run: Path, suite: str) -> Plans:
    """Each task's goal and script, with the middle of the element that the scripted run hit."""
    goals = {task["id"]: task["goal"] for task in (yaml.safe_load(file.read_text()) for file in (EXAMPLES / suite / "tasks").glob("*.yaml"))}
    acts: dict[str, list[dict[str, Any]]] = {}
    for task, kind, body in records(run):
        if kind == "proposal":
            keep = ("action_type", "target", "value", "delta_y", "final_status", "answer")
            said = {key: value for key, value in body["proposal"].items() if key in keep and value not in (None, 0)}
            if "target" in said:
                said["target"] = {key: value for key, value in said["target"].items() if value is not None}
            acts.setdefault(task, []).append({**said, "point": None})
        elif kind == "decision" and (element := body["grounding"]["element"]):
            box = element["box"]
            acts[task][-1]["point"] = [round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2)]
    return [{"goal": goals[task], "acts": found} for task, found in acts.items()]


def rows(folder: Path, suite: str) -> Iterator[Row]:
    """One row an agent: scripted first, since the others play what it did."""
    scripted, run = play(folder / f"{suite}-scripted", suite, "scripted", None, "scripted")
    yield scripted
    plans = plans_of(run, suite)
    for number, (agent, entry) in enumerate(AGENTS.items()):
        if "Node" in agent and not shutil.which("node"):
            continue
        with entry(plans) as given:
            yield play(folder / f"{suite}-{number}", suite, agent, given)[0]
    yield play(folder / f"{suite}-replay", suite, "replay", None, f"replay:{run}")[0]


def table(found: list[Row]) -> str:
    lines = ["| suite | agent | verdict | trials passed | violations | approvals | writes that were let go |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {row.suite} | {row.agent} | {row.verdict} | {row.passed} | {row.violations} | {row.approvals} | {', '.join(f'`{each}`' for each in row.writes)} |"
        for row in found
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(table([row for suite in SUITES for row in rows(Path(place), suite)]), end="")
