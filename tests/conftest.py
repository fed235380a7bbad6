"""What holds for all tests: a test marked `browser` needs a browser, and in CI (CI=true) one that is skipped has failed."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import cache

import hypothesis
import pytest

# The same examples every time, so that a red run is red again; the campaign looks further.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("campaign", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("campaign" if os.environ.get("DESKCERT_CAMPAIGN") else "fixed")


@cache
def no_browser() -> str:
    """Why there is none, by the product's own finder; empty if there is one."""
    from deskcert_core.errors import UnavailableError
    from deskcert_core.plugins import drivers

    try:
        drivers.get("deskcert.executors", "chromium").find()  # type: ignore[attr-defined]
    except UnavailableError as error:
        return str(error)
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("browser") and no_browser():
        pytest.skip(no_browser())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("browser"):
        report.outcome = "failed"
        report.longrepr = f"a browser test was skipped in CI: {report.longrepr}"
    return report
