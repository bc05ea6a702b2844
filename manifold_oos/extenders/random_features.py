"""Random features extender: kernel ridge regression with the kernel replaced by random waves, for many points."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.krr import gaussian_width, solve_ridge
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.kernels import Scale


class RandomFeatures(Extender):
    r"""Ridge regression of the coordinates on random Fourier features: an approximation of ``krr``.

    .. math:: f(x) = z(x)^\top (Z^\top Z + a I)^{-1} Z^\top Y, \qquad
        z(x) = \frac{1}{\sqrt M} \bigl(\cos \omega_1^\top x, \sin \omega_1^\top x, \ldots, \cos \omega_M^\top x,
        \sin \omega_M^\top x\bigr)

    with :math:`\omega_m` drawn from :math:`N(0, 2\sigma^{-2} I)`, so that :math:`z(x)^\top z(x')` has the mean
    :math:`\exp(-\|x - x'\|^2/\sigma^2)` and a deviation of the order :math:`M^{-1/2}` [1]_. Memory
    grows with :math:`M^2` and time with :math:`N M^2`, neither with :math:`N^2`.

    With some thousand points or fewer ``krr`` is as fast and exact. A kernel that is narrow beside the spread of
    the data needs more features than there are points.

    First contact: in two dimensions, or fewer than classes − 1, it is behind ``krr``, which it approximates, and
    far behind ``normalized_rbf``.

    Parameters
    ----------
    n_waves : int, default=500
        M, half the number of features. The difference from ``krr`` falls with its root.
    alpha : float, default=1e-3
        a, with the meaning that it has in ``krr``.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the kernel; the default is the root of the mean squared training distance, which costs O(N), while
        a median needs all pairs.
    random_state : int, default=0
        Seed of the waves.

    Attributes
    ----------
    sigma_ : float
        The absolute width.
    frequencies_ : ndarray of shape (n_features, M)
        ω.
    coefficients_ : ndarray of shape (2 M, d)
        What z(x) is multiplied with.

    References
    ----------
    .. [1] Rahimi & Recht, Random features for large-scale kernel machines, NIPS, 2007; with pairs of cosine and
       sine as in Sutherland & Schneider, On the error of random Fourier features, UAI, 2015.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> RandomFeatures(alpha=1e-9, sigma=1.0).fit(X, Y).transform(X).round(6).tolist()
    [[1.0], [2.0], [1.0]]
    """

    name: ClassVar[str] = "random_features"
    memory: ClassVar[str] = "min(5*N*n_waves, 12*n_waves**2)"
    instead: ClassVar[str] = "a smaller n_waves"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_waves": [125, 250, 500, 1000, 2000],
        "alpha": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0],
        "sigma": [{"median": f} for f in (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_waves": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_waves: int = 500,
        alpha: float = 1e-3,
        sigma: Scale = "mean_squared",
        random_state: int | None = 0,
    ):
        self.n_waves = n_waves
        self.alpha = alpha
        self.sigma = sigma
        self.random_state = random_state

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.sigma_ = gaussian_width(self.sigma, X)
        self._offset = X.mean(axis=0)  # the kernel does not see it; large arguments of waves would lose digits
        normal = check_random_state(self.random_state).standard_normal((X.shape[1], self.n_waves))
        self.frequencies_ = normal * (np.sqrt(2) / self.sigma_)
        self._row_floats = 4 * self.n_waves
        if len(X) <= 2 * self.n_waves:
            Z = self._features(X)  # the same solution from the smaller of the two matrices
            self.coefficients_: Array = Z.T @ solve_ridge(Z @ Z.T, self.alpha, Y)
            return
        ZZ, ZY = np.zeros((2 * self.n_waves, 2 * self.n_waves)), np.zeros((2 * self.n_waves, Y.shape[1]))
        rows = max(1, BLOCK_FLOATS // (4 * self.n_waves))
        for start in range(0, len(X), rows):
            Z = self._features(X[start : start + rows])
            ZZ += Z.T @ Z
            ZY += Z.T @ Y[start : start + rows]
        self.coefficients_ = solve_ridge(ZZ, self.alpha, ZY)

    def _features(self, X: Array) -> Array:
        waves = (X - self._offset) @ self.frequencies_
        return np.hstack([np.cos(waves), np.sin(waves)]) / np.sqrt(self.n_waves)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._features(X) @ self.coefficients_
        return coordinates
