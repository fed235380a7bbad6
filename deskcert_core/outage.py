"""Where the application itself let a trial down: a page that it never sent, and a page or a write that it answered as broken (5xx)."""

from __future__ import annotations

from collections.abc import Sequence

from deskcert_core.address import bare
from deskcert_core.evaluation import Evidence, RequestSeen

__all__ = ["lasting", "outages", "say_outage", "stuck"]

BROKEN = 500
# What the agent did by itself, whatever the application did before.
OWN_ENDS = frozenset({"agent_fault", "blocked", "denied"})


def outages(evidence: Evidence) -> tuple[RequestSeen, ...]:
    """Every load of a top document without an answer or with 5xx, and every write of an act with 5xx; listed background requests are left out."""
    sent = [seen for seen in evidence.requests if seen.let_go]
    return tuple(seen for at, seen in enumerate(sent) if down(seen, sent[at + 1 :]))


def lasting(evidence: Evidence) -> RequestSeen | None:
    """The first outage after which the same request was never answered well; None where the trial's end was the agent's own doing."""
    if evidence.end_reason in OWN_ENDS:
        return None
    return next((seen for seen in outages(evidence) if not any(made_up(seen, later) for later in evidence.requests)), None)


def stuck(evidence: Evidence) -> RequestSeen | None:
    """The last page that an act asked for, if it never came: what the trial ended on is then no page of the application."""
    loads = [seen for seen in evidence.requests if seen.let_go and seen.own and seen.request.navigation]
    return loads[-1] if loads and loads[-1].status is None and evidence.end_reason not in OWN_ENDS else None


def down(seen: RequestSeen, rest: Sequence[RequestSeen]) -> bool:
    if seen.status is not None:
        counts = seen.request.navigation or (seen.own and seen.request.writes and seen.decision.matched_rule != "requests.background")
        return counts and seen.status >= BROKEN
    # A load that another one of the same act overtook was given up by the browser.
    return seen.request.navigation and not any(later.request.navigation and later.step == seen.step for later in rest)


def made_up(seen: RequestSeen, later: RequestSeen) -> bool:
    same = later.request.method == seen.request.method and bare(later.request.address) == bare(seen.request.address)
    return same and later.number > seen.number and later.status is not None and later.status < BROKEN


def say_outage(seen: RequestSeen) -> str:
    said = "was not answered" if seen.status is None else f"was answered by {seen.status}"
    return f"application: {seen.request.method} {seen.request.address} {said}"
