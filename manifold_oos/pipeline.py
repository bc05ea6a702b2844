"""An embedding, an extender and a classifier as one scikit-learn estimator of coordinates and labels."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.embeddings.precomputed import Precomputed
from manifold_oos.extenders.base import UNLABELLED
from manifold_oos.registry import build

Array = NDArray[np.floating]


class OutOfSample(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Embed labelled points, extend to new ones, classify them.

    The embedding and the classifier learn from the labelled points only. The new points (rows with label −1, and
    ``X_new``) reach the extender if it is transductive, without labels: scikit-learn's cross-validation hands
    ``fit`` the rows of a training fold, so that a test fold is never seen before ``predict``.

    Parameters
    ----------
    embedding : str, mapping, Embedding or array-like of shape (n_samples, d), default="suplap"
        A name of ``moos list embeddings``, ``{"name": "suplap", "n_components": 20}``, or an instance, whose
        parameters can be searched as ``embedding__n_components``. An array has coordinates that were computed
        elsewhere, a row for each row of the X that ``fit`` is given.
    extender : str, mapping, Extender or None, default="rbf"
        The same for extenders; None for a joint embedding, which maps new points itself.
    classifier : str, mapping, classifier or None, default=None
        The same for inductive classifiers, any scikit-learn one too; None is the nearest neighbour in the
        embedding, as in the papers.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_labelled, n_components)
        Coordinates of the labelled points.
    new_embedding_ : ndarray of shape (n_new, n_components)
        Coordinates of the new points: rows with y = −1, then those of ``X_new``.
    transduction_ : ndarray of shape (n_new,)
        Labels of the new points, where ``fit`` had labels.
    embedding_model_, extender_model_, classifier_model_ : estimators
        The fitted stages.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, 1]
    >>> model = OutOfSample({"name": "suplap", "n_components": 1}, "rbf")
    >>> model.fit(X, y).predict([[0.6], [8.3]]).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "embedding": [str, dict, "array-like", HasMethods("fit")],
        "extender": [None, str, dict, HasMethods(["fit", "transform"])],
        "classifier": [None, str, dict, HasMethods(["fit", "predict"])],
    }

    def __init__(
        self,
        embedding: str | Mapping[str, Any] | Any = "suplap",
        extender: str | Mapping[str, Any] | Any | None = "rbf",
        classifier: str | Mapping[str, Any] | Any | None = None,
    ) -> None:
        self.embedding = embedding
        self.extender = extender
        self.classifier = classifier

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, X_new: ArrayLike | None = None) -> Self:
        """Learn from the labelled points and, where the extender is transductive, from the new ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; those with label −1 are new.
        y : array-like of shape (n_samples,), optional
            Labels. Where embedding and extender are unsupervised they may be left out, to have coordinates only.
        X_new : array-like of shape (n_new, n_features), optional
            More new points.

        Returns
        -------
        self
            Fitted.
        """
        self._validate_params()
        X, y, new = self._split(X, y, X_new)
        embedding = self.embedding_model_ = self._embed(X, y)
        self.embedding_: Array = embedding.embedding_
        if self.extender is None:
            if not isinstance(embedding, JointEmbedding) and not hasattr(embedding, "transform"):
                raise ValueError(f"{type(embedding).__name__} cannot map new points itself: give an extender")
            self.extender_model_ = None
            self.embedding_ = embedding.transform(X)
        else:
            extender = build("extenders", self.extender)
            handed = new if extender.transductive and len(new) else None
            self.extender_model_ = extender.fit(X, self.embedding_, y, X_new=handed, embedding=embedding)
            self.embedding_ = getattr(extender, "training_embedding_", self.embedding_)
        self.classifier_model_ = None
        if y is not None:
            classifier = build("classifiers", self.classifier or "nn")
            if getattr(classifier, "transductive", False):
                raise ValueError(
                    f"{classifier.name} is transductive and cannot predict: use it by itself, or nn or svm"
                )
            self.classifier_model_ = classifier.fit(self.embedding_, y)
        self.new_embedding_: Array = self._coordinates(new) if len(new) else np.empty((0, self.embedding_.shape[1]))
        if self.classifier_model_ is not None:
            empty = np.empty(0, dtype=self.classes_.dtype)
            self.transduction_ = self.classifier_model_.predict(self.new_embedding_) if len(new) else empty
        return self

    def _embed(self, X: Array, y: NDArray | None) -> Any:
        if isinstance(self.embedding, str | Mapping) or hasattr(self.embedding, "fit"):
            return build("embeddings", self.embedding).fit(X, y)
        if len(np.asarray(self.embedding)) != len(self._labelled):
            raise ValueError(f"{len(np.asarray(self.embedding))} coordinates for {len(self._labelled)} points")
        return Precomputed(self.embedding).fit(X, y, index=np.flatnonzero(self._labelled))

    def _split(
        self, X: ArrayLike, y: ArrayLike | None, X_new: ArrayLike | None
    ) -> tuple[Array, NDArray | None, Array]:
        """Labelled points, their labels, and the new points."""
        if y is None:
            if self.classifier is not None:
                raise ValueError("a classifier requires y to be passed, but the target y is None")
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(y)
        new = [] if X_new is None else [validate_data(self, X_new, dtype=np.float64, reset=False)]
        self._labelled = np.ones(len(X), dtype=bool)
        if y is not None:
            unlabelled = y == UNLABELLED if y.dtype.kind in "if" else np.zeros(len(y), dtype=bool)
            self._labelled = ~unlabelled
            if unlabelled.any():
                new.insert(0, X[unlabelled])
                X, y = X[~unlabelled], y[~unlabelled]
                if len(y) < 2:
                    raise ValueError(f"only {len(y)} of the points have a label other than −1; two are needed")
            self.classes_ = np.unique(y)
        return X, y, np.vstack(new) if new else np.empty((0, X.shape[1]))

    def _coordinates(self, X: Array) -> Array:
        stage = self.embedding_model_ if self.extender_model_ is None else self.extender_model_
        coordinates: Array = stage.transform(X)
        return coordinates

    def transform(self, X: ArrayLike) -> Array:
        """Coordinates of points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points; with GOM or CP those of ``fit`` only.

        Returns
        -------
        ndarray of shape (n, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        return self._coordinates(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X: ArrayLike) -> NDArray:
        """Labels of points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points, as for :meth:`transform`.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        check_is_fitted(self)
        if self.classifier_model_ is None:
            raise ValueError("OutOfSample was fitted without labels, so it has coordinates only: use transform")
        labels: NDArray = self.classifier_model_.predict(self.transform(X))
        return labels

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of correct labels; rows with label −1, whose truth is not known, do not count.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            Weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        truth = np.asarray(y)
        known = truth != UNLABELLED if truth.dtype.kind in "if" else np.ones(len(truth), dtype=bool)
        weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return float(accuracy_score(truth, self.predict(X), sample_weight=known * weight))
