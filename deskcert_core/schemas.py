"""A document held against its JSON Schema: every fault, at its place, in words that say what is allowed. Knows the schemas' files, not their meaning."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from deskcert_core.document import MAX_PROBLEMS, Document, Place
from deskcert_core.errors import Problem

if TYPE_CHECKING:
    from jsonschema import ValidationError

__all__ = ["NAMES", "Schema", "check", "named", "setup_schema", "task_schema"]

HERE = Path(__file__).parent
# an editable install and a source checkout have no deskcert_core/schema: there the files stand beside the package
FOLDER = HERE / "schema" if (HERE / "schema" / "suite.schema.json").is_file() else HERE.parent / "schema"
NAMES = ("task", "suite", "policy", "costs", "proposal")
KINDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "a mapping", "null": "null"}
COMBINING = ("anyOf", "oneOf")


class Schema:
    """A JSON Schema, compiled once. `data` is the schema whole, as an editor wants it. Raises ValueError if it is none."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self._fast = jsonschema_rs.validator_for(data)

    def holds(self, data: Any) -> bool:
        return self._fast.is_valid(data)

    def first_error(self, data: Any) -> str:
        """The first fault as the fast validator says it. What is too long is named by its place and the limit, never by its content."""
        error = next(iter(self._fast.iter_errors(data)), None)
        if error is None:
            return "does not fit its schema"
        if error.schema_path[-1] not in ("maxLength", "maxItems"):
            return error.message
        what = "characters" if error.schema_path[-1] == "maxLength" else "entries"
        return f"{_dotted(tuple(error.instance_path))} is longer than {getattr(error.kind, 'limit', '?')} {what}"


@cache
def named(name: str) -> Schema:
    """The schema of that name, one of NAMES. `task` is without the parameters of criteria."""
    return task_schema({}) if name == "task" else Schema(_stored(name))


def task_schema(criteria: Mapping[str, Mapping[str, Any]], *, names: Iterable[str] | None = None, comment: str = "") -> Schema:
    """The schema of a task, with each criterion's parameters by its type. `names` are further types that exist, their parameters not looked at.

    With no criteria and no `names` at all, any type is taken. Raises ValueError naming the criterion whose schema is none.
    """
    data = _stored("task")
    known = None if names is None and not criteria else sorted({*criteria, *(names or ())})
    assertion = data["$defs"]["assertion"]
    data["$defs"]["proposal"] = _stored("proposal")
    if comment:
        data["$comment"] = comment
    if known is not None:
        assertion["properties"]["type"]["enum"] = known
    if criteria:
        assertion["allOf"] = [
            {"if": {"required": ["type"], "properties": {"type": {"const": name}}}, "then": {"$ref": f"urn:deskcert:criterion:{name}"}} for name in sorted(criteria)
        ]
        data["$defs"] |= {f"criterion.{name}": _parameters(name, criteria[name]) for name in sorted(criteria)}
    return Schema(data)


@cache
def setup_schema() -> Schema:
    """The schema of a log-in: a task that must have a script, needs no assertions, and logs in for no session of its own."""
    data = named("task").data
    properties = {key: value for key, value in data["properties"].items() if key != "session"}
    return Schema({**data, "required": ["version", "id", "goal", "start_url", "script"], "properties": properties})


def check(document: Document, schema: Schema) -> list[Problem]:
    """All problems of a document, as YAML and against the schema, sorted by place, at most one at a place that cannot be read as YAML."""
    if document.data is None:
        return list(document.problems) or [document.problem((), "must be a mapping, not null")]
    if schema.holds(document.data):
        return list(document.problems)
    known = {(problem.line, problem.column) for problem in document.problems}
    found = {document.problem(path, message, key=key) for path, key, message in _faults(document.data, schema)}
    return sorted([*document.problems, *(problem for problem in found if (problem.line, problem.column) not in known)])


