"""What holds where several policies meet, and where a task meets its policy: always the stricter."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from pathlib import PurePath

from deskcert_core.budget import Limits
from deskcert_core.document import Place
from deskcert_core.loading.source import Source
from deskcert_core.policy.rules import ASSURANCE, Approvals, Policy

__all__ = ["stricter_limits", "tightened"]


def stricter_limits(several: list[Limits]) -> Limits:
    costs = [limits.max_cost_micro_usd for limits in several if limits.max_cost_micro_usd is not None]
    return Limits(
        max_steps=min(limits.max_steps for limits in several),
        max_runtime_seconds=min(limits.max_runtime_seconds for limits in several),
        max_cost_micro_usd=min(costs, default=None),
        max_repeats=min(limits.max_repeats for limits in several),
        max_dialogs=min(limits.max_dialogs for limits in several),
    )


def tightened(source: Source, policy: Policy) -> Policy:
    """The policy with those controls of its parents that one value must answer for. Where it would reach further than a parent, a problem is noted.

    Lists and rules stay as they are: there each parent decides for itself.
    """
    for parent in policy.parents:
        _contained(source, policy, parent)
    family = (policy, *policy.parents)
    return replace(
        policy,
        containment="netns" if any(one.containment == "netns" for one in family) else "proxy",
        on_block="stop" if any(one.on_block == "stop" for one in family) else "tell_agent",
        on_denied="stop" if any(one.on_denied == "stop" for one in family) else "tell_agent",
        approvals=_strictest([one.approvals for one in family]),
        redact=tuple(dict.fromkeys(text for one in family for text in one.redact)),
        classifiers=tuple(dict.fromkeys(name for one in family for name in one.classifiers)),
    )


def _strictest(several: list[Approvals]) -> Approvals:
    return Approvals(
        min_assurance=max((one.min_assurance for one in several), key=ASSURANCE.index),
        quorum=max(one.quorum for one in several),
        not_operator=any(one.not_operator for one in several),
        expires_seconds=min(one.expires_seconds for one in several),
        max_wait_seconds=min(one.max_wait_seconds for one in several),
    )


def _contained(source: Source, policy: Policy, parent: Policy) -> None:
    for index, root in enumerate(policy.file_roots):
        if not any(PurePath(root).is_relative_to(above) for above in parent.file_roots):
            source.note(_nth("files", "roots", index), f"is outside the roots of {parent.name}, which this policy extends")
    for index, network in enumerate(policy.private_networks):
        if not any(_within(network, above) for above in parent.private_networks):
            source.note(_nth("network", "private", index), f"is outside the private networks of {parent.name}, which this policy extends")
    if parent.upstream_proxy not in ("none", policy.upstream_proxy):
        source.note(("network", "upstream_proxy"), f"must be {parent.upstream_proxy}, as in {parent.name}, which this policy extends")


def _nth(control: str, name: str, index: int) -> Place:
    return (control, name, index)


def _within(network: str, above: str) -> bool:
    inner, outer = ip_network(network), ip_network(above)
    first, last = int(outer.network_address), int(outer.broadcast_address)
    return inner.version == outer.version and first <= int(inner.network_address) and int(inner.broadcast_address) <= last
