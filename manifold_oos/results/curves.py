"""Choices of rows for curves and claims: one protocol, one value of x at a time."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.config.model import FIXED, Experiment, Output
from manifold_oos.engine.replay import Replay
from manifold_oos.errors import ConfigError
from manifold_oos.results.best import best_rows, final_rows, parameter_values
from manifold_oos.results.cells import in_order, protocols
from manifold_oos.results.statistics import summarize


def chosen_rows(rows: pd.DataFrame, output: Output) -> pd.DataFrame:
    """The rows that an output is about: its data sets, arms and sizes."""
    if output.dataset is not None:
        rows = rows[rows["dataset"].isin(output.dataset)]
    if output.arms is not None:
        rows = rows[rows["arm"].isin(output.arms)]
    if output.size is not None:
        rows = at_sizes(rows, output.size)
    return rows


def at_sizes(rows: pd.DataFrame, sizes: Sequence[float]) -> pd.DataFrame:
    """The rows of some sizes, up to rounding; without rows an empty frame with the same columns."""
    # A list of no truth values would choose no columns.
    wanted = np.array([any(math.isclose(size, other) for other in sizes) for size in rows["size"]], dtype=bool)
    return rows[wanted]


def protocol_rows(rows: pd.DataFrame, experiment: Experiment, selection: str | None) -> pd.DataFrame:
    """The rows of one protocol, with those of arms that have no grid."""
    _check_protocol(selection, experiment)
    return rows[rows["selection"].isin([selection or protocols(rows, experiment)[0], FIXED])]


def _check_protocol(selection: str | None, experiment: Experiment) -> None:
    """A protocol of the config may have no rows yet, where data are absent or a run was stopped."""
    known = [protocol.name for protocol in experiment.selection]
    if selection is not None and selection not in known:
        raise ConfigError(f"selection {selection}: no rows were chosen so; there are {', '.join(known)}")


def at_each_x(rows: pd.DataFrame, experiment: Experiment, x: str, *, selection: str | None = None) -> pd.DataFrame:
    """The rows with a column ``x``; where grids are open, the best candidate at each x.

    Without a selection, an arm's rows come from the first protocol of the config that has more than one value of
    x on a split: ``best`` keeps every candidate of a grid, ``train_only`` only the chosen one.
    """
    rows = rows[rows["step"].notna() if x == "step" else rows["step"].isna()]
    rows = rows.assign(x=parameter_values(rows, x))
    order = [protocol.name for protocol in experiment.selection]
    if selection is not None:
        _check_protocol(selection, experiment)
        order = [selection]
    parts = []
    for _, arm in rows.groupby(["arm", "dataset"], sort=False):
        mine = arm[arm["selection"] == FIXED]
        for protocol in order:
            chosen = arm[arm["selection"] == protocol]
            if mine.empty or (_varies(chosen, x) and not _varies(mine, x)):
                mine = chosen
        parts.append(mine)
    if not parts:
        return rows
    kept = pd.concat(parts)
    return in_order(kept if x == "step" else best_rows(kept, by=["x"]), experiment)


def _varies(rows: pd.DataFrame, x: str) -> bool:
    """Whether rows are a curve over x: several values on one split, or several splits where x is their size."""
    if rows.empty:
        return False
    if x in ("size", "n_train"):
        return bool(rows["x"].nunique() > 1)
    return bool(rows.groupby(["metric", "size", "repetition"])["x"].nunique().max() > 1)


def nothing_chosen(placed: pd.DataFrame) -> bool:
    """Whether every value of x is shown as it is: no other parameter had a grid."""
    mine = placed[placed["x"].notna() & (placed["candidate"] != "{}")]
    return len(mine) > 0 and all(len(json.loads(text)) == 1 for text in mine["chosen"].unique())


def curve_cells(placed: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """Mean and interval at each x, for :func:`~manifold_oos.reporting.figures.curves.curve_figure`."""
    records = []
    for keys, block in placed.groupby([*panel, "arm", "x"], sort=False, dropna=False):
        *names, arm, x = keys
        summary = summarize(block["value"])
        title = ", ".join(f"{name:g}" if isinstance(name, float) else str(name) for name in names)
        records.append((title, arm, x, summary.n, summary.mean, summary.low, summary.high))
    return pd.DataFrame.from_records(records, columns=["panel", "arm", "x", "n", "mean", "low", "high"])


def chosen_values(
    rows: pd.DataFrame, experiment: Experiment, place: Replay, selection: str | None
) -> dict[str, Any]:
    """The grid values that an arm was given on a split."""
    mine = rows[(rows["arm"] == place.arm) & (rows["dataset"] == place.data.label)]
    mine = mine[np.isclose(mine["size"].to_numpy(dtype=float), place.size)]
    if mine.empty:
        return {}
    metric = mine["metric"].iloc[0] if experiment.metrics[0] not in set(mine["metric"]) else experiment.metrics[0]
    mine = protocol_rows(final_rows(mine[mine["metric"] == metric]), experiment, selection)
    here = mine[mine["repetition"] == place.repetition]
    return dict(json.loads((here if len(here) else mine)["chosen"].iloc[0])) if len(mine) else {}
