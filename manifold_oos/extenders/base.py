"""The contract of an extender: validation, chunking and dtypes here, only mathematics in a method."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from manifold_oos import costs
from manifold_oos.arrays import Array
from manifold_oos.embeddings.base import Embedding
from manifold_oos.numerics.chunks import is_lazy, map_lazily, map_rows

UNLABELLED = -1


class Extender(TransformerMixin, BaseEstimator, ABC):
    """Gives new points coordinates beside those of the training points.

    A method sets ``name``, declares ``_parameter_constraints`` (scikit-learn's) and writes ``_fit`` and
    ``_transform``.
    """

    #: The word of configs and ``moos list``.
    name: ClassVar[str]
    #: Whether the result for the first d columns of Y is the first d columns of the result.
    nested: ClassVar[bool] = True
    #: Whether f(x_i) = y_i on training points.
    interpolates: ClassVar[bool] = False
    #: Whether the new points are used in ``fit``.
    transductive: ClassVar[bool] = False
    #: Whether ``fit`` needs class labels.
    supervised: ClassVar[bool] = False
    #: Values that ``moos sweep`` takes for a parameter when none are given.
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: Floats of the largest work arrays of ``fit``: see :mod:`manifold_oos.costs`. Empty: not stated, not checked.
    memory: ClassVar[str] = ""
    #: What to take where that is too much.
    instead: ClassVar[str] = ""
    #: By parameter, a number from ``scalars()`` that belongs on the second axis of its sweep.
    sweep_metrics: ClassVar[Mapping[str, str]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @classmethod
    def supports(cls, embedding: Embedding | type[Embedding]) -> bool:
        """Whether the extender works with an embedding.

        Parameters
        ----------
        embedding : Embedding or its class
            The embedding that gives the training points their coordinates.

        Returns
        -------
        bool
            True for every embedding unless a method says otherwise.
        """
        return True

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        y: ArrayLike | None = None,
        *,
        X_new: ArrayLike | None = None,
        embedding: Embedding | None = None,
    ) -> Self:
        """Learn how new points join the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points. Rows whose label is −1 are taken as new points, before those of ``X_new``.
        Y : array-like of shape (n_samples, d)
            Their coordinates (rows of unlabelled points are not read).
        y : array-like of shape (n_samples,), optional
            Class labels, −1 for unlabelled.
        X_new : array-like of shape (n_new, n_features), optional
            The new points, for transductive methods.
        embedding : Embedding, optional
            The fitted embedding behind Y, for methods that need its kernel, eigenvalues or geodesics.

        Returns
        -------
        self
            Fitted.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64)
        if Y is None:
            raise ValueError(f"{self.name} requires y to be passed, but the target y is None: give coordinates Y")
        Y = check_array(Y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="Y")
        Y = Y.reshape(len(Y), -1)
        check_consistent_length(X, Y, y)
        if X_new is not None:
            X_new = validate_data(self, X_new, dtype=np.float64, reset=False)
        if y is not None:
            y = np.asarray(y)
            if y.dtype.kind in "if" and (y == UNLABELLED).any():
                unlabelled = y == UNLABELLED
                X_new = X[unlabelled] if X_new is None else np.vstack([X[unlabelled], X_new])
                X, Y, y = X[~unlabelled], Y[~unlabelled], y[~unlabelled]
        elif self.supervised:
            raise ValueError(f"{self.name} needs the class labels y of the training points")
        check_array(Y, input_name="Y")
        if embedding is not None and not self.supports(embedding):
            raise ValueError(f"{self.name} does not extend {type(embedding).__name__}")
        Q = 0 if X_new is None else len(X_new)
        M = len(getattr(embedding, "landmarks_", X))
        costs.check(self, N=len(X), Q=Q, D=X.shape[1], d=Y.shape[1], M=M)
        self._row_floats, self._columns = len(X) + Q, Y.shape[1]
        self._fit(X, Y, y, X_new, embedding)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Give new points coordinates, each on its own.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            New points; a Dask array is mapped block by block when it is computed.

        Returns
        -------
        ndarray of shape (n, d)
            Their coordinates; a Dask array for a Dask array.
        """
        check_is_fitted(self)
        if is_lazy(X):
            return map_lazily(self.transform, X, self._columns)
        if not self._valid(X):
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return map_rows(self._transform, np.asarray(X), row_floats=self._row_floats)

    def _valid(self, X: ArrayLike) -> bool:
        """Whether scikit-learn's validation, which takes longer than one point, would return X as it is."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or hasattr(self, "feature_names_in_"):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return len(X) > 0 and X.shape[1] == self.n_features_in_ and bool(np.isfinite(X.sum()))

    @abstractmethod
    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        """Learn from validated, labelled training points and, if transductive, the new points."""

    @abstractmethod
    def _transform(self, X: Array) -> Array:
        """Coordinates of a block of validated points."""

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that coordinates are needed to fit."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = False
        return tags
