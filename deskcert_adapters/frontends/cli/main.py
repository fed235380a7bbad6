"""The `deskcert` command. Listing the commands imports none of them: each lives in a file of its own and is imported when called."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

from deskcert_core import __version__
from deskcert_core.errors import DeskCertError, ExitCode

# command -> (module, function, help in one line)
COMMANDS = {
    "run": ("run", "run", "Run a suite with an agent and print the verdict."),
    "ci": ("run", "ci", "Run a suite in a pipeline: strict, plain, exit code by verdict."),
    "demo": ("demo", "demo", "Run the invoice example that comes with DeskCert."),
    "init": ("init", "init", "Write a suite that runs, to start from."),
    "new": ("new", "new", "Write a package for an adapter or a criterion of your own."),
    "validate": ("validate", "validate", "Check suites, tasks and policies, name every problem."),
    "schema": ("schema", "schema", "Print the JSON Schema of a file, for an editor."),
    "plugins": ("plugins", "plugins", "List, show and lock plug-ins."),
    "evaluate": ("evaluate", "evaluate", "Judge a run folder again, from its evidence alone."),
    "report": ("report", "report", "Write a report of a run."),
    "doctor": ("doctor", "doctor", "Say what works on this machine, and what does not."),
    "browser": ("browser", "browser", "Find or install the browser."),
}


class LazyGroup(click.Group):
    """Knows its commands by name; imports one only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"deskcert_adapters.frontends.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="deskcert")
def cli() -> None:
    """Certify that a computer-use agent can be trusted with your web application."""


def main() -> None:
    """The console script: user mistakes give one line and their exit code; anything else is our bug and shows its traceback."""
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else ExitCode.PASSED)
    except DeskCertError as error:
        if error.exit_code is ExitCode.BUG:
            our_bug()
        click.secho(f"deskcert: {error}", fg="red" if sys.stderr.isatty() else None, err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("deskcert: interrupted", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except Exception:
        our_bug()


def our_bug() -> NoReturn:
    """The traceback, and where it belongs. Inside an except clause only."""
    import traceback

    traceback.print_exc()
    click.echo(f"deskcert {__version__}: this is a bug of DeskCert; please report it with the lines above", err=True)
    sys.exit(ExitCode.BUG)
