"""Equal acts come to the same verdict, whoever the agent is; and the table in the docs is what the command prints."""

from pathlib import Path

import pytest
from same_verdict import SUITES, rows, table

pytestmark = [pytest.mark.sdk, pytest.mark.browser]
PAGE = Path(__file__).parents[2] / "docs" / "agents" / "same-verdict.md"


@pytest.mark.parametrize("suite", SUITES)
def test_every_agent_comes_to_the_same_verdict_by_the_same_acts(tmp_path, suite):
    found = list(rows(tmp_path, suite))
    assert len({row.same for row in found}) == 1, table(found)
    assert {"scripted", "claude", "openai", "langgraph", "llm", "command (Python)", "replay"} <= {row.agent for row in found}
    page = PAGE.read_text()
    assert [line for line in table(found).splitlines() if line not in page] == []
