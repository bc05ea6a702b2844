"""Printed numbers that ours do not match, beside what other readings of the paper gave: tested explanations."""

import math
from typing import Any

import pandas as pd

from manifold_oos.config.model import FIXED, Reading
from manifold_oos.config.values import Facts, settle
from manifold_oos.metrics import DIRECTIONS, better_of, is_time
from manifold_oos.results.best import best_rows, parameter_values
from manifold_oos.results.collect import Results
from manifold_oos.results.published import judge
from manifold_oos.results.statistics import summarize

CELL = ["source", "protocol", "metric", "dataset", "arm", "size", "published", "ours", "verdict"]
#: Columns of :func:`deviations`.
COLUMNS = [*CELL, "reading", "mean", "reading_verdict"]
#: Final rows by arm, data set, metric and size.
Blocks = dict[Any, pd.DataFrame]
EXPLAINED, OPEN, UNTESTED = "another reading matches", "no reading matches", "no other reading measured"


def deviations(results: Results) -> pd.DataFrame:
    """Every printed number that ours does not match, once for each other reading that was measured."""
    cells = results.cells
    timed = cells["metric"].map(is_time).astype(bool)  # of another machine
    deviating = cells[cells["verdict"].isin(["better", "worse"]) & ~timed]
    final = results.rows[results.rows["step"].isna()]
    blocks: Blocks = dict(iter(final.groupby(["arm", "dataset", "metric", "size"], sort=False)))
    records: list[tuple[Any, ...]] = []
    cell: Any
    for cell in deviating.itertuples():
        known = (
            cell.source, cell.protocol, cell.metric, cell.dataset, cell.arm, cell.size, cell.published, cell.mean,
            cell.verdict,
        )  # fmt: skip
        measured: list[tuple[Any, ...]] = [
            (name, *found)
            for name, reading in results.experiment.readings.items()
            if (found := _measure(results, reading, cell, blocks)) is not None
        ]
        records += [(*known, *found) for found in measured or [(None, math.nan, None)]]
    return pd.DataFrame.from_records(records, columns=COLUMNS)


def _measure(results: Results, reading: Reading, cell: Any, blocks: Blocks) -> tuple[float, str] | None:
    """What a reading gives in the place of a cell, and how that stands to the printed number."""
    if cell.arm not in reading.arms or reading.metric not in (None, cell.metric):
        return None
    if reading.datasets is not None and cell.dataset not in reading.datasets:
        return None
    dataset = (reading.datasets or {}).get(cell.dataset, cell.dataset)
    rows = blocks.get((reading.arms[cell.arm], dataset, cell.metric, cell.size))
    if rows is None:
        return None
    rows = rows[rows["selection"].isin([cell.protocol, FIXED])]
    for name, value in reading.chosen.items():
        rows = rows[(parameter_values(rows, name) == _settled(results, value, dataset, cell.n_train)).astype(bool)]
    if rows.empty:
        return None
    summary = summarize(best_rows(rows, DIRECTIONS)["value"])
    half = (summary.high - summary.low) / 2
    return summary.mean, judge(summary.mean, half, cell.published, better=better_of(cell.metric)).word


def _settled(results: Results, value: Any, dataset: str, n_train: float) -> Any:
    """A value of an open parameter, sizes such as ``n_train-1`` worked out."""
    if not isinstance(value, str):
        return value
    facts = results.facts[dataset]
    return settle(value, Facts(dataset, int(n_train), facts.n_classes, facts.n_features))


def state_of(deviation: pd.DataFrame) -> str:
    """Whether a reading explains a cell: ``EXPLAINED``, ``OPEN`` or ``UNTESTED``."""
    if deviation["reading"].isna().all():
        return UNTESTED
    return EXPLAINED if (deviation["reading_verdict"] == "matches").any() else OPEN


def explained_states(table: pd.DataFrame) -> list[str]:
    """The state of each deviating cell of :func:`deviations`, one per cell."""
    return [state_of(lines) for _, lines in table.groupby(CELL, sort=False)]
