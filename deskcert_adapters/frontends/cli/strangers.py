"""Which distributions, other than DeskCert, take part when a suite runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deskcert_core.errors import PluginError

if TYPE_CHECKING:
    from deskcert_core.loading import Loaded

__all__ = ["refuse_unlisted", "strangers"]


def strangers(loaded: Loaded, *, adapters: Iterable[str], approver: str | None = None, reporters: Iterable[str] = ()) -> list[str]:
    """The distributions behind these adapters, and behind all else that the suite names or that takes part in every run.

    Raises PluginError if one of the plug-ins is not there.
    """
    from deskcert_core.plugins import drivers
    from deskcert_core.plugins.groups import HOOKS

    uses = {("deskcert.approvers", approver or loaded.suite.approver), *(("deskcert.adapters", name) for name in adapters)}
    uses |= {("deskcert.criteria", assertion.type) for task in loaded.suite.tasks for assertion in task.assertions}
    uses |= {("deskcert.effects", name) for name in loaded.policy.classifiers} | {("deskcert.reporters", name) for name in reporters}
    found = [drivers.pick(group, name) for group, name in sorted(uses)] + [hook for hook in drivers.find(HOOKS) if not hook.off]
    return sorted({one.distribution for one in found if drivers.canonical(one.distribution) != drivers.OURS})


def refuse_unlisted(listed: tuple[str, ...], found: list[str]) -> None:
    """`ci` loads no distribution that the suite does not list: a pipeline must not change its judges by an install. Raises PluginError."""
    from deskcert_core.plugins.drivers import canonical

    known = {canonical(name) for name in listed}
    missing = [name for name in found if canonical(name) not in known]
    if missing:
        line = f"plugins: [{', '.join(sorted({*listed, *missing}))}]"
        raise PluginError(f"the suite does not list {', '.join(missing)}", hint=f"if it may take part, write into deskcert.yaml: {line}")
