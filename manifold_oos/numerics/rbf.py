"""Gaussian interpolation with a scale per dimension: coefficients, values and what rounding does to both."""

import warnings
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh
from scipy.linalg.lapack import dpftrf, dpftrs
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.arrays import Array
from manifold_oos.numerics.centers import spectral_whitening, subset_coefficients, whitening
from manifold_oos.numerics.chunks import BLOCK_FLOATS, map_rows
from manifold_oos.numerics.kernels import gaussian_kernel, squared_distances, squared_norms
from manifold_oos.numerics.shared import shared

#: Largest ‖c‖₁/‖y‖_∞ of a trusted interpolant: kernel values are right to about 1e-15, so f is right to 1e-7.
AMPLIFICATION = 1e8
#: How far an interpolant may miss its values, relative to the largest, before a warning is due.
TOLERANCE = 1e-6
#: Beyond it a factorisation had nothing but rounding to go by, although it came to an end.
LOST = 1e-2
#: From so many centres on, only half of one kernel matrix is held.
PACKED_FROM = 4096


class Gaussians:
    """Gaussian kernels at some of n points, whose sum shall have given values at all of them.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Distinct points.
    centers : ndarray of shape (m,), optional
        Index of the points that are centres; then the values are met by least squares. All points when left out.
    squared : ndarray of shape (n, n), optional
        Squared distances of the points, where they are known.
    """

    def __init__(self, X: Array, centers: NDArray[np.intp] | None = None, squared: Array | None = None) -> None:
        self.X = X
        self.index = None if centers is None or len(centers) == len(X) else centers
        self.centers = X if self.index is None else X[self.index]
        self.norms = squared_norms(self.centers)
        if squared is not None:
            self._squared: Array | None = squared if self.index is None else squared[np.ix_(self.index, self.index)]
        else:
            self._squared = squared_distances(self.centers) if len(self.centers) < PACKED_FROM else None

    @property
    def squared(self) -> Array:
        """Squared distances of the centres."""
        return squared_distances(self.centers) if self._squared is None else self._squared

    def solve(self, sigma: float, Y: Array) -> Array | None:
        """Coefficients for values Y at one scale, or None where the centres' matrix is numerically singular."""
        if self.index is None and self._squared is None:
            return solve_packed(self.X, sigma, Y)
        Phi = gaussian_kernel(self.squared, sigma)
        if self.index is None:
            return solve(Phi, Y)
        W = whitening(Phi)
        return None if W is None else subset_coefficients(W, self._rows(sigma, Y), 0.0)

    def least_squares(self, sigma: float, Y: Array) -> Array:
        """Coefficients without the directions that the centres' matrix does not resolve; many centres damp them."""
        if self.index is None and self._squared is None:
            n = len(self.X)
            C = solve_packed(self.X, sigma, Y, ridge=np.finfo(float).eps * n * n)
            assert C is not None  # n eps times an eigenvalue of at most n is what Cholesky needs
            return C
        Phi = gaussian_kernel(self.squared, sigma)
        if self.index is None:
            return least_squares(Phi, Y)
        C = subset_coefficients(spectral_whitening(Phi), self._rows(sigma, Y), 0.0)
        assert C is not None  # what is kept is well conditioned
        return C

    def values(self, X: Array, C: Array, sigma: Array) -> Array:
        """The sums at any points, of shape (len(X), d), a block of points at a time."""

        def block(rows: Array) -> Array:
            return evaluate(squared_distances(rows, self.centers, self.norms), C, sigma)

        return map_rows(block, X, row_floats=len(self.centers))

    def _rows(self, sigma: float, Y: Array) -> Iterable[tuple[Array, Array]]:
        step = max(1, BLOCK_FLOATS // len(self.centers))
        for start in range(0, len(self.X), step):
            rows = slice(start, start + step)
            squared = squared_distances(self.X[rows], self.centers, self.norms)
            yield gaussian_kernel(squared, sigma), Y[rows]


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
    first, inverse, counts = shared(
        "distinct points",
        [X],
        lambda: np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)[1:],
    )
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


