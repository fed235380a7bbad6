"""A policy as data: the lists, the fine print, and where in the file each line stands. Deciding is engine.py's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from deskcert_core.address import OriginPattern

__all__ = ["ASSURANCE", "Approvals", "Decision", "Domains", "ElementWhen", "Lists", "Policy", "RequestWhen", "Rule", "RuleWhen", "Status", "TextMatch"]


class Status(StrEnum):
    """A decision, mildest first; `Status.rank` orders them."""

    ALLOWED = "allowed"
    APPROVAL_REQUIRED = "approval_required"
    BLOCKED = "blocked"

    @property
    def rank(self) -> int:
        return list(Status).index(self)


Risk = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The policy's word on one act or request.

    `matched_rule` is `<list>.<facet>` (`approval_required.form_submit`), `domains.<list>`, `requests.writes`, `requests.background`,
    `rules.<id>` for the fine print, `unlisted.<facet>` where nothing allows it, `unclear.effect.<label>` for a label that would be allowed
    but cannot be told, `never_executed.<action>`, `domains.neutral` for a blank page.
    `facts` are the names of the facts behind it; `line` is `policy.yaml:12`, empty where no line matched.
    """

    status: Status
    matched_rule: str
    risk_level: Risk
    reason: str
    facts: tuple[str, ...] = ()
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """One value to be matched: exactly, by glob (`*` any characters but `/`, `**` any; for paths and URLs), or by an RE2 pattern searched anywhere."""

    kind: Literal["exact", "glob", "matches"]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementWhen:
    """All that is given must hold: each a tuple of alternatives, empty where the rule does not say."""

    selector: str | None = None
    tag: tuple[TextMatch, ...] = ()
    role: tuple[TextMatch, ...] = ()
    name: tuple[TextMatch, ...] = ()
    text: tuple[TextMatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWhen:
    """All that is given must hold. `form` and `query` map a field's name to alternatives for its value; a field sent twice matches if any value does."""

    method: tuple[str, ...] = ()
    origin: tuple[OriginPattern, ...] = ()
    path: tuple[TextMatch, ...] = ()
    query: dict[str, tuple[TextMatch, ...]] = field(default_factory=dict)
    form: dict[str, tuple[TextMatch, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWhen:
    """All parts that are given must hold. A rule without `request` speaks of acts; one with `request` of predicted and of real requests."""

    action: tuple[str, ...] = ()
    effect: tuple[str, ...] = ()
    element: ElementWhen | None = None
    request: RequestWhen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the fine print: blocks or asks. Only lists permit, so an `allowed` rule has no meaning; loading refuses it, deciding ignores it."""

    id: str
    decision: Status
    when: RuleWhen


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """Three lists of names (action types or effect labels)."""

    allowed: frozenset[str] = frozenset()
    approval_required: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Domains:
    """Three lists of origins."""

    allowed: tuple[OriginPattern, ...] = ()
    approval_required: tuple[OriginPattern, ...] = ()
    blocked: tuple[OriginPattern, ...] = ()


ASSURANCE = ("auto", "terminal", "totp", "signed", "webauthn")
"""What an approver's word is worth, weakest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """What an approval must be worth, and how long it is waited for."""

    min_assurance: str = "auto"
    quorum: int = 1
    not_operator: bool = False
    expires_seconds: int = 300
    max_wait_seconds: int = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy. `lines` maps a matched rule's name to `file:line`; `parents` are decided each alone, the strictest wins."""

    name: str
    actions: Lists
    effects: Lists
    domains: Domains
    writes: Status
    background: tuple[RequestWhen, ...] = ()
    rules: tuple[Rule, ...] = ()
    file_roots: tuple[str, ...] = ()
    private_networks: tuple[str, ...] = ()
    upstream_proxy: str = "none"
    containment: Literal["proxy", "netns"] = "proxy"
    on_block: Literal["stop", "tell_agent"] = "stop"
    on_denied: Literal["stop", "tell_agent"] = "stop"
    approvals: Approvals = Approvals()
    redact: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    parents: tuple[Policy, ...] = ()
    lines: dict[str, str] = field(default_factory=dict)
