"""The browser as the core sees it: one per run, one page per trial. The real one is deskcert_adapters/executors/chromium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from deskcert_core.agent import Dialog
from deskcert_core.effect import Grounding, Request
from deskcert_core.proposal import Proposal

__all__ = ["Browser", "BrowserInfo", "BrowserPlan", "ExecutionResult", "Page", "PagePlan", "SecretValue", "Seen", "Traffic", "Verdict"]

ExecutionStatus = Literal["success", "error", "not_executed", "timeout", "outcome_unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """How an act ended. `message` is one line for people; `landed_on` says what the input really hit, where that is known."""

    status: ExecutionStatus
    message: str = ""
    landed_on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at the page. `screenshot` is a JPEG; `fell_back` says that the fast capture failed and the slow one served.
    `events` are one-line notes of what happened since the last look (popup, download, crash, dialog dismissed).
    `whole`: `text` is all that the page said; false where it was cut, the page did not answer, or a dialog stood open."""

    url: str
    title: str
    text: str
    screenshot: bytes | None = None
    dialog: Dialog | None = None
    fell_back: bool = False
    events: tuple[str, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValue:
    """A secret for the executor alone: the value, and the origins it may be typed into."""

    value: str = field(repr=False)
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserPlan:
    """What a browser is started with. `files` are the policy's roots where the suite uses file: URLs, else none; `ca` is a PEM file for the application's TLS."""

    containment: Literal["proxy", "netns"] = "proxy"
    files: tuple[str, ...] = ()
    ca: str | None = None
    viewport: tuple[int, int] = (1280, 720)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserInfo:
    """What was started, for the manifest. `sandbox` says whether Chromium's own sandbox is on."""

    name: str
    version: str
    path: str
    containment: str
    sandbox: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlan:
    """One trial's fresh context. `selectors` are the policy's, to be matched while grounding. `storage_state` is Playwright's JSON."""

    name: str
    storage_state: str | None = None
    selectors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The session's word on one request; `reason` is shown to the page in the refusal."""

    allow: bool
    reason: str = ""


class Traffic(Protocol):
    """Where the request gate asks. One per page; `launch` traffic (no page's address) is asked with page ''."""

    async def decide(self, page: str, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        """The number under which the request was recorded, and the verdict. May take as long as an approval."""
        ...

    def answered(self, page: str, number: int, status: int | None) -> None:
        """The response's status, None if the upstream failed."""
        ...


class Page(Protocol):
    """One trial's page. Every call ends within its own time-out: a hung page is a result, not a hang."""

    async def observe(self, *, picture: bool = True) -> Seen: ...

    async def ground(self, proposal: Proposal) -> Grounding: ...

    async def act(self, proposal: Proposal, grounding: Grounding, secrets: Mapping[str, SecretValue]) -> ExecutionResult: ...

    async def settle(self) -> None: ...

    async def exists(self, selector: str) -> bool: ...

    async def storage_state(self) -> str: ...

    async def close(self) -> None: ...


class Browser(Protocol):
    """A disposable browser behind the request gate. Raises UnavailableError from `start` if there is none, HarnessFault when it dies."""

    async def start(self, plan: BrowserPlan, traffic: Traffic) -> BrowserInfo: ...

    async def open(self, plan: PagePlan) -> Page: ...

    async def close(self) -> None: ...
