"""Writes and prints what a run has to show: tables, times, claims and figures, all rebuilt from the rows."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from manifold_oos.atomic import write_text
from manifold_oos.errors import DataError
from manifold_oos.metrics import is_time
from manifold_oos.reporting.numbers import number_text
from manifold_oos.reporting.render import latex, markdown, markdown_table, md, rich_table
from manifold_oos.results.cells import JUDGED, in_order
from manifold_oos.results.claims import ClaimResult
from manifold_oos.results.collect import Results, count_values
from manifold_oos.results.committed import DIGEST, SPLIT_COLUMNS, config_digest
from manifold_oos.results.explanations import PrintedColumn, printed_columns
from manifold_oos.results.published import SIGNS
from manifold_oos.results.sheets import csv_text, packed, read_csv
from manifold_oos.results.tables import make_tables
from manifold_oos.results.verdict import verdict_markdown

COLORS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def table_texts(results: Results) -> dict[str, str]:
    """table.csv (without times), splits.csv, timing.csv, table.md, table.tex, claims.csv and verdict.md by name."""
    experiment = results.experiment
    times = results.cells["metric"].map(is_time).astype(bool)
    title = experiment.title or experiment.name
    tables = make_tables(results)
    text = markdown(tables, title=title) + _readings_section(results) + _claims_section(results.claims)
    texts = {
        "table.csv": csv_text(results.cells[~times]),
        "table.md": text + _failures_section(results),
        "table.tex": latex(tables, title=title),
    }
    if results.committed is None:
        texts[DIGEST] = config_digest(experiment) + "\n"
    if len(results.rows):
        texts["splits.csv"] = csv_text(packed(split_rows(results)))
        texts["timing.csv"] = csv_text(results.cells[times].drop(columns=JUDGED))
        if results.claims:
            texts["claims.csv"] = csv_text(claims_frame(results.claims))
        if verdict := verdict_markdown(results):
            texts["verdict.md"] = verdict
    return texts


def fewer_rows(results: Results, folder: Path) -> str:
    """Why the tables of a folder are not to be replaced: they rest on more numbers than these. Else empty."""
    path = folder / "table.csv"
    if not path.is_file():
        return ""
    there = count_values(read_csv(path, "cells", ("metric", "splits")))
    if there <= results.values:
        return ""
    return (
        f"{folder}: kept, its tables rest on {there} numbers and these on {results.values}; --force replaces them"
    )


def write_tables(results: Results, folder: Path) -> list[Path]:
    """Write the tables of an experiment."""
    return [write_text(folder / name, text) for name, text in table_texts(results).items()]


def write_figures(
    results: Results, folder: Path, only: Iterable[str] = (), say: Callable[[str], object] | None = None
) -> list[Path]:
    """Draw and write every figure of an experiment as PNG and PDF."""
    from manifold_oos.reporting.figures.draw import draw_output, figure_outputs, stem_of
    from manifold_oos.reporting.figures.style import empty_panel, new_figure, save

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
    final = results.final[~results.final["metric"].map(is_time).astype(bool)]
    return in_order(final, results.experiment)[SPLIT_COLUMNS]


def claims_frame(claims: Sequence[ClaimResult]) -> pd.DataFrame:
    """Claims with their verdicts as a table; ``p`` is before Holm's correction."""
    records = [
        (one.claim.source, one.text, one.verdict, one.p, one.numbers_text) for one in claims
    ]  # fmt: skip
    return pd.DataFrame.from_records(records, columns=["source", "claim", "verdict", "p", "numbers"])


def claims_markdown(claims: Sequence[ClaimResult]) -> str:
    """Claims with their verdicts as a Markdown table."""
    rows = [(one.claim.source, one.text, f"**{one.verdict}**", one.numbers_text) for one in claims]
    return markdown_table(["source", "claim", "verdict", "numbers"], rows)


def _claims_section(claims: Sequence[ClaimResult]) -> str:
    return f"## Claims\n\n{claims_markdown(claims)}\n" if claims else ""


def _readings_section(results: Results) -> str:
    text = readings_markdown(results)
    return f"## Printed columns that ours miss\n\n{text}\n" if text else ""


def _failures_section(results: Results) -> str:
    if results.failures is None or results.failures.empty:
        return ""
    lines = ["\n## Failed\n"]
    for row in results.failures.itertuples(index=False):
        message = f"{row.arm} on {row.dataset} {row.size:g}, repetition {row.repetition}: {row.message}"
        lines.append(f"- {md(message)}")
    return "\n".join(lines) + "\n"


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
        line = Text(f"{result.verdict:>10}", style=COLORS.get(result.verdict, "dim"))
        line.append(f"  {result.claim.source}: {result.text}", style="default")
        line.append(f"\n            {result.numbers_text}", style="dim")
        console.print(line, soft_wrap=not console.is_terminal)


def readings_markdown(results: Results) -> str:
    """The columns that ours miss, line by line: printed, ours, and what each other reading gave."""
    columns = [column for column in printed_columns(results) if column.deviates]
    if not columns:
        return ""
    head = ["place", "arm", "at", "printed", "ours", "other readings, whole columns", "given by"]
    used = {name for column in columns for name in column.readings}
    texts = [
        f"- *{md(name)}*: {md(reading.text)}"
        for name, reading in results.experiment.readings.items()
        if name in used
    ]
    return "\n".join([markdown_table(head, map(_line, columns)), "", *texts, *([""] if texts else [])])


def _line(column: PrintedColumn) -> list[str]:
    """One printed column, its sizes side by side."""
    readings = []
    for name, found in column.readings.items():
        values = [
            f"{number_text(given.summary.mean, column.metric)} {given.verdict.sign}" if given else "–"
            for given in (found.get(cell.size) for cell in column.cells)
        ]
        readings.append(f"*{name}* {', '.join(values)}")
    return [
        f"{column.source}, {column.dataset}",
        column.arm,
        ", ".join(f"{cell.size:g}" for cell in column.cells),
        ", ".join(number_text(cell.published, column.metric) for cell in column.cells),
        ", ".join(f"{number_text(cell.mean, column.metric)} {SIGNS[cell.verdict]}" for cell in column.cells),
        "; ".join(readings) or "none",
        ", ".join(column.explained_by) or "none",
    ]
