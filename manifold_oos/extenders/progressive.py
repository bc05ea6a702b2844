"""Progressive extender: the surest new points join the training set, everything is embedded anew, and again."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from manifold_oos.arrays import Array
from manifold_oos.constraints import HasMethods, Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.sosi import center_counts, nearest_class
from manifold_oos.registry import build
from manifold_oos.steps import Step

#: A method as a config or a caller writes it.
Method = str | Mapping[str, Any] | Any


class Progressive(Extender):
    r"""Iterative labelling around any embedding and inductive extender.

    The scheme of Fig. 8 of [1]_: in each iteration the extender gives the new points coordinates, each gets the
    label of its nearest training point there and the confidence of eq. 16; the :math:`L_r - N` surest join the
    training set with those labels; the embedding and the extender are fitted anew on the larger set. Labels are
    always judged by the points that were labelled from the start, so that a guess cannot confirm itself.

    The training points move with every new embedding: their final coordinates, in the space of
    ``new_embedding_``, are ``training_embedding_``, not the Y of ``fit``. One mistaken label can turn the whole
    embedding; :class:`~manifold_oos.extenders.sosi.SOSI`, which keeps the first one, bears mistakes better.

    First contact: after a supervised embedding in two dimensions, or fewer than classes − 1, the default ``rbf``
    gives poor first labels, and all that follows is built on those; ``extender="normalized_rbf"`` mends it.

    Parameters
    ----------
    extender : str, mapping or Extender, default="rbf"
        An inductive extender: a name, ``{name: lle, n_neighbors: 8}``, or an instance.
    embedding : str, mapping, Embedding or None, default=None
        The embedding, in the same ways. None is the one that gave Y, if ``fit`` is told, else the supervised
        Laplacian of the dimension of Y.
    n_iterations : int, default=10
        R, with equal steps from :math:`L_1 = N` to all points.
    schedule : sequence of float, optional
        In place of R: the share of the new points in the training set in iterations 2, 3, …, ascending.
    stop_at : float, default=1.0
        Iterations that would take in more than this share of the new points are left out.

    Attributes
    ----------
    labels_, confidence_ : ndarray of shape (n_new,)
        Labels and confidences of the new points: rows with y = −1, then those of ``X_new``.
    new_embedding_ : ndarray of shape (n_new, d)
        Their coordinates.
    training_embedding_ : ndarray of shape (n_samples, d)
        Coordinates of the training points in the last embedding.
    extender_, embedding_model_ : estimators
        The last fitted ones; ``embedding_model_`` is None where there was one iteration only.
    steps_ : list of Step
        Labels, confidences and the points taken in, of each iteration; no coordinates, as each has its own space.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for
       classification, IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), [0, 0, 1, 1]
    >>> Y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> Progressive().fit(X, Y, y, X_new=[[0.4], [5.7]]).labels_.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "progressive"
    instead: ClassVar[str] = 'extender="lle"'
    nested: ClassVar[bool] = False
    transductive: ClassVar[bool] = True
    supervised: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "extender": ["rbf", "lle", "nystrom"],
        "n_iterations": [5, 10, 20],
        "stop_at": [0.5, 0.7, 0.8, 1.0],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "extender": [str, dict, HasMethods(["fit", "transform"])],
        "embedding": [None, str, dict, HasMethods("fit")],
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "schedule": [None, "array-like"],
        "stop_at": [Interval(Real, 0, 1, closed="both")],
    }

    labels_: NDArray
    confidence_: Array

    def __init__(
        self,
        extender: Method = "rbf",
        embedding: Method | None = None,
        n_iterations: int = 10,
        schedule: Sequence[float] | None = None,
        stop_at: float = 1.0,
    ) -> None:
        self.extender = extender
        self.embedding = embedding
        self.n_iterations = n_iterations
        self.schedule = schedule
        self.stop_at = stop_at

    @property
    def memory(self) -> str:  # type: ignore[override]
        """That of RBF; another extender tells its own when it is fitted."""
        return "3*(N + Q)**2" if self.extender == "rbf" else ""

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        if y is None:
            raise ValueError("progressive needs the class labels y of the training points")
        unfitted = build("extenders", self.extender)
        if unfitted.transductive:
            raise ValueError(f"progressive needs an extender of any x, and {unfitted.name} is transductive")
        if X_new is None:
            X_new = np.empty((0, X.shape[1]))
        model = self._embedding(embedding, Y.shape[1])
        n = len(X)
        self.embedding_model_: Embedding | None = None
        self.steps_: list[Step] = []
        taken = np.zeros(len(X_new), dtype=bool)
        points, coordinates, labels = X, Y, y
        for number, size in enumerate(center_counts(len(X_new), self.n_iterations, self.schedule, self.stop_at), 1):
            if number > 1:
                taken = np.zeros(len(X_new), dtype=bool)
                taken[np.argsort(-self.confidence_, kind="stable")[:size]] = True
                points, labels = np.vstack([X, X_new[taken]]), np.concatenate([y, self.labels_[taken]])
                embedding = self.embedding_model_ = clone(model).fit(points, labels)
                coordinates = embedding.embedding_
            self.extender_: Extender = clone(unfitted).fit(points, coordinates, labels, embedding=embedding)
            self.training_embedding_ = coordinates[:n]
            self.new_embedding_ = self.extender_.transform(X_new) if len(X_new) else np.empty((0, Y.shape[1]))
            self.labels_, self.confidence_ = nearest_class(self.new_embedding_, self.training_embedding_, y)
            values = {"centers": float(len(points))}
            self.steps_.append(Step(number, None, self.labels_, self.confidence_, taken, values))

    def _embedding(self, fitted: Embedding | None, d: int) -> Embedding:
        if self.embedding is not None:
            chosen = build("embeddings", self.embedding)
        elif fitted is not None:
            chosen = clone(fitted)
        else:
            return build("embeddings", {"name": "suplap", "n_components": d})
        return chosen.set_params(n_components=d) if "n_components" in chosen.get_params() else chosen

    def _transform(self, X: Array) -> Array:
        return self.extender_.transform(X)
