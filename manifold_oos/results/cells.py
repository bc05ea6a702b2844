"""From rows (one per split) to cells (one per data set, size and arm): mean, interval, comparison, verdict."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.config.model import FIXED, Experiment, PublishedNumber
from manifold_oos.metrics import better_of
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.published import judge
from manifold_oos.results.statistics import compare, summarize

CELL = ["metric", "dataset", "size", "arm", "selection"]


def protocols(rows: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The selection protocols that rows show, in the order of the config; "fixed" where no arm has a grid."""
    seen = set(rows["selection"])
    return [protocol.name for protocol in experiment.selection if protocol.name in seen] or [FIXED]


def make_cells(rows: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Summarise rows over the repetitions, compare with the best arm and with the paper."""
    final = final_rows(rows, lead_of(experiment))
    parts = []
    for protocol in protocols(final, experiment):
        mine = final[final["selection"].isin([protocol, FIXED])]
        for (metric, _, _), block in mine.groupby(["metric", "dataset", "size"], sort=False):
            parts.append(_block(block, str(metric)).assign(protocol=protocol))
    if not parts:
        return pd.DataFrame(columns=[*COLUMNS])
    cells = pd.concat(parts, ignore_index=True)
    cells = _add_published(cells, experiment.published_numbers())
    return in_order(cells, experiment)[COLUMNS]


#: Columns of :func:`make_cells`, also those of table.csv.
COLUMNS = [
    "protocol", *CELL, "n_components", "chosen", "tuned", "n_train", "n_test", "splits",
    "mean", "sd", "low", "high", "best", "to_best", "to_best_low", "to_best_high",
    "p_corrected", "p_wilcoxon", "published", "source", "verdict",
]  # fmt: skip


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


def _block(block: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The cells of one metric, data set and size."""
    records: list[dict[str, Any]] = []
    values: list[pd.Series] = []
    for _, rows in block.groupby(["arm", "selection"], sort=False):
        summary = summarize(rows["value"])
        first = rows.iloc[0]
        record = {column: first[column] for column in CELL}
        record |= {"n_components": _common(rows["n_components"]), "chosen": _common(rows["chosen"])}
        record |= {"tuned": bool(rows["tuned"].all()), "n_train": first["n_train"], "n_test": first["n_test"]}
        record |= {"splits": summary.n, "mean": summary.mean, "sd": summary.sd}
        record |= {"low": summary.low, "high": summary.high}
        records.append(record)
        values.append(rows.set_index("repetition")["value"])
    means = [record["mean"] for record in records]
    sign = 1 if better_of(metric) == "lower" else -1
    scores = np.array([sign * mean if math.isfinite(mean) else math.inf for mean in means])
    winner = int(scores.argmin())
    for record, value, score in zip(records, values, scores, strict=True):
        left, right = value.align(values[winner], join="inner")
        result = compare(left, right, test_ratio=record["n_test"] / record["n_train"])
        record["best"] = bool(math.isfinite(score) and score == scores[winner])
        itself = value is values[winner]
        record["to_best"] = math.nan if itself else result.difference.mean
        record["to_best_low"] = math.nan if itself else result.difference.low
        record["to_best_high"] = math.nan if itself else result.difference.high
        record["p_corrected"] = math.nan if itself else result.p_corrected
        record["p_wilcoxon"] = math.nan if itself else result.p_wilcoxon
    return pd.DataFrame.from_records(records)


def _common(column: pd.Series) -> Any:
    """The value on which all rows agree, else missing."""
    values = column.unique()
    return values[0] if len(values) == 1 else None


def _add_published(cells: pd.DataFrame, numbers: Iterable[PublishedNumber]) -> pd.DataFrame:
    """Attach the printed number of each cell and its verdict; the first number that fits counts."""
    published: list[float] = []
    sources: list[str] = []
    verdicts: list[str] = []
    numbers = list(numbers)
    cell: Any
    for cell in cells.itertuples():
        number = find_published(numbers, cell.metric, cell.dataset, cell.arm, cell.size, cell.protocol)
        published.append(math.nan if number is None else number.value)
        sources.append("" if number is None else number.source)
        if number is None or not math.isfinite(cell.mean):
            verdicts.append("")
        else:
            half = (cell.high - cell.low) / 2
            verdicts.append(judge(cell.mean, half, number.value, better=better_of(cell.metric)).word)
    return cells.assign(published=published, source=sources, verdict=verdicts)


def find_published(
    numbers: Iterable[PublishedNumber], metric: str, dataset: str, arm: str, size: float, protocol: str
) -> PublishedNumber | None:
    """The printed number for a cell, if the config has one."""
    for number in numbers:
        if (
            (number.metric, number.dataset, number.arm) == (metric, dataset, arm)
            and (number.size is None or math.isclose(number.size, size))
            and (number.selection is None or protocol in (number.selection, FIXED))
        ):
            return number
    return None
