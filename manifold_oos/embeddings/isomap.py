"""Isomap and its landmark form: distances in the embedding approach distances along the manifold."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding, JointEmbedding
from manifold_oos.numerics.eigen import largest_eigenpairs
from manifold_oos.numerics.geodesics import distance_graph, extend_geodesics, shortest_paths
from manifold_oos.numerics.nearest import SEARCHES

_GRIDS: dict[str, Any] = {"n_components": [1, 2, 3, 5, 10], "n_neighbors": [4, 6, 8, 10, 15, 20]}
_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "disconnected": [StrOptions({"connect", "error"})],
}


class Isomap(Embedding):
    r"""Isomap: classical scaling of geodesic distances.

    .. math:: -\tfrac12 H D^{(2)} H = V \Lambda V^\top, \qquad Y = V \Lambda^{1/2}

    with :math:`D^{(2)}` the squared lengths of the shortest paths in the neighbour graph. Holes and strips that are
    not convex are stretched, and one wrong edge (a short circuit) spoils everything.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the graph (with a warning).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y.
    eigenvalues_, extension_eigenvalues_ : ndarray of shape (n_components,)
        Λ, descending.
    geodesics_ : ndarray of shape (n_samples, n_samples)
        Lengths of the shortest paths.

    References
    ----------
    .. [1] Tenenbaum, de Silva & Langford, A global geometric framework for nonlinear dimensionality reduction,
       Science, 2000.
    .. [2] Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS,
       2003.

    Examples
    --------
    >>> X = np.arange(10.0)[:, None]
    >>> Isomap(n_components=1, n_neighbors=2).fit(X).embedding_.ravel()[:3].round(6).tolist()
    [4.5, 3.5, 2.5]
    """

    name: ClassVar[str] = "isomap"
    memory: ClassVar[str] = "2*N*N"
    instead: ClassVar[str] = "landmark_isomap or ltsa"
    grids: ClassVar[Mapping[str, Any]] = _GRIDS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _CONSTRAINTS

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 8, disconnected: str = "connect"):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.disconnected = disconnected

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        self.geodesics_ = shortest_paths(distance_graph(X, self.n_neighbors, self.disconnected))
        self._neighbors = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X)
        K = self.geodesics_**2
        self._means = K.mean(axis=0)
        self.eigenvalues_, V = classical_scaling(K, self.n_components)
        self.extension_eigenvalues_ = self.eigenvalues_
        embedding: Array = V * np.sqrt(self.eigenvalues_)
        return embedding

    def extension_kernel(self, X: ArrayLike) -> Array:
        r"""The data-dependent kernel of the Nyström extension of [2]_.

        :math:`\tilde K(x, x_i) = -\tfrac12 (D^2(x, x_i) - \overline{D^2}(x, \cdot) - \overline{D^2}(\cdot, x_i) +
        \overline{D^2})` with geodesic distances of x by way of its nearest training points, so that
        ``extension_kernel(x) @ embedding_ / extension_eigenvalues_`` are the coordinates of x; on training points
        exactly ``embedding_``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n, n_samples)
            Kernel values.
        """
        check_is_fitted(self, "embedding_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        distance, index = self._neighbors.kneighbors(X)
        squared = extend_geodesics(distance, index, self.geodesics_) ** 2
        return -0.5 * (squared - squared.mean(axis=1, keepdims=True) - self._means + self._means.mean())


class LandmarkIsomap(JointEmbedding):
    r"""Landmark Isomap: classical scaling of a few landmarks, all other points placed by their distances to them.

    .. math:: y(x) = -\tfrac12 \Lambda^{-1/2} V^\top (\delta(x) - \bar\delta)

    with :math:`V, \Lambda` the eigenpairs of the landmarks' scaling, :math:`\delta(x)` the squared geodesic
    distances of x to the landmarks and :math:`\bar\delta` their mean over landmarks. New points are placed in the
    same way, their geodesics going by way of their nearest training points.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    n_landmarks : int, default=100
        How many landmarks; with all points (or more) it is Isomap.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the graph (with a warning).
    random_state : int, RandomState or None, default=0
        Draws the landmarks.
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates.
    eigenvalues_ : ndarray of shape (n_components,)
        Λ, descending.
    landmarks_ : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the training points.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] de Silva & Tenenbaum, Global versus local methods in nonlinear dimensionality reduction, NIPS, 2003.
    """

    name: ClassVar[str] = "landmark_isomap"
    memory: ClassVar[str] = "3*N*min(N, n_landmarks)"
    instead: ClassVar[str] = "a smaller n_landmarks"
    grids: ClassVar[Mapping[str, Any]] = {**_GRIDS, "n_landmarks": [20, 50, 100, 200]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "n_landmarks": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "neighbors": [StrOptions(set(SEARCHES))],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        n_landmarks: int = 100,
        disconnected: str = "connect",
        random_state: int | np.random.RandomState | None = 0,
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.disconnected = disconnected
        self.random_state = random_state
        self.neighbors = neighbors

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        chosen = check_random_state(self.random_state).permutation(len(X))[: self.n_landmarks]
        self.landmarks_ = np.sort(chosen)
        graph = distance_graph(X, self.n_neighbors, self.disconnected)
        self._lengths = shortest_paths(graph, self.landmarks_).T
        self._neighbors = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X)
        squared = self._lengths[self.landmarks_] ** 2
        self._mean = squared.mean(axis=0)
        self.eigenvalues_, V = classical_scaling(squared, self.n_components)
        self._triangulation = V / np.sqrt(self.eigenvalues_)
        return self._place(self._lengths)

    def _place(self, lengths: Array) -> Array:
        coordinates: Array = -0.5 * (lengths**2 - self._mean) @ self._triangulation
        return coordinates

    def _transform(self, X: Array) -> Array:
        distance, index = self._neighbors.kneighbors(X)
        return self._place(extend_geodesics(distance, index, self._lengths))


def classical_scaling(squared: Array, d: int) -> tuple[Array, Array]:
    """Leading eigenpairs of −½ H D⁽²⁾ H, with D⁽²⁾ overwritten.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances D⁽²⁾.
    d : int
        How many pairs.

    Returns
    -------
    values : ndarray of shape (d,)
        Positive, descending.
    vectors : ndarray of shape (n, d)
        Orthonormal.
    """
    means = squared.mean(axis=0)
    squared -= means
    squared -= means[:, None] - means.mean()
    squared *= -0.5
    if d >= len(squared):
        raise ValueError(f"n_components={d} needs more than n_samples = {len(squared)} points: lower n_components")
    values, V = largest_eigenpairs(squared, d)
    positive = int((values > 1e-10 * values[0]).sum()) if values[0] > 0 else 0
    if positive < d:
        raise ValueError(
            f"the geodesic distances have {positive} dimensions of positive variance: lower n_components={d}"
        )
    return values, V