def solve_packed(X: Array, sigma: float, Y: Array, ridge: float = 0.0) -> Array | None:
    """:func:`solve` for the Gaussian kernel matrix of points, in half of its memory.

    LAPACK's rectangular full packed form keeps the lower triangle of the first half of the columns in an array of
    n/2 columns, and fills its upper corner with the triangle of the second half.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    sigma : float
        Scale.
    Y : ndarray of shape (n, d)
        Values.
    ridge : float, default=0.0
        Added to the diagonal.

    Returns
    -------
    ndarray of shape (n, d) or None
        Coefficients.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [4.0]])
    >>> bool(np.allclose(solve_packed(X, 1.0, Y), solve(gaussian_kernel(squared_distances(X), 1.0), Y)))
    True
    """
    n, odd = len(X), len(X) % 2
    half = (n + odd) // 2
    norms = squared_norms(X)
    packed = np.empty((half, n + 1 - odd))  # a row is a column of LAPACK's array
    step = max(1, BLOCK_FLOATS // n)
    for start in (*range(0, half, step), *range(half, n, step)):
        stop = min(start + step, half if start < half else n)
        columns = slice(start, n) if start < half else slice(half, stop)
        Phi = gaussian_kernel(squared_distances(X[start:stop], X[columns], norms[columns]), sigma)
        for i, row in enumerate(Phi, start):
            row[i - columns.start] = 1 + ridge
            if i < half:
                packed[i, i + 1 - odd :] = row[i - start :]
            else:
                packed[i - half + odd, : i - half + 1] = row[: i - half + 1]
    factor, failed = dpftrf(n, packed.ravel(), uplo="L", overwrite_a=True)
    if failed:
        return None
    C: Array = dpftrs(n, factor, Y, uplo="L")[0]
    return C


def coefficients(at: Gaussians, Y: Array, sigma: Array) -> Array:
    """Fit values at given scales, by least squares where the kernel matrix is numerically singular.

    Parameters
    ----------
    at : Gaussians
        The centres and the n points.
    Y : ndarray of shape (n, d)
        Values. A warning is given where interpolation misses them by more than 1e-6.
    sigma : ndarray of shape (d,)
        A scale per dimension.

    Returns
    -------
    ndarray of shape (m, d)
        Coefficients.
    """

    def interpolated(scale: float, values: Array) -> Array:
        c = at.solve(scale, values)
        return at.least_squares(scale, values) if c is None else c

    def fitted(how: Callable[[float, Array], Array]) -> Array:
        C = np.empty((len(at.centers), Y.shape[1]))
        for scale in np.unique(sigma):
            columns = sigma == scale
            C[:, columns] = how(scale, Y[:, columns])
        return C

    C = fitted(interpolated)
    if at.index is None:
        missed = _missed(at, C, Y, sigma)
        if missed > LOST:
            other = fitted(at.least_squares)
            if (less := _missed(at, other, Y, sigma)) < missed:
                C, missed = other, less
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


def _missed(at: Gaussians, C: Array, Y: Array, sigma: Array) -> float:
    """How far an interpolant is off at most, relative to the largest value."""
    return float(np.abs(at.values(at.X, C, sigma) - Y).max() / max(np.abs(Y).max(), np.finfo(float).tiny))


def trusted_coefficients(at: Gaussians, Y: Array, sigma: Array, smallest: float) -> tuple[Array, Array]:
    """Fit values, with smaller scales in the dimensions where rounding would spoil the interpolant.

    Parameters
    ----------
    at : Gaussians
        The centres and the n points.
    Y : ndarray of shape (n, d)
        Values.
    sigma : ndarray of shape (d,)
        Wanted scales.
    smallest : float
        Scales are not shrunk below this one; a least-squares fit with a warning is given instead.

    Returns
    -------
    C : ndarray of shape (m, d)
        Coefficients.
    sigma : ndarray of shape (d,)
        The scales that were used.
    """
    C, sigma = np.empty((len(at.centers), Y.shape[1])), sigma.astype(float)
    pending = np.ones(len(sigma), dtype=bool)
    while pending.any():
        scale = sigma[pending].max()
        columns = pending & (sigma == scale)
        if scale < smallest:
            C[:, pending] = coefficients(at, Y[:, pending], sigma[pending])
            break
        c = at.solve(scale, Y[:, columns])
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
    C : ndarray of shape (m, d)
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
