"""The SDK's own harness with DeskCert where its browser would be: each member that the model calls becomes a proposal, and is done if DeskCert lets it.

Needs the extra `claude`: this is the one module that imports the SDK when it is imported.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from typing import cast

import msgspec
from anthropic import APIError
from anthropic.tools import ToolError
from anthropic.tools.browser import (
    BetaAsyncAbstractBrowserToolset20260801,
    BetaBrowserMemberResult,
    BetaBrowserNavigateResult,
    BetaBrowserState,
    BetaScreenshotResult,
    BetaToolsetCallContext,
)
from anthropic.types.beta import BetaBrowserMemberInput, BetaBrowserStateTabEntryParam, BetaBrowserToolsetConfigsParam, BetaMessage

from deskcert_adapters.agents.claude.members import DISABLED, TAB, Hand
from deskcert_adapters.agents.claude.service import Call, Reply, fault
from deskcert_adapters.agents.claude.words import clean, media_type, said, told_dialog
from deskcert_adapters.agents.status import finish
from deskcert_adapters.agents.turns import Answer, Bill, summary, told
from deskcert_core.api import Brief, Observation, Proposal

__all__ = ["DeskCertBrowserToolset", "HarnessAgent"]


class DeskCertBrowserToolset(BetaAsyncAbstractBrowserToolset20260801):
    """A browser toolset without a browser, for one trial. What DeskCert refuses comes back to the harness as an error of the member."""

    def __init__(self, brief: Brief, observation: Observation) -> None:
        off = {name: {"enabled": False} for name in sorted(DISABLED["browser"])}
        super().__init__(configs=cast(BetaBrowserToolsetConfigsParam, off))  # a typed dict cannot be made of computed keys
        self.seen = observation
        self.bill = Bill()
        self._claim = ""
        self._hand = Hand("browser", brief.viewport, brief.action_types)
        self._proposals: asyncio.Queue[Proposal] = asyncio.Queue()
        self._looks: asyncio.Queue[Observation] = asyncio.Queue()

    def heard(self, message: BetaMessage) -> None:
        """To be called with each message of the model, before its tools run: it carries the usage and the claim of what follows."""
        reply = msgspec.convert(message.to_dict(mode="json"), Reply)
        self.bill.add(reply.used)
        self._claim = summary(reply.text)

    async def asked(self) -> Proposal:
        """DeskCert's side: the next act that the harness wants."""
        return await self._proposals.get()

    def answer(self, observation: Observation) -> None:
        """DeskCert's side: how that act ended."""
        self._looks.put_nowait(observation)

    async def execute(self, context: BetaToolsetCallContext, name: str, input: BetaBrowserMemberInput) -> BetaBrowserMemberResult:
        """One member. Raises ToolError for what is not supported, refused or failed."""
        call = Call(id=context.tool_use.id if context.tool_use else "", name=name, toolset_name="browser", input=input.to_dict(mode="json"))
        message = ""
        for act in self._hand.acts(call, self.seen.dialog):
            message = act.text
            if act.failed:
                raise ToolError(act.text)
            if act.proposal is not None:
                message = await self._do(act.proposal)
        return self._result(call, message)

    async def _do(self, proposal: Proposal) -> str:
        self._proposals.put_nowait(replace(proposal, decision_summary=self._claim))
        self.seen = await self._looks.get()
        last = self.seen.last_result
        if last is None or last.status != "success":
            self._hand.pointer = None
            raise ToolError(clean(told(last)) if last else "the outcome is unknown")
        return told(last)

    def _result(self, call: Call, message: str) -> BetaBrowserMemberResult:
        match call.name:
            case "navigate":
                return BetaBrowserNavigateResult(url=clean(self.seen.url), title=clean(self.seen.title))
            case "screenshot":
                if self.seen.screenshot is None:
                    raise ToolError(told_dialog(self.seen.dialog) if self.seen.dialog else "there is no picture of the page")
                return BetaScreenshotResult(data=b64encode(self.seen.screenshot).decode(), media_type=media_type(self.seen.screenshot))
            case "list_tabs":
                return [self._tab()]
            case _:
                return clean(said(call, Answer(call=call.id, text=message, failed=False, observation=self.seen))) or None

    def _tab(self) -> BetaBrowserStateTabEntryParam:
        return {"tab_id": TAB, "title": clean(self.seen.title), "url": clean(self.seen.url), "active": True}

    async def _browser_state(self, context: BetaToolsetCallContext) -> BetaBrowserState:
        return BetaBrowserState(tabs=[self._tab()])


class HarnessAgent(ABC):
    """An adapter around a program that runs the harness itself: write `drive` alone."""

    deskcert_api = 1
    calls_model = True

    def __init__(self) -> None:
        self._brief: Brief | None = None
        self._toolset: DeskCertBrowserToolset | None = None
        self._task: asyncio.Task[str] | None = None

    @abstractmethod
    async def drive(self, brief: Brief, toolset: DeskCertBrowserToolset) -> str:
        """Run the harness with that toolset to its end, and give the model's last words; call `toolset.heard` with each message on the way."""

    async def start(self, brief: Brief) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task
        self._brief, self._toolset, self._task = brief, None, None

    async def propose(self, observation: Observation) -> Proposal:
        """The next act of the harness, or the end. Raises what `drive` raises, with the faults of the model service told apart."""
        if self._brief is None:
            raise RuntimeError("propose before start")
        if self._toolset is None or self._task is None:
            self._toolset = DeskCertBrowserToolset(self._brief, observation)
            self._task = asyncio.ensure_future(self.drive(self._brief, self._toolset))
        else:
            self._toolset.answer(observation)
        asked = asyncio.ensure_future(self._toolset.asked())
        await asyncio.wait({asked, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return replace(asked.result(), usage=self._toolset.bill.take())
        asked.cancel()
        try:
            return replace(finish(await self._task), usage=self._toolset.bill.take())
        except APIError as error:
            raise fault(error) from error
