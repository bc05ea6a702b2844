"""Tables as a reader wants them: arms by sizes, ours with interval, the paper's number and verdict beside."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from manifold_oos.config.model import FIXED, Data, Experiment, Output, Protocol
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import label_of
from manifold_oos.results.cells import make_cells
from manifold_oos.results.collect import Results
from manifold_oos.results.curves import at_each_x, chosen_rows, nothing_chosen
from manifold_oos.results.published import PrintedNumbers

SIZE_NAMES = {
    "train_per_class": "known points per class",
    "fraction": "known fraction",
    "ratio": "ratio of known to new points",
    "n_train": "known points",
    "half_space": "known up to quantile",
    "alternate": "every n-th point known",
    "first": "first n points known",
    "draws": "known points",
}
PROTOCOL_TEXTS = {
    "train_only": "parameters chosen on the training points alone (train_only)",
    "best": "parameters with the best test average, so optimistic (best)",
    FIXED: "no parameter was searched (fixed)",
}


@dataclass(frozen=True)
class TableEntry:
    """One cell of a table; ``state`` says why there is no number, ``published`` may stand without ours."""

    mean: float = math.nan
    half_width: float = math.nan
    splits: int = 0
    best: bool = False
    tuned: bool = True
    published: float = math.nan
    verdict: str = ""
    needed: int = 0
    state: str = ""
    p_corrected: float = math.nan


@dataclass(frozen=True)
class TableLine:
    """One line of a table: an arm, how its parameters were chosen, and its cells."""

    arm: str
    selection: str
    entries: list[TableEntry]


@dataclass(frozen=True)
class TableView:
    """A table: one metric under one selection protocol, a column for each (data set, size)."""

    name: str
    title: str
    metric: str
    protocol: str
    columns: list[tuple[str, float]]
    headers: list[str]
    lines: list[TableLine]
    notes: list[str] = field(default_factory=list)

    @property
    def has_published(self) -> bool:
        """Whether any cell has a printed number."""
        return any(math.isfinite(entry.published) for line in self.lines for entry in line.entries)


def make_tables(results: Results, outputs: Sequence[Output] | None = None) -> list[TableView]:
    """The tables that a config asks for, or one per metric and data set where it asks for none."""
    experiment = results.experiment
    wanted = [output for output in (experiment.outputs if outputs is None else outputs) if output.table is not None]
    if not wanted and outputs is None:
        wanted = [Output(table="")]
    tables = []
    for output in wanted:
        sets = experiment.views_of(output.dataset)
        if output.columns not in (None, "size", "dataset"):
            tables += _parameter_tables(results, output, str(output.columns), sets)
            continue
        groups = [sets] if output.columns == "dataset" else [[data] for data in sets]
        for metric in output.metric or experiment.metrics:
            for group in groups:
                for protocol in _protocols(results, output):
                    table = _make_table(results, output, metric, group, protocol)
                    if table.lines:
                        tables.append(table)
    return tables


def _protocols(results: Results, output: Output) -> list[str]:
    seen = list(dict.fromkeys(results.cells["protocol"]))
    if output.selection is None:
        return seen or [results.experiment.selection[0].name]
    if seen and seen != [FIXED] and output.selection not in seen:
        raise ConfigError(f"selection {output.selection} of table {output.table} has no rows; there are {seen}")
    return [output.selection] if output.selection in seen or not seen else seen


def _make_table(results: Results, output: Output, metric: str, group: list[Data], protocol: str) -> TableView:
    """One table: every arm of the config that runs on its data sets, whether it has rows or not."""
    experiment, cells = results.experiment, results.cells
    wide = len(group) > 1
    columns = [
        (data.label, float(size))
        for data in group
        for size in experiment.split_of(data).sizes
        if output.size is None or any(math.isclose(size, wanted) for wanted in output.size)
    ]
    mine = cells[(cells["metric"] == metric) & (cells["protocol"] == protocol)]
    found: dict[tuple[Any, ...], Any] = {(cell.arm, cell.dataset, cell.size): cell for cell in mine.itertuples()}
    printed = PrintedNumbers(experiment)
    lines = []
    for arm in experiment.shown:
        if output.arms is not None and arm not in output.arms:
            continue
        runs_on = {data.label for data in experiment.datasets if arm in experiment.arms_of(data)}
        entries = []
        for label, size in columns:
            number = printed.find(metric, label, arm, size, protocol)
            published = math.nan if number is None else number.value
            state = "data absent" if label in results.absent else "not run" if label in runs_on else ""
            entries.append(_entry(found.get((arm, label, size)), published, state))
        selections = [found[arm, label, size].selection for label, size in columns if (arm, label, size) in found]
        if any(entry.splits or math.isfinite(entry.published) for entry in entries) or (
            runs_on & {label for label, _ in columns}
        ):
            lines.append(TableLine(arm, selections[0] if selections else protocol, entries))
    kind = experiment.split_of(group[0]).kind
    headers = [f"{label} {size:g}" if wide else f"{size:g}" for label, size in columns]
    labels = ", ".join(data.label for data in group)
    title = output.title or f"{label_of(metric)} on {labels}, by {SIZE_NAMES[kind]}"
    notes = [*table_notes(experiment, protocol, lines), *results.notes(group)]
    notes += [output.note] if output.note else []
    return TableView(name_of(output), title, metric, protocol, columns, headers, lines, notes)


def _parameter_tables(results: Results, output: Output, parameter: str, sets: list[Data]) -> list[TableView]:
    """One table per metric, data set and size, with a column for each value of a parameter."""
    tables = []
    for metric in output.metric or results.experiment.metrics:
        for data in sets:
            for size in results.experiment.split_of(data).sizes:
                table = _parameter_table(results, output, parameter, metric, data, float(size))
                if table is not None:
                    tables.append(table)
    return tables


def _parameter_table(
    results: Results, output: Output, parameter: str, metric: str, data: Data, size: float
) -> TableView | None:
    experiment, rows = results.experiment, chosen_rows(results.shown, output)
    rows = rows[(rows["metric"] == metric) & (rows["dataset"] == data.label) & (rows["size"] == size)]
    placed = at_each_x(rows, experiment, parameter, selection=output.selection)
    values = sorted(placed["x"].dropna().unique())
    if not values:
        return None
    found: list[dict[str, Any]] = []
    for value in values:
        block = placed[(placed["x"] == value) | placed["x"].isna()]
        cells = make_cells(block.drop(columns="x"), experiment)
        found.append({str(cell.arm): cell for cell in cells.itertuples()})
    lines = []
    for arm in experiment.shown:
        selections = [column[arm].selection for column in found if arm in column]
        if selections:
            state = "data absent" if data.label in results.absent else ""
            entries = [_entry(column.get(arm), math.nan, state) for column in found]
            lines.append(TableLine(arm, selections[0], entries))
    protocol = next((line.selection for line in lines if line.selection != FIXED), FIXED)
    split = experiment.split_of(data)
    words = f"{label_of(metric)} on {data.label}, {SIZE_NAMES[split.kind]} {size:g}"
    title = f"{output.title or words}, by {parameter.replace('_', ' ')}"
    headers = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    notes = table_notes(experiment, protocol, lines)
    if nothing_chosen(placed):
        notes[0] = f"every value of {parameter} as it is, nothing chosen"
    notes += results.notes([data])
    places = [(data.label, size)] * len(values)
    return TableView(name_of(output), title, metric, protocol, places, headers, lines, notes)


def name_of(output: Output) -> str:
    """An output as papers call it.

    Examples
    --------
    >>> name_of(Output(figure=7)), name_of(Output(table="ablation"))
    ('Fig. 7', 'ablation')
    """
    kind, number = ("Table", output.table) if output.table is not None else ("Fig.", output.figure)
    return f"{kind} {number}" if str(number)[:1].isdigit() else str(number)


def title_of(output: Output) -> str:
    """The number and the title of a figure, where it has them."""
    name = name_of(output)
    return ": ".join(part for part in (name if name != str(output.figure) else "", output.title) if part)


def size_text(kind: str, size: float) -> str:
    """The size of a split in few words, for titles of panels.

    Examples
    --------
    >>> size_text("train_per_class", 7), size_text("fraction", 0.3)
    ('7 per class', '30 % known')
    """
    if kind == "fraction":
        return f"{100 * size:g} % known"
    words = {"train_per_class": "{} per class", "ratio": "ratio {}", "half_space": "quantile {}"}
    return (words | {"alternate": "every {}th known"}).get(kind, "{} known").format(f"{size:g}")


def _entry(cell: Any, published: float, state: str) -> TableEntry:
    """A cell with ours, or with the reason why there is none beside the printed number."""
    if cell is None or not cell.splits:
        return TableEntry(published=published, state=state)
    return TableEntry(
        mean=cell.mean,
        half_width=(cell.high - cell.low) / 2,
        splits=cell.splits,
        best=cell.best,
        tuned=cell.tuned,
        published=cell.published,
        verdict=cell.verdict,
        needed=cell.needed,
        p_corrected=cell.p_corrected,
    )


def table_notes(experiment: Experiment, protocol: str, lines: Sequence[TableLine]) -> list[str]:
    """What must stand under a table: protocol, number of splits, what was not tuned, notes of the arms."""
    notes = [f"selection: {protocol_text(experiment, protocol)}"]
    if lines:
        notes.append(splits_text([entry.splits for line in lines for entry in line.entries if entry.splits]))
    if any(not entry.tuned for line in lines for entry in line.entries):
        notes.append("† not tuned: too few points per class to choose parameters, defaults taken")
    notes += [f"{line.arm}: {experiment.arms[line.arm].note}" for line in lines if experiment.arms[line.arm].note]
    return [note for note in notes if note]


def protocol_text(experiment: Experiment, protocol: str) -> str:
    """A selection protocol in words, with the rules of ``paper``."""
    if protocol in PROTOCOL_TEXTS:
        return PROTOCOL_TEXTS[protocol]
    stated: Protocol | None = next((p for p in experiment.selection if p.name == protocol), None)
    rules = stated.rules.items() if stated else ()
    said = "".join(f"; {'others' if key == '*' else key}: {rule}" for key, rule in rules)
    return f"parameters chosen as the paper did (paper{said})"


def splits_text(counts: Sequence[int]) -> str:
    """How many splits the numbers are means of.

    Examples
    --------
    >>> splits_text([20, 20])
    'mean of 20 splits ± half the 95 % interval'
    """
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    if high == 1:
        return "one split, no interval"
    return f"mean of {low if low == high else f'{low} to {high}'} splits ± half the 95 % interval"
