"""Geodesic distances: shortest paths through the neighbour graph, also for points that are not in it."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from manifold_oos.arrays import Array, Index
from manifold_oos.numerics.components import connect_components
from manifold_oos.numerics.graphs import directed_graph, neighbor_graph


def distance_graph(X: Array, n_neighbors: int, disconnected: str = "connect") -> sparse.csr_array:
    """Distances of every point to its nearest neighbours, connected.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours per point.
    disconnected : {"connect", "error"}, default="connect"
        What to do with several components: add the shortest links between them, with a warning, or fail.

    Returns
    -------
    csr_array of shape (n, n)
        An entry per directed edge; duplicates have entries of zero.
    """
    return connect_components(directed_graph(*neighbor_graph(X, n_neighbors)), X, disconnected)


def shortest_paths(graph: sparse.csr_array, sources: Index | None = None) -> Array:
    """Lengths of the shortest paths along edges taken in either direction.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Lengths of edges, zeros included.
    sources : ndarray of shape (m,), optional
        Where paths start; every point when left out.

    Returns
    -------
    ndarray of shape (m, n)
        Lengths, infinite between components.

    Examples
    --------
    >>> shortest_paths(sparse.csr_array(np.array([[0, 1, 0], [0, 0, 2], [0, 0, 0]]))).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """
    lengths: Array = dijkstra(both_ways(graph), directed=True, indices=sources)
    return lengths


def both_ways(graph: sparse.csr_array) -> sparse.csr_array:
    """Every edge in both directions, entries of zero kept.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Lengths of directed edges; where both directions exist they are equal.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric lengths.
    """
    coo = graph.tocoo()
    n = graph.shape[0]
    key = np.r_[coo.row * np.int64(n) + coo.col, coo.col * np.int64(n) + coo.row]
    key, first = np.unique(key, return_index=True)
    lengths = np.r_[coo.data, coo.data][first].astype(np.float64)
    pointer = np.searchsorted(key, np.arange(n + 1) * np.int64(n))
    return sparse.csr_array((lengths, (key % n).astype(np.int32), pointer.astype(np.int32)), shape=graph.shape)


def extend_geodesics(distance: Array, index: Index, lengths: Array) -> Array:
    """Geodesic distances of new points, by way of their nearest training points.

    Parameters
    ----------
    distance : ndarray of shape (m, k)
        Distances of new points to their nearest training points.
    index : ndarray of shape (m, k)
        Those training points.
    lengths : ndarray of shape (n, t)
        Geodesic distances from training points to targets.

    Returns
    -------
    ndarray of shape (m, t)
        min over j of distance[:, j] + lengths[index[:, j]].
    """
    result = np.full((len(index), lengths.shape[1]), np.inf)
    for first, through in zip(distance.T, index.T, strict=True):
        np.minimum(result, first[:, None] + lengths[through], out=result)
    return result
