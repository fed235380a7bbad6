"""What a file may say and this version does not do is refused before anything starts: a control that does nothing must not look like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_folder import SuiteFolder

from deskcert_core.errors import UnavailableError
from deskcert_core.session.run import refuse_unbuilt


def test_a_suite_that_says_none_of_it_runs(tmp_path: Path) -> None:
    refuse_unbuilt(SuiteFolder(tmp_path).load())


@pytest.mark.parametrize(("file", "old", "new", "named"), [
    ("policy.yaml", "private: []", "private: [10.0.0.0/8]", "network.private"),
    ("policy.yaml", "upstream_proxy: none", "upstream_proxy: http://proxy.example:3128", "network.upstream_proxy"),
    ("policy.yaml", "redact: []", "redact: [tax]", "redact"),
    ("tasks/buy.yaml", "session: clerk", "session: clerk\nretries: 2", "retries"),
])
def test_a_control_without_effect_is_refused(tmp_path: Path, file: str, old: str, new: str, named: str) -> None:
    folder = SuiteFolder(tmp_path)
    folder.change(file, old, new)
    with pytest.raises(UnavailableError, match=named):
        refuse_unbuilt(folder.load())
