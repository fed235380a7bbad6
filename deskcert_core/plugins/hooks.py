"""Hooks: what takes part in every run. The only file that knows pluggy, and the door for authors of hook plug-ins.

A hook plug-in is a module in the group `deskcert.hooks` with `deskcert_api = 1` and functions marked `@hookimpl`. Three rules: it may only
tighten a decision; it is never skipped, so a broken one stops the run before it starts; and one plug-in never sees another's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import pluggy

from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.errors import PluginError
from deskcert_core.evidence.record import EndReason
from deskcert_core.plugins.drivers import Found, find, load, one_line
from deskcert_core.plugins.groups import HOOKS
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.proposal import FinalStatus, Proposal

__all__ = ["ActSeen", "HookVerdict", "Hooks", "RequestSeenByHook", "RunSeen", "TrialSeen", "hookimpl"]

PROJECT = "deskcert"
hookimpl = pluggy.HookimplMarker(PROJECT)
hookspec = pluggy.HookspecMarker(PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActSeen:
    """An act as it was decided: what the agent asked for, what it would hit, and the policy's own decision."""

    run_id: str
    task_id: str
    trial: int
    step: int
    proposal: Proposal
    grounding: Grounding
    effect: Effect
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeenByHook:
    """A request as it was decided, before it leaves. `step` is the step it falls into."""

    run_id: str
    task_id: str
    trial: int
    step: int
    request: Request
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSeen:
    """A trial that has ended; nothing of it is judged yet."""

    run_id: str
    task_id: str
    trial: int
    reason: EndReason
    final_status: FinalStatus | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A run that has ended; `trials` counts those that were started."""

    run_id: str
    reason: Literal["finished", "interrupted", "fault"]
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HookVerdict:
    """What a hook wants a decision raised to. A milder status than the decision's changes nothing. `by` is filled in by DeskCert."""

    status: Status
    reason: str
    by: str = ""


class Spec:
    """The hooks in the order in which a run calls them."""

    @hookspec
    def deskcert_verdict(self, act: ActSeen) -> HookVerdict | None:
        """Called: for each act, after the policy decided and before anything is recorded or done.
        May: raise the decision. An exception or an answer of another kind blocks the act."""

    @hookspec
    def deskcert_request_verdict(self, request: RequestSeenByHook) -> HookVerdict | None:
        """Called: for each request at the gate, after the policy decided and before it leaves.
        May: raise the decision. An exception or an answer of another kind blocks the request."""

    @hookspec
    def deskcert_trial_ended(self, ended: TrialSeen) -> None:
        """Called: once for each trial that was started, after its last record but the closing one.
        May: look. An exception is recorded as a problem and changes no verdict."""

    @hookspec
    def deskcert_run_ended(self, ended: RunSeen) -> None:
        """Called: once, after the last trial and before the run is sealed.
        May: look. An exception is recorded as a problem and changes no verdict."""


class Hooks:
    """The hook plug-ins of one run, each called alone. `plugins` says which take part, `notes` what they printed at import."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Spec)
        self.plugins: tuple[Found, ...] = ()
        self.notes: tuple[str, ...] = ()

    @classmethod
    def load(cls) -> Hooks:
        """All installed hook plug-ins that may load, in order of distribution and name. Raises PluginError for the first that cannot be used."""
        hooks = cls()
        for found in sorted((f for f in find(HOOKS) if not f.off), key=lambda f: (f.distribution, f.name)):
            loaded = load(HOOKS, found.name)
            hooks.add(loaded.object, found)
            hooks.notes += loaded.notes
        return hooks

    def add(self, plugin: object, found: Found) -> None:
        """Register one plug-in. Raises PluginError if it implements no hook, one that does not exist, or one with arguments that do not."""
        try:
            self._manager.register(plugin, name=str(found))
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise PluginError(f"hook plug-in {found.name!r} of {found} does not fit: {reason}", hint=f"repair or uninstall {found.distribution}") from error
        if not self._manager.get_hookcallers(plugin):
            raise PluginError(f"hook plug-in {found.name!r} of {found} implements no hook", hint="mark its functions with @hookimpl")
        self.plugins += (found,)

    def verdicts(self, act: ActSeen) -> tuple[HookVerdict, ...]:
        """What the hooks say to an act. One that raises, or answers with anything else, says blocked."""
        return tuple(self._decide("deskcert_verdict", act=act))

    def request_verdicts(self, request: RequestSeenByHook) -> tuple[HookVerdict, ...]:
        """What the hooks say to a request. One that raises, or answers with anything else, says blocked."""
        return tuple(self._decide("deskcert_request_verdict", request=request))

    def trial_ended(self, ended: TrialSeen) -> tuple[str, ...]:
        """Tell the hooks; what comes back are problems to be recorded, a line each."""
        return tuple(self._tell("deskcert_trial_ended", ended=ended))

    def run_ended(self, ended: RunSeen) -> tuple[str, ...]:
        """Tell the hooks; what comes back are problems to be recorded, a line each."""
        return tuple(self._tell("deskcert_run_ended", ended=ended))

    def _decide(self, hook: str, **record: object) -> Iterator[HookVerdict]:
        for by, call in self._callers(hook):
            try:
                yield from [_sound(answer, by) for answer in call(**record)]
            except (Exception, SystemExit) as error:
                yield HookVerdict(status=Status.BLOCKED, by=by, reason=f"hook {by} failed: {one_line(error)}")

    def _tell(self, hook: str, **record: object) -> Iterator[str]:
        for by, call in self._callers(hook):
            try:
                call(**record)
            except (Exception, SystemExit) as error:
                yield f"hook {by} failed at {hook}: {one_line(error)}"

    def _callers(self, hook: str) -> Iterator[tuple[str, Callable[..., list[object]]]]:
        """Each plug-in that implements the hook, with a way to call it alone: pluggy's own call stops at the first exception."""
        every = [plugin for _, plugin in self._manager.list_name_plugin()]
        for found in self.plugins:
            plugin = self._manager.get_plugin(str(found))
            caller = self._manager.subset_hook_caller(hook, [other for other in every if other is not plugin])
            if caller.get_hookimpls():
                yield f"{found.distribution}:{found.name}", caller


def _sound(answer: object, by: str) -> HookVerdict:
    if isinstance(answer, HookVerdict) and isinstance(answer.status, Status) and isinstance(answer.reason, str):
        return replace(answer, by=by)
    raise TypeError(f"it answered with {answer!r:.80}, not with a HookVerdict or None")
