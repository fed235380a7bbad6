"""https through the gate: the browser trusts the gate's key of the run, the gate trusts only the suite's authority."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from page_world import Lab, Site

from deskcert_core.execution import BrowserPlan
from deskcert_core.proposal import ActionType, Target

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent


@pytest.mark.parametrize("trusted", [True, False])
def test_an_https_application_is_reached_by_its_own_authority_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool) -> None:
    monkeypatch.syspath_prepend(str(HERE.parent / "proxy"))
    from gate_world import certificates

    authority, certificate, key = certificates(tmp_path)
    secure = Site(pages={"/": "<!doctype html><form method=post action=/save><input name=q value=v><button>Save</button></form>"})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.server.socket = context.wrap_socket(secure.server.socket, server_side=True)
    try:
        with Lab(plan=BrowserPlan(ca=authority if trusted else None)) as lab:
            page = lab.open()
            page.do(ActionType.GOTO, url=secure.origin.replace("http:", "https:") + "/")
            if trusted:
                assert page.do(ActionType.CLICK, Target(text="Save")).status == "success"
            assert secure.got("POST", "/save") == (["q=v"] if trusted else [])
            assert {request.address.origin.scheme for _, request in lab.traffic.asked} == {"https"}
    finally:
        secure.stop()
