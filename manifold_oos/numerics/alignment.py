"""Sparse matrices M whose form tr(YᵀMY) says how badly coordinates Y fit the neighbourhoods of X.

LLE, Laplacian eigenmaps, LTSA, local spline embedding and LGRM minimise it over all Y; coordinate propagation over
the coordinates of new points. Every function takes any point set and returns a symmetric positive semi-definite
matrix that vanishes on constants.
"""

import numpy as np
from scipy import sparse

from manifold_oos.arrays import Array, Index
from manifold_oos.numerics.graphs import connect_weights, knn_weights, laplacian, neighborhoods
from manifold_oos.numerics.splines import neighborhood_blocks, spline_blocks, tangent_coordinates


def assemble(index: Index, blocks: Array, n: int) -> sparse.csr_array:
    """The sum Σ S_i B_i S_iᵀ of one block per neighbourhood.

    Parameters
    ----------
    index : ndarray of shape (m, k)
        Points of each neighbourhood: the columns of S_i.
    blocks : ndarray of shape (m, k, k)
        The matrices B_i.
    n : int
        Number of points.

    Returns
    -------
    csr_array of shape (n, n)
        The sum.

    Examples
    --------
    >>> assemble(np.array([[0, 1], [1, 2]]), np.ones((2, 2, 2)), 3).toarray().tolist()
    [[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]
    """
    m, k = index.shape
    index = index.astype(np.int32)
    rows = np.broadcast_to(index[:, :, None], (m, k, k)).ravel()
    columns = np.broadcast_to(index[:, None], (m, k, k)).ravel()
    return sparse.csr_array((blocks.ravel(), (rows, columns)), shape=(n, n))


def barycenter_weights(x: Array, Z: Array, reg: float = 1e-3) -> Array:
    r"""Weights that sum to 1 and reconstruct each x from its neighbours.

    .. math:: \min_w \|x - \sum_j w_j z_j\|^2 + r \|w\|^2, \quad \sum_j w_j = 1

    with r = ``reg`` times the trace of the local Gram matrix.

    Parameters
    ----------
    x : ndarray of shape (m, D)
        Points.
    Z : ndarray of shape (m, k, D)
        Their neighbours.
    reg : float, default=1e-3
        Regularisation.

    Returns
    -------
    ndarray of shape (m, k)
        Weights.
    """
    m, k, _ = Z.shape
    difference = Z - x[:, None]
    gram = difference @ difference.transpose(0, 2, 1)
    trace = np.trace(gram, axis1=1, axis2=2)
    diagonal = np.arange(k)
    gram[:, diagonal, diagonal] += np.where(trace > 0, reg * trace, reg)[:, None]
    try:
        weights = np.linalg.solve(gram, np.ones((m, k, 1)))[:, :, 0]
    except np.linalg.LinAlgError as error:
        raise ValueError(f"a neighbourhood is degenerate with reg={reg:g}: raise reg") from error
    normal: Array = weights / weights.sum(axis=1, keepdims=True)
    return normal


def lle_weights(X: Array, index: Index, reg: float = 1e-3) -> sparse.csr_array:
    """The matrix W of LLE: row i reconstructs point i from its neighbours.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    index : ndarray of shape (n, 1 + n_neighbors)
        Neighbourhoods, the point itself first.
    reg : float, default=1e-3
        Regularisation of :func:`barycenter_weights`.

    Returns
    -------
    csr_array of shape (n, n)
        Rows sum to 1, zero diagonal.
    """
    n, k = len(index), index.shape[1] - 1
    weights = np.empty((n, k))
    for block in neighborhood_blocks(n, k * max(X.shape[1], k)):
        weights[block] = barycenter_weights(X[index[block, 0]], X[index[block, 1:]], reg)
    pointer = np.arange(0, n * k + 1, k)
    return sparse.csr_array((weights.ravel(), index[:, 1:].ravel(), pointer), shape=(n, len(X)))


def lle_alignment(
    X: Array, n_neighbors: int, reg: float = 1e-3, *, disconnected: str = "connect"
) -> sparse.csr_array:
    r"""LLE's :math:`M = (I - W)^\top (I - W)`.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours that reconstruct a point.
    reg : float, default=1e-3
        Regularisation of :func:`barycenter_weights`.
    disconnected : {"connect", "error"}, default="connect"
        See :func:`~manifold_oos.numerics.graphs.neighborhoods`.

    Returns
    -------
    csr_array of shape (n, n)
        M.
    """
    W = lle_weights(X, neighborhoods(X, n_neighbors, disconnected), reg)
    R = sparse.csr_array(sparse.eye_array(len(X)) - W)
    return sparse.csr_array(R.T @ R)


