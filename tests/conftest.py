"""What holds for all tests: a test marked `browser` or `sandbox` needs one, and in CI (CI=true) one that is skipped for lack of it has failed."""

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


@cache
def no_sandbox() -> str:
    """Why agents cannot be held on this machine; empty if they can."""
    from deskcert_core.session.sandbox import ADVICE, available

    reason = available()
    return f"{reason}; {ADVICE}" if reason else ""


NEEDED = {"browser": no_browser, "sandbox": no_sandbox}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, reason in NEEDED.items():
        if item.get_closest_marker(mark) and reason():
            pytest.skip(reason())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    needed = item.get_closest_marker("browser") or (item.get_closest_marker("sandbox") and no_sandbox())
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail") and needed:
        report.outcome = "failed"
        report.longrepr = f"a test that CI must run was skipped: {report.longrepr}"
    return report
