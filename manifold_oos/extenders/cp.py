"""Coordinate propagation: new points get spline predictions in turn, then a regularised iteration settles them."""

import heapq
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.propagation import PropagationExtender
from manifold_oos.numerics.graphs import neighborhoods
from manifold_oos.numerics.splines import neighborhood_blocks, spline_weights, tangent_coordinates
from manifold_oos.steps import Step

Array = NDArray[np.floating]
Index = NDArray[np.integer]
#: Most iterations that ``steps_`` keeps, evenly spread.
MAX_STEPS = 50
#: Iterations in a row with more change than the least so far that count as divergence.
PATIENCE = 5
#: Relative changes that are rounding, whatever ``tol``.
ROUNDING = 1e-14


class CoordinatePropagation(PropagationExtender):
    r"""Coordinate propagation (CP).

    .. math:: y_u \leftarrow \alpha S y_u - \alpha M_{ul} f_l + \beta g_u, \qquad
        S = I - M_{uu}, \quad \alpha = \frac{1}{1 + \mu_2}, \quad \beta = \frac{\mu_2}{1 + \mu_2}

    eq. 10 of [1]_, with M the alignment matrix of all points, :math:`f_l` the known coordinates and :math:`g_u`
    predictions by splines on the tangent coordinates of each new point's neighbourhood (eq. 12–14). The first
    predictions are made one point after the other, most known neighbours first, from those neighbours alone. The
    iteration starts there and, with g frozen, ends at :math:`(M_{uu} + \mu_2 I) y_u = \mu_2 g_u - M_{ul} f_l`.

    As printed, g is predicted anew in each iteration from all neighbours. That is not a contraction and runs away
    where much of the manifold is extrapolated; a run whose changes grow stops with a warning at the iterate before
    they did. For the exact minimum take GOM, which sparse solves make the cheaper one too.

    Parameters
    ----------
    alignment : {"lle", "ltsa", "spline", "laplacian"}, default="ltsa"
        Whose alignment matrix; it need not be that of the embedding.
    n_neighbors : int, default=12
        Neighbours of a point. Fewer make the extrapolating splines wilder.
    prediction : {"frozen", "damped", "printed"}, default="frozen"
        The first g throughout; the mean of the last g and a new one; or a new g in each iteration.
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
    nested: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PropagationExtender._parameter_constraints,
        "prediction": [StrOptions({"frozen", "damped", "printed"})],
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
        mu2: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        guard: bool = True,
    ):
        self.alignment = alignment
        self.n_neighbors = n_neighbors
        self.prediction = prediction
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
        index = neighborhoods(points, self.n_neighbors)
        T = tangent_coordinates(points, index[~known], d)
        y = np.zeros((len(points), d))
        y[known] = f
        y[~known] = first_prediction(index, T, known, y)
        every = np.ones((len(T), self.n_neighbors), dtype=bool)
        y_u, g = self._iterate(S, M_ul_f, y, known, spline_matrix(index[~known], T, every, len(points)), new)
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
        predict: sparse.csr_array,
        new: Index,
    ) -> tuple[Array, Array]:
        """Eq. 10 until it settles: y_u and the g_u that belongs to it."""
        alpha, beta = 1 / (1 + self.mu2_), self.mu2_ / (1 + self.mu2_)
        share = {"frozen": 0.0, "damped": 0.5, "printed": 1.0}[self.prediction]
        g = y[~known]
        best, best_number, smallest, growing = (g, g), 0, np.inf, 0
        steps: list[Step] = []
        for number in range(1, self.max_iter + 1):
            before = y[~known]
            after = alpha * (S @ before) - alpha * M_ul_f + beta * g
            change = float(np.linalg.norm(after - before) / max(np.linalg.norm(after), np.finfo(float).tiny))
            growing = growing + 1 if change > smallest else 0
            if (self.guard and growing >= PATIENCE) or not np.isfinite(change):
                _warn(
                    f"diverges with prediction={self.prediction!r}: stopped after {number} iterations, with the"
                    " coordinates of the least change; use prediction='frozen', raise mu2 or raise n_neighbors"
                )
                del steps[best_number:]
                break
            y[~known] = after
            steps.append(Step(number, coordinates=y[new], values={"change": change}))
            if change < smallest or not self.guard:
                best, best_number, smallest = (after, g), number, change
            if change <= max(self.tol, ROUNDING):
                break
            if share:
                g = (1 - share) * g + share * (predict @ y)
        else:
            _warn(
                f"still changes by {change:.1e} after {number} iterations: raise max_iter, or freeze the prediction"
            )
        self.n_iter_ = number
        thin = 1 + len(steps) // MAX_STEPS
        self.steps_ = steps[(len(steps) - 1) % thin :: thin]
        return best


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


def first_prediction(index: Index, T: Array, known: NDArray[np.bool_], y: Array) -> Array:
    """Spline predictions of the new points, one after the other.

    Parameters
    ----------
    index : ndarray of shape (n, 1 + k)
        Neighbourhoods of all points, the point itself first.
    T : ndarray of shape (n_new, 1 + k, d)
        Tangent coordinates of the neighbourhoods of the new points.
    known : ndarray of shape (n,) of bool
        Which points have coordinates.
    y : ndarray of shape (n, d)
        The coordinates, whatever for the others.

    Returns
    -------
    ndarray of shape (n_new, d)
        g of the new points.
    """
    order, ready = prediction_order(index, known)
    W = spline_matrix(index[~known], T, ready[~known], len(known))
    row = np.cumsum(~known) - 1
    k = ready.shape[1]
    weights, neighbors = W.data.reshape(-1, k), W.indices.reshape(-1, k)
    g = y.copy()
    g[~known] = 0
    for i in order:
        g[i] = weights[row[i]] @ g[neighbors[row[i]]]
    predicted: Array = g[~known]
    return predicted
