"""The contract of a classifier: scikit-learn's, and for transductive ones the new points at fit."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.extenders.base import UNLABELLED


class Classifier(ClassifierMixin, BaseEstimator, ABC):
    """Gives points labels, in the ambient space or on coordinates.

    Inductive ones have ``fit(X, y)`` and ``predict(X)``. Transductive ones have ``fit(X, y, X_new=None)``, take
    rows with label −1 as new points too, and answer for the new points in ``transduction_``.
    """

    #: The word of configs and ``moos list``.
    name: ClassVar[str]
    #: Whether the new points are used in ``fit``.
    transductive: ClassVar[bool] = False
    #: Values that ``moos sweep`` takes for a parameter when none are given.
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def predict(self, X: ArrayLike) -> NDArray:
        """Label points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points; for a method that answers only for the points of ``fit``, some of those.

        Returns
        -------
        ndarray of shape (n,)
            Their labels.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        labels: NDArray = self.classes_[self._predict(X)]
        return labels

    @abstractmethod
    def _predict(self, X: Array) -> NDArray[np.intp]:
        """Classes, counted from 0, of validated points."""

    def _validate(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, NDArray[np.intp]]:
        """Training points and their classes counted from 0; sets ``classes_``."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return X, codes

    def _validate_new(
        self, X: ArrayLike, y: ArrayLike, X_new: ArrayLike | None
    ) -> tuple[Array, NDArray[np.intp], Array]:
        """Labelled points, their classes counted from 0, and the new points: rows labelled −1, then X_new."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        new = [] if X_new is None else [validate_data(self, X_new, dtype=np.float64, reset=False)]
        if y.dtype.kind in "if" and (y == UNLABELLED).any():
            unlabelled = y == UNLABELLED
            new.insert(0, X[unlabelled])
            X, y = X[~unlabelled], y[~unlabelled]
            if not len(y):
                raise ValueError(f"{self.name}: every label is −1; at least one class needs a labelled point")
        self.classes_, codes = np.unique(y, return_inverse=True)
        return X, codes, np.vstack(new) if new else np.empty((0, X.shape[1]))
