"""Whose fault it is when the model service gives nothing: the service's own, or the agent's and its configuration's."""

from __future__ import annotations

import sys
import threading

import pytest
from fake_messages_api import asks, messages_api, use

from deskcert_adapters.agents.claude.adapter import Claude
from deskcert_core.api import ModelServiceError
from deskcert_core.testing import brief, observation

pytestmark = pytest.mark.sdk
CLICK = asks(use(1, "left_click", coordinate=[1, 2]))
CLOUD = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID", "AWS_REGION")


def agent(url: str, **options: str) -> Claude:
    made = Claude({"model": "claude-test", "base_url": url, "timeout_seconds": "5", **options})
    made.start(brief())
    return made


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLOUD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


@pytest.mark.parametrize("turn", [{"status": 429}, {"status": 529}, {"status": 500}, {"status": 503}, {"status": 408}, {"cut": True}])
def test_the_services_own_fault_after_the_clients_retries(turn: dict) -> None:
    with messages_api(turn, forever=True) as api:
        with pytest.raises(ModelServiceError) as told:
            agent(api.url, max_retries="1").propose(observation())
        assert len(api.requests) == 2
        assert "\n" not in str(told.value)
        assert str(turn.get("status", "Connection")) in str(told.value)


@pytest.mark.parametrize("turn", [{"status": 429}, {"status": 529}, {"status": 500}, {"cut": True}])
def test_what_a_retry_heals_is_no_fault(turn: dict) -> None:
    with messages_api(turn, CLICK) as api:
        assert agent(api.url, max_retries="1").propose(observation()).action_type == "click"
        assert api.requests[1]["headers"]["x-stainless-retry-count"] == "1"


def test_a_service_that_does_not_answer() -> None:
    released = threading.Event()
    with messages_api({"hang": released}, forever=True) as api:
        with pytest.raises(ModelServiceError, match="APITimeoutError"):
            agent(api.url, max_retries="0", timeout_seconds="0.2").propose(observation())
        released.set()


def test_a_service_that_is_not_there() -> None:
    with messages_api() as api:
        gone = api.url
    with pytest.raises(ModelServiceError, match="APIConnectionError"):
        agent(gone, max_retries="0").propose(observation())


@pytest.mark.parametrize("body", [b"{not json", b"hello", b"[1]", b"{}", b'{"model": "m", "content": null}', b'{"model": "m", "content": [], "usage": {"input_tokens": "many"}}'])
def test_an_answer_that_cannot_be_read(body: bytes) -> None:
    with messages_api({"garbage": body}) as api, pytest.raises(ModelServiceError, match="cannot be read"):
        agent(api.url).propose(observation())


def test_a_call_without_an_id_cannot_be_answered() -> None:
    with messages_api({"content": [{"type": "tool_use", "name": "screenshot"}], "stop_reason": "tool_use"}) as api, pytest.raises(ModelServiceError, match="cannot be answered"):
        agent(api.url).propose(observation())


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_is_the_agents_fault(status: int) -> None:
    with messages_api({"status": status}) as api:
        with pytest.raises(RuntimeError, match=rf"\Athe model service refused the request: .*{status}") as told:
            agent(api.url, max_retries="2").propose(observation())
        assert len(api.requests) == 1
        assert "\n" not in str(told.value)
        assert "test-key" not in str(told.value)


def test_the_next_trial_is_served_after_a_fault() -> None:
    with messages_api({"status": 529}, CLICK) as api:
        made = agent(api.url, max_retries="0")
        with pytest.raises(ModelServiceError):
            made.propose(observation())
        made.start(brief())
        assert made.propose(observation()).action_type == "click"


def test_the_key_comes_from_the_environment_alone() -> None:
    with messages_api(CLICK) as api:
        agent(api.url).propose(observation())
        headers = api.requests[0]["headers"]
        assert "test-key" in (headers.get("x-api-key", "") + headers.get("authorization", ""))


def test_without_a_key_it_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ValueError, match="list ANTHROPIC_API_KEY under `env`"):
        Claude({"model": "m"})


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(ImportError, match=r"pip install 'deskcert\[claude\]'"):
        Claude({"model": "m"})


def test_clients_of_other_clouds_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made only: no such service is talked to here."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    Claude({"model": "m", "client": "bedrock"})
    with pytest.raises(ValueError, match="region"):
        Claude({"model": "m", "client": "vertex"})
    monkeypatch.setenv("CLOUD_ML_REGION", "us")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project")
    Claude({"model": "m", "client": "vertex", "toolset": "legacy"})
