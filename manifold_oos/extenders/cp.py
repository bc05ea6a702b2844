"""Coordinate propagation: new points get spline predictions in turn, then a regularised iteration settles them."""

import heapq
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.arrays import Array, Index
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.propagation import PropagationExtender
from manifold_oos.numerics.graphs import neighborhoods
from manifold_oos.numerics.shared import shared
from manifold_oos.numerics.splines import neighborhood_blocks, spline_weights, tangent_coordinates
from manifold_oos.steps import Step

#: Most iterations that ``steps_`` keeps, evenly spread.
MAX_STEPS = 50
#: Iterations in a row with more change than the least so far that count as divergence.
PATIENCE = 5
TINY = float(np.finfo(float).tiny)
#: Relative changes that are rounding, whatever ``tol``.
ROUNDING = 1e-14


class CoordinatePropagation(PropagationExtender):
    r"""Coordinate propagation (CP).

    .. math:: y_u \leftarrow \alpha S y_u - \alpha M_{ul} f_l + \beta g_u, \qquad
        S = I - M_{uu}, \quad \alpha = \frac{1}{1 + \mu_2}, \quad \beta = \frac{\mu_2}{1 + \mu_2}

    eq. 10 of [1]_, with M the alignment matrix of all points, :math:`f_l` the known coordinates and :math:`g_u`
    predictions by splines on the tangent coordinates of each new point's neighbourhood (eq. 12–14). The first
    predictions are made one point after the other, most known neighbours first (of equals the first in the order of
    the features), from those neighbours alone. The iteration starts there and, with g frozen, ends at
    :math:`(M_{uu} + \mu_2 I) y_u = \mu_2 g_u - M_{ul} f_l`.

    As printed, g is predicted anew in each iteration: "we only need to set r = k and perform the above algorithm
    again for each new data point", from all k neighbours. The algorithm above goes point by point, each prediction
    feeding the next; so does ``update="sequential"``, in the order of the first predictions. It settles as [1]_
    found: on the S surface changes fall below 1e-4 within its 100 iterations. Strictly, the spectral radius of the
    iteration is 1.00004 to 1.009 there: one mode drifts on, too slowly to matter. Predicting all points at once
    from the last iterate oscillates and runs away: a sixth to a quarter of the eigenvalues lie outside the unit
    circle, all but one negative, down to −2.2. A run whose changes grow stops with a warning at the iterate before
    they did.

    With :math:`\mu_2 = \|S\|_1`, 5 (LLE), 39 (LTSA) and over 10⁵ (splines) on the S surface, β is nearly 1: CP is
    almost its first spline pass. For the exact minimum take GOM, which sparse solves make the cheaper one too.

    First contact: made for one smooth manifold. Where classes are side by side it is behind ``normalized_rbf``, as
    splines through neighbours of several classes overshoot, the more so in many dimensions.

    Parameters
    ----------
    alignment : {"lle", "ltsa", "spline", "laplacian"}, default="ltsa"
        Whose alignment matrix; it need not be that of the embedding.
    n_neighbors : int, default=12
        Neighbours of a point. Fewer make the extrapolating splines wilder.
    prediction : {"frozen", "damped", "printed"}, default="frozen"
        The first g throughout; the mean of the last g and a new one; or a new g in each iteration.
    update : {"sequential", "simultaneous"}, default="sequential"
        How a new g is predicted: point by point, or for all points at once.
    mu2 : float or None, default=None
        Weight of the prediction; None is :math:`\|S\|_1` as in [1]_, with which the iteration contracts.
    max_iter : int, default=100
        Most iterations, as in [1]_.
    tol : float, default=1e-4
        Stop when an iteration changes the coordinates by less than this share of their size.
    guard : bool, default=True
        Whether a run whose changes grow is stopped; False goes on to the last iteration, as [1]_ does.

    Attributes
    ----------
    new_embedding_ : ndarray of shape (n_new, d)
        Coordinates of the new points.
    residual_ : float
        :math:`\|(M_{uu} + \mu_2 I) y_u - \mu_2 g_u + M_{ul} f_l\| / \|\mu_2 g_u - M_{ul} f_l\|`.
    mu2_ : float
        The weight used.
    n_iter_ : int
        Iterations made; 1 where there is nothing to do.
    steps_ : list of Step
        Coordinates and change of the iterations up to the result, thinned to at most 50.

    References
    ----------
    .. [1] Xiang, Nie, Song, Zhang & Zhang, Embedding new data points for manifold learning via coordinate
       propagation, PAKDD, 2007.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> cp = CoordinatePropagation(n_neighbors=3).fit(X[:8], 2 * X[:8], X_new=X[8:])
    >>> cp.new_embedding_.ravel().round(6).tolist()
    [16.0, 18.0, 20.0, 22.0]
    """

    name: ClassVar[str] = "cp"
    memory: ClassVar[str] = "(N + Q)*(min(2*(n_neighbors + 1)*D, 2**21/(N + Q)) + 2*n_neighbors**2)"
    instead: ClassVar[str] = "fewer new points at a time"
    nested: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PropagationExtender._parameter_constraints,
        "prediction": [StrOptions({"frozen", "damped", "printed"})],
        "update": [StrOptions({"sequential", "simultaneous"})],
        "mu2": [None, Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "guard": ["boolean"],
    }

    def __init__(
        self,
        alignment: str = "ltsa",
        n_neighbors: int = 12,
        prediction: str = "frozen",
        update: str = "sequential",
        mu2: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        guard: bool = True,
    ):
        self.alignment = alignment
        self.n_neighbors = n_neighbors
        self.prediction = prediction
        self.update = update
        self.mu2 = mu2
        self.max_iter = max_iter
        self.tol = tol
        self.guard = guard

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.n_iter_ = 1
        self.steps_: list[Step] = []
        super()._fit(X, Y, y, X_new, embedding)

    def _solve(self, points: Array, known: NDArray[np.bool_], f: Array, new: Index) -> Array:
        d = f.shape[1]
        M = self._alignment(points, d)[~known]
        M_uu, M_ul_f = sparse.csr_array(M[:, ~known]), M[:, known] @ f
        S = sparse.csr_array(sparse.eye_array(M_uu.shape[0]) - M_uu)
        self.mu2_ = float(abs(S).sum(axis=0).max()) if self.mu2 is None else float(self.mu2)
        y = np.zeros((len(points), d))
        y[known] = f
        first, order = predictions(points, known, self.n_neighbors, d, anew=False)
        predict = sweep(first, order, known)
        y[~known] = predict(y)
        if self.prediction != "frozen":
            anew, order = predictions(points, known, self.n_neighbors, d, anew=True)
            predict = sweep(anew, order, known) if self.update == "sequential" else anew.__matmul__
        y_u, g = self._iterate(S, M_ul_f, y, known, predict, new)
        target = self.mu2_ * g - M_ul_f
        size = np.linalg.norm(target)
        misfit = np.linalg.norm(M_uu @ y_u + self.mu2_ * y_u - target)
        self.residual_ = float(misfit / size) if size > 0 else 0.0
        return y_u

    def _iterate(
        self,
        S: sparse.csr_array,
        M_ul_f: Array,
        y: Array,
        known: NDArray[np.bool_],
        predict: Callable[[Array], Array],
        new: Index,
    ) -> tuple[Array, Array]:
        """Eq. 10 until it settles: y_u and the g_u that belongs to it."""
        alpha, beta = 1 / (1 + self.mu2_), self.mu2_ / (1 + self.mu2_)
        share = {"frozen": 0.0, "damped": 0.5, "printed": 1.0}[self.prediction]
        g = y[~known]
        result, made = (g, g), 0
        steps: list[Step] = []
        changes: list[float] = []
        for number in range(1, self.max_iter + 1):
            before = y[~known]
            after = alpha * (S @ before) - alpha * M_ul_f + beta * g
            changes.append(float(np.linalg.norm(after - before)) / max(float(np.linalg.norm(after)), TINY))
            if not np.isfinite(changes[-1]) or (self.guard and diverges(changes)):
                _warn(
                    f"diverges with prediction={self.prediction!r}: stopped after {number} iterations, with the"
                    " coordinates of the least change; use prediction='frozen', raise mu2 or raise n_neighbors"
                )
                break
            y[~known] = after
            steps.append(Step(number, coordinates=y[new], values={"change": changes[-1]}))
            if not self.guard or np.argmin(changes) == number - 1:
                result, made = (after, g), number
            if changes[-1] <= max(self.tol, ROUNDING):
                break
            if share:
                g = (1 - share) * g + share * predict(y)
        else:
            _warn(
                f"still changes by {changes[-1]:.1e} after {number} iterations: raise max_iter, or freeze the"
                " prediction"
            )
        self.n_iter_ = number
        self.steps_ = thinned(steps[:made])
        return result


