"""`deskcert plugins`: list them (importing none), show one, lock the suite's list of distributions."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deskcert_adapters.frontends.cli.strangers import strangers
from deskcert_core.errors import InputError, PluginError, Problem

if TYPE_CHECKING:
    from deskcert_core.plugins.drivers import Found

COLUMNS = ("group", "name", "distribution", "version", "state")


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.pass_context
def plugins(context: click.Context, as_json: bool) -> None:
    """List the installed plug-ins, built-in ones too. None of them is imported."""
    if context.invoked_subcommand is None:
        rows = [row(found) for found in every()]
        if as_json:
            click.echo(json.dumps([dict(zip(COLUMNS, each, strict=True)) for each in rows], indent=2))
        elif sys.stdout.isatty():
            rich_table(rows)
        else:
            plain_table(rows)


@plugins.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def show(name: str, as_json: bool) -> None:
    """Load the plug-ins called NAME, and say what they are. Exit 69 if one cannot be used."""
    groups = sorted({found.group for found in every() if found.name == name})
    if not groups:
        raise PluginError(f"there is no plug-in {name!r}", hint=instead(name))
    shown = [describe(group, name) for group in groups]
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    for place, each in enumerate(shown):
        click.echo("" if place else None, nl=bool(place))
        for key, value in each.items():
            click.echo(f"{key + ':':<14}{json.dumps(value, indent=2) if isinstance(value, dict) else value}")


@plugins.command()
@click.argument("suite", type=click.Path(path_type=Path), default=Path())
@click.option("--check", is_flag=True, help="Write nothing; exit 65 if the list is not what the suite uses.")
def lock(suite: Path, check: bool) -> None:
    """Write into SUITE's `plugins:` the distributions that it uses, and those whose hooks take part in every run."""
    from deskcert_core.loading.suite import SUITE_FILE, load_suite

    file = suite / SUITE_FILE if suite.is_dir() else suite
    loaded = load_suite(suite)
    listed = loaded.suite.plugins
    used = strangers(loaded, adapters=[plan.adapter for plan in loaded.suite.agents.values()])
    wanted = respelled(used, listed)
    if sorted(listed) == wanted:
        click.echo(f"{file}: {line(listed)} is what the suite uses; nothing to do")
    elif check:
        raise InputError([Problem(file=str(file), message=f"the suite uses {', '.join(wanted) or 'no plug-ins'}, {line(listed)}: deskcert plugins lock")])
    else:
        write(file, wanted)
        changes = [f"added {name}" for name in wanted if name not in listed] + [f"removed {name}" for name in listed if name not in wanted]
        click.echo(f"{file}: {line(wanted)} ({', '.join(changes)})")


# -- list and show


def every() -> list[Found]:
    from deskcert_core.plugins import drivers
    from deskcert_core.plugins.groups import GROUPS

    return [found for group in GROUPS for found in drivers.find(group.name)]


def row(found: Found) -> tuple[str, ...]:
    state = f"off: {found.off}" if found.off else f"duplicate of {', '.join(found.duplicates)}" if found.duplicates else "installed"
    return found.group, found.name, found.distribution, found.version, state


def plain_table(rows: Sequence[tuple[str, ...]]) -> None:
    whole = [tuple(map(str.upper, COLUMNS)), *rows]
    widths = [max(len(each[place]) for each in whole) for place in range(len(COLUMNS))]
    for each in whole:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip())


def rich_table(rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*COLUMNS)
    for each in rows:
        table.add_row(*map(escape, each), style=None if each[-1] == "installed" else "yellow")
    Console().print(table)


def describe(group: str, name: str) -> dict[str, Any]:
    from deskcert_core.plugins import drivers, groups
    from deskcert_core.plugins.provenance import digest

    loaded = drivers.load(group, name)
    kind, found = groups.group(group), loaded.found
    text = (inspect.getdoc(loaded.object) or "").partition("\n")[0]
    shown: dict[str, Any] = {
        "plug-in": name, "kind": f"{kind.noun}: {kind.meaning}", "distribution": f"{found.distribution} {found.version}", "value": found.value,
        "about": text or "(it has no docstring)", "sha256": digest(found),
    }
    if group == "deskcert.criteria":
        shown |= {"judges as": f"version {getattr(loaded.object, 'version', '')}", "schema": getattr(loaded.object, "schema", {})}
    return shown | ({"notes": "; ".join(loaded.notes)} if loaded.notes else {})


def instead(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, {found.name for found in every()}, n=1)
    return f"did you mean {near[0]!r}?" if near else "see: deskcert plugins"


# -- lock


def respelled(wanted: Sequence[str], listed: Sequence[str]) -> list[str]:
    """The wanted names as the author spelled them, where the list has them already."""
    from deskcert_core.plugins.drivers import canonical

    mine = {canonical(name): name for name in listed}
    return sorted(mine.get(canonical(name), name) for name in wanted)


def line(names: Sequence[str]) -> str:
    return f"plugins: [{', '.join(names)}]"


def write(file: Path, wanted: list[str]) -> None:
    """Change the one line. What came out is read back: if anything else would have changed, nothing is written, and the author does it by hand."""
    from deskcert_core import document

    raw = file.read_bytes()
    before = document.parse(raw, str(file))
    items = {before.place(("plugins", place))[0] - 1: name for place, name in enumerate(before.data.get("plugins", ()))}
    key = before.place(("plugins",), key=True)[0] - 1 if "plugins" in before.data else None
    changed = edited(raw.decode().splitlines(keepends=True), key, items, wanted).encode()
    after = document.parse(changed, str(file))
    if after.problems or {**after.data, "plugins": sorted(after.data["plugins"])} != {**before.data, "plugins": wanted}:
        raise InputError([Problem(file=str(file), line=(key or 0) + 1, column=1, message=f"cannot be changed safely; write it by hand: {line(wanted)}")])
    beside = file.with_name(file.name + ".new")
    beside.write_bytes(changed)
    beside.chmod(file.stat().st_mode & 0o7777)
    beside.replace(file)


def edited(text: list[str], key: int | None, items: dict[int, str], wanted: list[str]) -> str:
    """The file with the list `wanted`. `key` is the line (counted from 0) of the key `plugins`, `items` are the lines of a list written below it."""
    if key is None:
        return "".join(text).rstrip("\n") + f"\n{line(wanted)}\n"
    head, bracket, rest = text[key].partition("[")
    if bracket:
        return "".join([*text[:key], f"{head}[{', '.join(wanted)}]{rest.partition(']')[2]}", *text[key + 1 :]])
    indent = text[min(items)].partition("-")[0]
    missing = [f"{indent}- {name}\n" for name in wanted if name not in items.values()]
    lines = [each for place, each in enumerate(text[: max(items) + 1]) if place not in items or items[place] in wanted]
    if not wanted:
        lines[key] = text[key].replace(":", ": []", 1)
    return "".join([*lines, *missing, *text[max(items) + 1 :]])
