"""The nearest points of points: exact, or approximate with its recall while :func:`neighbor_search` says so."""

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifold_oos.arrays import Array, Index
from manifold_oos.errors import ConfigError
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.shared import shared

#: The values of a parameter ``neighbors``.
SEARCHES = ("exact", "approximate")
#: So many points are searched exactly as well, to tell the recall.
SAMPLE = 1000
#: Neighbours in the graph of the descent, and how much farther than the last one found it looks for another's.
GRAPH, EPSILON = 30, 0.3


class Recall:
    """How many of the true neighbours of a sample were sought, and how many found."""

    sought = 0
    found = 0


_RECALL: ContextVar[Recall | None] = ContextVar("recall", default=None)


@contextmanager
def neighbor_search(how: str) -> Iterator[Recall]:
    """Let :func:`nearest_points` search in this way, "exact" or "approximate", and count what the latter finds."""
    if how == "approximate" and importlib.util.find_spec("pynndescent") is None:
        raise ConfigError(
            "neighbors='approximate' needs the package pynndescent: pip install 'manifold-oos[neighbors]'"
        )
    recall = Recall()
    token = _RECALL.set(recall if how == "approximate" else None)
    try:
        yield recall
    finally:
        _RECALL.reset(token)


def is_approximate() -> bool:
    """Whether neighbours are searched approximately at the moment."""
    return _RECALL.get() is not None


def nearest_points(X: Array, n_neighbors: int, Z: Array | None = None) -> tuple[Array, Index]:
    """The nearest points of X for each point of Z, or for each point of X among the others.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        How many neighbours.
    Z : ndarray of shape (m, D), optional
        Where neighbours are sought.

    Returns
    -------
    distance : ndarray of shape (m, n_neighbors)
        Euclidean, ascending.
    index : ndarray of shape (m, n_neighbors)
        Rows of X.

    Examples
    --------
    >>> nearest_points(np.array([[0.0], [1.0], [5.0]]), 1)[1].ravel().tolist()
    [1, 0, 1]
    """
    recall, at = _RECALL.get(), X if Z is None else Z
    if recall is None or len(X) * len(at) <= BLOCK_FLOATS:
        distance, index = shared(
            ("nearest points", n_neighbors),
            [X, Z],
            lambda: NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(Z),
        )
        return distance.copy(), index.copy()  # a sparse matrix of them sorts them in place
    index = _descend(X, n_neighbors, Z)
    distance = _distances(X, index, at)
    order = np.argsort(distance, axis=1, kind="stable")
    index, distance = np.take_along_axis(index, order, axis=1), np.take_along_axis(distance, order, axis=1)
    sample = np.linspace(0, len(at) - 1, min(SAMPLE, len(at))).astype(int)
    reach = _distances(X, _exactly(X, n_neighbors, at, sample, own=Z is None), at[sample]).max(axis=1)
    recall.sought += len(sample) * n_neighbors
    recall.found += int((distance[sample] <= reach[:, None]).sum())
    return distance, index


def _descend(X: Array, k: int, Z: Array | None) -> Index:
    """By nearest-neighbour descent in single precision, on one thread and from a fixed seed."""
    mean = X.mean(axis=0)
    narrow = (X - mean).astype(np.float32)
    descent = importlib.import_module("pynndescent").NNDescent
    search = descent(narrow, n_neighbors=max(k + 1, GRAPH), random_state=0, n_jobs=1)
    if Z is None:
        index = _without_self(search.neighbor_graph[0][:, : k + 1].astype(np.intp), np.arange(len(X)))
    else:
        index = search.query((Z - mean).astype(np.float32), k=k, epsilon=EPSILON)[0].astype(np.intp)
    lost = np.flatnonzero((index < 0).any(axis=1))
    if len(lost):
        index[lost] = _exactly(X, k, X if Z is None else Z, lost, own=Z is None)
    return index


def _exactly(X: Array, k: int, at: Array, rows: Index, own: bool) -> Index:
    """True neighbours in X of some rows of ``at``, which is X itself where ``own`` says so."""
    search = NearestNeighbors(n_neighbors=k + own).fit(X)
    index: Index = search.kneighbors(at[rows], return_distance=False)
    return _without_self(index, rows) if own else index


def _without_self(index: Index, rows: Index) -> Index:
    """One neighbour fewer: the point itself, or the last where it is not among them."""
    order = np.argsort(index == rows[:, None], axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1)[:, :-1]


def _distances(X: Array, index: Index, at: Array) -> Array:
    distance = np.empty(index.shape)
    step = max(1, BLOCK_FLOATS // (index.shape[1] * X.shape[1]))
    for start in range(0, len(index), step):
        rows = slice(start, start + step)
        distance[rows] = np.linalg.norm(X[index[rows]] - at[rows, None], axis=2)
    return distance