def diverges(changes: Sequence[float]) -> bool:
    """Whether all of the last ``PATIENCE`` changes exceed the least one.

    Examples
    --------
    >>> diverges([3.0, 1.0, 2.0, 2.0, 2.0, 2.0]), diverges([3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    (False, True)
    """
    return min(changes) < min(changes[-PATIENCE:])


def thinned(steps: list[Step]) -> list[Step]:
    """At most ``MAX_STEPS`` of the steps, evenly spread up to the last."""
    thin = 1 + len(steps) // MAX_STEPS
    return steps[(len(steps) - 1) % thin :: thin]


def _warn(message: str) -> None:
    warnings.warn(f"coordinate propagation {message}", ConvergenceWarning, stacklevel=7)


def prediction_order(index: Index, known: NDArray[np.bool_]) -> tuple[Index, NDArray[np.bool_]]:
    """In which turn new points are predicted, and from which neighbours.

    Parameters
    ----------
    index : ndarray of shape (n, 1 + k)
        Neighbourhoods, the point itself first.
    known : ndarray of shape (n,) of bool
        Which points have coordinates.

    Returns
    -------
    order : ndarray of shape (n_new,)
        The points without coordinates: always the one with the most neighbours that are known or predicted already,
        the first of equals.
    ready : ndarray of shape (n, k) of bool
        Which neighbours of a point were known or predicted at its turn.

    Examples
    --------
    >>> index = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 3], [3, 2, 1], [4, 3, 2]])
    >>> prediction_order(index, np.array([True, True, False, False, False]))[0].tolist()
    [2, 3, 4]
    """
    n, k = len(known), index.shape[1] - 1
    done = known.copy()
    ready = np.zeros((n, k), dtype=bool)
    count = done[index[:, 1:]].sum(axis=1)
    by_neighbor = np.argsort(index[:, 1:].ravel(), kind="stable") // k
    start = np.searchsorted(np.sort(index[:, 1:].ravel()), np.arange(n + 1))
    queue = [(-int(count[i]), int(i)) for i in np.flatnonzero(~known)]
    heapq.heapify(queue)
    order = []
    while queue:
        ready_neighbors, i = heapq.heappop(queue)
        if done[i] or -ready_neighbors < count[i]:
            continue
        if count[i] == 0:
            raise ValueError(
                f"{int((~done).sum())} new points have no known point among their {k} neighbours, even in turn:"
                " raise n_neighbors"
            )
        order.append(i)
        ready[i] = done[index[i, 1:]]
        done[i] = True
        for j in by_neighbor[start[i] : start[i + 1]].tolist():
            count[j] += 1
            if not done[j]:
                heapq.heappush(queue, (-int(count[j]), j))
    return np.array(order, dtype=int), ready


