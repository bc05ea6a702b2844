"""Decides the grids that were left to the test average, and tells which parameters stand behind a row."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.config.model import Experiment
from manifold_oos.metrics import METRICS, better_of

CELL = ["arm", "dataset", "size", "selection", "metric"]


def best_rows(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Decide the grids that were left to the test average: keep the best candidate of each cell.

    A cell is an arm, data set, size, selection and metric (and what ``by`` names); its candidates are compared by
    their mean over the repetitions of the final rows (no step). Rows without an open candidate pass unchanged.
    """
    is_open = (rows["candidate"] != "{}").to_numpy()
    if not is_open.any():
        return rows
    candidates = rows[is_open]
    cell = candidates.groupby([*CELL, *by], sort=False, dropna=False).ngroup().to_numpy()
    pair = candidates.groupby([*CELL, *by, "candidate"], sort=False, dropna=False).ngroup().to_numpy()
    sign = candidates["metric"].map(lambda metric: 1.0 if better_of(metric) == "lower" else -1.0).to_numpy()
    final = candidates["step"].isna().to_numpy()
    scored = pd.DataFrame({"cell": cell, "pair": pair, "score": sign * candidates["value"].to_numpy()})[final]
    means = scored.groupby(["cell", "pair"], sort=False)["score"].mean().fillna(np.inf).reset_index()
    kept = means.loc[means.groupby("cell", sort=False)["score"].idxmin(), "pair"]
    stays = ~is_open
    stays[is_open] = np.isin(pair, kept)
    return rows[stays]


#: What metrics are computed from that do not judge an arm.
FOLLOWERS = ("time", "scalar")


def lead_of(experiment: Experiment) -> str | None:
    """The metric that decides grids for times and reported scalars: the first of the config that judges an arm."""
    return next((name for name in experiment.metrics if METRICS[name].needs not in FOLLOWERS), None)


def final_rows(rows: pd.DataFrame, lead: str | None = None) -> pd.DataFrame:
    """The rows of final results (no iterations), with open grids decided on the test average.

    Each metric decides for itself; a time or a scalar that a method reports belongs to the candidate that the lead
    decided for.
    """
    final = rows[rows["step"].isna()]
    follows = final["metric"].map(lambda name: name in METRICS and METRICS[name].needs in FOLLOWERS).astype(bool)
    if lead is None or not follows.any():
        return best_rows(final)
    decided = best_rows(final[~follows])
    key = ["arm", "dataset", "size", "selection"]
    kept = decided[decided["metric"] == lead].set_index([*key, "candidate"]).index
    led = final.set_index(key).index.isin(decided[decided["metric"] == lead].set_index(key).index)
    mine = final.set_index([*key, "candidate"]).index.isin(kept)
    alone = best_rows(final[follows & ~led])
    return pd.concat([part for part in (decided, final[follows & led & mine], alone) if len(part)])


def parameter_values(rows: pd.DataFrame, name: str) -> pd.Series:
    """The value of a parameter behind each row: a column, a grid value, or what a method reports."""
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
