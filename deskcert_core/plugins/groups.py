"""The kinds of plug-in: what a user names is a driver, what takes part in every run is a hook. Knows no plug-in and no library."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["API_VERSION", "GROUPS", "HOOKS", "Group", "group"]

API_VERSION = 1
"""What every plug-in says in its attribute `deskcert_api`. It changes when a protocol or its data stop being compatible."""
HOOKS = "deskcert.hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An entry-point group. `noun` is what error messages call a member; `needs` are the attributes that the named object must have.

    A group that is not `open` takes DeskCert's own members only: another distribution's entry is listed and never loaded.
    """

    name: str
    noun: str
    meaning: str
    needs: tuple[str, ...]
    open: bool = True


GROUPS = (
    Group(name="deskcert.adapters", noun="agent adapter", meaning="drives an agent: --agent NAME", needs=("start", "propose")),
    Group(name="deskcert.approvers", noun="approver", meaning="answers approval requests: --approver NAME", needs=("ask", "assurance")),
    Group(name="deskcert.criteria", noun="criterion", meaning="judges a type of assertion", needs=("judge", "probes", "schema", "version")),
    Group(name="deskcert.effects", noun="effect classifier", meaning="adds effect labels: classifiers of the policy", needs=("classify",)),
    Group(name="deskcert.executors", noun="executor", meaning="drives a browser", needs=("start", "open", "close"), open=False),
    Group(name=HOOKS, noun="hook plug-in", meaning="takes part in every run", needs=()),
    Group(name="deskcert.policy_packs", noun="policy pack", meaning="a policy to extend: extends: [pack:NAME]", needs=("text",)),
    Group(name="deskcert.reporters", noun="reporter", meaning="words a report: --report NAME", needs=("render", "suffix")),
)


def group(name: str) -> Group:
    """The group of that name. Raises KeyError: the names are DeskCert's own, never a user's."""
    return {g.name: g for g in GROUPS}[name]
