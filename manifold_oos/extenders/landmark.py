"""Landmark extender: a new point is triangulated from its geodesic distances to the training points."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.embeddings.isomap import Isomap, LandmarkIsomap
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.geodesics import distance_graph, extend_geodesics, shortest_paths


class LandmarkExtender(Extender):
    r"""Distance-based triangulation, for Isomap and landmark Isomap.

    .. math:: y(x) = \bar y - \tfrac12 L^+ (\delta(x) - \bar\delta)

    with :math:`\delta(x)` the squared geodesic distances of x to the landmarks, :math:`\bar\delta` their mean over
    the landmarks themselves, and L the centred coordinates of the landmarks [1]_: all training points of Isomap,
    the landmarks of landmark Isomap. The path of a new point goes through one of its nearest training points. It
    means nothing for embeddings that do not keep distances.

    First contact: with many classes in two dimensions it is behind ``normalized_rbf``. It is the formula of Isomap
    itself, and a point for which two dimensions are too few lands between its far distances, not at its neighbours.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Training points through which a new point reaches the others; None takes the embedding's, or 8.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the training points.

    References
    ----------
    .. [1] de Silva & Tenenbaum, Global versus local methods in nonlinear dimensionality reduction, NIPS, 2003.

    Examples
    --------
    >>> X, Y = np.arange(5.0)[:, None], np.arange(10.0, 20.0, 2.0)[:, None] / 2
    >>> LandmarkExtender(n_neighbors=1).fit(X, Y).transform([[2.0], [6.0]]).round(6).tolist()
    [[7.0], [11.0]]
    """

    name: ClassVar[str] = "landmark"
    memory: ClassVar[str] = "2*N*M"
    instead: ClassVar[str] = "landmark_isomap in place of isomap"
    interpolates: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Any]] = {"n_neighbors": [4, 6, 8, 10, 15, 20]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [None, Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, n_neighbors: int | None = None):
        self.n_neighbors = n_neighbors

    @classmethod
    def supports(cls, embedding: Embedding | type[Embedding]) -> bool:
        """Whether an embedding keeps geodesic distances: Isomap and landmark Isomap.

        Parameters
        ----------
        embedding : Embedding or its class
            The embedding.

        Returns
        -------
        bool
            True for the two.
        """
        kind = embedding if isinstance(embedding, type) else type(embedding)
        return issubclass(kind, Isomap | LandmarkIsomap)

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        if embedding is not None and len(embedding.embedding_) != len(X):
            raise ValueError(f"the embedding has {len(embedding.embedding_)} training points, X has {len(X)}")
        graph_neighbors: int = getattr(embedding, "n_neighbors", self.n_neighbors or 8)
        k = self.n_neighbors or graph_neighbors
        self.neighbors_ = NearestNeighbors(n_neighbors=min(k, len(X))).fit(X)
        self.landmarks_ = getattr(embedding, "landmarks_", np.arange(len(X)))
        if isinstance(embedding, Isomap):
            self._lengths = embedding.geodesics_
        elif len(X) > 1:
            disconnected = getattr(embedding, "disconnected", "connect")
            graph = distance_graph(X, min(graph_neighbors, len(X) - 1), disconnected)
            self._lengths = shortest_paths(graph, self.landmarks_).T
        else:
            self._lengths = np.zeros((1, 1))
        self._mean_squared = (self._lengths[self.landmarks_] ** 2).mean(axis=0)
        self._center = Y[self.landmarks_].mean(axis=0)
        self._triangulation = -0.5 * np.linalg.pinv(Y[self.landmarks_] - self._center).T
        self._row_floats = 3 * len(self.landmarks_)

    def _transform(self, X: Array) -> Array:
        distance, index = self.neighbors_.kneighbors(X)
        squared = extend_geodesics(distance, index, self._lengths) ** 2
        coordinates: Array = self._center + (squared - self._mean_squared) @ self._triangulation
        return coordinates
