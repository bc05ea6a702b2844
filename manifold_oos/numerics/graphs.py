"""Neighbour graphs, their weights and Laplacians, within and between classes, and what to do with loose parts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import radius_neighbors_graph

from manifold_oos.arrays import Array, Index
from manifold_oos.numerics.basis_pursuit import sparse_codes
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.components import component_links, count_components
from manifold_oos.numerics.components import connect_components as connect_components
from manifold_oos.numerics.kernels import gaussian_kernel, kernel_matrix, squared_distances
from manifold_oos.numerics.nearest import is_approximate, nearest_points
from manifold_oos.numerics.shared import shared

#: Symmetric weights of a graph, dense or sparse.
Weights = Any


def neighbor_graph(X: Array, n_neighbors: int) -> tuple[Index, Array]:
    """The nearest neighbours of every point, itself left out by its index (duplicates are neighbours).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        How many neighbours, the point itself not counted; at most n − 1.

    Returns
    -------
    index : ndarray of shape (n, n_neighbors)
        Nearest first.
    distance : ndarray of shape (n, n_neighbors)
        Their Euclidean distances.

    Examples
    --------
    >>> neighbor_graph(np.array([[0.0], [0.0], [3.0], [4.0]]), 1)[0].ravel().tolist()
    [1, 0, 3, 2]
    """
    if not 1 <= n_neighbors < len(X):
        raise ValueError(
            f"n_neighbors={n_neighbors} needs more than {n_neighbors} points and there are n_samples = {len(X)}:"
            " lower n_neighbors"
        )
    distance, index = nearest_points(X, n_neighbors)
    return index, distance


def neighborhoods(X: Array, n_neighbors: int, disconnected: str = "connect") -> Index:
    """Every point followed by its nearest neighbours: the cliques of alignment methods.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours beside the point itself.
    disconnected : {"connect", "error"}, default="connect"
        What to do when the neighbourhoods fall into components: let the ends of the shortest links take the
        place of their farthest neighbours, with a warning, or fail.

    Returns
    -------
    ndarray of shape (n, n_neighbors + 1)
        Indices, the point itself first.
    """
    index, distance = neighbor_graph(X, n_neighbors)
    if distance.max() <= 1e-7 * np.linalg.norm(X, axis=1).max():
        raise ValueError("every point coincides with all of its neighbours: remove duplicates or raise n_neighbors")
    graph = directed_graph(index, distance)
    if count_components(graph) > 1:
        start, end, _ = component_links(graph, X, disconnected)
        place = np.full(len(X), n_neighbors)
        for i, j in zip(np.r_[start, end], np.r_[end, start], strict=True):
            place[i] -= 1
            index[i, max(place[i], 0)] = j
        if count_components(directed_graph(index, distance)) > 1:
            raise ValueError(f"the graph of {n_neighbors} neighbours cannot be connected: raise n_neighbors")
    return np.column_stack([np.arange(len(X)), index])


def directed_graph(index: Index, values: Array) -> sparse.csr_array:
    """Sparse matrix with a row of ``values`` (zeros kept) at the columns of each row of ``index``.

    Parameters
    ----------
    index : ndarray of shape (n, k)
        Columns.
    values : ndarray of shape (n, k)
        Entries.

    Returns
    -------
    csr_array of shape (n, n)
        The matrix.
    """
    n, k = index.shape
    return sparse.csr_array((values.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def symmetrize(W: sparse.csr_array) -> sparse.csr_array:
    """An edge wherever either point has the other as its neighbour: max(W, Wᵀ).

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Non-negative weights.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric weights.
    """
    return sparse.csr_array(W.maximum(W.T))


def heat_weights(distance: Array, sigma: float | None) -> Array:
    """Weights exp(−d²/σ²) of distances, or 1 everywhere when sigma is None (binary weights).

    Parameters
    ----------
    distance : ndarray
        Distances.
    sigma : float or None
        Kernel width.

    Returns
    -------
    ndarray
        Weights, of the shape of ``distance``.
    """
    return np.ones_like(distance) if sigma is None else gaussian_kernel(distance**2, sigma)


def knn_weights(X: Array, n_neighbors: int, sigma: float | None = None) -> sparse.csr_array:
    """Weights of the graph that joins a point with its nearest neighbours (either of the other).

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours per point.
    sigma : float, optional
        Width of heat weights; binary weights when left out.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero diagonal.
    """
    index, distance = neighbor_graph(X, n_neighbors)
    return symmetrize(directed_graph(index, heat_weights(distance, sigma)))


def ball_weights(X: Array, radius: float, sigma: float | None = None) -> sparse.csr_array:
    """Weights of the graph that joins points at most ``radius`` apart.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    radius : float
        The ε of the ε-ball graph.
    sigma : float, optional
        Width of heat weights; binary weights when left out.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero diagonal.
    """
    graph = sparse.csr_array(radius_neighbors_graph(X, radius, mode="distance", include_self=False))
    graph.data = heat_weights(graph.data, sigma)
    return symmetrize(graph)


def full_weights(X: Array, sigma: float | None = None) -> Array:
    """Weights of the graph that joins every pair of points.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    sigma : float, optional
        Width of heat weights; binary weights when left out.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, zero diagonal.
    """
    n = len(X)
    W = np.ones((n, n)) if sigma is None else kernel_matrix(X, sigma=sigma)
    np.fill_diagonal(W, 0)
    return W


def within_class_weights(
    X: Array, y: NDArray, n_neighbors: int | None = None, sigma: float | None = None
) -> sparse.csr_array:
    """Weights W_w that join a point with its nearest neighbours of the same class.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    y : ndarray of shape (n,)
        Class labels.
    n_neighbors : int, optional
        Neighbours per point; the whole class when left out or when the class is smaller.
    sigma : float, optional
        Width of heat weights; binary weights when left out.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero diagonal. A point alone in its class has an empty row.

    Examples
    --------
    >>> within_class_weights(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1])).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _class_weights(X, y, n_neighbors, sigma, same=True)


