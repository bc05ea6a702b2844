"""The command ``moos``: parse, call, print. Each command lives in the module of this folder that COMMANDS names."""

import importlib
import sys
from collections.abc import Sequence

import click

from manifold_oos import __version__
from manifold_oos.errors import ConfigError, MoosError, nearest

#: Where each command lives and what it does, in the order of a first day's use.
COMMANDS = {
    "run": ("run:run", "Run experiments; what is already stored is not computed again."),
    "sweep": ("run:sweep", "Vary one parameter of a config: a table and a curve."),
    "check": ("views:check", "Compute the reference tables again; a number that changed is exit code 3."),
    "table": ("views:table", "Write and print the tables of an experiment from the store."),
    "plot": ("views:plot", "Draw the figures of an experiment from the store."),
    "report": ("report:report", "One HTML page that needs no network."),
    "list": ("listing:list_", "List what there is."),
    "describe": ("listing:describe", "Say what a method or a data set does, with its parameters."),
    "new": ("own_data:new", "Write a config for your own images or features."),
    "embed": ("own_data:embed", "Give coordinates and labels to new points of your own."),
    "transform": ("transform:transform", "Place any number of new points with a saved model."),
    "data": ("data:data", "Find, get, verify and show data sets."),
    "store": ("store:store", "Check, repair and compact the file that keeps the numbers."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, so that ``moos --help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order of a first day's use."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each command does, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that defines a command."""
        if cmd_name not in COMMANDS:
            raise ConfigError(f"{cmd_name}: no such command; {nearest(cmd_name, COMMANDS)} (moos --help)")
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(f"manifold_oos.cli.{module}"), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="moos")
def moos() -> None:
    """Embed points that arrive after a manifold was learned, and reproduce the papers that say how.

    \b
    First steps:
      moos run configs/quickstart.yaml     compare extenders on built-in data
      moos sweep --param sigma             vary a parameter of the quick start
      moos list extenders                  what there is; moos describe sosi says more
      moos new --data folder:my_images     a config for your own images
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a person's mistake is one line and exit code 2, an interrupt is 130, SIGTERM 143."""
    try:
        code = moos.main(args=arguments, prog_name="moos", standalone_mode=False)
    except click.exceptions.Abort as stop:
        click.echo("moos: interrupted", err=True)
        sys.exit(getattr(stop.__cause__, "code", 130))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except MoosError as error:
        click.echo(f"moos: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"moos: {error.filename}: cannot be read or written ({error.strerror})", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
