"""LLE extender: a new point is placed by the weights that reconstruct it from its neighbours."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.extenders.neighbors import NeighborExtender
from manifold_oos.numerics.alignment import barycenter_weights


class LLEExtender(NeighborExtender):
    r"""Saul and Roweis's extension of locally linear embedding [1]_.

    .. math:: y(x) = \sum_{i \in N(x)} w_i y_i, \qquad
        \min_w \Bigl\|x - \sum_i w_i x_i\Bigr\|^2 + r \|w\|^2 \quad \text{s.t.} \quad \sum_i w_i = 1

    with r = ``reg`` times the trace of the local Gram matrix. A point that coincides with training points is
    reconstructed by them alone, so the extension interpolates. Weights may be negative and large: noisy far points
    can land anywhere.

    First contact: with many classes in two dimensions it is behind ``normalized_rbf``: weights of five neighbours,
    of which some are of other classes, add up to a place among still others.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that reconstruct a point. All training points if there are fewer.
    reg : float, default=1e-3
        Regularisation, needed where there are more neighbours than dimensions.

    References
    ----------
    .. [1] Saul & Roweis, Think globally, fit locally: unsupervised learning of low dimensional manifolds, Journal
       of Machine Learning Research, 2003, section 6.1.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [2.0], [9.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> LLEExtender(n_neighbors=2, reg=1e-9).fit(X, Y).transform([[3.0], [2.0]]).round(6).tolist()
    [[1.5], [1.0]]
    """

    name: ClassVar[str] = "lle"
    memory: ClassVar[str] = "N*D"
    instead: ClassVar[str] = "random_projection of the data first"
    interpolates: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Any]] = {"n_neighbors": [3, 5, 8, 12, 20], "reg": [1e-4, 1e-3, 1e-2, 1e-1]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_neighbors: int = 5, reg: float = 1e-3):
        self.n_neighbors = n_neighbors
        self.reg = reg

    def _weights(self, X: Array, distance: Array, index: NDArray[np.integer]) -> Array:
        Z = self.neighbors_._fit_X[index]
        weights = barycenter_weights(X, Z, self.reg)
        same = (X[:, None] == Z).all(axis=2)
        coincides = same.any(axis=1)
        weights[coincides] = same[coincides] / same[coincides].sum(axis=1, keepdims=True)
        return weights
