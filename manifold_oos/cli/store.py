"""``moos store``: look at, mend and shrink the file that has all numbers of a results folder."""

import click

from manifold_oos.cli import flags


@click.group()
def store() -> None:
    """The file that keeps every number of a results folder: check, repair, compact."""


@store.command()
@flags.out
def check(out: str) -> None:
    """Say whether the store can be read whole, and what is in it; exit code 2 where it is damaged."""
    from manifold_oos.engine.store import Store

    with Store(out) as opened:
        for line in opened.examine():
            click.echo(line)


@store.command()
@flags.out
def repair(out: str) -> None:
    """Copy what can be read of a damaged store to a new one; the damaged file is kept beside it."""
    from manifold_oos.engine.store import Store

    click.echo(Store(out).repair())


@store.command()
@flags.out
def compact(out: str) -> None:
    """Give back the space that rows no longer use."""
    from manifold_oos.engine.store import Store

    with Store(out) as opened:
        before, after = opened.compact()
    click.echo(f"{opened.path}: {before / 2**20:.1f} MiB before, {after / 2**20:.1f} MiB now")
