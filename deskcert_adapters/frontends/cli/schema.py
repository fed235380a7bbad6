"""`deskcert schema`: prints the JSON Schema of a file, whole, for an editor."""

from __future__ import annotations

import json

import click

from deskcert_core import schemas
from deskcert_core.loading.criteria import installed_task_schema

__all__ = ["schema", "schema_text"]


@click.command()
@click.argument("name", type=click.Choice(schemas.NAMES))
def schema(name: str) -> None:
    """Print the JSON Schema of a file, for an editor.

    That of a task has the parameters of every installed criterion in it; $comment says which are broken and left out.
    """
    click.echo(schema_text(name))


def schema_text(name: str) -> str:
    found = installed_task_schema() if name == "task" else schemas.named(name)
    return json.dumps(found.data, indent=2)
