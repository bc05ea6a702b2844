"""``moos transform``: any number of points through a model that ``moos embed --save`` wrote."""

import signal
import sys
import time
from pathlib import Path

import click

from manifold_oos.cli import flags


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--in", "source", type=click.Path(path_type=Path), help="Folder, .npy, .csv, or -.")
@click.option("--watch", type=click.Path(path_type=Path), metavar="FOLDER", help="Place what arrives in it.")
@click.option("--out", type=click.Path(path_type=Path), help=".npy or .csv file to write.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="A Dask scheduler (tcp://host:port) that places blocks, or local."
)
@flags.quiet
def transform(
    model: Path, source: Path | None, watch: Path | None, out: Path | None, scheduler: str | None, quiet: bool
) -> None:
    """Place new points with a saved model, however many; stopped, it goes on where it was.

    \b
    moos embed my.yaml --save my.model
    moos transform my.model --in new.npy --out coordinates.npy
    moos transform my.model --in new_images --out coordinates.csv
    moos transform my.model --in new.npy --out coordinates.npy --scheduler tcp://head-node:8786
    moos transform my.model --watch incoming --out coordinates.csv

    A .csv has label, confidence and novelty beside the coordinates. With --in - each line of numbers on standard
    input is answered at once by a line of CSV, and a word is said when so many points are novel that the model
    should be fitted anew. --watch does so for images and tables that arrive in a folder, each once, until Ctrl-C;
    started again it goes on.
    """
    from threadpoolctl import threadpool_limits

    from manifold_oos.errors import ConfigError
    from manifold_oos.streaming import place_file, place_lines

    if (source is None) == (watch is None):
        raise ConfigError("give --in FILE, FOLDER or - for points that are there, or --watch FOLDER for others")
    if watch is not None:
        if scheduler is not None:
            raise ConfigError("--watch places points here; leave --scheduler away")
        _watch(model, watch, out, quiet)
        return
    assert source is not None
    if str(source) == "-":
        if out is not None or scheduler is not None:
            raise ConfigError("--in - answers on standard output; leave --out and --scheduler away")
        with threadpool_limits(1):
            count, novel = place_lines(model, sys.stdin, _answer, _say)
        if not quiet:
            click.echo(f"{count:,} points, {novel:,} of them novel", err=True)
        return
    if out is None:
        raise ConfigError("give --out FILE for the coordinates")
    executor = None
    if scheduler is not None:
        from manifold_oos.engine.executors import make_executor

        executor = make_executor(None, scheduler)
    try:
        result = place_file(model, source, out, (lambda done, total: None) if quiet else _Lines(), executor)
    finally:
        if executor is not None:
            executor.close()
    resumed = f", {result.resumed:,} from an earlier start" if result.resumed else ""
    click.echo(f"{out}: {_novel(result.rows, result.novel)}{resumed}, {result.seconds:.1f} s")


def _watch(model: Path, folder: Path, out: Path | None, quiet: bool) -> None:
    """Until Ctrl-C or SIGTERM, which are the way to end it and no failure."""
    from manifold_oos.errors import ConfigError
    from manifold_oos.watching import watch_folder

    if out is None:
        raise ConfigError("give --out FILE.csv for the coordinates")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = _Lines()
    if not quiet:
        click.echo(f"watching {folder}; Ctrl-C ends it", err=True)
    result = watch_folder(model, folder, out, _say, (lambda rows, novel: None) if quiet else lines.so_far)
    earlier = f", {result.resumed:,} from an earlier start" if result.resumed else ""
    click.echo(f"{out}: {_novel(result.rows, result.novel)}{earlier}")


def _novel(rows: int, novel: int) -> str:
    share = f" ({novel / rows:.1%})" if rows else ""
    return f"{rows:,} points, {novel:,} of them novel{share}"


def _answer(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _say(text: str) -> None:
    click.echo(f"moos: {text}", err=True)


class _Lines:
    """Says how far it is: every second on a terminal, every ten elsewhere."""

    def __init__(self) -> None:
        self.every = 1.0 if sys.stderr.isatty() else 10.0
        self.begun = self.said = time.monotonic()
        self.first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.begun = done, now
        elif now - self.said >= self.every and done < total:
            self.said = now
            left = (total - done) * (now - self.begun) / max(done - self.first, 1)
            click.echo(f"{done:,} of {total:,} points, {left:.0f} s left", err=True)

    def so_far(self, rows: int, novel: int) -> None:
        """Says how many points there are, with the share of novel ones."""
        if time.monotonic() - self.said >= self.every or not self.first:
            self.first, self.said = rows, time.monotonic()
            click.echo(_novel(rows, novel), err=True)
