"""Fits the stages of arms on one split, each thing once however many arms, dimensions and classifiers share it."""

import copy
import json
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos import registry
from manifold_oos.arrays import Array
from manifold_oos.config.model import Method
from manifold_oos.costs import peak_growth
from manifold_oos.engine.splits import Points
from manifold_oos.numerics.kernels import squared_norms
from manifold_oos.numerics.shared import Kept, saved_seconds, sharing
from manifold_oos.placement import MOST_ALONE, chimeras, evenly
from manifold_oos.registry import KINDS, signature
from manifold_oos.steps import Step

#: Floats in the largest block of distances.
BLOCK_FLOATS = 2**20
_signature = cache(signature)


def method_key(stage: str, method: Method) -> str:
    """The same for the same request."""
    return json.dumps([stage, method.name, method.parameters], sort_keys=True)


def is_nested(stage: str, method: Method) -> bool:
    """Whether fewer dimensions are a cut of more; a method may say so depending on its parameters."""
    return bool(getattr(build(stage, method, 0), "nested", False))


def build(stage: str, method: Method, seed: int) -> Any:
    """An unfitted estimator; one that draws random numbers and was given no seed gets that of the split.

    It has its own copy of the parameters; a parameter named as a stage is built from its name.
    """
    cls = registry.find(KINDS[stage], method.name)
    known = _signature(cls)
    parameters = copy.deepcopy(method.parameters)
    if "random_state" in known and parameters.get("random_state") is None:
        parameters["random_state"] = seed % 2**32
    for inner in KINDS:
        if inner in known and isinstance(parameters.get(inner), str | Mapping):
            parameters[inner] = build(inner, Method.model_validate(parameters[inner]), seed)
    return cls(**parameters)


@dataclass
class Fit:
    """A fitted estimator, how long it took and what it warned of."""

    estimator: Any
    seconds: float
    warnings: list[str]


@dataclass(frozen=True)
class Placed:
    """Coordinates of the known and new points in d dimensions, cut from what was fitted once for all of them.

    Placements of one ``known_key`` have the same known points, those of one ``key`` the same new ones too.
    """

    key: tuple[Any, ...]
    known_key: tuple[Any, ...]
    wide_known: Array
    wide_new: Array
    d: int
    fits: Mapping[str, Fit] = field(default_factory=dict)
    seconds: float = 0.0
    warnings: Sequence[str] = ()

    @property
    def known(self) -> Array:
        """Of shape (n_known, d)."""
        return self.wide_known[:, : self.d]

    @property
    def new(self) -> Array:
        """Of shape (n_new, d)."""
        return self.wide_new[:, : self.d]

    @property
    def steps(self) -> list[Step]:
        """Iterations of the extender, or else of the embedding."""
        for stage in ("extender", "embedding"):
            steps = getattr(self.fits[stage].estimator, "steps_", None) if stage in self.fits else None
            if steps:
                return list(steps)
        return []


@dataclass
class Labelled:
    """Labels of the new points."""

    labels: NDArray
    fit_seconds: float
    seconds: float
    warnings: list[str]


