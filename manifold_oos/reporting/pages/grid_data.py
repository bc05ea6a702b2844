"""The grid's numbers: gathered from the store, kept in results/grid as two small files, read back for the pages.

``cells.csv`` has a line for each config, data set and arm: of each metric the mean over the splits and half of its
95 % interval; of times the fastest split, because another process can only make one slower; the reason where splits
failed. ``pictures.json`` has the first two coordinates of some points of one split, as bytes.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manifold_oos.atomic import write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Arm, Experiment
from manifold_oos.engine.replay import split_points
from manifold_oos.metrics import METRICS, is_time, true_columns
from manifold_oos.placement import evenly
from manifold_oos.registry import find
from manifold_oos.results.collect import Results
from manifold_oos.results.sheets import csv_text, read_csv
from manifold_oos.results.statistics import summarize

#: The configs of the grid in the order of the pages.
CONFIGS = ("looking", "classes", "truth", "every_pair", "costs")
CELLS, PICTURES = Path("grid") / "cells.csv", Path("grid") / "pictures.json"
FACTS = [
    "config",
    "dataset",
    "arm",
    "embedding",
    "extender",
    "tuned",
    "together",
    "supervised",
    "known",
    "new",
    "splits",
]
#: Known and new points of a picture.
DRAWN = 80
#: Around the known points: how much of their range is shown on each side.
MARGIN = 0.15
LEVELS = 255


def experiments() -> dict[str, Experiment]:
    """The configs of the grid by name."""
    return {name: load_config(f"configs/grid/{name}.yaml") for name in CONFIGS}


def facts_of(arm: Arm) -> dict[str, Any]:
    """What a reader chooses an arm by; ``own`` where the embedding places points itself."""
    methods = arm.methods()
    found: list[Any] = [find(f"{stage}s", method.name) for stage, method in methods.items()]
    supervised = [
        getattr(method, "supervised", False) is True for method in found[: len(found) - ("classifier" in methods)]
    ]
    alone = arm.embedding is None
    return {
        "embedding": "" if arm.embedding is None else arm.embedding.name,
        "extender": arm.extender.name if arm.extender else "" if alone else "own",
        "together": any(getattr(method, "transductive", False) for method in found),
        "supervised": alone or any(supervised),
    }


def gather(name: str, results: Results) -> pd.DataFrame:
    """The lines of one config."""
    experiment = results.experiment
    values: dict[tuple[str, str], dict[str, Any]] = {}
    rows = results.final
    for (label, arm, metric), block in rows.groupby(["dataset", "arm", "metric"], sort=False, observed=True):
        line = values.setdefault((str(label), str(arm)), {"known": 0, "new": 0, "splits": 0})
        line |= {"known": int(block["n_train"].iloc[0]), "new": int(block["n_test"].iloc[0])}
        if is_time(str(metric)):
            line[str(metric)] = float(block["value"].min())
            continue
        summary = summarize(block["value"])
        line["splits"] = max(line["splits"], summary.n)
        line |= {str(metric): summary.mean, f"{metric} ±": summary.half_width}
    failed = pd.DataFrame() if results.failures is None else results.failures
    for row in failed.to_dict("records"):
        values.setdefault((row["dataset"], row["arm"]), {"splits": 0})["failed"] = row["message"]
    records = []
    for data in experiment.datasets:
        for arm, what in experiment.arms_of(data).items():
            if (data.label, arm) in values:
                own = {
                    "config": name,
                    "dataset": data.label,
                    "arm": arm,
                    **facts_of(what),
                    "tuned": ", tuned" in arm,
                }
                records.append(own | values[data.label, arm])
    return pd.DataFrame.from_records(records)


def picture_box(known: NDArray) -> tuple[NDArray, NDArray]:
    """The corners of what is drawn: the known points with a margin."""
    low, high = known.min(axis=0), known.max(axis=0)
    room = MARGIN * np.where(high > low, high - low, 1.0)
    return low - room, high + room


def as_bytes(Y: NDArray, low: NDArray, high: NDArray) -> str:
    """Coordinates in a box as two bytes a point; what lies outside is put on the border.

    Examples
    --------
    >>> base64.b64decode(as_bytes(np.array([[0.0, 1.0], [9.0, 0.5]]), np.zeros(2), np.ones(2))).hex(" ")
    '00 ff ff 80'
    """
    scaled = np.clip(np.nan_to_num((Y - low) / (high - low)), 0, 1) * LEVELS
    return base64.b64encode(scaled.round().astype(np.uint8).tobytes()).decode()


def pictures(results: Results) -> dict[str, Any]:
    """For each data set the colours of points, the known ones of each embedding, the new ones of each arm."""
    found: dict[str, Any] = {}
    for data in results.experiment.datasets:
        mine = {key: path for key, path in results.kept.items() if key[1] == data.label and key[3] == 0}
        shown: dict[str, Any] = {"known": [], "arms": {}}
        for (arm, _, size, repetition, _), path in mine.items():
            with np.load(path, allow_pickle=False) as file:
                known, new = file["known"][:, :2].astype(float), file["new"][:, :2].astype(float)
            if known.shape[1] < 2 or not np.isfinite(known).all():
                continue
            rows = evenly(len(known), DRAWN), evenly(len(new), DRAWN)
            if "colors" not in shown:
                points = split_points(results.experiment, data, size, repetition, results.data_dir)
                shown["colors"] = [_colors(y, p)[i] for y, p, i in _both(points, rows)]
                shown["labelled"] = points.y is not None
            low, high = picture_box(known)
            text = as_bytes(known[rows[0]], low, high)
            if text not in shown["known"]:
                shown["known"].append(text)
            shown["arms"][arm] = [shown["known"].index(text), as_bytes(new[rows[1]], low, high)]
        if shown["arms"]:
            shown["colors"] = [base64.b64encode(part.tobytes()).decode() for part in shown["colors"]]
            found[data.label] = shown
    return found


def _both(points: Any, rows: tuple[NDArray, NDArray]) -> list[tuple[Any, Any, NDArray]]:
    return [(points.y, points.known_parameters, rows[0]), (points.y_new, points.parameters, rows[1])]


def _colors(y: NDArray | None, parameters: Mapping[str, NDArray]) -> NDArray[np.uint8]:
    """A byte for each point: its class, or where its first true parameter lies in the range of all."""
    if y is not None:
        return y.astype(np.uint8)
    column = true_columns(parameters)[:, 0]
    return ((column - column.min()) / np.ptp(column) * LEVELS).round().astype(np.uint8)


def write_data(lines: Sequence[pd.DataFrame], drawn: Mapping[str, Any], out: Path) -> list[Path]:
    """Write both files from the lines of all configs and the pictures of some."""
    cells = pd.concat(lines, ignore_index=True)
    means = [metric for metric in METRICS if metric in cells]
    halves = [f"{metric} ±" for metric in means if f"{metric} ±" in cells]
    columns = [name for metric in means for name in (metric, f"{metric} ±") if name in cells]
    digits = dict.fromkeys(means, 4) | dict.fromkeys(halves, 2)
    cells = cells[[*FACTS, *columns, *(["failed"] if "failed" in cells else [])]]
    short = {name: cells[name].map(partial(_rounded, digits=digits[name])) for name in columns}
    return [
        write_text(out / CELLS, csv_text(cells.assign(**short))),
        write_text(out / PICTURES, json.dumps(drawn, separators=(",", ":"), ensure_ascii=False) + "\n"),
    ]


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def read_data(out: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The lines and the pictures that :func:`write_data` wrote."""
    cells = read_csv(out / CELLS, "the grid", tuple(FACTS))
    words = ["embedding", "extender", *(["failed"] if "failed" in cells else [])]
    cells = cells.assign(**{name: cells[name].fillna("").astype(str) for name in words})
    return cells, json.loads((out / PICTURES).read_text(encoding="utf-8"))
