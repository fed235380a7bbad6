"""A proposal out of what a model or a graph says as plain data: the same schema as at DeskCert's own door, but heard early, so that it can be told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from deskcert_core import schemas, wire
from deskcert_core.api import Proposal

if TYPE_CHECKING:
    from deskcert_core.api import Json

__all__ = ["one_line", "parameters", "proposal_from", "schema_for"]

NOT_THEIRS = ("usage", "safety_checks")


def proposal_from(said: object) -> Proposal:
    """Raises ValueError, one line for whoever said it, for what is no proposal by `schema/proposal.schema.json`."""
    if not isinstance(said, Mapping):
        raise ValueError(f"a proposal is an object with an action_type, not {said!r:.100}")
    schema = schemas.named("proposal")
    plain = {str(key): value for key, value in said.items()}
    try:
        message = wire.decode(json.dumps({"type": "proposal", "proposal": plain}).encode())
    except (TypeError, ValueError) as error:
        raise ValueError(one_line(str(error))) from error
    if not schema.holds(plain):
        raise ValueError(one_line(schema.first_error(plain)))
    assert isinstance(message, wire.Propose)
    return message.proposal


def schema_for(action_types: Iterable[str]) -> dict[str, Json]:
    """A plain JSON Schema of one proposal for a model: these action types, no conditions, which many model services refuse."""
    known: Json = [*sorted({*action_types, "finish"})]
    properties = {**fields(), "action_type": {"type": "string", "enum": known}}
    return {"title": "proposal", "description": "The next act in the web page.", "type": "object", "properties": properties, "required": ["action_type"]}


def parameters(action_type: str) -> dict[str, Json]:
    """The same for one action type, which it leaves out: the fields that this action takes, and those that it needs."""
    rule = next(each for each in schemas.named("proposal").data["allOf"] if action_type in names(each["if"]["properties"]["action_type"]))["then"]
    taken: dict[str, Json] = {key: value for key, value in fields().items() if key in rule["properties"] and key != "action_type"}
    return {"title": action_type, "type": "object", "properties": taken, "required": rule.get("required", [])}


def names(which: Mapping[str, Json]) -> list[Json]:
    many = which.get("enum")
    return many if isinstance(many, list) else [which["const"]]


def fields() -> dict[str, Json]:
    """All fields that a model may give, without references: a target is spelt out."""
    data = schemas.named("proposal").data
    target = {key: data["$defs"]["target"][key] for key in ("type", "description", "properties")}
    return {key: target if key in ("target", "to") else value for key, value in data["properties"].items() if key not in NOT_THEIRS}


def one_line(text: str) -> str:
    return " ".join(text.split())[:300]
