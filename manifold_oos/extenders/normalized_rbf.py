"""Normalised RBF extender: a new point is a weighted mean of values that make the known points keep their place."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpocon

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.kernels import gaussian_kernel, relative_exp, squared_distances
from manifold_oos.numerics.rbf import merge_duplicates

#: The width is a multiple of the mean distance to so many neighbours.
NEIGHBORS = 10
#: Multiples of which leave-one-out takes the best.
FACTORS = (0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
#: Leave-one-out looks at so many training points at most: nine dense inverses of that size.
JUDGED = 1000
#: Where the kernels of all other points add up to less, C is the same without a point as with it.
ALONE = 1e-6


class NormalizedRBF(Extender):
    r"""Interpolation by Gaussians whose weights sum to one at every point.

    .. math:: f(x) = \sum_l \varphi_l(x) \, c_l, \qquad
              \varphi_l(x) = \frac{k(x, x_l)}{\sum_m k(x, x_m)}, \qquad k(x, z) = e^{-\|x - z\|^2 / \sigma^2},

    with C solved so that :math:`f(x_i) = y_i`: for :math:`K_{il} = k(x_i, x_l)` and D the diagonal of its row
    sums, :math:`\varphi_l(x_i) = (D^{-1} K)_{il}` and :math:`K C = D Y`. The width is
    :math:`\sigma` = ``factor`` times the mean distance of a training point to its ten nearest: narrow where
    classes jump, wide where coordinates are smooth, as leave-one-out on the training points says. In two
    dimensions with many classes that is narrow, and a new point goes where its nearest training points are; with
    one dimension less than classes it is wide, and near :class:`~manifold_oos.extenders.rbf.RBFExtender`.

    A sum of Gaussians that is not normalised falls to zero between the training points, which in few dimensions
    is where other classes are; this one stays at the coordinates of the nearest. Where K is singular to working
    precision (training points that all but coincide) :math:`K + rI` is solved,
    :math:`r = N \varepsilon \|K\|_1`, and training points are kept to about r.

    Do not use it to extrapolate: far from all training points it is constant, as their nearest says. One width
    serves all: where classes are sampled at very different densities, LLE adapts and this does not.

    First contact: near the best in most places, but with a handful of points per class in two dimensions behind
    ``kernel_map``, which has a width for every training point.

    Parameters
    ----------
    factor : float or None, default=None
        Width in mean distances to the ten nearest training points. None takes one of 0.2 to 3 by leave-one-out
        (in closed form, on at most 1000 training points): the one with the fewest points that land next to another
        class, if ``fit`` has labels, and then with the smallest mean distance from their coordinates.

    Attributes
    ----------
    factor_, sigma_ : float
        The factor and the absolute width.
    ridge_ : float
        r, 0 where K can be solved as it is.
    coefficients_ : ndarray of shape (n_distinct, d)
        C.
    centers_ : ndarray of shape (n_distinct, n_features)
        The distinct training points less their mean ``offset_``.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [9.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> NormalizedRBF(factor=0.2).fit(X, Y).transform([[0.5], [9.0], [1e9]]).round(3).tolist()
    [[0.5], [5.0], [5.0]]
    """

    name: ClassVar[str] = "normalized_rbf"
    memory: ClassVar[str] = "3*N*N + 2*min(N, 1000)**2"
    instead: ClassVar[str] = "lle, or rbf with n_centers=2000"
    interpolates: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Any]] = {"factor": FACTORS}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "factor": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, factor: float | None = None) -> None:
        self.factor = factor

    @property
    def nested(self) -> bool:  # type: ignore[override]
        """Whether each dimension is on its own: not where leave-one-out judges all of them together."""
        return self.factor is not None

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        first, Y = merge_duplicates(X, Y)
        self.offset_ = X.mean(axis=0)
        self.centers_ = X[first] - self.offset_
        squared = squared_distances(self.centers_)
        self.factor_ = self.factor or best_factor(self.centers_, squared, Y, None if y is None else y[first])
        self.sigma_ = self.factor_ * neighbor_distance(squared)
        K = gaussian_kernel(squared, self.sigma_)
        D = K.sum(axis=1, keepdims=True)
        self.coefficients_, self.ridge_ = solve_kernel(K, D * Y)
        self._row_floats = 2 * len(first) + Y.shape[1]

    def _transform(self, X: Array) -> Array:
        x, z = X - self.offset_, self.centers_
        # −‖x−z‖²/σ² without ‖x‖², which is common to a row and drops out of φ; and the largest is 0: no underflow.
        exponent = (2 * x @ z.T - (z**2).sum(axis=1)) / self.sigma_**2
        exponent -= exponent.max(axis=1, keepdims=True)
        k = relative_exp(exponent)
        phi = k / k.sum(axis=1, keepdims=True)
        coordinates: Array = phi @ self.coefficients_
        return coordinates


def neighbor_distance(squared: Array) -> float:
    """Mean distance of a point to its ten nearest (all others where there are fewer), 1 for a lone point.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of distinct points.

    Returns
    -------
    float
        The mean.

    Examples
    --------
    >>> neighbor_distance(np.array([[0.0, 9.0], [9.0, 0.0]]))
    3.0
    """
    k = min(NEIGHBORS, len(squared) - 1)
    if k == 0:
        return 1.0
    nearest = np.partition(squared, k, axis=1)[:, : k + 1]  # the point itself among them, at distance 0
    return float(np.sqrt(nearest).sum() / (len(squared) * k))


def best_factor(X: Array, squared: Array, Y: Array, y: NDArray | None = None) -> float:
    """The factor of the width that serves left-out training points best.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Distinct points; of more than 1000 every so many, in the order of their features.
    squared : ndarray of shape (n, n)
        Their squared distances.
    Y : ndarray of shape (n, d)
        Their coordinates.
    y : ndarray of shape (n,), optional
        Their classes.

    Returns
    -------
    float
        The one of FACTORS with the fewest left-out points next to another class, if there are classes; then with
        the smallest mean distance of left-out points from their coordinates. Fewer than three points: the first.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> best_factor(X, squared_distances(X), 1.0 * (X > 9)), best_factor(X, squared_distances(X), X**2)
    (0.2, 3.0)
    """
    if len(X) < 3:
        return FACTORS[0]
    if len(X) > JUDGED:
        some = np.lexsort(X.T)[np.linspace(0, len(X) - 1, JUDGED).astype(int)]
        squared, Y, y = squared[np.ix_(some, some)], Y[some], None if y is None else y[some]
    scale = neighbor_distance(squared)
    judged = []
    for factor in FACTORS:
        Z = leave_one_out(squared, Y, factor * scale)
        missed = float(np.linalg.norm(Z - Y, axis=1).mean())
        judged.append((0.0 if y is None else mistaken(Z, Y, y), missed, factor))
    return min(judged)[2]


def mistaken(Z: Array, Y: Array, y: NDArray) -> float:
    """Share of points whose nearest other point in the embedding is of another class.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Where each point would go.
    Y : ndarray of shape (n, d)
        Where the points are.
    y : ndarray of shape (n,)
        Their classes.

    Returns
    -------
    float
        The share.

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0], [5.0]])
    >>> mistaken(Y, Y, np.array([0, 0, 1]))
    0.3333333333333333
    """
    squared = squared_distances(Z, Y)
    np.fill_diagonal(squared, np.inf)
    return float(np.mean(y[squared.argmin(axis=1)] != y))


def leave_one_out(squared: Array, Y: Array, sigma: float) -> Array:
    r"""The value at each training point of the function that the others make, in closed form.

    .. math:: f_{-i}(x_i) = -\frac{1}{A_{ii} S_i} \sum_{j \ne i} A_{ij} (D_{jj} - K_{ji}) \, y_j,
              \qquad A = K^{-1}, \quad S_i = D_{ii} - 1

    as :math:`K_{i,-i} (K_{-i,-i})^{-1} = -A_{i,-i} / A_{ii}`, and without the i-th point row j sums to
    :math:`D_{jj} - K_{ji}`.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of distinct points.
    Y : ndarray of shape (n, d)
        Their coordinates.
    sigma : float
        The width.

    Returns
    -------
    ndarray of shape (n, d)
        The values.

    Examples
    --------
    >>> leave_one_out(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[2.0], [3.0]]), 1.0).round(9).tolist()
    [[3.0], [2.0]]
    """
    K = gaussian_kernel(squared, sigma)
    A, _ = solve_kernel(K, np.eye(len(K)))
    np.fill_diagonal(K, 0)
    S = K.sum(axis=1)
    C = A @ ((1 + S)[:, None] * Y)
    W = A * (1 + S - K)
    np.fill_diagonal(W, 0)
    values: Array = -(W @ Y) / (np.diag(A) * np.maximum(S, ALONE))[:, None]
    alone = S < ALONE
    if alone.any():
        exponent = squared[alone] / -(sigma**2)
        exponent[np.arange(len(exponent)), np.flatnonzero(alone)] = -np.inf
        k = relative_exp(exponent - exponent.max(axis=1, keepdims=True))
        values[alone] = k @ C / k.sum(axis=1, keepdims=True)
    return values


def solve_kernel(K: Array, B: Array) -> tuple[Array, float]:
    """Solve KC = B for a kernel matrix, or (K + rI)C = B where K is singular to working precision.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semi-definite up to rounding.
    B : ndarray of shape (n, d)
        Right-hand sides.

    Returns
    -------
    C : ndarray of shape (n, d)
        The solution.
    r : float
        0, or :math:`n ε ‖K‖_1`.

    Examples
    --------
    >>> C, r = solve_kernel(np.ones((2, 2)), np.ones((2, 1)))
    >>> C.round(9).ravel().tolist(), 0 < r < 1e-14
    ([0.5, 0.5], True)
    """
    norm = float(np.abs(K).sum(axis=0).max())
    epsilon = float(np.finfo(float).eps)
    r = 0.0
    while True:
        try:
            factor = cholesky(K + r * np.eye(len(K)) if r else K, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            pass
        else:
            reciprocal_condition, _ = dpocon(factor, norm, uplo="L")
            if r or reciprocal_condition > epsilon:
                C: Array = cho_solve((factor, True), B, check_finite=False)
                return C, r
        r = 2 * r if r else len(K) * epsilon * norm
