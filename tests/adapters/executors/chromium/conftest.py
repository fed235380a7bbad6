"""One browser for each module, one fresh context for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from page_world import Lab, Trial


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


class Shower:
    """Shows documents and closes their pages after the test."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.trials = lab, list[Trial]()

    def __call__(self, html: str, **plan: object) -> Trial:
        self.trials.append(self.lab.show(html, **plan))
        return self.trials[-1]


@pytest.fixture
def show(lab: Lab) -> Iterator[Shower]:
    shower = Shower(lab)
    yield shower
    for trial in shower.trials:
        trial.close()
    lab.site.headers.clear()
    lab.site.pages.clear()
    lab.other.pages.clear()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what never comes: it is not waited for as long."""
    monkeypatch.setattr("deskcert_adapters.executors.chromium.resolve.APPEAR_SECONDS", 0.3)
