"""Pages of the harness itself (log-in, session check, canary): the policy's hosts hold for them too, with those of the policies it extends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from deskcert_core.address import parse, parse_pattern
from deskcert_core.effect import Request
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.evidence.store import JournalWriter
from deskcert_core.policy.rules import Domains, Lists, Policy, Status
from deskcert_core.session.traffic import OpenTraffic

HOSTS = Domains(allowed=(parse_pattern("http://app.test"),), approval_required=(parse_pattern("http://sso.test"),))
POLICY = Policy(name="child", actions=Lists(), effects=Lists(), domains=HOSTS, writes=Status.BLOCKED)


def allowed(policy: Policy, url: str, where: Path) -> bool:
    journal = JournalWriter(where / "run.jsonl", "r/run", Scrubber({}))
    try:
        side = OpenTraffic(name="login", policy=policy, journal=journal)
        _, verdict = asyncio.run(side.decide(Request(method="POST", address=parse(url)), None))
        return verdict.allow
    finally:
        journal.close()


def test_a_log_in_reaches_what_the_policy_lists_and_nothing_else(tmp_path: Path) -> None:
    said = [allowed(POLICY, url, tmp_path / str(n)) for n, url in enumerate(("http://app.test/login", "http://sso.test/", "http://else.test/"))]
    assert said == [True, True, False]


def test_a_parent_that_blocks_a_host_blocks_it_for_the_log_in(tmp_path: Path) -> None:
    parent = replace(POLICY, name="parent", domains=replace(HOSTS, approval_required=(), blocked=(parse_pattern("http://sso.test"),)))
    child = replace(POLICY, parents=(parent,))
    assert allowed(child, "http://app.test/login", tmp_path / "1")
    assert not allowed(child, "http://sso.test/", tmp_path / "2")
