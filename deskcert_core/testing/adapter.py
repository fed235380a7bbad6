"""What an adapter must propose, made in this process: quick, and good to debug. What it does in its real process is checked by `process`."""

from __future__ import annotations

import inspect
from asyncio import Runner
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from deskcert_core import schemas, wire
from deskcert_core.agent import Brief, Dialog, LastResult, Observation
from deskcert_core.proposal import ActionType, Proposal
from deskcert_core.testing.expect import conforms, expect, gives
from deskcert_core.testing.values import HOSTILE, brief, observation

__all__ = ["check_adapter", "looks"]

T = TypeVar("T")


def check_adapter(
    adapter: Any, *, options: Mapping[str, str] | None = None, told: Brief | None = None, sees: Sequence[Observation] | None = None, max_steps: int = 20
) -> tuple[Proposal, ...]:
    """An adapter's class: it proposes only what the proposal schema takes, until it finishes or for `max_steps`, and twice over.

    One that says `calls_model` gives every proposal a `usage`, and one that gives a `usage` says so. `sees` are the looks at the page, the last one again
    and again; without it, a page, a dialog, a refused act and a page of hostile text. Gives the first trial's proposals.
    """
    conforms(adapter, "deskcert.adapters")
    with Runner() as runner:  # one event loop for all trials, as in the agent's process
        made = adapter(dict(options or {}))
        first, _ = (_trial(runner, made, told or brief(), sees or looks(), max_steps) for _ in range(2))
    return first


def looks() -> tuple[Observation, ...]:
    """A page, a dialog, an act that was refused, a page of hostile text."""
    refused = LastResult(status="not_executed", decision="blocked", message=HOSTILE)
    return (
        observation(), observation(text="", dialog=Dialog(kind="confirm", message="Sure?")), observation(last_result=refused),
        observation(HOSTILE + "\ud800", title=HOSTILE),
    )


def _trial(runner: Runner, made: Any, told: Brief, sees: Sequence[Observation], max_steps: int) -> tuple[Proposal, ...]:
    _finished(runner, made.start(told))
    proposals: list[Proposal] = []
    for number in range(1, max_steps + 1):
        seen = replace(sees[min(number, len(sees)) - 1], step=number)
        proposal = gives(_finished(runner, made.propose(seen)), Proposal, "propose")
        _check_proposal(proposal)
        _check_usage(made, proposal)
        proposals.append(proposal)
        if proposal.action_type is ActionType.FINISH:
            break
    return tuple(proposals)


def _finished(runner: Runner, given: T | Awaitable[T]) -> T:
    return runner.run(_waited(given)) if inspect.isawaitable(given) else given


async def _waited(given: Awaitable[T]) -> T:
    return await given


def _check_proposal(proposal: Proposal) -> None:
    try:
        same = wire.decode(wire.encode(wire.Propose(proposal=proposal))[wire.HEADER :])
    except ValueError as error:
        raise AssertionError(f"a proposal can be sent to DeskCert: {error}") from error
    expect(same == wire.Propose(proposal=proposal), f"a proposal arrives as it was sent: {proposal!r}")
    schema, plain = schemas.named("proposal"), wire.plain(proposal)
    expect(schema.holds(plain), f"a proposal is what proposal.schema.json takes: {plain}: {schema.first_error(plain)}")


def _check_usage(made: Any, proposal: Proposal) -> None:
    """Under a cost limit a call that nobody counts would be a call for nothing."""
    usage, calls = proposal.usage, getattr(made, "calls_model", False)
    expect(isinstance(calls, bool), f"calls_model is True or False, not {calls!r:.80}")
    if usage is None:
        expect(not calls, f"an adapter that says calls_model gives every proposal a usage, of zero tokens where no call was made; {proposal.action_type} has none")
        return
    expect(calls, "an adapter that gives a usage says calls_model = True")
    expect(usage.reasoning_tokens <= usage.output_tokens, f"reasoning tokens are part of the output tokens: {usage}")
