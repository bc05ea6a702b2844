"""Coordinates, labels and confidences for a person's own new points, with everything known as training set."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manifold_oos import datasets
from manifold_oos.arrays import Array
from manifold_oos.config.model import Arm, Data, Experiment, Method, Protocol
from manifold_oos.config.values import Facts, fill
from manifold_oos.datasets.base import Dataset
from manifold_oos.engine.arm_run import Request, Settled
from manifold_oos.engine.fits import build
from manifold_oos.engine.keys import score_metric
from manifold_oos.engine.select import choose
from manifold_oos.engine.splits import Points, scaling
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.novelty import NOVEL
from manifold_oos.pipeline import OutOfSample

#: Options that need labels, which new points do not have.
NEEDS_LABELS = ("classes", "per_class", "pattern", "labels_file")
#: Of more known points so many are taken: matrices of all pairs of them still fit in a small computer.
MOST_KNOWN = 5000


@dataclass(frozen=True)
class Embedded:
    """New points with their coordinates: ``table`` has name, label, confidence, novelty, y1, y2 and so on.

    ``model`` was fitted on ``n_known`` of the ``n_all`` known points; ``about`` says how points for it are loaded.
    """

    table: pd.DataFrame
    arm: str
    chosen: dict[str, Any]
    n_known: int
    n_all: int
    model: OutOfSample
    about: dict[str, Any]

    @property
    def n_novel(self) -> int:
        """How many of the new points are novel."""
        return int((self.table["novelty"] > NOVEL).sum())


def loading(data: Data, known: Dataset, as_table: bool) -> tuple[str, dict[str, Any]]:
    """The loader for new points and its options, such that they come out as the known ones did."""
    options = {key: value for key, value in data.options.items() if key not in NEEDS_LABELS}
    name = data.name
    if name not in ("folder", "table"):
        name = "folder" if known.image_shape is not None and not as_table else "table"
        wanted = datasets.find(name).defaults()
        options = {key: value for key, value in options.items() if key in wanted and key != "variant"}
        if name == "folder" and known.image_shape is not None:
            height, width = known.image_shape[:2]
            options |= {"size": [width, height], "gray": len(known.image_shape) == 2}
    if name == "table" and known.feature_names:
        options["columns"] = list(known.feature_names)
    return name, options | {"labelled": False}


def load_new(data: Data, known: Dataset, path: Path, data_dir: Path | None = None) -> Dataset:
    """Load new points the way the known ones were loaded; columns with names are matched by name."""
    if not path.exists():
        raise DataError(f"{path}: no such folder or file of new points")
    suffix = path.suffix.lower()
    name, options = loading(data, known, suffix in (".csv", ".npy", ".npz", ".tsv", ".txt"))
    if suffix in (".npy", ".npz"):
        options.pop("columns", None)  # arrays have no names
    new = datasets.load(name, data_dir=data_dir, **(options | {"path": str(path)}))
    if new.X.shape[1] != known.X.shape[1]:
        raise DataError(
            f"{path}: {new.X.shape[1]} features where {data.label} has {known.X.shape[1]}; "
            "give the new points the same size, colours and columns"
        )
    return new


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
    experiment: Experiment, data: Data, arm: str, path: Path | None, *, data_dir: Path | None = None
) -> Embedded:
    """Fit an arm on all known samples (5000 of more, in proportion to the classes) and place the new ones, if any.

    Grids are decided by cross-validation on the known samples. The confidence of a label is its probability by
    :meth:`OutOfSample.predict_proba`.
    """
    known = datasets.load(data.name, data_dir=data_dir, **data.options)
    new = None if path is None else load_new(data, known, path, data_dir)
    seed = experiment.split_of(data).seed
    taken = thinned(len(known), known.y, seed)
    width = known.X.shape[1]
    mean, scale = scaling(known.X) if known.standardize else (np.zeros(width), np.ones(width))
    X, X_new = (known.X[taken] - mean) / scale, ((known.X[:0] if new is None else new.X) - mean) / scale
    y = None if known.y is None else known.y[taken]
    parameters = {key: values[taken] for key, values in known.parameters.items()}
    facts = Facts(data.label, len(X), known.n_classes, width)
    index, index_new = np.arange(len(X)), np.arange(len(X), len(X) + len(X_new))
    points = Points(X, y, X_new, None, {}, index, index_new, facts, seed, known.standardize, parameters)
    spec = experiment.arms[arm]
    request = Request(spec, Protocol(name="train_only"), experiment.cv, score_metric(experiment, spec, None))
    with threadpool_limits(1):
        chosen = choose(request, points).values
        model, labels = fit_arm(spec, points, chosen)
        table = _table(model, labels, X_new, () if new is None else new.names, known.class_names)
    loader, options = loading(data, known, as_table=False)
    about = {
        "arm": arm,
        "loader": loader,
        "options": {key: value for key, value in options.items() if key not in ("path", "columns")},
        "features": list(known.feature_names),
        "class_names": list(known.class_names),
        "mean": mean.tolist() if known.standardize else None,
        "scale": scale.tolist() if known.standardize else None,
    }
    return Embedded(table, arm, dict(chosen), len(X), len(known), model, about)


def thinned(n: int, y: NDArray | None, seed: int, most: int | None = None) -> NDArray[np.intp]:
    """Which of n known points are taken: all up to ``most`` (5000), else at random with a fair share of each class.

    Examples
    --------
    >>> y = np.repeat([0, 1], [6, 3])
    >>> y[thinned(9, y, seed=0, most=3)].tolist()
    [0, 0, 1]
    """
    most = MOST_KNOWN if most is None else most
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    share = np.arange(n) / n
    if y is not None:
        for label in np.unique(y):
            members = y[order] == label
            share[members] = np.arange(members.sum()) / members.sum()
    return np.sort(order[np.argsort(share, kind="stable")[:most]])


def fit_arm(arm: Arm, points: Points, chosen: Mapping[str, Any]) -> tuple[OutOfSample, NDArray | None]:
    """An arm with its grids decided as one estimator, and the labels of the new points."""
    settled = Settled(arm, points.facts)
    stages = {
        stage: build(stage, Method(name=name, parameters=fill(settled.values[stage], chosen, stage)), points.seed)
        for stage, name in settled.names.items()
    }
    classifier: Any = stages.get("classifier")
    together = getattr(classifier, "transductive", False)
    model = OutOfSample(stages["embedding"], stages.get("extender"), None if together else classifier)
    model.fit(points.X, points.y, X_new=points.X_new if len(points.X_new) else None)
    if classifier is None and not hasattr(model.extender_model_, "labels_"):
        return model, None
    if together and len(points.X_new):
        return model, classifier.fit(model.embedding_, points.y, X_new=model.new_embedding_).transduction_
    return model, getattr(model, "transduction_", None)


def _table(
    model: OutOfSample, labels: NDArray | None, X_new: Array, names: tuple[str, ...], class_names: tuple[str, ...]
) -> pd.DataFrame:
    """A row per new point."""
    columns: dict[str, Any] = {"name": list(names)}
    if labels is not None:
        columns["label"] = np.array(class_names)[labels]
        probability = model.predict_proba(X_new) if len(X_new) else np.empty((0, len(class_names)))
        columns["confidence"] = probability[np.arange(len(X_new)), labels]
    columns["novelty"] = model.novelty(X_new) if len(X_new) else np.empty(0)
    Y = model.new_embedding_
    return pd.DataFrame(columns | {f"y{k + 1}": Y[:, k] for k in range(Y.shape[1])})
