"""The model service: its options, its client, what one call gives, and whose fault it is if it gives nothing. It knows no page and no act."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal, Protocol

import msgspec

from deskcert_core.api import Json, ModelServiceError, Usage

__all__ = ["Block", "Call", "Message", "Options", "Reply", "Service", "fault", "read_options"]

Block = dict[str, object]
CLIENTS = {"anthropic": "Anthropic", "bedrock": "AnthropicBedrock", "vertex": "AnthropicVertex"}
BETAS = ["computer-use-2025-11-24"]
CACHED: Block = {"type": "ephemeral"}
# a refused key or an unknown model is whoever configured it, as little the agent's failure as a service that is down
NOT_OURS = frozenset({401, 403, 404, 408, 409, 429})
LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The `options` of the suite's entry. `timeout_seconds` is for one try of one call; the client tries `max_retries` times more."""

    model: Annotated[str, msgspec.Meta(min_length=1)]
    toolset: Literal["computer", "browser", "legacy"] = "computer"
    client: Literal["anthropic", "bedrock", "vertex"] = "anthropic"
    base_url: str | None = None
    max_tokens: Annotated[int, msgspec.Meta(gt=0)] = 4096
    system: str = ""
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0)] = 60
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One `tool_use` block. `input` is the model's own and may be anything."""

    id: str
    name: str
    toolset_name: str | None = None
    input: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDetails:
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """`usage` as the service sends it."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model, its blocks as they came."""

    model: str
    content: list[dict[str, Json]]
    stop_reason: str | None = None
    stop_details: dict[str, Json] | None = None
    usage: Tokens | None = None

    @property
    def text(self) -> str:
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    @property
    def calls(self) -> list[Call]:
        """Raises ModelServiceError for a call that could not be answered."""
        try:
            return [msgspec.convert(block, Call) for block in self.content if block.get("type") == "tool_use"]
        except msgspec.ValidationError as error:
            raise ModelServiceError(f"a tool call that cannot be answered: {error}") from error

    @property
    def used(self) -> Usage | None:
        """What the call used; None if the service did not say."""
        if self.usage is None:
            return None
        told, details = self.usage, self.usage.output_tokens_details
        return Usage(
            model=self.model, input_tokens=told.input_tokens, output_tokens=told.output_tokens, cache_read_tokens=told.cache_read_input_tokens or 0,
            cache_write_tokens=told.cache_creation_input_tokens or 0, reasoning_tokens=details.thinking_tokens if details else 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    content: Sequence[Mapping[str, object]]


class Raw(Protocol):
    """The SDK's answer before it is parsed: a block that a newer service sends must come back to it unchanged."""

    @property
    def http_response(self) -> Body: ...


class Body(Protocol):
    @property
    def content(self) -> bytes: ...


class Create(Protocol):
    def __call__(self, **request: object) -> Raw: ...


class Service:
    """One client, kept for all trials. Raises ImportError without the SDK, ValueError without a key."""

    def __init__(self, options: Options) -> None:
        try:
            self._sdk = importlib.import_module("anthropic")
        except ModuleNotFoundError as error:
            if error.name != "anthropic":
                raise
            raise ImportError("the claude agent needs the Anthropic SDK: pip install 'deskcert[claude]'") from error
        self._options = options
        place = {"base_url": options.base_url} if options.base_url else {}
        client = getattr(self._sdk, CLIENTS[options.client])(timeout=options.timeout_seconds, max_retries=options.max_retries, **place)
        if options.client == "anthropic" and client.api_key is None and client.auth_token is None:
            raise ValueError("no model key: list ANTHROPIC_API_KEY under `env` in the suite's entry of this agent, and set it")
        legacy = options.toolset == "legacy"
        self._create: Create = (client.beta if legacy else client).messages.with_raw_response.create
        self._betas: dict[str, object] = {"betas": BETAS} if legacy else {}

    def ask(self, tool: Block, system: str, messages: Sequence[Message]) -> Reply:
        """One call. Raises ModelServiceError where the service failed after the client's retries, RuntimeError where it refused the request."""
        try:
            raw = self._create(
                model=self._options.model, max_tokens=self._options.max_tokens, tools=[tool], messages=cached(messages),
                system=[{"type": "text", "text": system, "cache_control": CACHED}], **self._betas,
            )
        except self._sdk.APIError as error:
            raise fault(error) from error
        try:
            return msgspec.json.decode(raw.http_response.content, type=Reply)
        except msgspec.MsgspecError as error:
            raise ModelServiceError(f"an answer that cannot be read: {error}") from error


def fault(error: Exception) -> Exception:
    """The SDK's error as ours: ModelServiceError where another try could help, RuntimeError where the service refused the request."""
    status, message = getattr(error, "status_code", None), getattr(error, "message", str(error))
    if status is None:  # no connection, a time-out, or no answer that can be read
        return ModelServiceError(one_line(f"{type(error).__name__}: {message}"))
    if status in NOT_OURS or status >= 500:
        return ModelServiceError(one_line(f"{status}: {message}"))
    return RuntimeError(one_line(f"the model service refused the request: {message}"))


def read_options(given: Mapping[str, str]) -> Options:
    """Raises ValueError for an option that is unknown, missing or wrong."""
    known = [field.name for field in fields(Options)]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"the claude agent has no option {unknown[0]!r}: it takes {', '.join(known)}")
    try:
        return msgspec.convert(dict(given), Options, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"options of the claude agent: {error}") from error


def cached(messages: Sequence[Message]) -> list[Block]:
    """The conversation with its last two user messages marked: the newer is written to the cache, the older read from it. Of four marks one is the system's."""
    users = [number for number, message in enumerate(messages) if message.role == "user"][-2:]
    return [{"role": message.role, "content": marked(message.content) if number in users else message.content} for number, message in enumerate(messages)]


def marked(content: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    return [*content[:-1], {**content[-1], "cache_control": CACHED}]


def one_line(text: str) -> str:
    return " ".join(text.split())[:LINE]
