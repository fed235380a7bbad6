"""What the application itself says after the trial, asked out of the agent's reach."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Probe
from deskcert_criteria.judgements import failed, passed, unclear

__all__ = ["BackendJson"]

SHOWN = 120


class Missing:
    """Nothing stands at the path."""


MISSING = Missing()


class BackendJson:
    """The JSON document that `url` serves or `command` prints: what stands at `path` (the whole, if none) `equals`, `contains`, or is `absent`.

    `path` is a JSON pointer (`/user/0/name`) or dotted (`user.0.name`). `contains`: a text's part, a list's member, or an object's entries.
    """

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object",
        "properties": {
            "url": {"type": "string", "pattern": "^(https?://|\\$\\{base_url\\}/)"},
            "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "path": {"type": "string"},
            "equals": {},
            "contains": {},
            "absent": {"const": True},
        },
        "additionalProperties": False,
        "allOf": [
            {"oneOf": [{"required": ["url"]}, {"required": ["command"]}]},
            {"oneOf": [{"required": ["equals"]}, {"required": ["contains"]}, {"required": ["absent"]}]},
        ],
        "dependentRequired": {"absent": ["path"]},
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return (asked(params),)

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        kept = evidence.probe(asked(params))
        if kept is None:
            return unclear("the trial ended before the application was asked")
        if kept.problem is not None:
            return unclear(f"the application could not be asked: {kept.problem}", kept.seq)
        path = str(params.get("path", ""))
        found = at(kept.value, path)
        answer = passed if holds(params, found) else failed
        return answer(f"{path or 'the document'} is {say(found)}", kept.seq)


def asked(params: Mapping[str, Json]) -> Probe:
    if "url" in params:
        return Probe(kind="url_json", params={"url": params["url"]})
    return Probe(kind="command_json", params={"command": params["command"]})


def holds(params: Mapping[str, Json], found: Json | Missing) -> bool:
    if isinstance(found, Missing):
        return "absent" in params
    if "equals" in params:
        return same(found, params["equals"])
    return "contains" in params and contains(found, params["contains"])


def at(document: Json, path: str) -> Json | Missing:
    """What stands at a path: a JSON pointer if it begins with `/`, else dotted."""
    if not path:
        return document
    pointer = path.startswith("/")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")] if pointer else path.split(".")
    found: Json = document
    for part in parts:
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return MISSING
    return found


def contains(found: Json, wanted: Json) -> bool:
    if isinstance(found, str):
        return isinstance(wanted, str) and wanted in found
    if isinstance(found, list):
        return any(same(each, wanted) or (isinstance(each, dict) and contains(each, wanted)) for each in found)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return all(key in found and same(found[key], value) for key, value in wanted.items())
    return False


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def say(found: Json | Missing) -> str:
    if isinstance(found, Missing):
        return "not there"
    text = json.dumps(found, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
