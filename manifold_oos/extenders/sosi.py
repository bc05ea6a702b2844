"""SOSI extender: new points are labelled, put on the manifold of their class and interpolated, surest first."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.rbf import SEARCHED, RBFExtender
from manifold_oos.numerics.centers import farthest_points
from manifold_oos.numerics.convex_weights import convex_weights
from manifold_oos.numerics.kernels import Scale, squared_distances
from manifold_oos.numerics.rbf import PACKED_FROM, Gaussians, evaluate
from manifold_oos.steps import Step


class SOSI(RBFExtender):
    r"""Semi-supervised out-of-sample interpolation.

    Algorithm 1 of [1]_. A Gaussian interpolant with a scale per dimension,

    .. math:: f_r^k(x) = \sum_{l=1}^{L_r} c_l^k \exp\Bigl(-\frac{\|x - x_{r_l}\|^2}{(\sigma^k)^2}\Bigr),

    starts from the training points alone (:math:`L_1 = N`; this is :class:`RBFExtender`). In each iteration
    every new point gets the label of its nearest training point in the embedding (eq. 15) and the confidence
    :math:`\mu_i`, the distance to the nearest training point of another class over that to the nearest of all
    (eq. 16). The :math:`L_r - N` surest then become centres too, with the coordinates of their projection on
    the manifold of their class (eq. 20, 21),

    .. math:: y_i = \sum_j w_j y_{a_j}, \qquad
              w = \arg\min_{v \ge 0, \sum_j v_j = 1} \Bigl\| x_i - \sum_j v_j x_{a_j} \Bigr\|^2,

    :math:`a_j` its K nearest training points in that class. Training points keep their coordinates throughout.
    The result is a function of any x. Where the first labels are poor, later iterations cement their errors:
    stop early. Identical points are one centre; the last iteration of a full run hardly changes a label.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf``. It starts as
    ``rbf``, whose labels are poor there, and goes on from those.

    The scales are found as in :class:`RBFExtender`. [1]_ gives no λ, threshold, K or R; the defaults are one
    rule for all data that reads training labels only.

    Parameters
    ----------
    sigma : "regularity", "ratio", float, {"median": f}, "mean_squared" or None, default="regularity"
        The scales, as in :class:`RBFExtender`; ``"ratio"`` is the variant of [1]_ for Fisher-like embeddings.
    lambda_ : float or None, default=None
        λ of ``"regularity"`` for all dimensions; None balances the two terms in each.
    threshold : float, default=0.5
        Share of the largest ratio for ``"ratio"``.
    n_neighbors : int, default=5
        K: neighbours per class, for projections and for the directions of the scale search.
    n_iterations : int, default=10
        R, with equal steps from :math:`L_1 = N` to :math:`L_R = Q`.
    schedule : sequence of float, optional
        In place of R: the share of the new points among the centres in iterations 2, 3, …, ascending.
    stop_at : float, default=1.0
        Early stopping: iterations that would take in more than this share of the new points are left out.
    reoptimize : bool, default=False
        Search the scales in every iteration, or only in the first (footnote 3).
    n_centers : int or None, default=None
        A fixed number of centres: the training points and those of the points taken in that are farthest from all
        centres before; the rest are fitted by least squares, and training points keep their coordinates no longer.
        None, or as many as all points, is the exact form. From 4096 centres on that holds half of one kernel
        matrix, 1.6 GB for 20,000.

    Attributes
    ----------
    labels_ : ndarray of shape (n_new,)
        Labels of the new points: rows with y = −1, then those of ``X_new``.
    confidence_ : ndarray of shape (n_new,)
        Confidence of each label.
    new_embedding_ : ndarray of shape (n_new, d)
        Coordinates of the new points.
    steps_ : list of Step
        Labels, confidences, coordinates and the points taken in, of each iteration; ``sigma`` is the mean scale.
    sigma_ : ndarray of shape (d,)
        Scale of each dimension of the final function.
    lambdas_ : ndarray of shape (d,)
        λ of each dimension, where ``sigma="regularity"``.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for
       classification, IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, Y, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([[-1.0], [-1.0], [1.0], [1.0]]), [0, 0, 1, 1]
    >>> SOSI().fit(X, Y, y, X_new=[[0.4], [5.7]]).labels_.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "sosi"
    instead: ClassVar[str] = "n_centers=2000, or new points in portions"
    transductive: ClassVar[bool] = True
    supervised: ClassVar[bool] = True
    nested: ClassVar[bool] = False
    grids: ClassVar[Mapping[str, Any]] = {
        **RBFExtender.grids,
        "lambda_": [5, 15, 50, 150],
        "n_neighbors": [3, 5, 7, 10],
        "n_iterations": [5, 10, 20],
        "stop_at": [0.5, 0.6, 0.7, 0.8, 1.0],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RBFExtender._parameter_constraints,
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "schedule": [None, "array-like"],
        "stop_at": [Interval(Real, 0, 1, closed="both")],
        "reoptimize": ["boolean"],
    }

    labels_: NDArray
    confidence_: Array

    def __init__(
        self,
        sigma: Scale | None = "regularity",
        lambda_: float | None = None,
        threshold: float = 0.5,
        n_neighbors: int = 5,
        n_iterations: int = 10,
        schedule: Sequence[float] | None = None,
        stop_at: float = 1.0,
        reoptimize: bool = False,
        n_centers: int | None = None,
    ) -> None:
        super().__init__(sigma, lambda_, threshold, n_neighbors, n_centers)
        self.n_iterations = n_iterations
        self.schedule = schedule
        self.stop_at = stop_at
        self.reoptimize = reoptimize

    @staticmethod
    @cache
    def warm_up() -> None:
        """Load the active-set method, or compile it the first time, so that no fit is timed with it."""
        convex_weights(np.eye(3), np.array([[0, 1]]), np.zeros((1, 3)))

    @property
    def memory(self) -> str:  # type: ignore[override]
        """All points are centres in the end; many of them are kept in packed form, a subset is not."""
        if self.n_centers is None:
            return "3*N*N + 2*N*Q + max(4*min(N + Q, 4096)**2, (N + Q)**2/2)"
        return "3*N*N + 2*N*Q + 5.5*n_centers**2 + 4*min((N + Q)*n_centers, 2**20)"

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        if y is None:
            raise ValueError(f"{self.name} needs the class labels y of the training points")
        if self.n_centers is not None and self.n_centers < len(X):
            raise ValueError(f"n_centers={self.n_centers}: the {len(X)} training points are always centres")
        super()._fit(X, Y, y, None, embedding)
        if X_new is None:
            X_new = np.empty((0, X.shape[1]))
        sizes = center_counts(len(X_new), self.n_iterations, self.schedule, self.stop_at)
        n, sigma_1 = len(self.centers_), self.sigma_
        points = np.vstack([self.centers_, X_new - self.offset_])
        distinct = np.zeros(len(points), dtype=bool)
        distinct[np.unique(points, axis=0, return_index=True)[1]] = True
        projections = Projections(X - self.offset_, Y, y, points[n:], self.n_neighbors)
        whole = len(points) < PACKED_FROM and (self.n_centers is None or self.n_centers >= len(points))
        squared = squared_distances(points) if whole else None
        at, used = Gaussians(points[:n]), np.arange(n)
        taken = np.zeros(len(X_new), dtype=bool)
        self.steps_: list[Step] = []
        for number, size in enumerate(sizes, start=1):
            if number > 1:
                surest = np.argsort(-self.confidence_, kind="stable")[:size]
                taken = np.zeros(len(X_new), dtype=bool)
                taken[surest] = True
                used = np.concatenate([np.arange(n), n + np.flatnonzero(taken & distinct[n:])])
                among = None if squared is None else squared[np.ix_(used, used)]
                at = Gaussians(points[used], self._centers_among(points[used]), among)
                self._extend(at, np.vstack([self._values, projections.of(used[n:] - n, self.labels_)]), sigma_1)
                used = used if at.index is None else used[at.index]
            if squared is None:
                self.new_embedding_ = at.values(points[n:], self.coefficients_, self.sigma_)
            else:
                self.new_embedding_ = evaluate(squared[n:, used], self.coefficients_, self.sigma_)
            self.labels_, self.confidence_ = nearest_class(self.new_embedding_, Y, y)
            values = {"sigma": float(self.sigma_.mean()), "centers": float(len(at.centers))}
            self.steps_.append(Step(number, self.new_embedding_, self.labels_, self.confidence_, taken, values))

    def _centers_among(self, points: Array) -> NDArray[np.intp] | None:
        """The training points, which come first, and as many others as ``n_centers`` allows."""
        if self.n_centers is None or self.n_centers >= len(points):
            return None
        return farthest_points(points, self.n_centers, given=len(self._values))

    def _extend(self, at: Gaussians, values: Array, sigma_1: Array) -> None:
        """Fit training points and the new points that were taken in."""
        self.centers_ = at.centers
        self.sigma_ = sigma_1
        if self.reoptimize and self.sigma in SEARCHED:
            self.sigma_ = self._search(at.squared, values if at.index is None else values[at.index])
        self._interpolate(at, values)


