"""Laplacian pyramids: coordinates are smoothed, then what was missed at half the width, while that still helps."""

from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.krr import gaussian_width
from manifold_oos.extenders.normalized_rbf import mistaken
from manifold_oos.numerics.chunks import map_rows
from manifold_oos.numerics.kernels import Scale, relative_exp, squared_distances

#: More halvings than data resolve: the last width is a billionth of the first.
MOST_LEVELS = 30
#: First widths, in median training distances, of which leave-one-out takes the best.
STARTS = (1.0, 0.5, 0.25, 0.125, 0.0625)


class LaplacianPyramids(Extender):
    r"""Auto-adaptive Laplacian pyramids.

    .. math:: f^k(x) = \sum_{l=0}^{L_k} \sum_i p_l(x, x_i)\, d_l^k(x_i), \qquad d_0 = y, \quad
        d_{l+1} = d_l - P_l d_l, \qquad p_l(x, x_i) \propto \exp\Bigl(-\frac{\|x - x_i\|^2}{(\sigma / 2^l)^2}\Bigr)

    with :math:`\sum_i p_l(x, x_i) = 1` [1]_ and the diagonal of :math:`P_l` set to zero before its rows are
    normalised [2]_: a training point is then approximated from the others alone, so that :math:`\|d_{l+1}\|^2` is
    the leave-one-out error and :math:`L_k` the level at which it is least, of those down to the width of the
    closest pair. There is nothing to choose; every coordinate gets the resolution that its noise allows.

    It smooths: training points do not keep their coordinates, those at the border are drawn inwards, and with few
    points in many dimensions, where all distances are alike, it stops at a coarse level.

    Parameters
    ----------
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        The first, widest width. None takes the median training distance or a half, a quarter, an eighth, a
        sixteenth of it, whichever leaves fewest left-out points next to another class, if ``fit`` has labels, and
        then places them nearest to their coordinates. Much wider than the median is worse: a level that sees only
        the mean of the other points stretches the coordinates by N/(N − 1).

    Attributes
    ----------
    sigma_ : float
        The absolute first width.
    levels_ : ndarray of shape (d,)
        :math:`L_k + 1`, the number of widths that each coordinate uses.
    errors_ : ndarray of shape (d,)
        Root mean squared leave-one-out error of each coordinate at its last level.

    References
    ----------
    .. [1] Rabin & Coifman, Heterogeneous datasets representation and learning using diffusion maps and Laplacian
       pyramids, SIAM International Conference on Data Mining, 2012.
    .. [2] Fernández, Rabin, Fishelov & Dorronsoro, Auto-adaptive Laplacian pyramids for high-dimensional data
       analysis, arXiv:1311.6594, 2014.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> fitted = LaplacianPyramids().fit(X, np.sin(4 * X))
    >>> fitted.levels_.tolist(), fitted.transform([[0.5]]).round(2).tolist()
    ([6], [[0.91]])
    """

    name: ClassVar[str] = "laplacian_pyramids"
    memory: ClassVar[str] = "1.2*N*N + min(N*N, 2**20)"
    instead: ClassVar[str] = "lle or random_features"
    grids: ClassVar[Mapping[str, Any]] = {"sigma": [{"median": f} for f in (0.25, 0.5, 1, 2)]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
    }

    def __init__(self, sigma: Scale | None = None):
        self.sigma = sigma

    @property
    def nested(self) -> bool:  # type: ignore[override]
        """Whether each dimension is on its own: not where leave-one-out judges all of them together."""
        return self.sigma is not None

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self._centers = X
        squared = squared_distances(X)
        np.fill_diagonal(squared, np.inf)
        closest = float(np.sqrt(np.min(squared, where=squared > 0, initial=np.inf)))
        squared = beyond_nearest(squared)
        first = gaussian_width(self.sigma, X)
        judged = []
        for start in STARTS if self.sigma is None and len(X) > 1 else (1.0,):
            differences, errors = self._pyramid(squared, Y, start * first, closest)
            levels = 1 + np.argmin(errors, axis=0)
            left_out = Y - np.stack(differences)[levels, :, np.arange(Y.shape[1])].T
            missed = float(np.linalg.norm(left_out - Y, axis=1).mean())
            share = 0.0 if y is None or len(Y) < 2 else mistaken(left_out, Y, y)
            judged.append((share, missed, start * first, levels, differences, errors))
        _, _, self.sigma_, self.levels_, differences, errors = min(judged, key=lambda one: one[:2])
        self.errors_ = np.sqrt(np.min(errors, axis=0))
        self._differences = [np.where(i < self.levels_, differences[i], 0) for i in range(self.levels_.max())]
        self._row_floats = 2 * len(X)

    def _pyramid(self, squared: Array, Y: Array, sigma: float, closest: float) -> tuple[list[Array], list[Array]]:
        """d_0, d_1, … and the mean squared error of each coordinate at each level."""
        differences: list[Array] = [Y]
        errors: list[Array] = []
        while len(errors) < MOST_LEVELS and (not errors or sigma / 2 ** len(errors) > closest):
            d, width = differences[-1], sigma / 2 ** len(errors)
            differences.append(d - map_rows(partial(self._smoothed, width, d), squared, len(squared)))
            errors.append(np.mean(differences[-1] ** 2, axis=0))
        return differences, errors

    @staticmethod
    def _smoothed(width: float, d: Array, squared: Array) -> Array:
        """P_l d, for some rows of P_l."""
        weights = relative_exp(squared * -(1 / width**2))
        total = weights.sum(axis=1, keepdims=True)
        smoothed: Array = np.divide(weights, total, out=weights, where=total > 0) @ d
        return smoothed

    def _transform(self, X: Array) -> Array:
        squared = beyond_nearest(squared_distances(X, self._centers))
        coordinates: Array = np.zeros((len(X), self._differences[0].shape[1]))
        for level, d in enumerate(self._differences):
            coordinates += self._smoothed(self.sigma_ / 2**level, d, squared)
        return coordinates


def beyond_nearest(squared: Array) -> Array:
    """Squared distances less the smallest of their row: the nearest weighs 1, and far points do not underflow."""
    smallest = squared.min(axis=1, keepdims=True)
    squared -= np.where(np.isfinite(smallest), smallest, 0)  # a lone training point has no other
    return squared
