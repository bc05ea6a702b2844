"""Writes and prints what a run has to show: tables, times, claims and figures, all rebuilt from the store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from manifold_oos.atomic import write_text
from manifold_oos.config.model import Experiment
from manifold_oos.engine.plan import Plan
from manifold_oos.engine.store import Store
from manifold_oos.errors import DataError
from manifold_oos.metrics import is_time, unit_of
from manifold_oos.reporting.figures.draw import draw_output, figure_outputs, stem_of
from manifold_oos.reporting.figures.style import empty_panel, new_figure, save
from manifold_oos.reporting.render import latex, markdown, rich_table
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.cells import in_order
from manifold_oos.results.claims import ClaimResult
from manifold_oos.results.collect import Results, collect
from manifold_oos.results.explanations import deviations
from manifold_oos.results.published import SIGNS
from manifold_oos.results.tables import make_tables

#: Columns of splits.csv and of the reference tables, one row per split.
SPLIT_COLUMNS = [
    "metric", "dataset", "size", "arm", "selection", "repetition", "n_components", "n_train", "n_test", "value",
    "chosen",
]  # fmt: skip
COLORS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def write_outputs(
    experiment: Experiment,
    store: Store,
    folder: Path,
    *,
    plan: Plan | None = None,
    data_dir: str | Path | None = None,
) -> list[Path]:
    """Write all tables and figures of an experiment."""
    results = collect(experiment, store, plan=plan, folder=folder, data_dir=data_dir)
    return [*write_tables(results, folder), *write_figures(results, folder)]


def write_tables(results: Results, folder: Path) -> list[Path]:
    """Write table.csv (without times), splits.csv, timing.csv, table.md, table.tex and claims.csv."""
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
    """Draw and write every figure of an experiment as PNG and PDF."""
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
    """The final numbers split by split, without times: what a reference table keeps."""
    rows = results.rows[~results.rows["metric"].map(is_time).astype(bool)]
    return in_order(final_rows(rows, lead_of(results.experiment)), results.experiment)[SPLIT_COLUMNS]


def csv_text(frame: pd.DataFrame) -> str:
    """A DataFrame as CSV with fixed bytes: ten digits, plain newlines."""
    return str(frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def claims_frame(claims: Sequence[ClaimResult]) -> pd.DataFrame:
    """Claims with their verdicts as a table."""
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
    """Print the tables of an experiment and the verdicts on its claims."""
    print_results(collect(experiment, store, plan=plan), console or Console())


def print_results(results: Results, console: Console) -> None:
    """Print tables and claims."""
    for table in make_tables(results):
        shown = rich_table(table)
        if not console.is_terminal:  # a log has no edge
            wide = console.options.update(max_width=10_000)
            console.width = max(console.width, console.measure(shown, options=wide).maximum)
        console.print(shown)
        console.print()
    print_claims(results.claims, console)


def print_claims(claims: Sequence[ClaimResult], console: Console) -> None:
    """Print one line per claim: verdict, source, words, numbers."""
    for result in claims:
        line = Text(f"{result.verdict:>9}", style=COLORS.get(result.verdict, "dim"))
        line.append(f"  {result.claim.source}: {result.text}", style="default")
        line.append(f"\n           {result.numbers}", style="dim")
        console.print(line, soft_wrap=not console.is_terminal)


def readings_markdown(results: Results) -> str:
    """The deviating cells line by line as Markdown: printed, ours, and what each other reading gave."""
    table = deviations(results)
    if table.empty:
        return ""
    lines = [
        "| place | arm | at | printed | ours | other readings that were measured |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(cells)} |" for cells in _lines(table)]
    used = set(table["reading"].dropna())
    texts = [f"- *{name}*: {reading.text}" for name, reading in results.experiment.readings.items() if name in used]
    return "\n".join([*lines, "", *texts, *([""] if texts else [])])


def _lines(table: pd.DataFrame) -> Iterator[list[str]]:
    """One line per arm and metric, its sizes side by side."""
    for (source, _, metric, dataset, arm), block in table.groupby(
        ["source", "protocol", "metric", "dataset", "arm"], sort=False
    ):
        digits = 2 if unit_of(str(metric)) == "%" else 3
        first = block.drop_duplicates("size")
        ours = [
            f"{mean:.{digits}f} {SIGNS[verdict]}"
            for mean, verdict in zip(first["ours"], first["verdict"], strict=True)
        ]
        readings = []
        for name, mine in block.dropna(subset=["reading"]).groupby("reading", sort=False):
            by_size = mine.set_index("size")
            values = [
                f"{by_size['mean'][size]:.{digits}f} {SIGNS[by_size['reading_verdict'][size]]}"
                if size in by_size.index
                else "–"
                for size in first["size"]
            ]
            readings.append(f"*{name}* {', '.join(values)}")
        yield [
            f"{source}, {dataset}",
            str(arm),
            ", ".join(f"{size:g}" for size in first["size"]),
            ", ".join(f"{value:.{digits}f}" for value in first["published"]),
            ", ".join(ours),
            "; ".join(readings) or "none",
        ]
