"""What LVM and LLE share: a new point is a weighted sum of the coordinates of its nearest training points."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from manifold_oos.arrays import Array
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender


class NeighborExtender(Extender):
    r"""An extender of the form :math:`y(x) = \sum_{i \in N(x)} w_i y_i`; a method adds ``_weights``."""

    n_neighbors: int

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        k = min(self.n_neighbors, len(X))
        self.neighbors_ = NearestNeighbors(n_neighbors=k).fit(X)
        self.coordinates_ = Y
        self._row_floats = max(2 * k * X.shape[1], k * k, Y.shape[1])

    def _transform(self, X: Array) -> Array:
        distance, index = self.neighbors_.kneighbors(X)
        weights = self._weights(X, distance, index)
        pointer = np.arange(0, index.size + 1, index.shape[1])
        W = sparse.csr_array((weights.ravel(), index.ravel(), pointer), shape=(len(X), len(self.coordinates_)))
        coordinates: Array = W @ self.coordinates_
        return coordinates

    @abstractmethod
    def _weights(self, X: Array, distance: Array, index: NDArray[np.integer]) -> Array:
        """Weights (n, k) of the nearest training points, which sum to 1."""
