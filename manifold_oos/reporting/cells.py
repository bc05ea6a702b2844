"""From rows (one per split) to cells (one per data set, size and arm): mean, interval, comparison, verdict."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.experiment.config import Experiment, PublishedNumber
from manifold_oos.experiment.metrics import DIRECTIONS, METRICS
from manifold_oos.experiment.rows import best_rows
from manifold_oos.reporting.published import judge
from manifold_oos.reporting.statistics import compare, summarize

UNITS = {"fit_seconds": "s", "select_seconds": "s", "milliseconds_per_sample": "ms"}
LABELS = {
    "parameter_r2": "R² of the true parameters",
    "parameter_r2_worst": "R² of the worse true parameter",
    "known_parameter_r2": "R² of the true parameters of known points",
    "known_parameter_r2_worst": "R² of the worse true parameter of known points",
    "parameter_r2_similarity": "R² of the true parameters, similarity",
    "parameter_r2_similarity_worst": "R² of the worse true parameter, similarity",
    "all_parameter_r2_similarity": "R² of the true parameters of all points, similarity",
    "regularity": "regularity R̂",
    "sigma": "σ",
    "fit_seconds": "time to fit",
    "select_seconds": "time to choose parameters",
    "milliseconds_per_sample": "time per new point",
}
#: The selection of rows of an arm without a grid: it belongs to every protocol.
FIXED = "fixed"
#: What metrics are computed from that do not judge an arm.
FOLLOWERS = ("time", "scalar")
CELL = ["metric", "dataset", "size", "arm", "selection"]


def better_of(metric: str) -> str:
    """Which way a metric is better: "lower" or "higher"."""
    return DIRECTIONS.get(metric, "lower")


def is_time(metric: str) -> bool:
    """Whether a metric is a measured time, which differs from run to run."""
    return metric in METRICS and METRICS[metric].needs == "time"


def unit_of(metric: str) -> str:
    """The unit of a metric, such as "%"; empty where it has none."""
    if metric in METRICS and METRICS[metric].needs == "labels":
        return "%"
    return UNITS.get(metric, "")


def label_of(metric: str) -> str:
    """A metric in words with its unit, for axes and captions.

    Examples
    --------
    >>> label_of("misclassification_rate")
    'misclassification rate (%)'
    """
    unit = unit_of(metric)
    return LABELS.get(metric, metric.replace("_", " ")) + (f" ({unit})" if unit else "")


def lead_of(experiment: Experiment) -> str | None:
    """The metric that decides grids for times and reported scalars: the first of the config that judges an arm."""
    return next((name for name in experiment.metrics if METRICS[name].needs not in FOLLOWERS), None)


def final_rows(rows: pd.DataFrame, lead: str | None = None) -> pd.DataFrame:
    """The rows of final results (no iterations), with open grids decided on the test average.

    Each metric decides for itself; a time or a scalar that a method reports belongs to the candidate that the lead
    decided for.

    Parameters
    ----------
    rows : DataFrame
        As the store gives them.
    lead : str, optional
        The metric from :func:`lead_of`.

    Returns
    -------
    DataFrame
        One row per metric, data set, size, arm, selection and repetition.
    """
    final = rows[rows["step"].isna()]
    follows = final["metric"].map(lambda name: name in METRICS and METRICS[name].needs in FOLLOWERS).astype(bool)
    if lead is None or not follows.any():
        return best_rows(final, DIRECTIONS)
    decided = best_rows(final[~follows], DIRECTIONS)
    key = ["arm", "dataset", "size", "selection"]
    kept = decided[decided["metric"] == lead].set_index([*key, "candidate"]).index
    led = final.set_index(key).index.isin(decided[decided["metric"] == lead].set_index(key).index)
    mine = final.set_index([*key, "candidate"]).index.isin(kept)
    alone = best_rows(final[follows & ~led], DIRECTIONS)
    return pd.concat([part for part in (decided, final[follows & led & mine], alone) if len(part)])


def protocols(rows: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The selection protocols that rows show, in the order of the config; "fixed" where no arm has a grid.

    Parameters
    ----------
    rows : DataFrame
        Rows or cells.
    experiment : Experiment
        The config.

    Returns
    -------
    list of str
        Names for tables: each holds the arms that the protocol chose for, and those without a grid.
    """
    seen = set(rows["selection"])
    return [protocol.name for protocol in experiment.selection if protocol.name in seen] or [FIXED]


def make_cells(rows: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Summarise rows over the repetitions, compare with the best arm and with the paper.

    Parameters
    ----------
    rows : DataFrame
        As the store gives them; iterations are left out.
    experiment : Experiment
        The config: order of arms and data sets, published numbers.

    Returns
    -------
    DataFrame
        One row per cell: ``protocol`` (of the table), ``metric, dataset, size, arm, selection``, ``n_components``
        and ``chosen`` where all splits agree, ``splits, mean, sd, low, high, n_train, n_test, tuned``;
        ``best`` and, against the best arm of the table's cell on the shared splits, ``to_best, to_best_low,
        to_best_high, p_corrected, p_wilcoxon``; ``published, source, verdict``.
    """
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
    """Sort rows or cells as the config lists metrics, data sets, sizes, arms and protocols.

    Parameters
    ----------
    cells : DataFrame
        With the columns of a cell.
    experiment : Experiment
        The config.

    Returns
    -------
    DataFrame
        Sorted, with a new index.
    """
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
    """The printed number for a cell, if the config has one.

    Parameters
    ----------
    numbers : iterable of PublishedNumber
        From the config.
    metric, dataset, arm : str
        Of the cell.
    size : float
        Of the split; a number without a size is for all.
    protocol : str
        Of the table; a number without a selection is for all.

    Returns
    -------
    PublishedNumber or None
        The first that fits.
    """
    for number in numbers:
        if (
            (number.metric, number.dataset, number.arm) == (metric, dataset, arm)
            and (number.size is None or math.isclose(number.size, size))
            and (number.selection is None or protocol in (number.selection, FIXED))
        ):
            return number
    return None


def parameter_values(rows: pd.DataFrame, name: str) -> pd.Series:
    """The value of a parameter behind each row: a column, a grid value, or what a method reports.

    Parameters
    ----------
    rows : DataFrame
        Rows.
    name : str
        ``size``, ``n_components``, ``step``, ``n_train``; a parameter as ``extender.sigma`` or ``sigma``; a
        reported attribute as ``sigma_``.

    Returns
    -------
    Series
        Missing where a row has no such parameter.
    """
    if name in ("size", "n_components", "step", "n_train"):
        return rows[name].astype("Float64").astype(float)
    texts = rows["fitted" if name.endswith("_") else "chosen"]
    known = {text: _lookup(json.loads(text), name) for text in texts.unique()}
    return texts.map(known)


def _lookup(tree: Mapping[str, Any], name: str) -> Any:
    """The entry of a dotted path whose end, or whose beginning after the stage, is the name."""
    for key, value in tree.items():
        parts = key.split(".")
        if key == name or name in (".".join(parts[1:]), parts[-1], ".".join(parts[1:2])):
            if isinstance(value, Mapping) and len(value) == 1:
                return next(iter(value.values()))
            return value
    return None