class Projections:
    """Coordinates of new points projected on the manifold of a class (eq. 20, 21), each computed once.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Training points.
    Y : ndarray of shape (n, d)
        Their coordinates.
    y : ndarray of shape (n,)
        Their classes.
    X_new : ndarray of shape (n_new, D)
        New points.
    n_neighbors : int
        Neighbours in the class; a smaller class gives all its points.
    """

    def __init__(self, X: Array, Y: Array, y: NDArray, X_new: Array, n_neighbors: int) -> None:
        self.X, self.Y, self.y, self.X_new, self.n_neighbors = X, Y, y, X_new, n_neighbors
        self.known = {label: np.full((len(X_new), Y.shape[1]), np.nan) for label in np.unique(y)}

    def of(self, index: NDArray, labels: NDArray) -> Array:
        """Coordinates of some new points in the classes that they have now.

        Parameters
        ----------
        index : ndarray of int
            Which new points.
        labels : ndarray of shape (n_new,)
            Classes of all new points.

        Returns
        -------
        ndarray of shape (len(index), d)
            Their coordinates.
        """
        result = np.empty((len(index), self.Y.shape[1]))
        for label in np.unique(labels[index]):
            here = labels[index] == label
            store = self.known[label]
            missing = index[here][np.isnan(store[index[here], 0])]
            if missing.size:
                members = np.flatnonzero(self.y == label)
                near = np.argsort(squared_distances(self.X_new[missing], self.X[members]), axis=1, kind="stable")
                neighbors = members[near[:, : self.n_neighbors]]
                w = convex_weights(self.X, neighbors, self.X_new[missing])
                store[missing] = np.einsum("ij,ijk->ik", w, self.Y[neighbors])
            result[here] = store[index[here]]
        return result


