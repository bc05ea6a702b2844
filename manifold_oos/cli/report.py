"""``moos report``: the page of experiments, and the front page of all of them."""

from pathlib import Path

import click

from manifold_oos.cli import flags
from manifold_oos.registry import trusting


@click.command()
@click.argument("targets", nargs=-1, metavar="[CONFIG|RESULTS]...")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page; without it report.html in the folder of the experiment, or in the results root for many.",
)
@click.option(
    "--index",
    "root",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write a page for every experiment of this results root, and index.html that links to them.",
)
@click.option(
    "--results", default="results", show_default=True, type=click.Path(), help="Results root of a CONFIG."
)
@flags.data_dir
def report(
    targets: tuple[str, ...], out: Path | None, root: Path | None, results: str, data_dir: Path | None
) -> None:
    """Write results as one HTML page that needs no network.

    \b
    moos report results/quickstart
    moos report results/quickstart results/coil20_sosi --out report.html
    moos report results              a page for each of its experiments

    Points are shown where a run kept them: moos run CONFIG --keep-embeddings.
    """
    from manifold_oos.reporting.report import write_index, write_report
    from manifold_oos.results.collect import below, locate_all

    click.get_current_context().with_resource(trusting("none"))
    if out is None and root is None and len(targets) == 1:
        (only,) = map(Path, targets)
        if len(below(only)) > 1:
            targets, root = (), only
    if root is not None:
        if targets or out:
            raise click.UsageError("--index takes all experiments of a results root: give it alone")
        written = write_index(root, data_dir=data_dir, done=click.echo)
        for problem in written.skipped:
            click.echo(f"left out: {problem}", err=True)
        click.echo(written.index)
        return
    if not targets:
        raise click.UsageError("give a config, the folder of a run, or --index with the results root")
    found = locate_all(targets, results)
    if out is None:
        out = (found[0].folder if len(found) == 1 else found[0].root) / "report.html"
    path = write_report(found, out, data_dir=data_dir)
    click.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
