"""Kernel ridge extender: coordinates regressed on kernel values with a penalty on wild functions."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.centers import some_centers, spectral_whitening, subset_coefficients, whitening
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, resolve_sigma, squared_distances, squared_norms


class KernelRidgeExtender(Extender):
    r"""Kernel ridge regression of the coordinates.

    .. math:: f^k(x) = (y^k)^\top (K + a I)^{-1} v, \qquad K_{ij} = \kappa(x_i, x_j), \quad v_i = \kappa(x, x_i)

    eq. 22 of [1]_. It smooths where the RBF extender interpolates (a = 0, eq. 23), which helps with noisy
    coordinates and hurts where training points should keep theirs.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf`` for the reason
    that ``rbf`` is: between the training points it falls to zero, which is where other classes are.

    Parameters
    ----------
    alpha : float, default=1e-3
        The a of eq. 22. With 0, directions that K does not resolve are left out.
    kernel : {"gaussian", "linear"}, default="gaussian"
        κ: exp(−‖x−z‖²/σ²) or xᵀz.
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        Width of the Gaussian kernel; None is the median training distance.
    n_centers : int or None, default=None
        A fixed number of centres, spread by taking the farthest point again and again; the remaining points are
        fitted by least squares with the same penalty. None, or as many as there are points, is the exact form.

    Attributes
    ----------
    sigma_ : float or None
        The absolute width; None for the linear kernel.
    centers_ : ndarray of shape (m, n_features)
        The training points, or some of them.
    coefficients_ : ndarray of shape (m, d)
        (K + aI)⁻¹ Y.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for classification,
       IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> KernelRidgeExtender(alpha=1e-9, sigma=1.0).fit(X, Y).transform(X).round(6).tolist()
    [[1.0], [2.0], [1.0]]
    """

    name: ClassVar[str] = "krr"
    memory: ClassVar[str] = "2*n_centers**2 + min(N, 10000)**2"
    instead: ClassVar[str] = "n_centers=2000, or random_features"
    grids: ClassVar[Mapping[str, Any]] = {
        "alpha": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0],
        "sigma": [{"median": f} for f in (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions({"gaussian", "linear"})],
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "n_centers": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        kernel: str = "gaussian",
        sigma: Scale | None = None,
        n_centers: int | None = None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.sigma = sigma
        self.n_centers = n_centers

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.sigma_ = gaussian_width(self.sigma, X) if self.kernel == "gaussian" else None
        chosen = some_centers(X, self.n_centers)
        self.centers_ = X if chosen is None else X[chosen]
        self._norms = squared_norms(self.centers_)
        K = self._kernel(self.centers_)
        self.coefficients_ = solve_ridge(K, self.alpha, Y) if chosen is None else self._regress(K, X, Y)
        self._row_floats = 2 * len(self.centers_) + Y.shape[1]

    def _regress(self, K: Array, X: Array, Y: Array) -> Array:
        step = max(1, BLOCK_FLOATS // len(K))
        blocks = [slice(start, start + step) for start in range(0, len(X), step)]
        for W in (whitening(K), spectral_whitening(K)):
            rows = ((self._kernel(X[block]), Y[block]) for block in blocks)
            C = None if W is None else subset_coefficients(W, rows, self.alpha)
            if C is not None:
                break
        assert C is not None  # what the spectrum keeps is well conditioned
        return C

    def _kernel(self, X: Array) -> Array:
        if self.sigma_ is None:
            values: Array = X @ self.centers_.T
            return values
        return gaussian_kernel(squared_distances(X, self.centers_, self._norms), self.sigma_)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._kernel(X) @ self.coefficients_
        return coordinates


def gaussian_width(sigma: Scale | None, X: Array) -> float:
    """The absolute kernel width behind a parameter, with the median distance for None and 1 for a lone point.

    Parameters
    ----------
    sigma : float, mapping, str or None
        See :func:`~manifold_oos.numerics.kernels.resolve_sigma`.
    X : ndarray of shape (n, D)
        Training points.

    Returns
    -------
    float
        The width.
    """
    if len(X) < 2 and not isinstance(sigma, Real):
        return 1.0
    return resolve_sigma({"median": 1.0} if sigma is None else sigma, X)


def solve_ridge(K: Array, a: float, Y: Array) -> Array:
    """(K + aI)⁻¹ Y, by the pseudo-inverse where the matrix is singular to rounding.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semi-definite kernel matrix; overwritten.
    a : float
        Ridge.
    Y : ndarray of shape (n, d)
        Right-hand sides.

    Returns
    -------
    ndarray of shape (n, d)
        The solution.

    Examples
    --------
    >>> solve_ridge(np.ones((2, 2)), 0.0, np.array([[2.0], [2.0]])).round(9).tolist()
    [[1.0], [1.0]]
    """
    K[np.diag_indices_from(K)] += a
    cutoff = len(K) * np.finfo(float).eps
    try:
        if a > cutoff * np.trace(K):
            solution: Array = cho_solve(cho_factor(K), Y)
            return solution
    except LinAlgError:
        pass
    values, vectors = eigh(K)
    keep = values > cutoff * values[-1]
    solution = (vectors[:, keep] / values[keep]) @ (vectors[:, keep].T @ Y)
    return solution
