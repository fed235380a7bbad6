"""The schemas of those criteria that a suite's tasks name. Loads a plug-in only when a task uses it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from deskcert_core.document import Document
from deskcert_core.errors import PluginError
from deskcert_core.evaluation import Criterion
from deskcert_core.plugins import drivers
from deskcert_core.schemas import Schema, task_schema

__all__ = ["GROUP", "installed_task_schema", "schema_for"]

GROUP = "deskcert.criteria"


def schema_for(documents: Iterable[Document], criteria: Mapping[str, Criterion] | None) -> Schema:
    """The task schema for what these documents assert. `criteria` stands for all that is installed, None for what really is.

    Raises PluginError for a criterion that is named and broken.
    """
    names: Collection[str] = drivers.names(GROUP) if criteria is None else criteria
    used = sorted(set(_types(documents)) & set(names))
    schemas = {name: _schema(drivers.get(GROUP, name) if criteria is None else criteria[name]) for name in used}
    try:
        return task_schema(schemas, names=names)
    except ValueError as error:
        raise PluginError(str(error).splitlines()[0], hint="repair or uninstall the plug-in") from error


def installed_task_schema() -> Schema:
    """The task schema with every installed criterion; `$comment` says which are broken and left out."""
    schemas: dict[str, Mapping[str, Any]] = {}
    broken: list[str] = []
    for name in drivers.names(GROUP):
        try:
            schema = _schema(drivers.get(GROUP, name))
            task_schema({name: schema})
            schemas[name] = schema
        except (PluginError, ValueError) as error:
            broken.append(f"left out: {error}")
    return task_schema(schemas, names=(), comment="\n".join(broken))


def _schema(plugin: object) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = getattr(plugin, "schema", {})
    return schema


def _types(documents: Iterable[Document]) -> Iterable[str]:
    """The types that the documents' assertions name, whatever else is wrong with them."""
    for document in documents:
        assertions = document.data.get("assertions") if isinstance(document.data, dict) else None
        for assertion in assertions if isinstance(assertions, list) else ():
            if isinstance(assertion, dict) and isinstance(assertion.get("type"), str):
                yield assertion["type"]
