"""A standard output that cannot be written to costs the report there, never the verdict."""

import subprocess
import sys

import pytest
from cli_support import deskcert, only_run
from invoice_support import copy_suite, invoice_app

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_the_verdict_comes_all_the_same(tmp_path, redirect):
    with invoice_app() as app:
        assert deskcert("run", copy_suite(tmp_path / "suite", app.url), "--out", tmp_path / "runs", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    done = subprocess.run(["sh", "-c", f'"{sys.executable}" -m deskcert_adapters.frontends.cli evaluate "{run}" {redirect}'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
