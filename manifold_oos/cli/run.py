"""``moos run`` and ``moos sweep``: parse, run, print."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manifold_oos.cli import flags
from manifold_oos.errors import MoosError
from manifold_oos.registry import Trust, trust_in, trusting

if TYPE_CHECKING:
    from manifold_oos.config.model import Experiment
    from manifold_oos.engine.runner import RunSummary

QUICKSTART = "configs/quickstart.yaml"


#: The options that ``run`` and ``sweep`` share.
common = flags.together(
    flags.overrides,
    flags.out,
    flags.workers,
    click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler (tcp://host:port), or local."),
    flags.data_dir,
    click.option("--offline", is_flag=True, help="Never download."),
    flags.skip_missing,
    click.option("--fresh", is_flag=True, help="Archive what is there of this experiment, compute all of it."),
    flags.trust,
    flags.force,
    click.option("--fail-fast", is_flag=True, help="Stop at the first trial that fails."),
    click.option("--dry-run", is_flag=True, help="Print trials, rows and time, run nothing."),
    flags.as_json,
    flags.quiet,
)


@click.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@common
@click.option("--keep-predictions", is_flag=True, help="Keep the label of every new point and the confusions.")
@click.option(
    "--keep-embeddings",
    is_flag=False,
    flag_value="one",
    type=click.Choice(["one", "all"]),
    help="Keep coordinates, of one split (the default) or of all.",
)
def run(configs: tuple[str, ...], **options: Any) -> int:
    """Run experiments; what is already stored is not computed again.

    \b
    moos run configs/quickstart.yaml
    moos run configs/coil20_sosi.yaml --set split.repetitions=2 --workers 4
    """
    overrides, trust = options.pop("overrides"), options.pop("trust")
    loaded = [_load(path, overrides, trust, options["dry_run"]) for path in configs]
    codes = []
    for (experiment, mode), path in zip(loaded, configs, strict=True):
        with trusting(mode):
            codes.append(_one(experiment, f"moos run {path}", **options))
    return max(codes)


def _load(path: str, overrides: tuple[str, ...], trust: bool, dry: bool) -> "tuple[Experiment, Trust]":
    """A config, and whose code may be imported for it."""
    from manifold_oos.config.load import find_config, load_overridden

    mode: Trust = "none" if dry else trust_in(find_config(path), trust)
    with trusting(mode):
        return load_overridden(path, overrides), mode


@click.command()
@click.argument("config", required=False)
@click.option("--param", required=True, help="A parameter, short (sigma) or full (arms.SOSI.extender.sigma).")
@click.option("--values", help="Values in YAML, such as 0.5,1,2.")
@click.option("--range", "range_", metavar="A:B:N[:log]", help="N values from A to B, such as 0.1:10:20:log.")
@common
def sweep(config: str | None, param: str, values: str | None, range_: str | None, **options: Any) -> int:
    """Vary one parameter of a config (the quick start without one): a table and a curve.

    \b
    moos sweep --param sigma
    moos sweep configs/coil20_sosi.yaml --param arms.SOSI.extender.stop_at --values 0.5,0.8,1
    """
    from manifold_oos.config.sweep import make_sweep, parse_values

    grid = parse_values(values, range_)
    overrides, trust = options.pop("overrides"), options.pop("trust")
    experiment, mode = _load(config or QUICKSTART, overrides, trust, options["dry_run"])
    with trusting(mode):
        again = f"moos sweep {config or ''} --param {param}".replace("  ", " ")
        swept = make_sweep(experiment, param, grid)
        return _one(swept, again, keep_predictions=False, keep_embeddings=None, **options)


def _one(experiment: "Experiment", again: str, **options: Any) -> int:
    """Run one experiment and show its results; the exit code."""
    from manifold_oos.engine.progress import duration, make_progress
    from manifold_oos.engine.runner import run_experiment

    as_json, quiet, dry = options.pop("as_json"), options.pop("quiet"), options.pop("dry_run")
    force = options.pop("force")
    options["offline"] = options["offline"] or None
    if dry:
        return _dry_run(experiment, options, as_json)
    progress = make_progress(experiment.metrics[0], quiet or as_json)
    summary = run_experiment(experiment, progress=progress, **options)
    if summary.archived:
        click.echo(f"archived what was there in {summary.archived}", err=True)
    if summary.interrupted:
        click.echo(f"interrupted; every finished trial is stored. To resume: {again}", err=True)
        return 128 + summary.interrupted
    files, verdict = _show(experiment, summary, options, as_json, force)
    for label, reason in summary.plan.absent.items():
        click.echo(f"{label}: data absent: {reason}", err=True)
    if as_json:
        report = {
            "experiment": experiment.name,
            "folder": str(summary.folder),
            "trials": summary.trials,
            "lines_computed": summary.computed,
            "lines_reused": summary.reused,
            "failed": [
                {"arm": line.arm, "dataset": line.dataset, "message": text} for line, text in summary.failed
            ],
            "absent": summary.plan.absent,
            "files": files,
            "verdict": verdict,
        }
        click.echo(json.dumps(report, indent=2))
    else:
        took = duration(summary.seconds)
        click.echo(f"{summary.computed} lines computed, {summary.reused} from the store, {took}: {summary.folder}")
        if summary.failed:
            click.echo(f"{len(summary.failed)} lines failed (tried again on the next start):", err=True)
            for line, text in summary.failed[:20]:
                where = f"{line.arm} on {line.dataset}, size {line.size:g}, repetition {line.repetition}"
                click.echo(f"  {where}: {text}", err=True)
            click.echo(f"tracebacks: {summary.folder / 'failures'}", err=True)
        if verdict:
            click.echo(f"\n{verdict}")
    return 1 if summary.failed else 0


def _show(
    experiment: "Experiment", summary: "RunSummary", options: dict[str, Any], as_json: bool, force: bool
) -> tuple[list[str], str]:
    """Write the views, print the table, name the figures; give the files and the verdict in words."""
    from rich.console import Console

    from manifold_oos.engine.store import Store
    from manifold_oos.reporting.records import write_records
    from manifold_oos.reporting.write import fewer_rows, print_results, write_figures, write_tables
    from manifold_oos.results.collect import collect
    from manifold_oos.results.verdict import verdict_text

    folder = summary.folder
    with Store(options["out"]) as store:
        if not store.path.is_file():
            raise MoosError(f"{store.path}: removed at the end of the run; run the same command again")
        files = write_records(summary.plan, store, folder)
        results = collect(experiment, store, plan=summary.plan, folder=folder, data_dir=options.get("data_dir"))
    if (kept := fewer_rows(results, folder)) and not force:
        click.echo(kept, err=True)
    else:
        files += [*write_tables(results, folder), *write_figures(results, folder)]
    if not as_json:
        print_results(results, Console())
    figures = [path for path in files if path.suffix == ".png"]
    if figures and not as_json:
        click.echo("figures: " + ", ".join(str(path) for path in figures))
    return [str(path) for path in files], verdict_text(results)


def _dry_run(experiment: "Experiment", options: dict[str, Any], as_json: bool) -> int:
    from manifold_oos.engine.executors import cores
    from manifold_oos.engine.plan import make_plan
    from manifold_oos.engine.progress import duration
    from manifold_oos.engine.runner import estimate
    from manifold_oos.engine.store import Store

    data_dir = options["data_dir"] and str(Path(options["data_dir"]).resolve())
    plan = make_plan(
        experiment, data_dir=data_dir, offline=options["offline"], skip_missing=options["skip_missing"]
    )
    workers = options["workers"] or cores()
    with tempfile.TemporaryDirectory() as nothing:
        root = Path(options["out"]) if Store(options["out"]).path.exists() else Path(nothing)
        with Store(root) as store:
            found = estimate(store, plan, workers)
    if as_json:
        click.echo(json.dumps({"experiment": experiment.name, **vars(found), "absent": plan.absent}, indent=2))
        return 0
    if found.seconds is None:
        expected = f"about {duration(found.guess)} with {workers} workers (a guess by size)"
    else:
        rest = f" and {found.unknown} lines never run before" if found.unknown else ""
        expected = f"about {duration(found.seconds)} with {workers} workers{rest}"
    click.echo(
        f"{experiment.name}: {found.trials} trials, {found.lines} lines, {found.rows} rows to compute"
        f" ({found.reused} lines are in the store); {expected}"
    )
    for label, reason in plan.absent.items():
        click.echo(f"{label}: data absent: {reason}")
    return 0
