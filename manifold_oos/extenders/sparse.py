"""Sparse-coding extender: a new point is the mean of known coordinates, weighted by its sparse code."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.basis_pursuit import sparse_codes


class SparseExtender(Extender):
    r"""Embedding of new observations via sparse coding.

    .. math:: y(x) = \frac{\sum_i |a_i| y_i}{\sum_i |a_i|}, \qquad
        \min_{a, e} \|a\|_1 + \|e\|_1 \quad \text{s.t.} \quad x = Xa + e

    eq. 9 and 11–13 of [1]_; without the error term eq. 10. No parameter to tune, but a linear program for each
    point. Made for rows of unit norm (a random projection first keeps it cheap): then training points keep their
    coordinates. Rows are not normalised here, but the error is measured in the mean norm of the training points, 1
    for unit norm, so that a common factor of all data changes nothing. A point whose code is zero, all error as for
    a row of zeros, goes to the mean of the known coordinates.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf``. A code has
    atoms of several classes, and the mean of their coordinates lies among others; the more so with few features,
    where any few rows make up any other.

    Parameters
    ----------
    error : bool, default=True
        Whether the error e is allowed. Without it every point must lie in the span of the training points.

    Attributes
    ----------
    dictionary_ : ndarray of shape (n_distinct, n_features)
        The distinct training points; equal ones count once, with the mean of their coordinates.

    References
    ----------
    .. [1] Raducanu & Dornaika, Embedding new observations via sparse-coding for non-linear manifold learning,
       Pattern Recognition, 2014.

    Examples
    --------
    >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0], [4.0]])
    >>> SparseExtender(error=False).fit(X, Y).transform([[0.5, 1.5]]).round(9).tolist()
    [[3.0]]
    """

    name: ClassVar[str] = "sparse"
    memory: ClassVar[str] = "3*N*D"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Any]] = {"error": [True, False]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "error": ["boolean"],
    }

    def __init__(self, error: bool = True):
        self.error = error

    @staticmethod
    @cache
    def warm_up() -> None:
        """Load the simplex method, or compile it the first time, so that no transform is timed with it."""
        sparse_codes(np.eye(3), np.ones((2, 3)))

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.dictionary_, group = np.unique(X, axis=0, return_inverse=True)
        self._coordinates = np.zeros((len(self.dictionary_), Y.shape[1]))
        np.add.at(self._coordinates, group, Y)
        self._coordinates /= np.bincount(group)[:, None]
        self._mean = Y.mean(axis=0)
        self._row_floats = 6 * (len(self.dictionary_) + X.shape[1])

    def _transform(self, X: Array) -> Array:
        W = abs(sparse_codes(self.dictionary_, X, error=self.error))
        total = W.sum(axis=1)[:, None]
        coded = total > 0
        return np.where(coded, W @ self._coordinates / np.where(coded, total, 1), self._mean)
