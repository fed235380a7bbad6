"""docs/failures.md names every category, in the order of precedence."""

from __future__ import annotations

import re
from pathlib import Path

from deskcert_core.failure import Category

PAGE = (Path(__file__).parents[2] / "docs" / "failures.md").read_text(encoding="utf-8")


def test_every_category_in_the_order_of_precedence() -> None:
    assert re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.M) == [str(category) for category in Category]


def test_the_three_of_perception_say_who_is_not_accused() -> None:
    for category in ("HALLUCINATED_UI_ELEMENT", "BAD_CLICK_TARGET", "VISUAL_MISREAD"):
        part = PAGE.split(f"**`{category}`**")[1].split("**`")[0]
        assert "Not accused:" in part
