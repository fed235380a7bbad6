"""docs/agents/claude.md says what the agent does, and its sample works."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from fake_messages_api import PNG, asks, ends, messages_api, use

from deskcert_adapters.agents.claude.members import DISABLED, SERVED
from deskcert_adapters.agents.claude.service import Options, read_options
from deskcert_core.api import LastResult
from deskcert_core.testing import check_adapter, observation

pytestmark = pytest.mark.sdk
PAGE = (Path(__file__).parents[2] / "docs" / "agents" / "claude.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_option_is_told_with_its_default() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", section("Options"), re.MULTILINE))
    assert list(told) == [field.name for field in fields(Options)]
    made = read_options({"model": "m"})
    for name in ("toolset", "client", "max_tokens", "timeout_seconds", "max_retries"):
        assert told[name].strip(" `") == str(getattr(made, name))


def test_every_member_is_told() -> None:
    text = section("What a call becomes")
    calls = {name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert calls == SERVED["computer"] | SERVED["browser"]
    assert set(re.findall(r"`(\w+)`", text.partition("Switched off")[2].partition("\n- ")[0])) == DISABLED["computer"] | DISABLED["browser"]


def test_the_suites_entry_takes_options_that_exist() -> None:
    entry = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])["agents"]["claude"]
    assert read_options(entry["options"]).toolset == "browser"


def test_the_program_around_the_harness_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], names)
    click = use(1, "left_click", "browser", target={"type": "coordinate", "x": 10, "y": 20})
    with messages_api(asks(click), ends(), forever=True) as api:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        looks = [observation(screenshot=PNG), observation(screenshot=PNG, last_result=LastResult(status="success", decision="allowed"))]
        proposed = check_adapter(names["MyAgent"], options={"model": "claude-test"}, sees=looks)
        assert api.refusals == []
    assert [(each.action_type, each.final_status) for each in proposed] == [("click", None), ("finish", "success")]