def predictions(
    points: Array, known: NDArray[np.bool_], n_neighbors: int, d: int, anew: bool
) -> tuple[sparse.csr_array, Index]:
    """The weights of each new point's spline and the order of turns, which do not depend on coordinates.

    Parameters
    ----------
    points : ndarray of shape (n, D)
        All points.
    known : ndarray of shape (n,) of bool
        Which have coordinates.
    n_neighbors : int
        Neighbours of a spline.
    d : int
        Dimension of the tangent spaces.
    anew : bool
        Whether all neighbours have values, or only those that are known or had their turn.

    Returns
    -------
    weights : csr_array of shape (n_new, n)
        As :func:`spline_matrix` gives.
    order : ndarray of shape (n_new,)
        As :func:`prediction_order` gives.
    """

    def turns() -> tuple[Index, Array, Index, NDArray[np.bool_]]:
        index = neighborhoods(points, n_neighbors)
        order, ready = prediction_order(index, known)
        return index[~known], tangent_coordinates(points, index[~known], d), order, ready[~known]

    index, T, order, ready = shared(("turns", n_neighbors, d), [points, known], turns)
    weights: sparse.csr_array = shared(
        ("spline weights", n_neighbors, d, anew),
        [points, known],
        lambda: spline_matrix(index, T, np.ones_like(ready) if anew else ready, len(points)),
    )
    return weights, order