def between_class_weights(
    X: Array, y: NDArray, n_neighbors: int | None = None, sigma: float | None = None
) -> sparse.csr_array:
    """Weights W_b that join a point with its nearest neighbours of other classes.

    With neither ``n_neighbors`` nor ``sigma``: 1 for every pair of different classes, as in NSSE.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    y : ndarray of shape (n,)
        Class labels.
    n_neighbors : int, optional
        Neighbours per point; all points of other classes when left out.
    sigma : float, optional
        Width of heat weights; binary weights when left out.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero on pairs of the same class.

    Examples
    --------
    >>> between_class_weights(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1])).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    return _class_weights(X, y, n_neighbors, sigma, same=False)


def _class_weights(
    X: Array, y: NDArray, n_neighbors: int | None, sigma: float | None, same: bool
) -> sparse.csr_array:
    """Made once for a point set under ``sharing``, so read-only."""
    codes = np.unique(y, return_inverse=True)[1]

    def make() -> sparse.csr_array:
        if n_neighbors is None and sigma is None and not same:
            W = sparse.csr_array((codes[:, None] != codes).astype(np.float64))
        else:
            W = _nearest_in_classes(X, codes, n_neighbors, sigma, same)
        W.data.flags.writeable = W.indices.flags.writeable = W.indptr.flags.writeable = False
        return W

    if is_approximate():
        return make()  # so that its recall is counted
    return shared(("class weights", n_neighbors, sigma, same), [X, codes], make)


def _nearest_in_classes(
    X: Array, codes: Index, n_neighbors: int | None, sigma: float | None, same: bool
) -> sparse.csr_array:
    """Class by class; the distances of many members to many candidates are never all at hand."""
    n = len(X)
    rows, columns, values = [], [], []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        others = members if same else np.flatnonzero(codes != code)
        available = len(others) - same
        k = available if n_neighbors is None else min(n_neighbors, available)
        if k == 0:
            continue
        if n_neighbors is None or len(members) * len(others) <= BLOCK_FLOATS:
            squared = squared_distances(X[members], None if same else X[others])
            if same:
                np.fill_diagonal(squared, np.inf)
            nearest = np.argpartition(squared, k - 1, axis=1)[:, :k].copy()
            distance = np.sqrt(np.take_along_axis(squared, nearest, axis=1))
        else:
            distance, nearest = nearest_points(X[others], k, None if same else X[members])
        rows.append(np.repeat(members, k))
        columns.append(others[nearest].ravel())
        values.append(heat_weights(distance, sigma).ravel())
    if not rows:
        return sparse.csr_array((n, n), dtype=np.float64)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return symmetrize(sparse.csr_array(entries, shape=(n, n)))


def laplacian(W: Weights) -> tuple[Weights, Array]:
    """The graph Laplacian L = D − W and the degrees on the diagonal of D.

    Parameters
    ----------
    W : ndarray or sparse array of shape (n, n)
        Symmetric weights.

    Returns
    -------
    L : ndarray or csr_array of shape (n, n)
        The Laplacian, of the kind of W.
    degree : ndarray of shape (n,)
        Row sums of W.

    Examples
    --------
    >>> L, degree = laplacian(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> L.tolist(), degree.tolist()
    ([[2.0, -2.0], [-2.0, 2.0]], [2.0, 2.0])
    """
    degree = np.asarray(W.sum(axis=1)).ravel()
    if sparse.issparse(W):
        return sparse.csr_array(sparse.diags_array(degree) - W), degree
    L = -W
    L.flat[:: len(L) + 1] += degree
    return L, degree


def connect_weights(
    W: Weights, X: Array, sigma: float | None = None, disconnected: str = "connect", scale: float = 1.0
) -> Weights:
    """Weights with the shortest links between the components of their graph added.

    Parameters
    ----------
    W : ndarray or csr_array of shape (n, n)
        Symmetric weights.
    X : ndarray of shape (n, D)
        The points behind the graph.
    sigma : float, optional
        Width of heat weights for the links; binary weights when left out.
    disconnected : {"connect", "error"}, default="connect"
        What to do when there is more than one component: see :func:`component_links`.
    scale : float, default=1.0
        Factor of the weights of the links.

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        W itself when it is connected.
    """
    start, end, distance = component_links(W, X, disconnected)
    if not len(start):
        return W
    weight = scale * heat_weights(distance, sigma)
    if not (weight > np.finfo(float).tiny).all():
        raise ValueError(
            f"components of the graph are {distance.max():g} apart, too far for heat weights of sigma={sigma:g}:"
            " raise sigma or n_neighbors"
        )
    links = sparse.csr_array((np.r_[weight, weight], (np.r_[start, end], np.r_[end, start])), shape=W.shape)
    return sparse.csr_array(W + links) if sparse.issparse(W) else W + links.toarray()


def l1_weights(X: Array) -> sparse.csr_array:
    """Weights of the L1 graph: W = (|A| + |A|ᵀ)/2, where each row of A codes a point sparsely by the others.

    The same in every unit of length: see :func:`~manifold_oos.numerics.basis_pursuit.sparse_codes`.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero diagonal.
    """
    codes = abs(sparse_codes(X))
    return sparse.csr_array((codes + codes.T) / 2)
