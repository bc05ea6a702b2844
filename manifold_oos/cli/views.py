"""``moos table``, ``moos plot`` and ``moos check``: what the store has, and whether it is still so."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manifold_oos.registry import trusting

if TYPE_CHECKING:
    from manifold_oos.regression import Checked

REGRESSION = 3


def common(command: Any) -> Any:
    """The options that views share."""
    options = [
        click.option("--out", default="results", show_default=True, type=click.Path(), help="Results root."),
        click.option(
            "--set", "overrides", metavar="PATH=VALUE", multiple=True, help="Override a key of the config."
        ),
        click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of data sets to look in first."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="CONFIG|RESULTS...")
@common
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "md", "tex", "csv"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON, for programs.")
def table(
    targets: tuple[str, ...], out: str, overrides: tuple[str, ...], data_dir: Path | None, form: str, as_json: bool
) -> None:
    """Write the tables of finished runs again and print them.

    \b
    moos table configs/quickstart.yaml
    moos table results/quickstart --format tex
    """
    from rich.console import Console

    from manifold_oos.reporting.write import print_results, write_tables
    from manifold_oos.results.collect import locate

    click.get_current_context().with_resource(trusting("none"))
    found = [locate(target, out, overrides) for target in targets]
    cells = []
    for place in found:
        results = place.collect(data_dir)
        paths = {path.name: path for path in write_tables(results, place.folder)}
        if as_json:
            records = json.loads(results.cells.to_json(orient="records"))
            claims = [
                {"source": c.claim.source, "claim": c.text, "verdict": c.verdict, "numbers": c.numbers}
                for c in results.claims
            ]
            cells.append({"experiment": place.experiment.name, "cells": records, "claims": claims})
        elif form == "text":
            print_results(results, Console())
            click.echo(f"written: {place.folder}", err=True)
        else:
            click.echo(paths[f"table.{form}"].read_text(encoding="utf-8"), nl=False)
    if as_json:
        click.echo(json.dumps(cells, indent=2, ensure_ascii=False))


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="CONFIG|RESULTS...")
@common
@click.option("--figure", "figures", multiple=True, help="Number or name of a figure; all without it.")
@click.option("--json", "as_json", is_flag=True, help="Print the files as JSON, for programs.")
def plot(
    targets: tuple[str, ...],
    out: str,
    overrides: tuple[str, ...],
    data_dir: Path | None,
    figures: tuple[str, ...],
    as_json: bool,
) -> None:
    """Draw the figures of finished runs again, as PNG and PDF.

    \b
    moos plot configs/quickstart.yaml
    moos plot results/coil20_sosi --figure 7
    """
    from manifold_oos.errors import ConfigError
    from manifold_oos.reporting.figures.draw import figure_outputs
    from manifold_oos.reporting.write import write_figures
    from manifold_oos.results.collect import locate

    click.get_current_context().with_resource(trusting("none"))
    found = [locate(target, out, overrides) for target in targets]
    files = []
    for place in found:
        results = place.collect(data_dir)
        told: list[str] = []
        written = write_figures(results, place.folder, figures, told.append)
        for text in told:
            click.echo(text, err=True)
        if not written and not told:
            known = ", ".join(str(output.figure) for output in figure_outputs(results))
            raise ConfigError(f"{place.experiment.name}: no such figure; there are: {known or 'none'}")
        files += [str(path) for path in written]
    click.echo(json.dumps(files, indent=2) if as_json else "\n".join(files))


@click.command()
@click.argument("targets", nargs=-1, metavar="[CONFIG|RESULTS]...")
@click.option("--against", type=click.Path(path_type=Path), help="The reference to compare with.")
@click.option("--skip-missing", is_flag=True, help="Leave data sets out that are not at hand.")
@click.option("--out", type=click.Path(path_type=Path), help="Results root to compute in, kept.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; the default is the number of cores.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of data sets to look in first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def check(
    targets: tuple[str, ...],
    against: Path | None,
    skip_missing: bool,
    out: Path | None,
    workers: int | None,
    data_dir: Path | None,
    as_json: bool,
) -> int:
    """Compute reported numbers anew and compare them with the reference; a changed number is exit code 3.

    Without a target: every config that has a reference in results/reference. A results folder without one is
    compared with its own splits.csv. Everything is computed in a temporary folder unless --out names one.
    """
    from manifold_oos.engine.progress import make_progress
    from manifold_oos.errors import ConfigError
    from manifold_oos.regression import find_checks, run_check

    if any(Path(target).is_dir() for target in targets):  # a folder may be someone else's
        click.get_current_context().with_resource(trusting("listed"))
    checks = find_checks(targets, against)
    done = []
    for experiment, reference in checks:
        checked = run_check(
            experiment,
            reference,
            out=out,
            workers=workers,
            data_dir=data_dir,
            skip_missing=skip_missing,
            progress=make_progress(experiment.metrics[0], quiet=as_json),
        )
        done.append(checked)
        if not as_json:
            _print_checked(checked)
    if as_json:
        click.echo(json.dumps({"configs": [_as_dict(checked) for checked in done]}, indent=2, ensure_ascii=False))
    if not any(checked.compared for checked in done):
        raise ConfigError("nothing was compared: no row of the reference could be computed")
    return REGRESSION if any(checked.differences for checked in done) else 0


def _print_checked(checked: "Checked") -> None:
    """One config: verdict, differences, published numbers, claims."""
    from rich.console import Console

    from manifold_oos.reporting.write import print_claims

    for label, reason in checked.skipped.items():
        click.echo(f"{checked.name}: {label} skipped, data absent: {reason}")
    for failure in checked.failures:
        click.echo(f"{checked.name}: failed: {failure}")
    for difference in checked.differences:
        click.echo(f"{checked.name}: {difference}")
    word = click.style("changed", fg="red") if checked.differences else click.style("same", fg="green")
    click.echo(
        f"{checked.name}: {word}: {checked.compared} numbers compared with {checked.reference}, "
        f"{len(checked.differences)} differ"
    )
    results = checked.results
    if results is None:
        return
    judged = results.cells[results.cells["verdict"] != ""]
    if len(judged):
        counts = Counter(judged["verdict"])
        words = ", ".join(f"{counts[word]} {word}" for word in ("matches", "better", "worse") if counts[word])
        splits = int(judged["splits"].max())
        click.echo(f"{checked.name}: published numbers, on {splits} splits: {words}")
        cell: Any
        for cell in judged[judged["verdict"] == "worse"].itertuples():
            ours = f"{cell.mean:.2f}, published {cell.published:g}"
            click.echo(f"  worse: {cell.arm} on {cell.dataset} {cell.size:g} ({cell.protocol}): {ours}")
    print_claims([claim for claim in results.claims if claim.verdict != "no data"], Console())


def _as_dict(checked: "Checked") -> dict[str, Any]:
    """What a program wants to know of a check."""
    results = checked.results
    published: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    if results is not None:
        columns = ["metric", "dataset", "size", "arm", "protocol", "mean", "published", "verdict"]
        judged = results.cells.loc[results.cells["verdict"] != "", columns]
        published = json.loads(judged.to_json(orient="records"))
        claims = [{"claim": c.text, "source": c.claim.source, "verdict": c.verdict} for c in results.claims]
    return {
        "config": checked.name,
        "reference": str(checked.reference),
        "compared": checked.compared,
        "differences": [vars(difference) | {"message": str(difference)} for difference in checked.differences],
        "skipped": checked.skipped,
        "failures": checked.failures,
        "published": published,
        "claims": claims,
    }
