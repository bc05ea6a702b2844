"""A fixed number of centres in place of all points: which, and the functions that they span."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from manifold_oos.arrays import Array
from manifold_oos.numerics.chunks import map_rows
from manifold_oos.numerics.kernels import squared_distances, squared_norms


def some_centers(X: Array, n_centers: int | None) -> NDArray[np.intp] | None:
    """Index of the centres among distinct points, None for all of them."""
    return None if n_centers is None or n_centers >= len(X) else farthest_points(X, n_centers)


def farthest_points(X: Array, count: int, given: int = 0) -> NDArray[np.intp]:
    """Points that cover a set: one after the other the farthest from all before, of equals the first.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    count : int
        How many, at most n.
    given : int, default=0
        The first points of X that are taken from the start. Without them the point farthest from the mean is first.

    Returns
    -------
    ndarray of shape (count,)
        Their index, ascending.

    Examples
    --------
    >>> farthest_points(np.array([[0.0], [1.0], [5.0], [9.0]]), 3).tolist()
    [0, 2, 3]
    """
    chosen = np.arange(len(X)) < given
    norms = squared_norms(X)
    reach = squared_norms(X - X.mean(axis=0))
    if given:
        reach = map_rows(lambda rows: squared_distances(rows, X[:given]).min(axis=1), X, row_floats=given)
    for step in range(count - given):
        reach[chosen] = -1
        i = int(reach.argmax())
        chosen[i] = True
        away = squared_distances(X[i : i + 1], X, norms)[0]
        reach = away if step == 0 and not given else np.minimum(reach, away)
    return np.flatnonzero(chosen)


def whitening(K: Array) -> Array | None:
    """W with W Wᵀ = K⁻¹, or None where K is numerically singular."""
    try:
        factor = cholesky(K, lower=True, check_finite=False)
    except LinAlgError:
        return None
    W: Array = solve_triangular(factor, np.eye(len(K)), lower=True, check_finite=False).T
    return W


def spectral_whitening(K: Array) -> Array:
    """W with W Wᵀ the pseudo-inverse of a kernel matrix K that may be singular."""
    values, vectors = eigh(K, check_finite=False)
    kept = values > len(K) * np.finfo(float).eps * values[-1]
    W: Array = vectors[:, kept] / np.sqrt(values[kept])
    return W


def subset_coefficients(W: Array, rows: Iterable[tuple[Array, Array]], a: float) -> Array | None:
    r"""Coefficients of some centres that fit the values at all points best.

    .. math:: \min_C \|K_{nm} C - Y\|^2 + a \operatorname{tr} C^\top K_{mm} C
        \quad\Longleftrightarrow\quad (K_{mn} K_{nm} + a K_{mm}) C = K_{mn} Y

    which for m = n is :math:`(K + aI) C = Y`. In the basis W it is no worse conditioned than that.

    Parameters
    ----------
    W : ndarray of shape (m, r)
        :math:`W W^\top = K_{mm}^{-1}`.
    rows : iterable of (ndarray of shape (b, m), ndarray of shape (b, d))
        Blocks of :math:`K_{nm}` and Y.
    a : float
        Ridge.

    Returns
    -------
    ndarray of shape (m, d) or None
        C; None where the system is numerically singular.

    Examples
    --------
    >>> subset_coefficients(np.eye(1), [(np.array([[1.0], [1.0]]), np.array([[2.0], [4.0]]))], 2.0).tolist()
    [[1.5]]
    """
    G, h = a * np.eye(W.shape[1]), np.zeros((W.shape[1], 1))
    for K, Y in rows:
        B = K @ W
        G += B.T @ B
        h = h + B.T @ Y
    try:
        C: Array = W @ cho_solve(cho_factor(G, lower=True, check_finite=False), h, check_finite=False)
    except LinAlgError:
        return None
    return C


def kernel_features(kernel: Callable[[Array], Array], X: Array, W: Array) -> tuple[Array, Array]:
    r"""Features :math:`\psi(x) = W^\top k_m(x)` of points, less their mean, and the mean.

    Their products are those of the feature space projected on the span of the centres:
    :math:`\psi(x)^\top \psi(z) = k(x, z)` where x or z is a centre.

    Parameters
    ----------
    kernel : callable
        Kernel values of a block of points and the m centres.
    X : ndarray of shape (n, D)
        Points.
    W : ndarray of shape (m, r)
        :math:`W W^\top = K_{mm}^{-1}`.

    Returns
    -------
    Psi : ndarray of shape (n, r)
        Centred features.
    mean : ndarray of shape (r,)
        Their mean.

    Examples
    --------
    >>> kernel_features(lambda X: X, np.array([[1.0], [3.0]]), np.eye(1))[0].tolist()
    [[-1.0], [1.0]]
    """
    Psi = map_rows(lambda rows: kernel(rows) @ W, X, row_floats=2 * len(W))
    mean: Array = Psi.mean(axis=0)
    Psi -= mean
    return Psi, mean
