"""Writes and prints what a run has to show: tables, times, claims and figures, all rebuilt from the store."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from manifold_oos.atomic import write_text
from manifold_oos.errors import DataError
from manifold_oos.experiment.config import Experiment
from manifold_oos.experiment.plan import Plan, make_plan
from manifold_oos.experiment.store import Store
from manifold_oos.reporting.cells import final_rows, in_order, is_time, lead_of
from manifold_oos.reporting.claims import ClaimResult
from manifold_oos.reporting.figures import draw_output, figure_outputs, stem_of
from manifold_oos.reporting.placing import kept_coordinates
from manifold_oos.reporting.readings import readings_markdown
from manifold_oos.reporting.render import latex, markdown, rich_table
from manifold_oos.reporting.results import Results
from manifold_oos.reporting.style import empty_panel, new_figure, save
from manifold_oos.reporting.tables import make_tables

#: Columns of splits.csv and of the reference tables, one row per split.
SPLIT_COLUMNS = [
    "metric", "dataset", "size", "arm", "selection", "repetition", "n_components", "n_train", "n_test", "value",
    "chosen",
]  # fmt: skip
COLORS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def collect(
    experiment: Experiment,
    store: Store,
    *,
    plan: Plan | None = None,
    folder: Path | None = None,
    data_dir: str | Path | None = None,
) -> Results:
    """Gather what the store has of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The config.
    store : Store
        Of the results root.
    plan : Plan, optional
        Of the experiment; without it one is made from the facts in the store, which needs no data.
    folder : Path, optional
        Of the experiment's files, for kept coordinates.
    data_dir : path, optional
        Where the data are, for pictures of points.

    Returns
    -------
    Results
        For tables, figures and the report.
    """
    if plan is None:
        where = None if data_dir is None else str(data_dir)
        plan = make_plan(experiment, data_dir=where, offline=True, skip_missing=True, known=store.facts())
    parts = [part for part in (store.rows(plan), store.timings(plan)) if len(part)]
    rows = pd.concat(parts, ignore_index=True) if parts else store.rows(plan)
    return Results(
        experiment,
        rows,
        absent=plan.absent,
        facts=plan.facts,
        failures=store.failures(plan),
        data_dir=None if data_dir is None else Path(data_dir),
        kept=kept_coordinates(plan, folder),
    )


def write_outputs(
    experiment: Experiment,
    store: Store,
    folder: Path,
    *,
    plan: Plan | None = None,
    data_dir: str | Path | None = None,
) -> list[Path]:
    """Write all tables and figures of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The config.
    store : Store
        Of the results root.
    folder : Path
        Where to write; each file is replaced as a whole.
    plan : Plan, optional
        Of the experiment.
    data_dir : path, optional
        Where the data are.

    Returns
    -------
    list of Path
        What was written.
    """
    results = collect(experiment, store, plan=plan, folder=folder, data_dir=data_dir)
    return [*write_tables(results, folder), *write_figures(results, folder)]


def write_tables(results: Results, folder: Path) -> list[Path]:
    """Write ``table.csv`` (cells, no times), ``splits.csv``, ``timing.csv``, ``table.md``, ``table.tex``, claims.

    Parameters
    ----------
    results : Results
        Of an experiment.
    folder : Path
        Where to write.

    Returns
    -------
    list of Path
        What was written; for the same rows the same bytes.
    """
    experiment = results.experiment
    times = results.cells["metric"].map(is_time).astype(bool)
    title = experiment.title or experiment.name
    tables = make_tables(results)
    text = markdown(tables, title=title) + _readings_markdown(results) + _claims_markdown(results.claims)
    text += _failures_markdown(results)
    paths = [
        write_text(folder / "table.csv", csv_text(results.cells[~times])),
        write_text(folder / "splits.csv", csv_text(split_rows(results))),
        write_text(folder / "timing.csv", csv_text(results.cells[times].drop(columns=["published", "source"]))),
        write_text(folder / "table.md", text),
        write_text(folder / "table.tex", latex(tables, title=title)),
    ]
    if results.claims:
        paths.append(write_text(folder / "claims.csv", csv_text(claims_frame(results.claims))))
    return paths


def write_figures(
    results: Results, folder: Path, only: Iterable[str] = (), say: Callable[[str], object] | None = None
) -> list[Path]:
    """Draw and write every figure of an experiment as PNG and PDF.

    Parameters
    ----------
    results : Results
        Of an experiment.
    folder : Path
        Where to write.
    only : iterable of str
        Numbers or names of the figures to draw; all without it.
    say : callable, optional
        Told of pictures of points that could not be drawn because their data are not at hand.

    Returns
    -------
    list of Path
        What was written. A picture whose data are not at hand stays as it was; where there was none it says so.
    """
    wanted = set(only)
    paths = []
    for output in figure_outputs(results):
        if wanted and str(output.figure) not in wanted and stem_of(output) not in wanted:
            continue
        try:
            for stem, figure in draw_output(output, results):
                paths += save(figure, folder / stem)
        except DataError as error:
            if say is not None:
                say(f"figure {output.figure}: data absent: {error}")
            if not (folder / f"{stem_of(output)}.png").exists():
                figure = new_figure(6, 2)
                empty_panel(figure.add_subplot(), "data absent")
                paths += save(figure, folder / stem_of(output))
    return paths


def split_rows(results: Results) -> pd.DataFrame:
    """The final numbers split by split, without times: what a reference table keeps.

    Parameters
    ----------
    results : Results
        Of an experiment.

    Returns
    -------
    DataFrame
        Columns ``SPLIT_COLUMNS``, in the order of the config.
    """
    rows = results.rows[~results.rows["metric"].map(is_time).astype(bool)]
    return in_order(final_rows(rows, lead_of(results.experiment)), results.experiment)[SPLIT_COLUMNS]


def csv_text(frame: pd.DataFrame) -> str:
    """A DataFrame as CSV with fixed bytes: ten digits, plain newlines."""
    return str(frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def claims_frame(claims: Sequence[ClaimResult]) -> pd.DataFrame:
    """Claims with their verdicts as a table.

    Parameters
    ----------
    claims : sequence of ClaimResult
        From :func:`~manifold_oos.reporting.claims.judge_claims`.

    Returns
    -------
    DataFrame
        Columns ``source, claim, verdict, numbers``.
    """
    records = [(result.claim.source, result.text, result.verdict, result.numbers) for result in claims]
    return pd.DataFrame.from_records(records, columns=["source", "claim", "verdict", "numbers"])


def _claims_markdown(claims: Sequence[ClaimResult]) -> str:
    if not claims:
        return ""
    lines = ["## Claims\n", "| source | claim | verdict | numbers |", "|---|---|---|---|"]
    for row in claims_frame(claims).itertuples(index=False):
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines) + "\n"


def _readings_markdown(results: Results) -> str:
    text = readings_markdown(results)
    return f"## Printed numbers that ours do not match\n\n{text}\n" if text else ""


def _failures_markdown(results: Results) -> str:
    if results.failures is None or results.failures.empty:
        return ""
    lines = ["\n## Failed\n"]
    for row in results.failures.itertuples(index=False):
        lines.append(f"- {row.arm} on {row.dataset} {row.size:g}, repetition {row.repetition}: {row.message}")
    return "\n".join(lines) + "\n"


def print_summary(
    experiment: Experiment,
    store: Store,
    *,
    plan: Plan | None = None,
    console: Console | None = None,
) -> None:
    """Print the tables of an experiment and the verdicts on its claims.

    Parameters
    ----------
    experiment : Experiment
        The config.
    store : Store
        Of the results root.
    plan : Plan, optional
        Of the experiment.
    console : rich.console.Console, optional
        Where to print; the terminal without it.
    """
    print_results(collect(experiment, store, plan=plan), console or Console())


def print_results(results: Results, console: Console) -> None:
    """Print tables and claims.

    Parameters
    ----------
    results : Results
        Of an experiment.
    console : rich.console.Console
        Where to print.
    """
    for table in make_tables(results):
        shown = rich_table(table)
        if not console.is_terminal:  # a log has no edge
            wide = console.options.update(max_width=10_000)
            console.width = max(console.width, console.measure(shown, options=wide).maximum)
        console.print(shown)
        console.print()
    print_claims(results.claims, console)


def print_claims(claims: Sequence[ClaimResult], console: Console) -> None:
    """Print one line per claim: verdict, source, words, numbers.

    Parameters
    ----------
    claims : sequence of ClaimResult
        With verdicts.
    console : rich.console.Console
        Where to print.
    """
    for result in claims:
        line = Text(f"{result.verdict:>9}", style=COLORS.get(result.verdict, "dim"))
        line.append(f"  {result.claim.source}: {result.text}", style="default")
        line.append(f"\n           {result.numbers}", style="dim")
        console.print(line, soft_wrap=not console.is_terminal)