class Workbench:
    """Everything fitted on one split, kept until the split is done."""

    def __init__(self, points: Points, batches: Mapping[str, Array] | None = None) -> None:
        self.points = points
        self.batches = batches or {}
        self._kept: dict[Any, Any] = {}

    def embed(self, embedding: Method) -> Fit:
        """Fit an embedding on the known points."""
        points, key = self.points, ("embed", method_key("embedding", embedding))
        return self.once(
            key, lambda: fitted(build("embedding", embedding, points.seed), points.X, points.y, points.known)
        )

    def batch(self, embedding: Method) -> tuple[Array, Array]:
        """Coordinates of known and new points from one embedding of all points."""
        points, key = self.points, method_key("embedding", embedding)
        if key in self.batches:
            whole = self.batches[key]
            return whole[points.known], whole[points.new]
        whole = self.once(("batch", key), lambda: self._batch(embedding))
        return whole[: len(points.X)], whole[len(points.X) :]

    def _batch(self, embedding: Method) -> Array:
        points = self.points
        y = None if points.y is None or points.y_new is None else np.concatenate([points.y, points.y_new])
        index = np.concatenate([points.known, points.new])
        fit = fitted(build("embedding", embedding, points.seed), np.vstack([points.X, points.X_new]), y, index)
        coordinates: Array = fit.estimator.embedding_
        return coordinates

    def place(self, embedding: Method, extender: Method | None, d: int | None, together: bool = False) -> Placed:
        """Coordinates in d dimensions."""
        if together:
            known, new = self.batch(embedding)
            key: tuple[Any, ...] = ("batch", method_key("embedding", embedding))
            return Placed(key, key, known, new, d or known.shape[1])
        fit = self.embed(embedding)
        width = fit.estimator.embedding_.shape[1]
        d = width if d is None else d
        if d > width:
            raise ValueError(f"{embedding.name} gave {width} dimensions where {d} were asked for")
        nested = extender is None or is_nested("extender", extender)
        by = method_key("extender", extender) if extender else None
        key = ("place", method_key("embedding", embedding), by, width if nested else d)
        return replace(self.once(key, lambda: self._place(key, fit, extender)), d=d)

    def _place(self, key: tuple[Any, ...], fit: Fit, extender: Method | None) -> Placed:
        points, d, known_key = self.points, key[-1], ("embed", key[1])
        Y = fit.estimator.embedding_[:, :d]
        if extender is None:
            new, seconds, caught = timed(lambda: fit.estimator.transform(points.X_new))
            return Placed(key, known_key, Y, new, d, {"embedding": fit}, seconds, caught)
        estimator = build("extender", extender, points.seed)
        arguments: dict[str, Any] = {"embedding": truncated(fit.estimator, d)}
        if getattr(estimator, "transductive", False):
            arguments["X_new"] = points.X_new
        _, fit_seconds, caught = timed(lambda: estimator.fit(points.X, Y, points.y, **arguments))
        new, seconds, more = timed(lambda: estimator.transform(points.X_new))
        if "X_new" in arguments:  # the new points were placed in fit: their time is per new point
            fit_seconds, seconds = 0.0, fit_seconds + seconds
        fits = {"embedding": fit, "extender": Fit(estimator, fit_seconds, caught)}
        if hasattr(estimator, "training_embedding_"):  # a scheme that embeds anew moves the known points too
            Y, known_key = estimator.training_embedding_, key
        return Placed(key, known_key, Y, new, d, fits, seconds, more)

    def later(self, placed: Placed) -> Callable[[Array], Array] | None:
        """The map of points that come later, without those that are placed already.

        None where all points were embedded together, or where the known points move with the new ones.
        """
        extender = placed.fits["extender"].estimator if "extender" in placed.fits else None
        if not placed.fits or hasattr(extender, "training_embedding_"):
            return None
        points, embedding = self.points, placed.fits["embedding"].estimator
        Y = placed.wide_known

        def place(x: Array) -> Array:
            from sklearn.base import clone

            if getattr(extender, "transductive", False):
                arguments = {"X_new": x, "embedding": truncated(embedding, Y.shape[1])}
                return clone(extender).fit(points.X, Y, points.y, **arguments).transform(x)
            return (embedding if extender is None else extender).transform(x)

        return place

    def alone(self, placed: Placed) -> tuple[Array, float] | None:
        """Coordinates of some new points, each placed without the others, and the seconds of the fastest."""
        place, X_new = self.later(placed), self.points.X_new
        if place is None:
            return None
        rows = evenly(len(X_new), MOST_ALONE)
        made = self.once(("alone", placed.key), lambda: [timed(partial(place, X_new[[i]])) for i in rows])
        return np.vstack([one[0] for one in made])[:, : placed.d], min(one[1] for one in made)

    def foreign(self, placed: Placed | None) -> Array | None:
        """Where points of no kind are placed; themselves where nothing is placed."""
        points = chimeras(self.points.X_new)
        place = None if placed is None else self.later(placed)
        if placed is None or place is None:
            return points if placed is None else None
        wide: Array = self.once(("foreign", placed.key), lambda: place(points))
        return wide[:, : placed.d]

    def sizes(
        self, placed: Placed | None, again: Callable[["Workbench"], Any], wanted: Iterable[str]
    ) -> dict[str, float]:
        """What a fitted arm takes: its pickle, and the process while everything is done again, nothing shared."""
        found = {}
        if "model_kilobytes" in wanted and placed is not None and placed.fits:
            last = placed.fits.get("extender", placed.fits["embedding"]).estimator
            found["model_kilobytes"] = len(pickle.dumps(last)) / 1000
        if "peak_megabytes" in wanted:
            with sharing(Kept()):
                found["peak_megabytes"] = peak_growth(lambda: again(Workbench(self.points))) / 2**20
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def label(self, classifier: Method, placed: Placed | None, dims: Sequence[int] = ()) -> Labelled:
        """Labels of the new points, in the ambient space or on coordinates."""
        points = self.points
        if points.y is None:
            raise ValueError(f"{points.facts.dataset} has no labels: an arm with a classifier needs them")
        if getattr(build("classifier", classifier, 0), "nearest_decides", False):
            start = time.perf_counter()
            if placed is None:
                index = self.once(("nearest",), lambda: points.distances.argmin(axis=1))
            else:
                wanted = sorted({d for d in dims if d <= placed.wide_new.shape[1]} | {placed.d})
                key: tuple[Any, ...] = ("nearest", placed.key, tuple(wanted))
                known, new = placed.wide_known, placed.wide_new
                index = self.once(key, lambda: nearest_by_dimension(known, new, wanted))[placed.d]
            return Labelled(points.y[index], 0.0, time.perf_counter() - start, [])
        known, new, at, where = points.X, points.X_new, (), ()
        if placed is not None:
            known, new, at, where = placed.known, placed.new, (placed.known_key, placed.d), (placed.key, placed.d)
        by = method_key("classifier", classifier)
        return self.once(("label", by, *where), lambda: self._label(classifier, known, new, ("fit", by, *at)))

    def _label(self, classifier: Method, known: Array, new: Array, key: tuple[Any, ...]) -> Labelled:
        y, estimator = self.points.y, build("classifier", classifier, self.points.seed)
        if getattr(estimator, "transductive", False):
            _, seconds, caught = timed(lambda: estimator.fit(known, y, X_new=new))
            return Labelled(estimator.transduction_, 0.0, seconds, caught)

        def make() -> Fit:
            _, seconds, caught = timed(lambda: estimator.fit(known, y))
            return Fit(estimator, seconds, caught)

        fit = self.once(key, make)
        labels, seconds, caught = timed(lambda: fit.estimator.predict(new))
        return Labelled(labels, fit.seconds, seconds, fit.warnings + caught)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Make a thing once; a failure is remembered as well."""
        if key not in self._kept:
            try:
                self._kept[key] = make()
            except Exception as error:
                self._kept[key] = error
        if isinstance(self._kept[key], Exception):
            raise self._kept[key]
        return self._kept[key]


def nearest_by_dimension(known: Array, new: Array, dims: Sequence[int]) -> dict[int, NDArray[np.intp]]:
    """The nearest known point of each new point in the first d coordinates, for many d in one pass.

    Squared distances, less the norm of the new point, grow by the columns that each larger d adds: all of them cost
    as much as the largest.

    Parameters
    ----------
    known, new : ndarray of shape (n, D), (m, D)
        Coordinates.
    dims : sequence of int
        Ascending dimensions.

    Returns
    -------
    dict of int to ndarray of shape (m,)
        Index among the known points by dimension; of equally near ones the first.
    """
    from scipy.linalg import blas  # here: a plan, which computes nothing, imports this module too

    result = {d: np.empty(len(new), dtype=np.intp) for d in dims}
    rows = max(1, BLOCK_FLOATS // max(1, len(known)))
    for start in range(0, len(new), rows):
        block = new[start : start + rows]
        total = np.zeros((len(known), len(block)), order="F")
        last = 0
        for d in dims:
            more = known[:, last:d]
            left = np.column_stack([more, squared_norms(more)])
            right = np.column_stack([-2 * block[:, last:d], np.ones(len(block))])
            total = blas.dgemm(1.0, left, right, beta=1.0, c=total, trans_b=True, overwrite_c=True)
            result[d][start : start + rows] = total.T.argmin(axis=1)
            last = d
    return result


def timed(action: Callable[[], Any]) -> tuple[Any, float, list[str]]:
    """What an action gives, the seconds that it would take alone, and its different warnings in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start, before = time.perf_counter(), saved_seconds()
        result = action()
        seconds = time.perf_counter() - start + saved_seconds() - before
    return result, seconds, list(dict.fromkeys(str(item.message) for item in caught))


def fitted(estimator: Any, X: Array, y: NDArray | None, index: NDArray[np.integer]) -> Fit:
    """Fit an embedding on some samples of a data set, whose index one that looks them up is told."""
    told = {"index": index} if getattr(estimator, "needs_index", False) else {}
    _, seconds, caught = timed(lambda: estimator.fit(X, y, **told))
    return Fit(estimator, seconds, caught)


def truncated(embedding: Any, d: int) -> Any:
    """A fitted nested embedding as if it had been fitted with d components."""
    width = embedding.embedding_.shape[1]
    if width == d:
        return embedding
    short = copy.copy(embedding)
    short.embedding_ = embedding.embedding_[:, :d]
    if hasattr(embedding, "n_components"):
        short.n_components = d
    values = getattr(embedding, "eigenvalues_", None)
    if isinstance(values, np.ndarray) and len(values) == width:
        short.eigenvalues_ = values[:d]
    return short
