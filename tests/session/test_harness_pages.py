"""Pages of the harness itself: the policy's hosts hold for a log-in too, and a canary proves the gate before the first trial."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from deskcert_core.address import parse, parse_pattern
from deskcert_core.effect import Grounding, Request
from deskcert_core.errors import UnavailableError
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.evidence.store import JournalWriter
from deskcert_core.execution import ExecutionResult, PagePlan
from deskcert_core.policy.rules import Domains, Lists, Policy, Status
from deskcert_core.proposal import Proposal
from deskcert_core.session.run import canary
from deskcert_core.session.traffic import OpenTraffic, SessionTraffic

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


class OneWay:
    """A browser of one page, which asks the gate about each address it opens; or, with `asks` false, has found another way out."""

    def __init__(self, traffic: SessionTraffic, *, asks: bool) -> None:
        self.traffic, self.asks, self.opened, self.left = traffic, asks, "", list[str]()

    async def open(self, plan: PagePlan) -> OneWay:
        self.opened = plan.name
        return self

    async def ground(self, proposal: Proposal) -> Grounding:
        return Grounding(page=None, destination=parse(proposal.url or ""))

    async def act(self, proposal: Proposal, grounding: Grounding, secrets: object) -> ExecutionResult:
        assert grounding.destination is not None
        asked = Request(method="GET", address=grounding.destination, navigation=True)
        if not self.asks or (await self.traffic.decide(self.opened, asked, None))[1].allow:
            self.left.append(grounding.destination.href)
        return ExecutionResult(status="success")

    async def close(self) -> None:
        """Nothing is kept."""


def sent_past(policy: Policy, where: Path, *, asks: bool) -> tuple[list[str], str]:
    """What left the browser when the canary was sent, and why no trial may start (empty if one may)."""
    journal = JournalWriter(where / "run.jsonl", "r/run", Scrubber({}))
    traffic = SessionTraffic(journal)
    browser = OneWay(traffic, asks=asks)
    run: Any = SimpleNamespace(policy=policy, run_id="r")
    try:
        asyncio.run(canary(browser, traffic, journal, run))  # type: ignore[arg-type]
    except UnavailableError as error:
        return browser.left, str(error)
    finally:
        journal.close()
    return browser.left, ""


def test_no_trial_starts_unless_the_gate_refused_the_canary(tmp_path: Path) -> None:
    assert sent_past(POLICY, tmp_path / "1", asks=True) == ([], "")
    around, why = sent_past(POLICY, tmp_path / "2", asks=False)
    assert len(around) == 1
    assert "did not refuse its canary" in why
    through, why = sent_past(replace(POLICY, domains=Domains(allowed=(parse_pattern("http://canary.deskcert.invalid"),))), tmp_path / "3", asks=True)
    assert len(through) == 1
    assert "did not refuse its canary" in why
