"""Gaussian interpolation with a scale per dimension: coefficients, values and what rounding does to both."""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.numerics.kernels import gaussian_kernel

Array = NDArray[np.floating]
#: Largest ‖c‖₁/‖y‖_∞ of a trusted interpolant: kernel values are right to about 1e-15, so f is right to 1e-7.
AMPLIFICATION = 1e8
#: How far an interpolant may miss its values, relative to the largest, before a warning is due.
TOLERANCE = 1e-6


def merge_duplicates(X: Array, Y: Array) -> tuple[NDArray[np.intp], Array]:
    """Keep one of identical points, with the mean of their values.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    Y : ndarray of shape (n, d)
        Their values. A warning is given where identical points have different ones.

    Returns
    -------
    first : ndarray of shape (m,)
        Index of each distinct point where it first occurs, ascending.
    values : ndarray of shape (m, d)
        Mean value of each distinct point.

    Examples
    --------
    >>> merge_duplicates(np.array([[1.0], [0.0], [1.0]]), np.array([[2.0], [3.0], [2.0]]))[0].tolist()
    [0, 1]
    """
    _, first, inverse, counts = np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    if len(first) == len(X):
        return first[order], Y
    values = np.zeros((len(first), Y.shape[1]))
    np.add.at(values, inverse.ravel(), Y)
    values /= counts[:, None]
    apart = np.abs(values[inverse.ravel()] - Y).max(axis=1) > TOLERANCE * np.abs(Y).max()
    if apart.any():
        warnings.warn(
            f"{int(apart.sum())} identical training points have different coordinates; their mean is interpolated",
            stacklevel=2,
        )
    return first[order], values[order]


def solve(Phi: Array, Y: Array) -> Array | None:
    """Coefficients of an interpolant, or None where the kernel matrix is numerically singular.

    Parameters
    ----------
    Phi : ndarray of shape (n, n)
        Kernel matrix (eq. 18 of SOSI).
    Y : ndarray of shape (n, d)
        Values.

    Returns
    -------
    ndarray of shape (n, d) or None
        C with Phi C = Y (eq. 17).

    Examples
    --------
    >>> solve(np.ones((2, 2)), np.ones((2, 1))) is None
    True
    """
    try:
        factor = cholesky(Phi, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    C: Array = cho_solve((factor, True), Y, check_finite=False)
    return C


def trusted(C: Array | None, Y: Array) -> NDArray[np.bool_]:
    """Which dimensions keep f(x_i) = y_i to about 1e-7 whatever the rounding of the kernel.

    Parameters
    ----------
    C : ndarray of shape (n, d) or None
        Coefficients.
    Y : ndarray of shape (n, d)
        Values.

    Returns
    -------
    ndarray of shape (d,) of bool
        Whether ‖c‖₁ ≤ AMPLIFICATION · ‖y‖_∞.

    Examples
    --------
    >>> trusted(np.array([[1.0, 1e9]]), np.array([[1.0, 1.0]])).tolist()
    [True, False]
    """
    if C is None:
        return np.zeros(Y.shape[1], dtype=bool)
    return np.asarray(np.abs(C).sum(axis=0) <= AMPLIFICATION * np.abs(Y).max(axis=0))


def coefficients(squared: Array, Y: Array, sigma: Array) -> Array:
    """Interpolate at given scales, by least squares where the kernel matrix is numerically singular.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of the centres.
    Y : ndarray of shape (n, d)
        Values. A warning is given where they are missed by more than 1e-6.
    sigma : ndarray of shape (d,)
        A scale per dimension.

    Returns
    -------
    ndarray of shape (n, d)
        Coefficients.
    """
    C = np.empty_like(Y)
    missed = 0.0
    for scale in np.unique(sigma):
        columns = sigma == scale
        Phi, y = gaussian_kernel(squared, scale), Y[:, columns]
        c = solve(Phi, y)
        if c is None:
            c = least_squares(Phi, y)
        C[:, columns] = c
        missed = max(missed, np.abs(Phi @ c - y).max() / max(np.abs(y).max(), np.finfo(float).tiny))
    if missed > TOLERANCE:
        warnings.warn(
            f"the kernel matrix is singular at this scale: training points are missed by {missed:.0e} of the"
            " largest coordinate; choose a smaller sigma",
            ConvergenceWarning,
            stacklevel=2,
        )
    return C


def least_squares(Phi: Array, Y: Array) -> Array:
    """Least-squares coefficients of smallest norm for a symmetric kernel matrix.

    Parameters
    ----------
    Phi : ndarray of shape (n, n)
        Kernel matrix, perhaps singular.
    Y : ndarray of shape (n, d)
        Values.

    Returns
    -------
    ndarray of shape (n, d)
        Coefficients.

    Examples
    --------
    >>> least_squares(np.ones((2, 2)), np.ones((2, 1))).ravel().round(12).tolist()
    [0.5, 0.5]
    """
    values, vectors = eigh(Phi, check_finite=False)
    kept = values > len(Phi) * np.finfo(float).eps * values[-1]
    V = vectors[:, kept]
    C: Array = V @ ((V.T @ Y) / values[kept, None])
    return C


def trusted_coefficients(squared: Array, Y: Array, sigma: Array, smallest: float) -> tuple[Array, Array]:
    """Interpolate, with smaller scales in the dimensions where rounding would spoil the interpolant.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of the centres.
    Y : ndarray of shape (n, d)
        Values.
    sigma : ndarray of shape (d,)
        Wanted scales.
    smallest : float
        Scales are not shrunk below this one; a least-squares fit with a warning is given instead.

    Returns
    -------
    C : ndarray of shape (n, d)
        Coefficients.
    sigma : ndarray of shape (d,)
        The scales that were used.
    """
    C, sigma = np.empty_like(Y), sigma.astype(float)
    pending = np.ones(len(sigma), dtype=bool)
    while pending.any():
        scale = sigma[pending].max()
        columns = pending & (sigma == scale)
        if scale < smallest:
            C[:, pending] = coefficients(squared, Y[:, pending], sigma[pending])
            break
        c = solve(gaussian_kernel(squared, scale), Y[:, columns])
        good = trusted(c, Y[:, columns])
        where = np.flatnonzero(columns)
        if c is not None:
            C[:, where[good]] = c[:, good]
        pending[where[good]] = False
        sigma[where[~good]] *= 0.9
    return C, sigma


def evaluate(squared: Array, C: Array, sigma: Array) -> Array:
    r"""Values :math:`f^k(x) = \sum_l c_l^k \exp(-\|x - a_l\|^2 / (\sigma^k)^2)` (eq. 12 of SOSI).

    Parameters
    ----------
    squared : ndarray of shape (m, n)
        Squared distances of points and centres.
    C : ndarray of shape (n, d)
        Coefficients.
    sigma : ndarray of shape (d,)
        A scale per dimension.

    Returns
    -------
    ndarray of shape (m, d)
        The values.

    Examples
    --------
    >>> evaluate(np.zeros((1, 1)), np.array([[2.0, 3.0]]), np.array([1.0, 5.0])).tolist()
    [[2.0, 3.0]]
    """
    if (sigma == sigma[0]).all():
        values: Array = gaussian_kernel(squared, float(sigma[0])) @ C
        return values
    F, Phi = np.empty((len(squared), len(sigma))), np.empty_like(squared)
    for scale in np.unique(sigma):
        columns = sigma == scale
        np.multiply(squared, -1 / scale**2, out=Phi)
        np.exp(Phi, out=Phi)
        F[:, columns] = Phi @ C[:, columns]
    return F
