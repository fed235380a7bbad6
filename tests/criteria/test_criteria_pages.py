"""Every criterion has its page, every parameter is on it, and what it recommends is valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deskcert_core import schemas
from deskcert_core.plugins import drivers

PAGES = Path(__file__).parents[2] / "docs" / "criteria"
OURS = sorted(found.name for found in drivers.find("deskcert.criteria") if found.distribution == "deskcert")


def test_there_is_no_page_too_many() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == OURS


@pytest.mark.parametrize("name", OURS)
def test_the_page(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    schema: dict[str, Any] = dict(drivers.get("deskcert.criteria", name)().schema)  # type: ignore[operator]
    assert re.findall(r"^## (\w+)", text, re.M) == ["Summary", "Avoid", "Prefer", "Rationale", "Configuration"]
    table = text.split("## Configuration")[1]
    keys = {key for row in re.findall(r"^\| (`.*?) \|", table, re.M) for key in re.findall(r"`(\w+)`", row)}
    assert keys == set(schema["properties"])
    (sample,) = yaml.safe_load(text.split("## Prefer")[1].split("```")[1].removeprefix("yaml"))
    assert sample.pop("type") == name
    assert schemas.Schema(schema).holds(sample)
