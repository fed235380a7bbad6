"""What LangChain says about the calls of a chat model: what each used, and whether the model's service, not the agent, failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from deskcert_core.api import Usage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = ["service_fault", "usage_of"]

# what the SDKs behind LangChain raise when there is no answer at all; with an answer they carry its status code
UNREACHED = frozenset({"APIConnectionError", "APITimeoutError", "TransportError", "ServiceUnavailable", "DeadlineExceeded", "ResourceExhausted"})
NOT_OURS = frozenset({401, 403, 404, 408, 409, 429})


def usage_of(message: BaseMessage, model: str) -> Usage | None:
    """The usage of the call that gave the message, under the name `model` or else the one that the service says; None where it is not said whole."""
    said = getattr(message, "usage_metadata", None)
    name = model or message.response_metadata.get("model_name") or message.response_metadata.get("model")
    if not isinstance(said, Mapping) or not name:
        return None
    used, made = said.get("input_token_details") or {}, said.get("output_token_details") or {}
    cached, written = used.get("cache_read") or 0, used.get("cache_creation") or 0
    return Usage(
        model=str(name), input_tokens=said["input_tokens"] - cached - written, output_tokens=said["output_tokens"], cache_read_tokens=cached,
        cache_write_tokens=written, reasoning_tokens=made.get("reasoning") or 0,
    )


def service_fault(error: BaseException) -> str:
    """What the model's service said or did not say, if that is why; empty if it is the agent's own fault.

    The SDKs differ and need not be here: an HTTP status in the error or its causes is asked for, then the names that they have in common.
    """
    for cause in causes(error):
        code = getattr(cause, "status_code", None)
        if isinstance(code, int) and (code in NOT_OURS or code >= 500):
            return f"HTTP {code}: {cause}"
        if UNREACHED & {kind.__name__ for kind in type(cause).__mro__}:
            return f"{type(cause).__name__}: {cause}"
    return ""


def causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__ or error
