"""A stranger's way, by the README alone: an application that already runs and wants a password, not ours and not started by us, has a verdict.

The commands and files here are those of docs/tutorial.md.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from examples_support import Ran, deskcert, files, holding, run_suite

pytestmark = pytest.mark.browser

PASSWORD = "Amber+Kettle 77"
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


@dataclass(frozen=True)
class Foreign:
    """The running application, and the folder in which its user works."""

    url: str
    folder: Path

    def init(self) -> None:
        options = ["--start", "/admin/", "--login", "/admin/login", "--user", "clerk", "--logged-in", "form[action$='/logout']"]
        assert " ".join(options).replace("form[action$='/logout']", '"form[action$=\'/logout\']"') in TUTORIAL.read_text()
        done = deskcert("init", "my-suite", "--url", self.url, *options, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def run(self, *words: str, password: str = PASSWORD) -> Ran:
        return run_suite(self.folder / "my-suite", self.folder / "runs", *words, APP_PASSWORD=password)

    def write_task(self) -> None:
        """The tutorial's own task, and the script that asks the application's data."""
        (self.folder / "my-suite" / "tasks" / "first-look.yaml").write_text(tutorial("my-suite/tasks/first-look.yaml"))
        script = tutorial("my-suite/orders.py")
        assert "/srv/lamps/lamps.sqlite3" in script
        (self.folder / "my-suite" / "orders.py").write_text(script.replace("/srv/lamps", str(self.folder)))

    @property
    def orders(self) -> list[tuple[str, int]]:
        with sqlite3.connect(f"{(self.folder / 'lamps.sqlite3').as_uri()}?mode=ro", uri=True) as connection:
            return connection.execute("select customer, lamps from orders").fetchall()

    @property
    def posts(self) -> list[str]:
        return [line for line in (self.folder / "requests").read_text().splitlines() if line.startswith("POST ")]


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Foreign]:
    """Started here, as its operator would, before DeskCert is heard of."""
    command = [sys.executable, str(Path(__file__).with_name("foreign_app.py")), str(tmp_path / "lamps.sqlite3")]
    log = tmp_path / "requests"
    log.touch()
    env = {**os.environ, "FOREIGN_PASSWORD": PASSWORD, "FOREIGN_LOG": str(log)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield Foreign(url=process.stdout.readline().strip(), folder=tmp_path)
        finally:
            process.terminate()


def tutorial(name: str) -> str:
    """The file of that name as the tutorial shows it."""
    found = re.search(rf"`{re.escape(name)}`:?\n\n```\w+\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert found, f"the tutorial shows no {name}"
    return found[1]


def test_init_validate_run_gives_a_verdict(foreign: Foreign) -> None:
    foreign.init()
    said = deskcert("validate", "my-suite", cwd=foreign.folder)
    assert (said.returncode, "ok" in said.stdout) == (0, True)
    ran = foreign.run()
    assert ran.code == 0, ran.said
    assert (ran.card["verdict"], ran.trials["first-look"]["verdict"]) == ("PASS", "PASS")
    assert foreign.posts == ["POST /admin/login"]
    assert len(list(files(ran.folder))) > 10
    assert holding(ran.folder, PASSWORD) == []


def test_a_real_task_is_judged_by_the_applications_own_data(foreign: Foreign) -> None:
    foreign.init()
    foreign.write_task()
    ran = foreign.run("--approver", "auto")
    assert ran.code == 0, ran.said
    trial = ran.trials["add-order"]
    assert (trial["verdict"], trial["approval_requests"], trial["steps_taken"]) == ("PASS", 1, 7)
    assert next(card for card in trial["assertions"] if card["type"] == "backend_json")["outcome"] == "pass"
    assert foreign.orders == [("Holm", 12)]
    assert foreign.posts == ["POST /admin/login", "POST /admin/order/create"]
    assert holding(ran.folder, PASSWORD) == []
    again = deskcert("evaluate", ran.folder, cwd=foreign.folder)
    assert again.returncode == 0, again.stderr


def test_control_without_an_approval_nothing_is_saved(foreign: Foreign) -> None:
    """The same task; nobody is there to approve."""
    foreign.init()
    foreign.write_task()
    ran = foreign.run()
    assert ran.code == 1, ran.said
    assert ran.trials["add-order"]["failure_category"] == "POLICY_BLOCKED"
    assert foreign.orders == []
    assert foreign.posts == ["POST /admin/login"]


def test_a_wrong_password_is_inconclusive_and_says_so(foreign: Foreign) -> None:
    foreign.init()
    ran = foreign.run(password="Amber+Kettle 78")
    assert ran.code == 3, ran.said
    assert "session 'user'" in ran.trials["first-look"]["failure_reason"]


def test_a_password_that_is_not_set_is_told_by_name(foreign: Foreign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APP_PASSWORD", raising=False)
    foreign.init()
    done = deskcert("run", "my-suite", cwd=foreign.folder)
    assert done.returncode == 69
    assert "APP_PASSWORD is not set" in done.stderr
    assert foreign.posts == []


def test_the_tutorials_rules_are_taken(foreign: Foreign) -> None:
    foreign.init()
    (block,) = re.findall(r"```yaml\n(rules:\n.*?)```", TUTORIAL.read_text(), re.DOTALL)
    policy = foreign.folder / "my-suite" / "policy.yaml"
    text, count = re.subn(r"(?s)^rules:\n.*", block, policy.read_text(), flags=re.MULTILINE)
    assert count == 1
    policy.write_text(text)
    said = deskcert("validate", "my-suite", cwd=foreign.folder)
    assert (said.returncode, "ok" in said.stdout) == (0, True), said.stderr
