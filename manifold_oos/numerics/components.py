"""Components of a graph, and the shortest links that join them."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_argmin_min

from manifold_oos.arrays import Array, Index

#: Weights or distances of a graph, dense or sparse.
Weights = Any


class DisconnectedGraph(UserWarning):
    """The graph fell into several components and was connected by its shortest links."""


def count_components(graph: Weights) -> int:
    """How many parts a graph falls into; a dense matrix has an edge at every non-zero, a sparse one at every entry.

    Parameters
    ----------
    graph : ndarray or sparse array of shape (n, n)
        Weights or distances; an edge in either direction joins.

    Returns
    -------
    int
        Number of components, which is also the dimension of the null space of the Laplacian.
    """
    return _components(graph)[0]


def component_links(graph: Weights, X: Array, disconnected: str = "connect") -> tuple[Index, Index, Array]:
    """The shortest links that join the components of a graph (Borůvka's spanning tree of components).

    Parameters
    ----------
    graph : ndarray or sparse array of shape (n, n)
        Weights or distances.
    X : ndarray of shape (n, D)
        The points behind the graph.
    disconnected : {"connect", "error"}, default="connect"
        Return the links with a warning, or fail, when there is more than one component.

    Returns
    -------
    start, end : ndarray of shape (m,)
        The points that each link joins; empty when the graph is connected.
    distance : ndarray of shape (m,)
        Their distances.
    """
    count, part = _components(graph)
    if count > 1:
        message = f"the neighbour graph has {count} components"
        if disconnected == "error":
            raise ValueError(f"{message}: raise n_neighbors (or radius), or set disconnected='connect'")
        warnings.warn(
            f"{message}, joined by their shortest links; raise n_neighbors", DisconnectedGraph, stacklevel=4
        )
    links: dict[tuple[int, int], float] = {}
    while count > 1:
        for label in range(count):
            inside, outside = np.flatnonzero(part == label), np.flatnonzero(part != label)
            nearest, distance = pairwise_distances_argmin_min(X[inside], X[outside])
            best = int(distance.argmin())
            i, j = int(inside[best]), int(outside[nearest[best]])
            links[min(i, j), max(i, j)] = float(distance[best])
        start, end = np.array(list(links)).T
        joined = sparse.csr_array((np.ones(len(links)), (start, end)), shape=(len(X), len(X)))
        pattern = _pattern(graph)
        count, part = connected_components(pattern + joined, directed=False)
    pairs = np.array(list(links), dtype=np.intp).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array(list(links.values()))


def _components(graph: Weights) -> tuple[int, Index]:
    """Number of components and the component of each point."""
    if not sparse.issparse(graph) and (np.count_nonzero(graph, axis=1) >= len(graph) - 1).any():
        return 1, np.zeros(len(graph), dtype=np.intp)  # a point joined with all others
    count, part = connected_components(graph, directed=False)
    return int(count), part


def _pattern(graph: Weights) -> sparse.csr_array:
    """Ones where a graph has edges, explicit zeros of a sparse graph included."""
    if not sparse.issparse(graph):
        return sparse.csr_array(np.asarray(graph) != 0).astype(np.float64)
    pattern = sparse.csr_array(graph, copy=True)
    pattern.data = np.ones_like(pattern.data, dtype=np.float64)
    return pattern


def connect_components(graph: sparse.csr_array, X: Array, disconnected: str = "connect") -> sparse.csr_array:
    """A graph of distances with the shortest links between its components added.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Distances, zeros of duplicates kept as entries.
    X : ndarray of shape (n, D)
        The points behind the graph.
    disconnected : {"connect", "error"}, default="connect"
        What to do when there is more than one component: see :func:`component_links`.

    Returns
    -------
    csr_array of shape (n, n)
        The graph itself when it is connected.
    """
    start, end, distance = component_links(graph, X, disconnected)
    if not len(start):
        return graph
    coo = graph.tocoo()
    rows, columns = np.r_[coo.row, start, end], np.r_[coo.col, end, start]
    return sparse.csr_array((np.r_[coo.data, distance, distance], (rows, columns)), shape=graph.shape)
