"""The words of the agent process: both sides' messages survive the wire and hold to the published schema; anything else is refused."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing

from deskcert_core import wire
from deskcert_core.agent import Brief, Dialog, LastResult, Observation
from deskcert_core.proposal import ActionType, Proposal, Target, Usage

SCHEMAS = Path(__file__).parents[2] / "schema"
CLICK = Proposal(action_type=ActionType.CLICK, target=Target(role="button", name="Go"), decision_summary="go", usage=Usage(model="m", input_tokens=3))
SCROLL = Proposal(action_type=ActionType.SCROLL, delta_y=100)
BRIEF = Brief(task_id="t", goal="g", start_url="http://127.0.0.1/", max_steps=5)
FULL_BRIEF = Brief(
    task_id="t", goal="g", start_url="u", inputs={"a": "b"}, action_types=("click",), secrets=("pw",), max_steps=5, viewport=(800, 600), script=(CLICK, SCROLL),
)
LOOK = Observation(
    step=2, url="u", title="t", text="caf\u00e9", screenshot=b"\xff\xd8\xff", dialog=Dialog(kind="prompt", message="m", default_value="d"),
    last_result=LastResult(status="not_executed", decision="blocked", message="no"),
)
MESSAGES: list[wire.Message] = [
    wire.Hello(version=1, adapter="a.b:C", options={"model": "x"}), wire.Start(brief=BRIEF), wire.Start(brief=FULL_BRIEF), wire.Observe(observation=LOOK), wire.End(),
    wire.Ready(version=1), wire.Ready(version=1, wants_script=True), wire.Started(), wire.Propose(proposal=CLICK), wire.Propose(proposal=SCROLL),
    wire.Fault(whose="agent", message="m"), wire.Fault(whose="model", message="m"),
]


def validator() -> jsonschema.protocols.Validator:
    names = ("agent-protocol.schema.json", "proposal.schema.json")
    loaded = {name: json.loads((SCHEMAS / name).read_text()) for name in names}
    registry: referencing.Registry[Any] = referencing.Registry().with_contents(loaded.items())
    return jsonschema.Draft202012Validator(loaded[names[0]], registry=registry)


def body(message: wire.Message) -> bytes:
    frame = wire.encode(message)
    assert wire.size(frame[: wire.HEADER]) == len(frame) - wire.HEADER
    return frame[wire.HEADER:]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_every_message_survives_and_holds_to_the_schema(message: wire.Message) -> None:
    assert wire.decode(body(message)) == message
    validator().validate(json.loads(body(message)))


def test_every_kind_has_a_sample_and_a_definition() -> None:
    assert {type(m) for m in MESSAGES} == set(wire.KINDS.values())
    schema = json.loads((SCHEMAS / "agent-protocol.schema.json").read_text())
    assert {one["$ref"].rpartition("/")[2] for one in schema["oneOf"]} == set(wire.KINDS)
    for kind, cls in [*wire.KINDS.items(), ("brief", Brief), ("observation", Observation), ("dialog", Dialog), ("last_result", LastResult)]:
        assert set(schema["$defs"][kind]["properties"]) - {"type"} == {f.name for f in fields(cls)}, kind


BAD = [
    (b"", "not a message"), (b"[]", "unknown type"), (b"{}", "unknown type"), (b'{"type": []}', "unknown type"), (b'{"type": "hello', "not a message"),
    (b'{"type": "end", "now": true}', "end has no key 'now'"), (b'{"type": "ready"}', "missing required field `version`"),
    (b'{"type": "ready", "version": "1"}', "Expected `int`"), (b'{"type": "fault", "whose": "user", "message": ""}', "Invalid enum value"),
    (b'{"type": "proposal", "proposal": {"action_type": "fill", "value": 3}}', "Expected `str | null`"),
    (b'{"type": "start", "brief": {"task_id": "t", "goal": "", "start_url": "", "max_steps": 1, "script": [{"action_type": "read", "why": 1}]}}',
     r"start.brief.script\[0\] has no key 'why'"),
    (b'{"type": "end"}\xff', "not a message"), (b"[" * 200_000, "not a message"), (b'{"type": "observe", "observation": null}', "Expected `object`"),
]


@pytest.mark.parametrize(("raw", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_message_is_refused_and_fails_the_schema_too(raw: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wire.decode(raw)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return
    assert not validator().is_valid(value)


def test_frames_have_a_limit_both_ways() -> None:
    assert wire.size((wire.MAX_FRAME).to_bytes(4, "big")) == wire.MAX_FRAME
    with pytest.raises(ValueError, match="over the limit"):
        wire.size((wire.MAX_FRAME + 1).to_bytes(4, "big"))
    with pytest.raises(ValueError, match="over the limit"):
        wire.encode(wire.Fault(whose="agent", message="x" * wire.MAX_FRAME))


def test_a_pages_broken_unicode_does_not_break_the_wire() -> None:
    look = Observation(step=1, url="u", title="\udcff", text="a\ud800b")
    sent = wire.decode(body(wire.Observe(observation=look)))
    assert sent == wire.Observe(observation=Observation(step=1, url="u", title="?", text="a?b"))
