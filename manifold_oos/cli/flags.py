"""Options that several commands have: one name, one meaning, one text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Any], Any]


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order of ``--help``."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


out = click.option("--out", default="results", show_default=True, type=click.Path(), help="Results root.")
overrides = click.option(
    "--set",
    "overrides",
    metavar="PATH=VALUE",
    multiple=True,
    help="Override a key; such runs have their own folder.",
)
data_dir = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder of data sets, before MOOS_DATA and the cache.",
)
workers = click.option("--workers", type=click.IntRange(min=1), help="Processes; without it one per core.")
skip_missing = click.option("--skip-missing", is_flag=True, help="Go on without data sets that cannot be had.")
trust = click.option("--trust", is_flag=True, help="Import package.module:Class of a config outside this folder.")
force = click.option("--force", is_flag=True, help="Replace tables and figures that rest on more numbers.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
quiet = click.option("--quiet", is_flag=True, help="No progress.")
