"""Printed columns that ours do not give, beside what other readings of the paper gave: tested explanations."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from manifold_oos.config.model import FIXED, Reading
from manifold_oos.metrics import is_time, unit_of
from manifold_oos.results.cells import certain_sets, summary_of
from manifold_oos.results.collect import Results
from manifold_oos.results.published import AGREE, BETTER, WORSE, Verdict, judge
from manifold_oos.results.statistics import Summary

COLUMN = ["source", "protocol", "metric", "dataset", "arm"]
EXPLAINED, OPEN, UNTESTED = "given by a reading", "given by no reading", "no reading measured"
#: Points by which the true columns are shifted for the chance rate.
SHIFTS = (-10.0, -5.0, 5.0, 10.0)


class Measured(NamedTuple):
    """What a reading gave in the place of one cell, and how that stands to the printed number."""

    summary: Summary
    verdict: Verdict


@dataclass(frozen=True)
class PrintedColumn:
    """The printed numbers of an arm at all sizes, with ours and those of each reading that was measured."""

    source: str
    protocol: str
    metric: str
    dataset: str
    arm: str
    cells: list[Any]
    readings: dict[str, dict[float, Measured]] = field(default_factory=dict)

    @property
    def table(self) -> tuple[str, str, str, str]:
        """The table that it is a column of."""
        return self.source, self.protocol, self.metric, self.dataset

    @property
    def deviates(self) -> bool:
        """Whether a number of it is better or worse than printed."""
        return any(cell.verdict in (BETTER, WORSE) for cell in self.cells)

    @property
    def missed(self) -> int:
        """How many numbers are."""
        return sum(cell.verdict in (BETTER, WORSE) for cell in self.cells)

    @property
    def explained_by(self) -> list[str]:
        """The readings under which every printed number of the column is matched or compatible."""
        return [
            name
            for name, found in self.readings.items()
            if all(cell.size in found and found[cell.size].verdict.word in AGREE for cell in self.cells)
        ]

    @property
    def state(self) -> str:
        """Whether a reading explains the column."""
        return EXPLAINED if self.explained_by else OPEN if self.readings else UNTESTED


class Chance(NamedTuple):
    """How many of some false columns, all of which ours miss, the readings gave."""

    explained: int = 0
    tried: int = 0

    def __add__(self, other: "Chance") -> "Chance":  # type: ignore[override]
        return Chance(self.explained + other.explained, self.tried + other.tried)


def printed_columns(results: Results) -> list[PrintedColumn]:
    """Every printed column that was run, without times, which are of another machine."""
    cells = results.cells
    judged = cells[(cells["verdict"] != "") & ~cells["metric"].map(is_time).astype(bool)]
    measure = partial(_measure, results, _found(results))
    columns = []
    for keys, block in judged.groupby(COLUMN, sort=False):
        source, protocol, metric, dataset, arm = map(str, keys)
        column = PrintedColumn(source, protocol, metric, dataset, arm, list(block.itertuples()))
        for name, reading in results.experiment.readings.items():
            found = {cell.size: measured for cell in column.cells if (measured := measure(reading, cell))}
            if found:
                column.readings[name] = found
        columns.append(column)
    return columns


def chance_rates(columns: Sequence[PrintedColumn]) -> tuple[Chance, Chance]:
    """How often the readings give false columns: those of other arms of the table, and shifted true ones.

    A false column stands in the place of a true one that has a reading; it is tried where ours miss it, as a true
    one is asked to be explained only where ours miss it. Shifts are of percentages alone, inside 0 and 100.
    """
    swapped, shifted = Chance(), Chance()
    for column in columns:
        if column.readings:
            for other in columns:
                if other.table == column.table and other.arm != column.arm:
                    swapped += _tried(column, {cell.size: cell.published for cell in other.cells})
            for shift in SHIFTS if unit_of(column.metric) == "%" else ():
                shifted += _tried(column, {cell.size: cell.published + shift for cell in column.cells})
    return swapped, shifted


def _tried(column: PrintedColumn, false: Mapping[float, float]) -> Chance:
    cells = [cell for cell in column.cells if cell.size in false]
    if not cells or (unit_of(column.metric) == "%" and not all(0 <= value <= 100 for value in false.values())):
        return Chance()

    def words(ours: Mapping[float, Summary]) -> Iterator[str]:
        for cell in cells:
            yield judge(ours[cell.size], false[cell.size], column.metric, cell.paper_splits).word

    if not {BETTER, WORSE} & set(words({cell.size: summary_of(cell) for cell in cells})):
        return Chance()
    for found in column.readings.values():
        summaries = {size: measured.summary for size, measured in found.items()}
        if all(cell.size in summaries for cell in cells) and set(words(summaries)) <= set(AGREE):
            return Chance(1, 1)
    return Chance(0, 1)


def states(columns: Sequence[PrintedColumn]) -> Counter[str]:
    """How many numbers that ours miss stand in columns that a reading explains, or none does."""
    counts = Counter[str]()
    for column in columns:
        if column.deviates:
            counts[column.state] += column.missed
    return counts


def _found(results: Results) -> Mapping[tuple[Any, ...], Any]:
    return {(c.protocol, c.arm, c.dataset, c.metric, c.size): c for c in results.cells.itertuples()}


def _measure(
    results: Results, found: Mapping[tuple[Any, ...], Any], reading: Reading, cell: Any
) -> Measured | None:
    """What a reading gives in the place of a cell."""
    if cell.arm not in reading.arms or reading.metric not in (None, cell.metric):
        return None
    if reading.datasets is not None and cell.dataset not in reading.datasets:
        return None
    dataset = (reading.datasets or {}).get(cell.dataset, cell.dataset)
    places = [
        (protocol, reading.arms[cell.arm], dataset, cell.metric, cell.size) for protocol in (cell.protocol, FIXED)
    ]
    other = next((found[place] for place in places if place in found), None)
    if other is None or not other.splits or not math.isfinite(other.mean):
        return None
    summary = summary_of(other, dataset in certain_sets(results.experiment))
    return Measured(summary, judge(summary, cell.published, cell.metric, cell.paper_splits))
