"""Kernel map: a new point is a mixture of fitted coordinates, weighed by normalised kernels of local width."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from sklearn.neighbors import NearestNeighbors

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.normalized_rbf import JUDGED, mistaken
from manifold_oos.numerics.kernels import relative_exp, squared_distances
from manifold_oos.numerics.rbf import merge_duplicates

#: Singular values of K below this share of the largest are left out of its pseudo-inverse.
CUT = 1e-8
#: Factors of the widths of which the default takes the best.
FACTORS = (0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
#: Every so many-th training point is placed by the others to choose the factor.
HELD_OUT = 5


class KernelMap(Extender):
    r"""The map of kernel t-SNE, for coordinates of any origin.

    .. math:: f(x) = \sum_j \alpha_j \frac{k_j(x)}{\sum_l k_l(x)}, \qquad
        k_j(x) = \exp\Bigl(-\frac{\|x - x_j\|^2}{\sigma_j^2}\Bigr), \qquad A = K^{+} Y

    with :math:`K_{ij} = k_j(x_i) / \sum_l k_l(x_i)` and its pseudo-inverse :math:`K^+` [1]_. Each width is
    ``factor`` times the distance of :math:`x_j` to its ``n_neighbors``-th different training point, so that
    clusters of any density are followed. Unlike a sum of Gaussians it does not fall to zero far away: there a point
    goes to the :math:`\alpha` of the training point with the widest kernel.

    With a small factor the map is nearly constant around each training point; with a large one K is nearly singular
    and the α are large and of changing sign.

    First contact: near the best in most places, but behind ``normalized_rbf`` and ``laplacian_pyramids`` where
    classes overlap, as without labels in two dimensions: each training point keeps its place, mistaken ones too.

    Parameters
    ----------
    n_neighbors : int, default=5
        Which neighbour sets the width. The farthest if there are fewer.
    factor : float or None, default=None
        Width in units of that distance. None takes one of 0.2 to 2: the one with which a fifth of the training
        points (of at most 1000), placed by the others, has the fewest next to another class, if ``fit`` has labels,
        and then is nearest to its coordinates.

    Attributes
    ----------
    factor_ : float
        The factor.
    sigma_ : ndarray of shape (n_centers,)
        :math:`\sigma_j` of each different training point.
    coefficients_ : ndarray of shape (n_centers, d)
        A.

    References
    ----------
    .. [1] Gisbrecht, Schulz & Hammer, Parametric nonlinear dimensionality reduction using kernel t-SNE,
       Neurocomputing, 2015.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> KernelMap(n_neighbors=1, factor=1.0).fit(X, Y).transform([[0.0], [1e9]]).round(6).tolist()
    [[1.0], [0.145918]]
    """

    name: ClassVar[str] = "kernel_map"
    memory: ClassVar[str] = "3*N*N"
    instead: ClassVar[str] = "lle or lvm"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_neighbors": [1, 3, 5, 10, 20],
        "factor": FACTORS,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "factor": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_neighbors: int = 5, factor: float | None = None):
        self.n_neighbors = n_neighbors
        self.factor = factor

    @property
    def nested(self) -> bool:  # type: ignore[override]
        """Whether each dimension is on its own: not where left-out points are judged by all of them together."""
        return self.factor is not None

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        first, values = merge_duplicates(X, Y)
        self._centers = X[first]
        self.factor_ = self.factor or self._best_factor(X[first], values, None if y is None else y[first])
        self.sigma_ = np.ones(1)
        if len(first) > 1:
            nearest = NearestNeighbors(n_neighbors=min(self.n_neighbors, len(first) - 1)).fit(self._centers)
            self.sigma_ = self.factor_ * nearest.kneighbors()[0][:, -1]
        self.coefficients_: Array = lstsq(self._weights(self._centers), values, cond=CUT)[0]
        self._row_floats = 2 * len(first) + Y.shape[1]

    def _best_factor(self, X: Array, Y: Array, y: NDArray | None) -> float:
        """The factor that serves held-out points best; the first where there are hardly any."""
        some = np.lexsort(X.T)[np.linspace(0, len(X) - 1, min(len(X), JUDGED)).astype(int)]
        X, Y, y = X[some], Y[some], None if y is None else y[some]
        held = np.arange(len(X)) % HELD_OUT == HELD_OUT // 2
        if not held.any():
            return FACTORS[0]
        judged = []
        for factor in FACTORS:
            Z = Y.copy()
            Z[held] = KernelMap(self.n_neighbors, factor).fit(X[~held], Y[~held]).transform(X[held])
            missed = float(np.linalg.norm(Z - Y, axis=1).mean())
            judged.append((0.0 if y is None else mistaken(Z, Y, y), missed, factor))
        return min(judged)[2]

    def _weights(self, X: Array) -> Array:
        """Normalised kernels, from exponents less the smallest: far points do not underflow."""
        exponent = squared_distances(X, self._centers) / self.sigma_**2
        weights = relative_exp(exponent.min(axis=1, keepdims=True) - exponent)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._weights(X) @ self.coefficients_
        return coordinates