def _stored(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return data


def _parameters(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion's schema, with the `type` that stands among its parameters."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
        raise ValueError(f"the schema of criterion {name} is not an object's")
    try:
        jsonschema_rs.validator_for(dict(schema))
    except Exception as error:  # whatever a stranger's schema makes of it
        raise ValueError(f"the schema of criterion {name} is not a JSON Schema: {str(error).splitlines()[0]}") from error
    closed = {} if "unevaluatedProperties" in schema else {"additionalProperties": False}
    whole = {**closed, **schema, "$id": f"urn:deskcert:criterion:{name}", "type": "object"}
    whole["properties"] = {"type": {"const": name}, **schema.get("properties", {})}
    return whole


def _faults(data: Any, schema: Schema) -> Iterator[tuple[Place, bool, str]]:
    """Each fault: its path, whether the key is meant, and the message. Never none: what only the fast validator refuses is refused."""
    from jsonschema import Draft202012Validator

    some = False
    for top in islice(Draft202012Validator(schema.data).iter_errors(data), MAX_PROBLEMS):
        for error in _flat(top):
            for path, key, message in _worded(error):
                some = True
                where = _dotted(path[:-1] if key else path)
                yield path, key, f"{where}: {message}" if where else message
    if not some:
        yield (), False, schema.first_error(data)


def _flat(error: ValidationError) -> Iterator[ValidationError]:
    """Down an anyOf or oneOf: all errors of the branch that was meant, or the error itself where none stands out."""
    branches: defaultdict[Any, list[ValidationError]] = defaultdict(list)
    for inner in error.context or ():
        branches[inner.schema_path[0]].append(inner)
    if error.validator not in COMBINING or not branches:
        yield error
        return
    meant = min(branches.values(), key=_distance)
    if _distance(meant)[0] or all(inner.validator == "required" for branch in branches.values() for inner in branch):
        yield error
        return
    for inner in meant:
        yield from _flat(inner)


def _distance(errors: list[ValidationError]) -> tuple[bool, int, int]:
    """How far a branch is from what was written: another type or constant first, then the number of errors."""
    shallow = [error for error in errors if not error.path]
    return any(_of_another_kind(error) for error in shallow), len(shallow), len(errors)


def _of_another_kind(error: ValidationError) -> bool:
    return error.validator in ("type", "const") or (error.validator == "enum" and isinstance(error.instance, list | dict))


def _worded(error: ValidationError) -> Iterator[tuple[Place, bool, str]]:
    path: Place = tuple(error.absolute_path)
    limit: Any = error.validator_value
    written: Any = error.instance
    if "propertyNames" in error.absolute_schema_path:
        yield (*path, written), True, f"the key {_said(error)}"
    elif error.validator == "required":
        yield from ((path, False, f"{name!r} is missing") for name in limit if name not in written)
    elif error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", ()) if isinstance(error.schema, Mapping) else ())
        for name in written:
            if name not in allowed:
                yield (*path, name), True, f"unknown key {name!r:.60}{_instead(name, allowed)}"
    elif error.validator not in COMBINING or isinstance(written, dict) or not _of_keys(limit):  # else its type is wrong, and told
        yield path, False, _said(error)


def _said(error: ValidationError) -> str:
    """One fault in words, for a person who does not read JSON Schema."""
    limit: Any = error.validator_value
    written: Any = error.instance
    match error.validator:
        case "type":
            return f"must be {KINDS.get(limit, limit)}, not {_kind(written)}"
        case "const":
            return f"must be {json.dumps(limit)}, not {_kind(written)}"
        case "enum" if not isinstance(written, str):
            return f"must be one of {', '.join(map(str, limit))}, not {_kind(written)}"
        case "enum":
            return f"{_kind(written)} is not known{_instead(written, limit)}"
        case "minLength" | "minItems" | "minProperties":
            return "is empty" if not written else f"must have at least {limit} entries"
        case "minimum":
            return f"must be at least {limit}"
        case "maximum":
            return f"must be at most {limit}"
        case "exclusiveMinimum":
            return f"must be greater than {limit}"
        case "maxLength":
            return f"is longer than {limit} characters"
        case "uniqueItems":
            return "says the same twice"
        case "pattern":
            return f"{written!r:.80} does not fit. {_hint(error, f'It must match {limit}')}"
        case "dependentRequired":
            return "; ".join(f"{key!r} needs {', '.join(map(repr, needed))}" for key, needed in limit.items() if key in written and not set(needed) <= set(written))
        case "anyOf" | "oneOf":
            return _choice(error)
    return f"{error.message:.200}"


def _hint(error: ValidationError, otherwise: str) -> str:
    return str(error.schema.get("description", otherwise)) if isinstance(error.schema, Mapping) else otherwise


def _choice(error: ValidationError) -> str:
    """None of several shapes, or more than one."""
    branches: Any = error.validator_value
    if _of_keys(branches):
        names = ", ".join(name for branch in branches for name in branch["required"])
        return f"must have {'exactly' if error.validator == 'oneOf' else 'at least'} one of {names}"
    shapes = [_shape(inner) for inner in error.context or () if not inner.path and inner.validator in ("type", "const")]
    return f"must be {' or '.join(dict.fromkeys(shapes))}, not {_kind(error.instance)}" if shapes else f"{error.message:.200}"


def _of_keys(branches: list[Any]) -> bool:
    """Whether the branches only say which keys must be there."""
    return all(isinstance(branch, dict) and "required" in branch for branch in branches)


def _shape(error: ValidationError) -> str:
    value: Any = error.validator_value
    return KINDS.get(value, str(value)) if error.validator == "type" else json.dumps(value)


def _kind(written: Any) -> str:
    """What was written, said so that its type shows."""
    match written:
        case bool() | None:
            return json.dumps(written)
        case int() | float():
            return f"the number {written}"
        case str():
            return f"{written!r:.60}"
        case _:
            return "a list" if isinstance(written, list) else "a mapping"


def _instead(name: Any, allowed: Iterable[Any]) -> str:
    known = [str(one) for one in allowed]
    near = get_close_matches(name, known, 1) if isinstance(name, str) else []
    return (f", did you mean {near[0]!r}?" if near else "") + (f" Allowed here: {', '.join(known)}" if near else f"; allowed here: {', '.join(known) or 'none'}")


def _dotted(path: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
