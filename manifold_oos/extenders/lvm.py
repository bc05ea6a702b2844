"""Latent-variable extender: a new point is the kernel-weighted mean of its neighbours' coordinates."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.neighbors import NeighborExtender
from manifold_oos.numerics.kernels import mean_squared_distance


class LVMExtender(NeighborExtender):
    r"""Latent variable model extender (LELVM).

    .. math:: y(x) = \sum_{i \in N(x)} w_i y_i, \qquad w_i \propto \exp(-\|x - x_i\|^2 / \beta)

    with :math:`N(x)` the ``n_neighbors`` nearest training points: eq. 9 of [1]_ with the heat kernel of eq. 1.
    Cheap and never wild, but it cannot leave the convex hull of the known coordinates.

    First contact: with many classes in two dimensions it is behind ``normalized_rbf``: a mean of three neighbours,
    of which one is of another class, lies in a third one. ``n_neighbors=1`` has no such means, and no smoothness.

    Parameters
    ----------
    n_neighbors : int, default=3
        The ε of Tables 1 and 2, where smaller was better. All training points if there are fewer.
    beta : float or None, default=None
        Kernel width; None takes the mean squared distance between training points.

    Attributes
    ----------
    beta_ : float
        The width used.

    References
    ----------
    .. [1] Raducanu & Dornaika, Embedding new observations via sparse-coding for non-linear manifold learning,
       Pattern Recognition, 2014.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [2.0], [9.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> LVMExtender(n_neighbors=2).fit(X, Y).transform([[1.0]]).tolist()
    [[0.5]]
    """

    name: ClassVar[str] = "lvm"
    memory: ClassVar[str] = "2*N*D"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Any]] = {"n_neighbors": [1, 2, 3, 5, 7, 10]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "beta": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_neighbors: int = 3, beta: float | None = None):
        self.n_neighbors = n_neighbors
        self.beta = beta

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        super()._fit(X, Y, y, X_new, embedding)
        if self.beta is not None:
            self.beta_ = self.beta
        else:
            # Where all training points are one, every width gives equal weights.
            self.beta_ = (mean_squared_distance(X) if len(X) > 1 else 0.0) or 1.0

    def _weights(self, X: Array, distance: Array, index: NDArray[np.integer]) -> Array:
        exponent = distance**2 / self.beta_
        weights = np.exp(exponent[:, :1] - exponent)  # the nearest weighs 1: far points do not underflow
        normal: Array = weights / weights.sum(axis=1, keepdims=True)
        return normal
