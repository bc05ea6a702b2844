"""Nearest neighbours: a point gets the label of the training point next to it."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import KNeighborsClassifier

from manifold_oos.arrays import Array
from manifold_oos.classifiers.base import Classifier
from manifold_oos.constraints import Interval


class NearestNeighbor(Classifier):
    """Nearest-neighbour classifier, by majority where more than one neighbour votes.

    Parameters
    ----------
    n_neighbors : int, default=1
        How many neighbours vote; all four papers use one.

    Examples
    --------
    >>> NearestNeighbor().fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2], [0.9]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "nn"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {"n_neighbors": [1, 3, 5, 7]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, n_neighbors: int = 1) -> None:
        self.n_neighbors = n_neighbors

    @property
    def nearest_decides(self) -> bool:
        """Whether a label is that of the nearest known point, so that one pass of distances answers for many d."""
        return self.n_neighbors == 1

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remember the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            Fitted.
        """
        X, codes = self._validate(X, y)
        if self.n_neighbors > len(X):
            raise ValueError(f"n_neighbors={self.n_neighbors}, but n_samples = {len(X)}; lower n_neighbors")
        self._votes = KNeighborsClassifier(self.n_neighbors).fit(X, codes)
        return self

    def _predict(self, X: Array) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = self._votes.predict(X)
        return codes
