"""``moos table``, ``moos plot`` and ``moos check``: what the store has, and whether it is still so."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manifold_oos.cli import flags
from manifold_oos.registry import trusting

if TYPE_CHECKING:
    from manifold_oos.regression import Checked
    from manifold_oos.results.collect import Located, Results

REGRESSION = 3


#: What the views are of, and where they are.
viewed = flags.together(
    click.argument("targets", nargs=-1, required=True, metavar="CONFIG|RESULTS..."),
    flags.out,
    flags.overrides,
    flags.data_dir,
    flags.force,
)
FORMATS = ("text", "md", "tex", "csv")


def _each(
    targets: tuple[str, ...], out: str, overrides: tuple[str, ...], data_dir: Path | None
) -> "Iterator[tuple[Located, Results]]":
    """The results of each target; code that a config names is not imported."""
    from manifold_oos.results.collect import locate_all

    click.get_current_context().with_resource(trusting("none"))
    for place in locate_all(targets, out, overrides):
        yield place, place.collect(data_dir)


@click.command()
@viewed
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print."
)
@flags.as_json
def table(form: str, as_json: bool, force: bool, **where: Any) -> None:
    """Write the tables of finished runs again and print them.

    \b
    moos table configs/quickstart.yaml
    moos table results/quickstart --format tex
    """
    from rich.console import Console

    from manifold_oos.engine.store_file import writable
    from manifold_oos.reporting.write import claims_frame, print_results, table_texts, write_tables

    cells = []
    for place, results in _each(**where):
        if not writable(place.folder):
            click.echo(f"{place.folder} cannot be written: its tables are shown only", err=True)
        elif _may_write(results, place.folder, force):
            write_tables(results, place.folder)
        if as_json:
            records = json.loads(results.cells.to_json(orient="records"))
            claims = json.loads(claims_frame(results.claims).to_json(orient="records"))
            cells.append({"experiment": place.experiment.name, "cells": records, "claims": claims})
        elif form == "text":
            print_results(results, Console())
        else:
            click.echo(table_texts(results)[f"table.{form}"], nl=False)
    if as_json:
        click.echo(json.dumps(cells, indent=2, ensure_ascii=False))


def _may_write(results: "Results", folder: Path, force: bool) -> bool:
    """Whether files may be written; one line says where the numbers are from, or what is kept."""
    from manifold_oos.reporting.write import fewer_rows

    kept = results.origin or fewer_rows(results, folder)
    write = force or not kept
    said = results.origin if results.origin else kept if not write else f"written: {folder}"
    click.echo(said, err=True)
    return write


@click.command()
@viewed
@click.option("--figure", "figures", multiple=True, help="Number or name of a figure; all without it.")
@flags.as_json
def plot(figures: tuple[str, ...], as_json: bool, force: bool, **where: Any) -> None:
    """Draw the figures of finished runs again, as PNG and PDF.

    \b
    moos plot configs/quickstart.yaml
    moos plot results/coil20_sosi --figure 7
    """
    from manifold_oos.errors import ConfigError
    from manifold_oos.reporting.figures.draw import figure_outputs
    from manifold_oos.reporting.write import write_figures

    files = []
    for place, results in _each(**where):
        if results.rows.empty and results.committed:
            raise ConfigError(f"{results.origin}, which have no rows to draw")
        if not _may_write(results, place.folder, force):
            continue
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
@click.option("--out", type=click.Path(path_type=Path), help="Results root to compute in, kept.")
@flags.skip_missing
@flags.workers
@flags.data_dir
@flags.as_json
@click.option("--update", "reason", metavar="REASON", help="Write the references of CONFIGs anew, and why.")
@click.option("--repetitions", type=int, help="With --update: at most so many splits.")
@click.option("--dataset", "datasets", multiple=True, help="With --update: label of a data set to keep.")
@click.option("--size", "sizes", type=float, multiple=True, help="With --update: a size to keep.")
@click.option("--arm", "arms", multiple=True, help="With --update: an arm to keep.")
def check(targets: tuple[str, ...], against: Path | None, as_json: bool, reason: str | None, **options: Any) -> int:
    """Compute reported numbers anew and compare them with the reference; a changed number is exit code 3.

    Without a target: every config that has a reference in results/reference. A results folder without one is
    compared with its own splits.csv. Everything is computed in a temporary folder unless --out names one.

    \b
    moos check configs/nsse/orl.yaml
    moos check configs/quickstart.yaml --update "new default of sigma" --repetitions 2
    """
    from manifold_oos.engine.progress import make_progress
    from manifold_oos.errors import ConfigError
    from manifold_oos.regression import find_checks, run_check

    if any(Path(target).is_dir() for target in targets):  # a folder may be someone else's
        click.get_current_context().with_resource(trusting("listed"))
    narrow = {name: options.pop(name) for name in ("repetitions", "datasets", "sizes", "arms")}
    if reason is not None:
        return _update(targets, reason, narrow, workers=options["workers"], data_dir=options["data_dir"])
    if any(narrow.values()):
        raise ConfigError("--repetitions, --dataset, --size and --arm go with --update")
    done = []
    for experiment, reference in find_checks(targets, against):
        progress = make_progress(experiment.metrics[0], quiet=as_json)
        checked = run_check(experiment, reference, progress=progress, **options)
        done.append(checked)
        if not as_json:
            _print_checked(checked)
    if as_json:
        click.echo(json.dumps({"configs": [_as_dict(checked) for checked in done]}, indent=2, ensure_ascii=False))
    if not any(checked.compared for checked in done):
        raise ConfigError("nothing was compared: no row of the reference could be computed")
    return REGRESSION if any(checked.differences for checked in done) else 0


def _update(targets: tuple[str, ...], reason: str, narrow: dict[str, Any], **options: Any) -> int:
    from manifold_oos.config.load import load_config
    from manifold_oos.config.subset import experiment_of, reduce_experiment
    from manifold_oos.engine.progress import make_progress
    from manifold_oos.errors import ConfigError
    from manifold_oos.regression import find_references, read_reference, update_reference

    if not reason.strip() or not targets:
        raise ConfigError("--update needs a reason and the configs whose references are written")
    references = find_references()
    for target in targets:
        experiment = load_config(target)
        if any(narrow.values()) or experiment.name not in references:
            part = reduce_experiment(experiment, **{name: value or None for name, value in narrow.items()})
        else:  # what the reference covers now
            part = experiment_of(experiment, read_reference(references[experiment.name]))
        progress = make_progress(part.metrics[0])
        path, rows = update_reference(part, reason, progress=progress, **options)
        click.echo(f"{path}: {rows} rows")
    return 0


def _print_checked(checked: "Checked") -> None:
    """One config: verdict, differences, published numbers, claims."""
    from rich.console import Console

    from manifold_oos.reporting.numbers import number_text
    from manifold_oos.reporting.write import print_claims
    from manifold_oos.results.published import SIGNS

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
        words = ", ".join(f"{counts[word]} {word}" for word in SIGNS if counts[word])
        splits = int(judged["splits"].max())
        click.echo(f"{checked.name}: published numbers, on {splits} splits: {words}")
        cell: Any
        for cell in judged[judged["verdict"] == "worse"].itertuples():
            ours = f"{number_text(cell.mean, cell.metric)}, published {number_text(cell.published, cell.metric)}"
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