def center_counts(n_new: int, n_iterations: int, schedule: Sequence[float] | None, stop_at: float) -> list[int]:
    """How many new points are centres in each iteration: :math:`L_r - N`.

    Parameters
    ----------
    n_new : int
        New points.
    n_iterations : int
        R, for equal steps.
    schedule : sequence of float or None
        Shares for iterations 2, 3, … in place of equal steps.
    stop_at : float
        Largest share.

    Returns
    -------
    list of int
        0, then ascending.

    Examples
    --------
    >>> center_counts(100, 6, None, 0.7)
    [0, 20, 40, 60]
    """
    shares = np.linspace(0, 1, n_iterations) if schedule is None else np.array([0.0, *schedule])
    if (np.diff(shares) < 0).any() or shares.min() < 0 or shares.max() > 1:
        raise ValueError(f"schedule={schedule}: shares of the new points must ascend between 0 and 1")
    counts = [round(float(share) * n_new) for share in shares if share <= stop_at + 1e-9]
    return [0, *(after for before, after in pairwise(counts) if after > before)]


def nearest_class(F: Array, Y: Array, y: NDArray) -> tuple[NDArray, Array]:
    """Label points by their nearest training point in the embedding, with a confidence (eq. 15, 16).

    Parameters
    ----------
    F : ndarray of shape (m, d)
        Coordinates of the points.
    Y : ndarray of shape (n, d)
        Coordinates of the training points.
    y : ndarray of shape (n,)
        Their classes.

    Returns
    -------
    labels : ndarray of shape (m,)
        Classes.
    confidence : ndarray of shape (m,)
        Distance to the nearest other class over that to the nearest class: at least 1, infinite for a point
        on a training point or where there is one class only.

    Examples
    --------
    >>> labels, confidence = nearest_class(np.array([[1.0]]), np.array([[0.0], [3.0]]), np.array([7, 8]))
    >>> labels.tolist(), confidence.tolist()
    ([7], [2.0])
    """
    classes = np.unique(y)
    if not len(F):
        return np.empty(0, dtype=classes.dtype), np.empty(0)
    squared = squared_distances(F, Y)
    to_class = np.sqrt(np.stack([squared[:, y == label].min(axis=1) for label in classes], axis=1))
    best = to_class.argmin(axis=1)
    nearest = to_class[np.arange(len(F)), best]
    if len(classes) == 1:
        return classes[best], np.full(len(F), np.inf)
    second = np.partition(to_class, 1, axis=1)[:, 1]
    tied = second == nearest
    confidence = np.divide(second, nearest, out=np.full(len(F), np.inf), where=nearest > 0)
    return classes[best], np.where(tied, 1.0, confidence)
