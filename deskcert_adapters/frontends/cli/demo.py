"""`deskcert demo`: the invoice example, copied beside you and run."""

from __future__ import annotations

import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("deskcert-demo"), show_default=True, help="Where the example is copied to.")
def demo(folder: Path) -> None:
    """Run the invoice example: a scripted agent, a real browser, a policy, and a verdict from the evidence."""
    from deskcert_adapters.frontends.cli.run import run_and_report

    copy(folder)
    code = run_and_report(
        folder, strict=False, agent="scripted", agent_options=(), env=None, tasks=("confirm-invoice",), trials=None, approver=None,
        out=folder / "runs", reports=("markdown",), as_json=False,
    )
    click.echo(f"the suite: {folder}/deskcert.yaml   again: deskcert run {folder}")
    sys.exit(code)


def copy(folder: Path) -> None:
    """The example's files. Your own changes in the folder are kept: only what is missing is copied."""
    with as_file(source()) as example:
        for path in sorted(Path(example).rglob("*")):
            relative = path.relative_to(example)
            target = folder / relative
            if path.is_file() and not target.exists() and "__pycache__" not in relative.parts and path.name != "__init__.py" and "runs" not in relative.parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def source() -> Path:
    """The packaged example, or the one of a source checkout (an editable install does not see the mapping of pyproject.toml)."""
    packaged = Path(str(files("deskcert_adapters"))) / "demo"
    return packaged if packaged.is_dir() else Path(str(files("deskcert_adapters"))).parent / "examples" / "invoice"
