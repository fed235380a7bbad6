"""A secret that the page gives back: neither the agent, nor the approver, nor the terminal, nor the disk gets it, in any of the ways a URL writes it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from secrets_support import SECRET, Kept, run

from deskcert_core.evidence.scrub import Scrubber

pytestmark = pytest.mark.browser
# as the parts of a URL are written by a browser: path, query, fragment; then encodeURI, encodeURIComponent and a form
KEPT = ("/+|^", "/+|^`", "/+|^", "/+", "", "*-._")
FORMS = {SECRET, repr(SECRET)[1:-1], quote_plus(SECRET), *(quote(SECRET, safe=kept) for kept in KEPT)}
FORMS |= {form.lower() for form in FORMS}


def holding(kept: Kept) -> dict[str, bool]:
    """Where it is to be found: by these tests' own list of forms, and by the scrubber's."""
    places = {"agent": kept.agent.encode(), "approver": kept.approver.encode(), "terminal": kept.terminal.encode(), "disk": kept.disk}
    scrubber = Scrubber({"password": SECRET})
    return {name: scrubber.holds(data) or any(form.encode() in data for form in FORMS) or b"hunter2" in data for name, data in places.items()}


def test_nobody_is_shown_a_secret(tmp_path: Path) -> None:
    kept = run(tmp_path, named=True)
    assert holding(kept) == {"agent": False, "approver": False, "terminal": False, "disk": False}
    assert "Dialog(kind='alert', message='it is {{secret:password}}'" in kept.agent
    assert "Dialog(kind='prompt', message='what', default_value='{{secret:password}}')" in kept.agent
    assert "not approved (denied)" in kept.agent
    assert "/log/{{secret:password}}" in kept.agent
    assert "/log/{{secret:password}}?q={{secret:password}}" in kept.approver
    assert "('word', '{{secret:password}}')" in kept.approver
    assert "approval asked for: POST" in kept.terminal
    assert kept.hits == []


def test_the_same_word_that_no_suite_names_is_shown(tmp_path: Path) -> None:
    """The control: the page does give it back, to all of them."""
    assert holding(run(tmp_path, named=False)) == {"agent": True, "approver": True, "terminal": True, "disk": True}
