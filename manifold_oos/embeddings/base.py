"""The contract of an embedding: validation and the scikit-learn manners here, only mathematics in a method."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos import costs
from manifold_oos.arrays import Array
from manifold_oos.numerics.chunks import is_lazy, map_lazily, map_rows
from manifold_oos.numerics.nearest import neighbor_search


class Embedding(BaseEstimator, ABC):
    """Gives training points their coordinates.

    A method sets ``name``, declares ``_parameter_constraints`` (scikit-learn's) and writes ``_fit``, which
    returns the coordinates. Whatever else it learns (``eigenvalues_``, ``sigma_``, ``steps_``) it sets on self.
    """

    #: The word of configs and ``moos list``.
    name: ClassVar[str]
    #: Whether the d-dimensional embedding is the first d columns of a larger one.
    nested: ClassVar[bool] = True
    #: Whether ``fit`` needs class labels.
    supervised: ClassVar[bool] = False
    #: Values that ``moos sweep`` takes for a parameter when none are given.
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: Floats of the largest work arrays of ``fit``: see :mod:`manifold_oos.costs`. Empty: not stated, not checked.
    memory: ClassVar[str] = ""
    #: What to take where that is too much.
    instead: ClassVar[str] = ""
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    n_components: int
    #: How neighbours are searched; methods of sparse neighbour graphs have it as a parameter.
    neighbors: str = "exact"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Embed the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,), optional
            Class labels; needed by supervised methods, ignored by the others.

        Returns
        -------
        self
            Fitted, with ``embedding_`` of shape (n_samples, n_components).
        """
        self._validate_params()
        if self.supervised:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(y)
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        costs.check(self, N=len(X), D=X.shape[1], d=self.n_components or X.shape[1])
        self._row_floats = len(X)
        with neighbor_search(self.neighbors) as recall:
            self.embedding_ = self._fit(X, None if y is None else np.asarray(y))
        if self.neighbors == "approximate":
            self.neighbor_recall_ = recall.found / recall.sought if recall.sought else 1.0
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Embed the training points and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,), optional
            Class labels.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``embedding_``.
        """
        return self.fit(X, y).embedding_

    @abstractmethod
    def _fit(self, X: Array, y: NDArray | None) -> Array:
        """Coordinates (n_samples, n_components) of validated training points."""

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn whether labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervised
        return tags


class JointEmbedding(TransformerMixin, Embedding):
    """An embedding that brings its own map for new points; a method adds ``_transform``."""

    def transform(self, X: ArrayLike) -> Array:
        """Give any points coordinates, each on its own.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points; a Dask array is mapped block by block when it is computed.

        Returns
        -------
        ndarray of shape (n, n_components)
            Coordinates; a Dask array for a Dask array.
        """
        check_is_fitted(self, "embedding_")
        if is_lazy(X):
            return map_lazily(self.transform, X, self.embedding_.shape[1])
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return map_rows(self._transform, X, row_floats=self._row_floats)

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Fit, then map the training points as any other points (``embedding_`` has the learned coordinates).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,), optional
            Class labels.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            What ``transform`` gives for X.
        """
        return self.fit(X, y).transform(X)

    @abstractmethod
    def _transform(self, X: Array) -> Array:
        """Coordinates of a block of validated points."""
