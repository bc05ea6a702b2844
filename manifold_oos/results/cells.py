"""From rows (one per split) to cells (one per data set, size and arm): mean, interval, comparison, verdict."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manifold_oos.config.model import FIXED, Experiment
from manifold_oos.metrics import better_of
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.published import PrintedNumbers, judge
from manifold_oos.results.statistics import Summary, compare, exact, summarize

CELL = ["metric", "dataset", "size", "arm", "selection"]
#: Splits that hold no chance unless a part of the new points is drawn.
CERTAIN_KINDS = ("half_space", "alternate", "first")
#: Columns that come from the config's printed numbers.
JUDGED = ["published", "source", "paper_splits", "verdict", "needed"]
#: Columns of :func:`make_cells`, also those of table.csv.
COLUMNS = [
    "protocol", *CELL, "n_components", "chosen", "tuned", "n_train", "n_test", "splits",
    "mean", "sd", "low", "high", "best", "to_best", "to_best_low", "to_best_high",
    "p_corrected", "p_wilcoxon", *JUDGED,
]  # fmt: skip


def protocols(rows: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The selection protocols that rows show, in the order of the config; "fixed" where no arm has a grid."""
    seen = set(rows["selection"])
    return [protocol.name for protocol in experiment.selection if protocol.name in seen] or [FIXED]


def certain_sets(experiment: Experiment) -> set[str]:
    """The data sets whose one split holds no chance."""
    splits = {data.label: experiment.split_of(data) for data in experiment.datasets}
    return {label for label, split in splits.items() if split.rounds == 1 and split.kind in CERTAIN_KINDS}


def make_cells(rows: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Summarise rows over the repetitions, compare with the best arm and with the paper."""
    return summarize_cells(final_rows(rows, lead_of(experiment)), experiment)


def summarize_cells(final: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The cells of rows whose grids are decided."""
    blocks: dict[tuple[Any, ...], list[_Cell]] = {}
    columns = {name: final[name].to_numpy() for name in (*CELL, *_Cell.KEPT)}
    for at in final.groupby(CELL, sort=False).indices.values():
        cell = _Cell({name: column[at] for name, column in columns.items()})
        blocks.setdefault((cell.known["metric"], cell.known["dataset"], cell.known["size"]), []).append(cell)
    records = []
    for protocol in protocols(final, experiment):
        for block in blocks.values():
            mine = [cell for cell in block if cell.known["selection"] in (protocol, FIXED)]
            records += [{"protocol": protocol, **record} for record in _beside_the_best(mine)]
    if not records:
        return pd.DataFrame(columns=[*COLUMNS])
    return judge_cells(in_order(pd.DataFrame.from_records(records), experiment), experiment)


class _Cell:
    """The rows of one arm on one data set and size: what they share, and their values by split."""

    KEPT = ("repetition", "value", "n_components", "chosen", "tuned", "n_train", "n_test")

    def __init__(self, rows: dict[str, NDArray]) -> None:
        self.values = pd.Series(rows["value"], rows["repetition"])
        summary = summarize(rows["value"])
        self.known: dict[str, Any] = {name: rows[name][0] for name in CELL}
        self.known |= {name: _common(rows[name]) for name in ("n_components", "chosen")}
        self.known |= {"tuned": bool(rows["tuned"].all()), "n_train": rows["n_train"][0]}
        self.known |= {"n_test": rows["n_test"][0], "splits": summary.n, "mean": summary.mean, "sd": summary.sd}
        self.known |= {"low": summary.low, "high": summary.high}


def _beside_the_best(block: list[_Cell]) -> list[dict[str, Any]]:
    """The cells of one metric, data set and size, each compared with the best on the splits that they share."""
    if not block:
        return []
    sign = 1 if better_of(block[0].known["metric"]) == "lower" else -1
    means = np.array([cell.known["mean"] for cell in block], dtype=float)
    scores = np.where(np.isfinite(means), sign * means, math.inf)
    winner = block[int(scores.argmin())]
    records = []
    for cell, score in zip(block, scores, strict=True):
        beside = dict.fromkeys(("to_best", "to_best_low", "to_best_high", "p_corrected", "p_wilcoxon"), math.nan)
        if cell is not winner:
            left, right = cell.values, winner.values
            if not left.index.equals(right.index):
                left, right = left.align(right, join="inner")
            ratio = cell.known["n_test"] / cell.known["n_train"]
            result = compare(left.to_numpy(), right.to_numpy(), test_ratio=ratio)
            d = result.difference
            beside |= {"to_best": d.mean, "to_best_low": d.low, "to_best_high": d.high}
            beside |= {"p_corrected": result.p_corrected, "p_wilcoxon": result.p_wilcoxon}
        records.append({**cell.known, "best": bool(math.isfinite(score) and score == scores.min()), **beside})
    return records


def _common(values: NDArray) -> Any:
    """The value on which all rows agree, else missing."""
    return values[0] if len(pd.unique(values)) == 1 else None


def in_order(cells: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Sort rows or cells as the config lists metrics, data sets, sizes, arms and protocols."""
    orders: dict[str, list[str]] = {
        "protocol": [protocol.name for protocol in experiment.selection],
        "metric": list(experiment.metrics),
        "dataset": [data.label for data in experiment.datasets],
        "arm": list(experiment.arms),
        "selection": [protocol.name for protocol in experiment.selection],
    }
    by = [column for column in ("protocol", *CELL, "repetition", "n_components", "step") if column in cells]

    def rank(column: pd.Series) -> pd.Series:
        known = orders.get(str(column.name))
        if known is None:
            return column
        place = {name: index for index, name in enumerate(known)}
        return column.map(lambda name: place.get(name, len(place))).astype(int)

    return cells.sort_values(by, key=rank, kind="stable", ignore_index=True)


def summary_of(cell: Any, certain: bool = False) -> Summary:
    """The summary behind a cell; a split without chance has no spread."""
    if certain and cell.splits == 1:
        return exact(cell.mean)
    return Summary(int(cell.splits), cell.mean, cell.sd, cell.low, cell.high)


def judge_cells(cells: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Cells with the printed number of each, if any, and its verdict."""
    printed, certain = PrintedNumbers(experiment), certain_sets(experiment)
    records: list[tuple[Any, ...]] = []
    cell: Any
    for cell in cells.itertuples():
        number = printed.find(cell.metric, cell.dataset, cell.arm, cell.size, cell.protocol)
        if number is None:
            records.append((math.nan, "", 0, "", 0))
            continue
        splits = printed.splits(number)
        word, needed = "", 0
        if math.isfinite(cell.mean):
            verdict = judge(summary_of(cell, cell.dataset in certain), number.value, cell.metric, splits)
            word, needed = verdict.word, verdict.needed
        records.append((number.value, number.source, splits, word, needed))
    judged = pd.DataFrame.from_records(records, columns=JUDGED, index=cells.index)
    return cells.assign(**{name: judged[name] for name in JUDGED})[COLUMNS]