def spline_matrix(index: Index, T: Array, ready: NDArray[np.bool_], n: int) -> sparse.csr_array:
    """Weights of the splines that give each neighbourhood's first point the value of the ready others.

    Parameters
    ----------
    index : ndarray of shape (m, 1 + k)
        Neighbourhoods.
    T : ndarray of shape (m, 1 + k, d)
        Their tangent coordinates.
    ready : ndarray of shape (m, k) of bool
        Which neighbours have values.
    n : int
        Number of points.

    Returns
    -------
    csr_array of shape (m, n)
        The prediction of values y is the product with y.
    """
    m, k = len(ready), ready.shape[1]
    sizes = ready.sum(axis=1)
    W = np.zeros((m, k))
    for r in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == r)
        for block in neighborhood_blocks(len(rows), r * r * (T.shape[2] + 4)):
            some = rows[block]
            member = np.nonzero(ready[some])[1].reshape(-1, r)
            known = np.take_along_axis(T[some], 1 + member[:, :, None], axis=1)
            W[some[:, None], member] = spline_weights(known, T[some, 0])
    pointer = np.arange(0, m * k + 1, k)
    return sparse.csr_array((W.ravel(), index[:, 1:].ravel(), pointer), shape=(m, n))


def sweep(W: sparse.csr_array, order: Index, known: NDArray[np.bool_]) -> Callable[[Array], Array]:
    """Predictions of new points one after the other, each feeding the next.

    In the order of their turns :math:`g = L g + U y_u + W_l f`, with L and U the parts of :math:`W_u` below and
    above the diagonal: a sweep of Gauss–Seidel, solved as a sparse triangular system.

    Parameters
    ----------
    W : csr_array of shape (n_new, n)
        Weights of each prediction, a row per new point.
    order : ndarray of shape (n_new,)
        The new points in their turn.
    known : ndarray of shape (n,) of bool
        Which points have coordinates.

    Returns
    -------
    callable
        Takes coordinates of all points, (n, d), to g of the new ones, (n_new, d).

    Examples
    --------
    >>> W = sparse.csr_array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> sweep(W, np.array([2, 1]), np.array([True, False, False]))(np.array([[1.0], [5.0], [7.0]])).tolist()
    [[6.0], [5.0]]
    """
    row = np.cumsum(~known) - 1
    W = sparse.csr_array(W[row[order]])
    W_u, W_l = sparse.csr_array(W[:, order]), sparse.csr_array(W[:, known])
    lower = sparse.csc_array(sparse.eye_array(len(order)) - sparse.tril(W_u, -1))
    factor = splu(lower, permc_spec="NATURAL", diag_pivot_thresh=0.0)
    upper, back = sparse.csr_array(sparse.triu(W_u, 1)), np.argsort(order)

    def predict(y: Array) -> Array:
        g: Array = factor.solve(upper @ y[order] + W_l @ y[known])
        return g[back]

    return predict
