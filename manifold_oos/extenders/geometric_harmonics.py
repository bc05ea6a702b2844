"""Geometric harmonics: the part of the coordinates that the kernel's smooth eigenfunctions carry is extended."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.krr import gaussian_width
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, kernel_matrix, squared_distances


class GeometricHarmonics(Extender):
    r"""Extension by geometric harmonics.

    .. math:: f^k(x) = \sum_{\lambda_l > \delta \lambda_0} \langle y^k, \psi_l \rangle \, \bar\psi_l(x), \qquad
        \bar\psi_l(x) = \frac{1}{\lambda_l} \sum_i \kappa(x, x_i)\, \psi_l(x_i), \qquad K \psi_l = \lambda_l \psi_l

    with :math:`\kappa(x, z) = \exp(-\|x - z\|^2/\sigma^2)` [1]_. What oscillates faster than the kept
    eigenfunctions is lost, so that training points move by the part of their coordinates outside the span; with
    δ → 0 it becomes the RBF interpolant, with the noise that δ keeps out. Farther than about σ from all training
    points it tends to zero.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf``: coordinates of
    classes side by side jump, and the jumps are what the smooth eigenfunctions leave out.

    Parameters
    ----------
    delta : float, default=1e-4
        δ: eigenvalues up to this share of the largest are left out; 1/δ is the condition number of the extension.
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        Width of the kernel; None is the median training distance.

    Attributes
    ----------
    sigma_ : float
        The absolute width.
    n_harmonics_ : int
        How many eigenfunctions are kept.
    coefficients_ : ndarray of shape (n_samples, d)
        :math:`\sum_l \psi_l \psi_l^\top Y / \lambda_l`, so that :math:`f(x) = \kappa(x, \cdot)` times it.

    References
    ----------
    .. [1] Coifman & Lafon, Geometric harmonics: a novel tool for multiscale out-of-sample extension of empirical
       functions, Applied and Computational Harmonic Analysis, 2006.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> fitted = GeometricHarmonics(sigma=1.0, delta=1e-6).fit(X, Y)
    >>> fitted.n_harmonics_, fitted.transform(X).round(6).tolist()
    (3, [[1.0], [2.0], [1.0]])
    """

    name: ClassVar[str] = "geometric_harmonics"
    memory: ClassVar[str] = "3*N*N"
    instead: ClassVar[str] = "random_features or lle"
    grids: ClassVar[Mapping[str, Any]] = {
        "delta": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
        "sigma": [{"median": f} for f in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "delta": [Interval(Real, 0, 1, closed="left")],
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
    }

    def __init__(self, delta: float = 1e-4, sigma: Scale | None = None):
        self.delta = delta
        self.sigma = sigma

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.sigma_ = gaussian_width(self.sigma, X)
        self._centers = X
        values, psi = eigh(kernel_matrix(X, sigma=self.sigma_))
        keep = values > max(self.delta, len(X) * np.finfo(float).eps) * values[-1]
        self.n_harmonics_ = int(keep.sum())
        self.coefficients_: Array = (psi[:, keep] / values[keep]) @ (psi[:, keep].T @ Y)
        self._row_floats = 2 * len(X) + Y.shape[1]

    def _transform(self, X: Array) -> Array:
        coordinates: Array = gaussian_kernel(squared_distances(X, self._centers), self.sigma_) @ self.coefficients_
        return coordinates
