"""RBF extender: a new point goes where a sum of Gaussians through the known coordinates puts it."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.centers import some_centers
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, resolve_sigma, squared_distances
from manifold_oos.numerics.rbf import (
    Gaussians,
    coefficients,
    evaluate,
    merge_duplicates,
    trusted_coefficients,
)
from manifold_oos.numerics.rbf_scales import (
    Boundaries,
    ScaleCurves,
    balanced_scales,
    boundaries,
    compress,
    ratio_scales,
    regularity,
    scale_curves,
    scale_grid,
)
from manifold_oos.numerics.shared import shared

#: The values of ``sigma`` that choose a scale per dimension from the class labels.
SEARCHED = ("regularity", "ratio")


class RBFExtender(Extender):
    r"""Gaussian interpolation of the coordinates, with a scale per dimension.

    .. math:: f^k(x) = \sum_l c_l^k \exp\Bigl(-\frac{\|x - x_l\|^2}{(\sigma^k)^2}\Bigr), \qquad \Phi^k c^k = y^k

    (eq. 12, 17 and 18 of [1]_), so that :math:`f(x_i) = y_i`. Far from all training points it tends to zero,
    and its quality hangs on the scale.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf`` at every scale,
    as a sum of Gaussians falls to zero between the training points, which is where other classes are.

    The two rules that search the scale read the class labels. ``"regularity"`` minimises
    :math:`\hat R^k = \hat G^k - \lambda^k \hat D^k` in each dimension (eq. 8–10, 19): gradients should be
    small, but not across class boundaries. By default :math:`\lambda^k` gives :math:`\hat G^k` and
    :math:`\lambda^k \hat D^k` the same range over the scales that are tried, from the median nearest-neighbour
    distance to ten median distances. ``"ratio"`` takes the largest scale with
    :math:`\hat D^k / \hat G^k` at or above ``threshold`` times its largest value; [1]_ does so for
    Fisher-like embeddings. Both keep the scales within two standard deviations of their mean (footnote 4),
    give dimensions that separate few class pairs that mean, and never take a scale at which rounding would
    spoil the interpolation.

    Parameters
    ----------
    sigma : float, {"median": f}, "mean_squared", "regularity", "ratio" or None, default=None
        The scale: a number, in median training distances, the root of the mean squared distance (the
        sparse-coding paper), or searched per dimension, which needs labels. None is the median training
        distance, or less where rounding would spoil the interpolation.
    lambda_ : float or None, default=None
        λ of ``"regularity"`` for all dimensions; None balances the two terms in each.
    threshold : float, default=0.5
        Share of the largest ratio for ``"ratio"``.
    n_neighbors : int, default=5
        Neighbours per class whose directions are judged in a search, the K of [1]_.
    n_centers : int or None, default=None
        A fixed number of centres, spread by taking the farthest point again and again; the remaining points are
        fitted by least squares, and the scale is chosen at the centres. None, or as many as there are points, is
        the exact form.

    Attributes
    ----------
    sigma_ : ndarray of shape (d,)
        Scale of each dimension.
    lambdas_ : ndarray of shape (d,)
        λ of each dimension, where ``sigma="regularity"``.
    coefficients_ : ndarray of shape (L, d)
        :math:`c_l^k`.
    centers_ : ndarray of shape (L, n_features)
        Kernel centres :math:`x_l - b`: the distinct training points, or some of them.
    offset_ : ndarray of shape (n_features,)
        :math:`b`, the mean of the training points; subtracted to keep distances accurate.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for
       classification, IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> RBFExtender(sigma=1.0).fit(X, Y).transform(X).round(6).tolist()
    [[1.0], [2.0], [1.0]]
    """

    name: ClassVar[str] = "rbf"
    memory: ClassVar[str] = "3*n_centers**2 + 3.5*min(N*n_centers, 2**20) + 3*N*(D + 7)"
    instead: ClassVar[str] = "n_centers=2000, or lle"
    grids: ClassVar[Mapping[str, Any]] = {"sigma": [{"median": f} for f in (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)]}
    sweep_metrics: ClassVar[Mapping[str, str]] = {"sigma": "regularity"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared", *SEARCHED})],
        "lambda_": [None, Interval(Real, 0, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_centers": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        sigma: Scale | None = None,
        lambda_: float | None = None,
        threshold: float = 0.5,
        n_neighbors: int = 5,
        n_centers: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.lambda_ = lambda_
        self.threshold = threshold
        self.n_neighbors = n_neighbors
        self.n_centers = n_centers

    @property
    def interpolates(self) -> bool:  # type: ignore[override]
        """Whether f(x_i) = y_i: not by least squares."""
        return self.n_centers is None

    @property
    def nested(self) -> bool:  # type: ignore[override]
        """Whether each dimension is on its own: not in a search, where footnote 4 ties them together."""
        return self.sigma not in SEARCHED

    def __sklearn_is_fitted__(self) -> bool:
        """Say so here: scikit-learn would take the parameter ``lambda_`` for a fitted attribute."""
        return hasattr(self, "coefficients_")

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        if y is None and self.sigma in SEARCHED:
            raise ValueError(
                f"sigma={self.sigma!r} needs the class labels y; give them, or a number, or {{median: 1}}"
            )
        first, values = merge_duplicates(X, Y)
        self.offset_ = X.mean(axis=0)
        points = X[first] - self.offset_
        at = Gaussians(points, some_centers(points, self.n_centers))
        chosen = slice(None) if at.index is None else at.index
        self.centers_, self._values = at.centers, values[chosen]
        self._codes = None if y is None else np.unique(y[first][chosen], return_inverse=True)[1]
        if self.sigma is None or self.sigma in SEARCHED:
            self.sigma_ = self._scales(at.squared)
        else:
            self.sigma_ = np.full(Y.shape[1], resolve_sigma(self.sigma, X))
        self._interpolate(at, values)

    def _scales(self, squared: Array) -> Array:
        """The wanted scales; :attr:`_smallest` is the least that rounding may make of them."""
        self._smallest = float(scale_grid(squared)[0])
        if self.sigma is None:
            return np.full(self._values.shape[1], typical_distance(squared))
        return self._search(squared, self._values)

    def _search(self, squared: Array, values: Array) -> Array:
        """The scales that the labels suggest for ``centers_``, of which the training points come first."""
        n, d = self._values.shape
        separable, curves = shared(
            ("scale_curves", self.n_neighbors),
            [self.centers_, values, self._codes],
            lambda: self._curves(squared, values),
        )
        if curves is None:
            return np.full(d, typical_distance(squared[:n, :n]))
        if self.sigma == "ratio":
            return ratio_scales(curves, separable, self.threshold)
        sigma, self.lambdas_ = balanced_scales(curves, separable, self.lambda_)
        return sigma

    def _curves(self, squared: Array, values: Array) -> tuple[NDArray[np.bool_], ScaleCurves | None]:
        """The class pairs that each dimension separates and, if there are any, the two terms over the scales."""
        n, at = len(self._values), self._directions()
        if not at.separable.any():
            return at.separable, None
        grid = scale_grid(squared[:n, :n])
        return at.separable, scale_curves(squared, values, compress(self.centers_), at, grid)

    def _directions(self) -> Boundaries:
        if self._codes is None:
            raise ValueError(f"{self.name} was fitted without class labels, which its regularity needs")
        n = len(self._values)
        return boundaries(self.centers_[:n], self._values, self._codes, self.n_neighbors)

    def _interpolate(self, at: Gaussians, values: Array) -> None:
        """Fit the values; a scale that the user gave is used as it is."""
        if self.sigma is None or self.sigma in SEARCHED:
            wanted = self.sigma_
            self.coefficients_, self.sigma_ = shared(
                ("trusted coefficients", self._smallest),
                [at.X, at.index, values, wanted],
                lambda: trusted_coefficients(at, values, wanted, self._smallest),
            )
        else:
            self.coefficients_ = coefficients(at, values, self.sigma_)
        self._norms = at.norms
        self._row_floats = len(at.centers)

    def _transform(self, X: Array) -> Array:
        squared = squared_distances(X - self.offset_, self.centers_, self._norms)
        return evaluate(squared, self.coefficients_, self.sigma_)

    def scalars(self) -> dict[str, float]:
        """Ĝ, D̂ and R̂ = Σ Ĝ − λD̂ at the one scale of all dimensions; λ as given, else as the search balances it."""
        sigma = np.unique(self.sigma_)
        if len(sigma) != 1 or self._codes is None:
            return {}
        G, D = self.regularity(float(sigma[0]))
        weight: Any = self.lambda_
        if weight is None:
            points = self.centers_[: len(self._values)]
            search = RBFExtender("regularity", n_neighbors=self.n_neighbors).fit(points, self._values, self._codes)
            weight = search.lambdas_
        return {
            "gradient": float(G.sum()),
            "separation": float(D.sum()),
            "regularity": float((G - weight * D).sum()),
        }

    def regularity(self, sigma: float) -> tuple[Array, Array]:
        r"""The two terms of the regularisation objective when the training points alone are interpolated.

        Parameters
        ----------
        sigma : float
            One scale for all dimensions.

        Returns
        -------
        G, D : ndarray of shape (d,)
            :math:`\hat G(f^k)` and :math:`\hat D(f^k)` (eq. 9 and 10); :math:`\hat R` is the sum of
            ``G - lambdas_ * D``.
        """
        check_is_fitted(self)
        n, d = self._values.shape
        X = compress(self.centers_[:n])
        C = coefficients(Gaussians(X), self._values, np.full(d, float(sigma)))
        return regularity(gaussian_kernel(squared_distances(X), sigma), C, X, sigma, self._directions())


def typical_distance(squared: Array) -> float:
    """Median distance of distinct points, 1 for a lone point.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Their squared distances.

    Returns
    -------
    float
        The median.

    Examples
    --------
    >>> typical_distance(np.array([[0.0, 9.0], [9.0, 0.0]]))
    3.0
    """
    apart = squared[np.triu_indices_from(squared, 1)]
    return float(np.sqrt(np.median(apart))) if apart.size else 1.0
