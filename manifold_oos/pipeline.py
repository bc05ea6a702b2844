"""An embedding, an extender and a classifier as one scikit-learn estimator of coordinates and labels."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import HasMethods
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.errors import DataError
from manifold_oos.extenders.base import UNLABELLED
from manifold_oos.extenders.propagation import PropagationExtender
from manifold_oos.model_files import read_model, write_model
from manifold_oos.novelty import NoveltyScale
from manifold_oos.numerics.chunks import is_lazy, map_lazily
from manifold_oos.probabilities import Sharpness, calibrate, class_distances, class_probabilities, held_out
from manifold_oos.registry import KINDS, build, find


class OutOfSample(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Embed labelled points, extend to new ones, classify them.

    The embedding and the classifier learn from the labelled points only. The new points (rows with label −1, and
    ``X_new``) reach the extender if it is transductive, without labels: scikit-learn's cross-validation hands
    ``fit`` the rows of a training fold, so that a test fold is never seen before ``predict``.

    Parameters
    ----------
    embedding : str, mapping, Embedding or array-like of shape (n_samples, n_components), default="suplap"
        A name of ``moos list embeddings``, ``{"name": "suplap", "n_components": 20}``, an instance, whose
        parameters can be searched as ``embedding__n_components``, or the coordinates of the rows of X themselves
        (by UMAP, say).
    extender : str, mapping, Extender or None, default="normalized_rbf"
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
        The fitted stages; None for one that is not there (coordinates that were given, or a model from a file).

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, 1]
    >>> model = OutOfSample({"name": "suplap", "n_components": 1}).fit(X, y)
    >>> model.predict([[0.6], [8.3]]).tolist(), model.novelty([[0.6], [30.0]]).tolist()
    ([0, 1], [0.0, 2100.0])
    """

    embedding_: Array
    embedding_model_: Any
    extender_model_: Any
    classifier_model_: Any
    _known: Array
    _labels: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "embedding": [str, dict, HasMethods("fit"), "array-like"],
        "extender": [None, str, dict, HasMethods(["fit", "transform"])],
        "classifier": [None, str, dict, HasMethods(["fit", "predict"])],
    }

    def __init__(
        self,
        embedding: str | Mapping[str, Any] | Any = "suplap",
        extender: str | Mapping[str, Any] | Any | None = "normalized_rbf",
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
        X, y, given, new = self._split(X, y, X_new)
        if given is not None:
            self.embedding_model_, self.embedding_ = None, given
        else:
            self.embedding_model_ = build("embeddings", self.embedding).fit(X, y)
            self.embedding_ = self.embedding_model_.embedding_
        self.extender_model_ = None if self.extender is None else self._extend(X, y, new)
        if self.extender is None:
            embedding = self.embedding_model_
            if not isinstance(embedding, JointEmbedding) and not hasattr(embedding, "transform"):
                what = "an array" if given is not None else type(embedding).__name__
                raise ValueError(f"{what} cannot map new points itself: give an extender")
            self.embedding_ = embedding.transform(X)
        self.classifier_model_ = None
        if y is not None:
            classifier = build("classifiers", self.classifier or "nn")
            if getattr(classifier, "transductive", False):
                raise ValueError(
                    f"{classifier.name} is transductive and cannot predict: use it by itself, or nn or svm"
                )
            self.classifier_model_ = classifier.fit(self.embedding_, y)
        self._known, self._labels = X, y
        self._later: dict[str, Any] = {}  # what is learned from them when it is first asked for
        self.new_embedding_: Array = self._coordinates(new) if len(new) else np.empty((0, self.embedding_.shape[1]))
        if self.classifier_model_ is not None:
            empty = np.empty(0, dtype=self.classes_.dtype)
            self.transduction_ = self.classifier_model_.predict(self.new_embedding_) if len(new) else empty
        return self

    def _extend(self, X: Array, y: NDArray | None, new: Array) -> Any:
        extender = build("extenders", self.extender)
        handed = new if extender.transductive and len(new) else None
        if extender.transductive and handed is None:
            warnings.warn(
                f"{extender.name} learns from new points and has none: give X_new or rows with y = -1. "
                "Cross-validation gives none, so that it judges only what comes before them.",
                stacklevel=3,
            )
        extender.fit(X, self.embedding_, y, X_new=handed, embedding=self.embedding_model_)
        self.embedding_ = getattr(extender, "training_embedding_", self.embedding_)
        return extender

    def _split(
        self, X: ArrayLike, y: ArrayLike | None, X_new: ArrayLike | None
    ) -> tuple[Array, NDArray | None, Array | None, Array]:
        """Labelled points, their labels, their coordinates where those are given, and the new points."""
        if y is None:
            if self.classifier is not None:
                raise ValueError("a classifier requires y to be passed, but the target y is None")
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(y)
        given = self._given(len(X))
        new = [] if X_new is None else [validate_data(self, X_new, dtype=np.float64, reset=False)]
        if y is not None:
            unlabelled = y == UNLABELLED if y.dtype.kind in "if" else np.zeros(len(y), dtype=bool)
            if unlabelled.any():
                new.insert(0, X[unlabelled])
                X, y = X[~unlabelled], y[~unlabelled]
                given = None if given is None else given[~unlabelled]
                if len(y) < 2:
                    raise ValueError(f"only {len(y)} of the points have a label other than −1; two are needed")
            self.classes_ = np.unique(y)
        return X, y, given, np.vstack(new) if new else np.empty((0, X.shape[1]))

    def _given(self, n: int) -> Array | None:
        """The coordinates of n points where the embedding is an array."""
        if isinstance(self.embedding, str | Mapping) or hasattr(self.embedding, "fit"):
            return None
        given: Array = check_array(self.embedding, dtype=np.float64, input_name="embedding")
        if len(given) != n:
            raise ValueError(
                f"the embedding has coordinates of {len(given)} points and X has {n}: give a row for each row of X"
                " (cross-validation cannot divide an array; give it an embedding that can be fitted)"
            )
        return given

    def _coordinates(self, X: Array) -> Array:
        stage = self.embedding_model_ if self.extender_model_ is None else self.extender_model_
        coordinates: Array = stage.transform(X)
        return coordinates

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _checked(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        points: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return points

    def transform(self, X: ArrayLike) -> Array:
        """Coordinates of points, each on its own.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points; with GOM or CP those of ``fit`` only. A Dask array is mapped block by block when it is computed.

        Returns
        -------
        ndarray of shape (n, n_components)
            Coordinates; float32 for float32, a Dask array for a Dask array.
        """
        if is_lazy(X):
            check_is_fitted(self)
            dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
            return map_lazily(self.transform, X, self.embedding_.shape[1], dtype)
        points = self._checked(X)
        return self._coordinates(points).astype(points.dtype, copy=False)

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
        points = self._checked(X)
        self._need_labels("predict")
        labels: NDArray = self.classifier_model_.predict(self._coordinates(points))
        return labels

    def _need_labels(self, what: str) -> None:
        if self.classifier_model_ is None:
            raise ValueError(f"OutOfSample was fitted without labels and cannot {what}: it has coordinates only")

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

    def predict_proba(self, X: ArrayLike) -> Array:
        r"""Probabilities of the classes, by the distances to them in the embedding.

        .. math:: p_c(x) = (1 - \epsilon) \frac{d_c^{-t}}{\sum_b d_b^{-t}} + \frac{\epsilon}{C}

        with :math:`d_c` the distance of the coordinates of x to those of the nearest known point of class c. The
        power t is that of largest likelihood when every fourth known point of each class is held out and embedding
        and extender are fitted on the others, once, when probabilities are first asked for; :math:`\epsilon` is
        1/(m + 2) for m such points. Classes of fewer than four points, or too few points to fit without them, leave
        t = 1. The classifier plays no part: where it is not the nearest neighbour, its label may not be the most
        probable.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            A column per class of ``classes_``.
        """
        points = self._checked(X)
        self._need_labels("predict")
        return self._probabilities(self._coordinates(points))

    def _probabilities(self, coordinates: Array) -> Array:
        distances = class_distances(self.embedding_, self._labels, coordinates)
        return class_probabilities(distances, self._calibrated())

    def _calibrated(self) -> Sharpness:
        """The sharpness that held-out known points teach, found once."""
        if "sharpness" not in self._later:
            self._later["sharpness"] = self._calibrate()
        sharpness: Sharpness = self._later["sharpness"]
        return sharpness

    def _calibrate(self) -> Sharpness:
        y = self._labels
        held = held_out(y)
        if not held.any() or len(self.classes_) < 2:
            return Sharpness()
        rest = clone(self)
        if self.embedding_model_ is None:
            rest.set_params(embedding=self.embedding_[~held])
        try:
            rest.fit(self._known[~held], y[~held], X_new=self._known[held])
        except ValueError:  # too few points for the number of components or neighbours
            return Sharpness()
        distances = class_distances(rest.embedding_, y[~held], rest.new_embedding_)
        return calibrate(distances, np.searchsorted(self.classes_, y[held]))

    def novelty(self, X: ArrayLike) -> Array:
        """How far points are from those that were learned; ``transform`` places any point, however far.

        The share, in percent, of the known points that are nearer to their nearest known point than x is to its
        own; above 100 the distance of x in percent of the largest. About 1 % of points like the known ones are
        above 99 (:data:`manifold_oos.novelty.NOVEL`), which is the line to take for novel.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            From 0 on.
        """
        points = self._checked(X).astype(np.float64, copy=False)
        return self._novelty_scale().of(points)

    def _novelty_scale(self) -> NoveltyScale:
        if "scale" not in self._later:
            self._later["scale"] = NoveltyScale(self._known)
        scale: NoveltyScale = self._later["scale"]
        return scale

    def save(self, path: str | Path, about: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a file that :func:`manifold_oos.load` reads.

        Arrays and JSON, no pickle: what transform, predict, predict_proba and novelty need, and no more.

        Parameters
        ----------
        path : path
            File to write; it appears whole or not at all.
        about : mapping, optional
            Plain JSON to go with it, which the loaded model has as ``about_``.
        """
        check_is_fitted(self)
        if isinstance(self.extender_model_, PropagationExtender):
            raise ValueError(f"{self.extender_model_.name} answers for the points of fit only: nothing to save")
        sharpness = Sharpness() if self._labels is None else self._calibrated()
        given = not (isinstance(self.embedding, str | Mapping) or hasattr(self.embedding, "fit"))
        state = {
            "embedding": None if given else self.embedding,
            "extender": self.extender,
            "classifier": self.classifier,
            "embedding_model_": self.embedding_model_ if self.extender_model_ is None else None,
            "extender_model_": self.extender_model_,
            "classifier_model_": self.classifier_model_,
            "embedding_": self.embedding_,
            "n_features_in_": self.n_features_in_,
            "_known": self._known,
            "_labels": self._labels,
            "sharpness": [sharpness.power, sharpness.doubt],
            "distances": self._novelty_scale().own,
        }
        state |= {key: getattr(self, key) for key in ("classes_", "feature_names_in_") if hasattr(self, key)}
        write_model(Path(path), state, dict(about or {}))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a stage, such as ``extender__factor``, where the stage is an instance.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self
            Changed.
        """
        for key in params:
            stage, nested, name = key.partition("__")
            value = params.get(stage, getattr(self, stage, None))
            if nested and stage in KINDS and isinstance(value, str | Mapping | None):
                word = value if isinstance(value, str) else (value or {}).get("name", "")
                example = find(KINDS[stage], word).__name__ if word else "an instance"
                raise ValueError(
                    f"{key}: {stage}={value!r} is a name, whose parameters cannot be set; pass an instance,"
                    f" {stage}={example}({name}=...)" + (f" from manifold_oos.{KINDS[stage]}" if word else "")
                )
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def load(path: str | Path) -> OutOfSample:
    """Read a model that :meth:`OutOfSample.save` or ``moos embed --save`` wrote.

    Parameters
    ----------
    path : path
        The file. One that is damaged or newer than this version is a :class:`~manifold_oos.errors.DataError`.

    Returns
    -------
    OutOfSample
        Fitted, with the same answers to the last bit; ``about_`` is what was saved with it. It does not have what
        only training needed (``new_embedding_``, ``steps_`` of its stages).
    """
    state, about = read_model(Path(path))
    try:
        if state["embedding"] is None:
            state["embedding"] = state["embedding_"]
        stages = {stage: state.pop(stage) for stage in KINDS}
        model = OutOfSample(**stages)
        later: dict[str, Any] = {"sharpness": Sharpness(*state.pop("sharpness"))}
        later["scale"] = NoveltyScale(state["_known"], state.pop("distances"))
        model.__dict__ |= state | {"_later": later}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a model of OutOfSample ({error})") from error
    model.about_ = about
    return model