def lgrm_alignment(
    X: Array, n_neighbors: int, p: int, gamma: float, *, disconnected: str = "connect"
) -> sparse.csr_array:
    r"""LGRM's local Laplacian :math:`L_l = \sum_i S_i A_i S_i^\top` (eq. 10–12).

    .. math:: A_i = H_k - H_k X_i^\top (X_i H_k X_i^\top + \gamma I)^{-1} X_i H_k

    with :math:`X_i` the p main coordinates of the clique of point i, itself and its neighbours.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours in a clique beside the point itself (the paper's k − 1).
    p : int
        Dimension of the local PCA.
    gamma : float
        Ridge of the local regressions. 0 takes the pseudo-inverse.
    disconnected : {"connect", "error"}, default="connect"
        See :func:`~manifold_oos.numerics.graphs.neighborhoods`.

    Returns
    -------
    csr_array of shape (n, n)
        L_l.
    """
    index = neighborhoods(X, n_neighbors, disconnected)
    return assemble(index, regression_blocks(tangent_coordinates(X, index, p), gamma), len(X))


def regression_blocks(T: Array, gamma: float) -> Array:
    """The A_i of LGRM eq. 10 for stacks of principal coordinates; LTSA's projections when gamma is 0.

    Parameters
    ----------
    T : ndarray of shape (m, k, p)
        Centred coordinates with uncorrelated columns, as :func:`tangent_coordinates` gives.
    gamma : float
        Ridge; with 0 a direction without variance is left out.

    Returns
    -------
    ndarray of shape (m, k, k)
        Residual matrices of the local regressions.
    """
    k = T.shape[1]
    variance = (T**2).sum(axis=1)
    present = variance > 1e-14 * variance.max(axis=1, keepdims=True, initial=0)
    shrink = np.divide(1, variance + gamma, out=np.zeros_like(variance), where=present)
    return np.eye(k) - 1 / k - (T * shrink[:, None]) @ T.transpose(0, 2, 1)


def ltsa_alignment(X: Array, n_neighbors: int, d: int, *, disconnected: str = "connect") -> sparse.csr_array:
    r"""LTSA's alignment matrix :math:`M = \sum_i S_i (I - G_i G_i^\top) S_i^\top`.

    :math:`G_i` holds the constant and the d left singular vectors of the neighbourhood of point i (the point
    included). It is :func:`lgrm_alignment` with p = d in the limit γ → 0.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours beside the point itself, at least d + 1.
    d : int
        Dimension of the tangent spaces.
    disconnected : {"connect", "error"}, default="connect"
        See :func:`~manifold_oos.numerics.graphs.neighborhoods`.

    Returns
    -------
    csr_array of shape (n, n)
        M.
    """
    _check_size("LTSA", n_neighbors, d)
    return lgrm_alignment(X, n_neighbors, d, 0.0, disconnected=disconnected)


def spline_alignment(X: Array, n_neighbors: int, d: int, *, disconnected: str = "connect") -> sparse.csr_array:
    r"""Local spline embedding's :math:`M = \sum_i S_i B_i S_i^\top`.

    :math:`B_i` is the bending energy of the spline on the tangent coordinates of the neighbourhood of point i
    (the point included): :func:`~manifold_oos.numerics.splines.spline_blocks`.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours beside the point itself, at least d + 1.
    d : int
        Dimension of the tangent spaces.
    disconnected : {"connect", "error"}, default="connect"
        See :func:`~manifold_oos.numerics.graphs.neighborhoods`.

    Returns
    -------
    csr_array of shape (n, n)
        M.
    """
    _check_size("a spline embedding", n_neighbors, d)
    index = neighborhoods(X, n_neighbors, disconnected)
    T = tangent_coordinates(X, index, d)
    k = n_neighbors + 1
    blocks = np.empty((len(X), k, k))
    for block in neighborhood_blocks(len(X), k * k * (d + 4)):
        blocks[block] = spline_blocks(T[block])
    return assemble(index, blocks, len(X))


def laplacian_alignment(
    X: Array, n_neighbors: int, sigma: float | None = None, *, disconnected: str = "connect"
) -> sparse.csr_array:
    """The Laplacian D − W of the neighbour graph.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    n_neighbors : int
        Neighbours per point.
    sigma : float, optional
        Width of heat weights exp(−d²/σ²); binary weights when left out.
    disconnected : {"connect", "error"}, default="connect"
        See :func:`~manifold_oos.numerics.graphs.neighborhoods`.

    Returns
    -------
    csr_array of shape (n, n)
        M.
    """
    W = connect_weights(knn_weights(X, n_neighbors, sigma), X, sigma, disconnected)
    L: sparse.csr_array = laplacian(W)[0]
    return L


def _check_size(method: str, n_neighbors: int, d: int) -> None:
    if n_neighbors < d + 1:
        raise ValueError(
            f"{method} of dimension {d} needs n_neighbors >= {d + 1}, got {n_neighbors}:"
            " raise n_neighbors or lower n_components"
        )
