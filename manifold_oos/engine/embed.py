"""Coordinates, labels and confidences for a person's own new points, with everything known as training set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min
from threadpoolctl import threadpool_limits

from manifold_oos import datasets
from manifold_oos.config.model import Data, Experiment, Protocol
from manifold_oos.config.values import Facts
from manifold_oos.datasets.base import Dataset
from manifold_oos.engine.arm_run import ArmRun, Request
from manifold_oos.engine.fits import Workbench
from manifold_oos.engine.keys import score_metric
from manifold_oos.engine.select import choose
from manifold_oos.engine.splits import Points, standardized
from manifold_oos.errors import ConfigError, DataError

Array = NDArray[np.floating]
#: Options that need labels, which new points do not have.
NEEDS_LABELS = ("classes", "per_class", "pattern", "labels_file")


@dataclass(frozen=True)
class Embedded:
    """New points with their coordinates: ``table`` has name, label, confidence, y1, y2 and so on."""

    table: pd.DataFrame
    arm: str
    chosen: dict[str, Any]
    n_known: int


def load_new(data: Data, known: Dataset, path: Path, data_dir: Path | None = None) -> Dataset:
    """Load new points the way the known ones were loaded."""
    if not path.exists():
        raise DataError(f"{path}: no such folder or file of new points")
    options = {key: value for key, value in data.options.items() if key not in NEEDS_LABELS}
    name = data.name
    if name not in ("folder", "table"):
        name = "folder" if known.image_shape is not None and not _is_table(path) else "table"
        wanted = datasets.find(name).defaults()
        options = {key: value for key, value in options.items() if key in wanted and key != "variant"}
        if name == "folder" and known.image_shape is not None:
            height, width = known.image_shape[:2]
            options |= {"size": [width, height], "gray": len(known.image_shape) == 2}
    new = datasets.load(name, data_dir=data_dir, **(options | {"path": str(path), "labelled": False}))
    if new.X.shape[1] != known.X.shape[1]:
        raise DataError(
            f"{path}: {new.X.shape[1]} features where {data.label} has {known.X.shape[1]}; "
            "give the new points the same size, colours and columns"
        )
    return new


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".npy", ".npz", ".tsv", ".txt")


def pick_arm(experiment: Experiment, data: Data, arm: str | None) -> str:
    """The arm that a person means, or the first that gives coordinates."""
    known = {name: spec for name, spec in experiment.arms_of(data).items() if spec.embedding and not spec.batch}
    if not known:
        raise ConfigError(f"{experiment.name}: no arm gives coordinates to new points of {data.label}")
    if arm is None:
        return next(iter(known))
    if arm not in known:
        raise ConfigError(f"--arm {arm}: not an arm with an embedding; there are {', '.join(known)}")
    return arm


def embed_new(
    experiment: Experiment, data: Data, arm: str, path: Path, *, data_dir: Path | None = None
) -> Embedded:
    """Fit an arm on all known samples and place the new ones.

    Grids are decided by cross-validation on the known samples. The confidence of a label is d₂ / (d₁ + d₂), with d₁
    the distance to the nearest known point of that label and d₂ to the nearest of any other, in the coordinates:
    ½ on the border, 1 on a known point, below ½ where the classifier disagrees with the nearest point.
    """
    known = datasets.load(data.name, data_dir=data_dir, **data.options)
    new = load_new(data, known, path, data_dir)
    X, X_new = standardized(known.X, new.X) if known.standardize else (known.X, new.X)
    facts = Facts(data.label, len(X), known.n_classes, X.shape[1])
    index, index_new = np.arange(len(X)), np.arange(len(X), len(X) + len(X_new))
    seed = experiment.split_of(data).seed
    points = Points(
        X, known.y, X_new, None, {}, index, index_new, facts, seed, known.standardize, dict(known.parameters)
    )
    spec = experiment.arms[arm]
    score = score_metric(experiment, spec, None)
    request = Request(spec, Protocol(name="train_only"), experiment.cv, score)
    with threadpool_limits(1):
        chosen = choose(request, points).values
        result = ArmRun(request, Workbench(points)).run(chosen, ())
    assert result.placed is not None
    coordinates = result.placed.new
    columns: dict[str, Any] = {"name": list(new.names)}
    labels = result.outcome.labels
    if labels is not None and known.y is not None:
        columns["label"] = np.array(known.class_names)[labels]
        columns["confidence"] = confidence(result.placed.known, known.y, coordinates, labels)
    columns |= {f"y{k + 1}": coordinates[:, k] for k in range(coordinates.shape[1])}
    return Embedded(pd.DataFrame(columns), arm, dict(chosen), len(X))


def confidence(known: Array, y: NDArray, new: Array, labels: NDArray) -> Array:
    """How much nearer a point is to its class than to any other: d₂ / (d₁ + d₂).

    Examples
    --------
    >>> confidence(np.array([[0.0], [4.0]]), np.array([0, 1]), np.array([[1.0], [2.0]]), np.array([0, 0])).tolist()
    [0.75, 0.5]
    """
    out = np.ones(len(new))
    for label in np.unique(labels):
        mine, others = labels == label, known[y != label]
        if not len(others) or not (y == label).any():
            continue
        _, to_own = pairwise_distances_argmin_min(new[mine], known[y == label])
        _, to_other = pairwise_distances_argmin_min(new[mine], others)
        total = to_own + to_other
        out[mine] = np.divide(to_other, total, out=np.full(len(total), 0.5), where=total > 0)
    return out
