"""How well new points are placed beside known ones, without labels.

Of a new point x with coordinates y and the N known points x_j with theirs, ρ_j is the rank of ‖x − x_j‖ among the N
distances (1 is the nearest) and r_j that of ‖y − y_j‖. Only pairs of a new and a known point are looked at: where
the known points themselves lie is not judged. With sums over the n new points,

    trustworthiness   T_k = 1 − Σ_x Σ_{r_j ≤ k < ρ_j} (ρ_j − k) / nW     less the strangers in the picture
    continuity        C_k = 1 − Σ_x Σ_{ρ_j ≤ k < r_j} (r_j − k) / nW     less the neighbours that were lost
    preservation      Q_k = Σ_x #{j : ρ_j ≤ k and r_j ≤ k} / nk          the share of neighbours that is kept
    R_NX              R_k = (N Q_k − k) / (N − k)                        0 at random, 1 if perfect
    area under R_NX   Σ_{k<N} (R_k / k) / Σ_{k<N} (1 / k)                over all scales, small ones weighing more
    Shepard           Spearman's correlation of ‖x − x_j‖ and ‖y − y_j‖ over all pairs

with W = m (2N − m + 1)/2 − m k, m = min(k, N − k), the worst case of the inner sum: k (2N − 3k + 1)/2 for k ≤ N/2.
For one data set whose points are left out in turn (N others, n = N + 1) these are the definitions of [1] for T and
C and of [2] and [3] for Q, R and the area; T_k is then scikit-learn's ``trustworthiness``. Equal distances are
ranked in one random order of the known points, the same in both spaces.

[1] Venna & Kaski, Local multidimensional scaling, Neural Networks, 2006.
[2] Lee & Verleysen, Quality assessment of dimensionality reduction: rank-based criteria, Neurocomputing, 2009.
[3] Lee et al., Type 1 and 2 mixtures of Kullback–Leibler divergences as cost functions in dimensionality reduction
based on similarity preservation, Neurocomputing, 2013.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array, Index
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.kernels import squared_distances
from manifold_oos.numerics.shared import shared

Ranks = NDArray[np.int32]
#: The k of T, C and Q in tables; all but one of the known points where there are fewer.
NEIGHBORS = 10
#: The Shepard correlation of more pairs is that of evenly spaced new points.
MOST_PAIRS = 2**22
#: New points that are placed one by one for the shift.
MOST_ALONE = 20
#: Points of no kind that are placed for the novelty.
MOST_FOREIGN = 100


def evenly(n: int, most: int) -> Index:
    """Indices of at most so many of n things, evenly spaced.

    Examples
    --------
    >>> evenly(3, 5).tolist(), evenly(9, 3).tolist()
    ([0, 1, 2], [0, 4, 8])
    """
    return np.linspace(0, n - 1, min(n, max(most, 1))).round().astype(np.intp)


def trustworthiness(
    X_known: Array, X_new: Array, Y_known: Array, Y_new: Array, n_neighbors: int = NEIGHBORS
) -> float:
    """T_k: 1 where the neighbours of new points in the embedding are neighbours in the data.

    Parameters
    ----------
    X_known, X_new : ndarray of shape (N, D), (n, D)
        Known and new points.
    Y_known, Y_new : ndarray of shape (N, d), (n, d)
        Their coordinates.
    n_neighbors : int, default=10
        k; N − 1 where it is not smaller than N.

    Returns
    -------
    float
        In [0, 1]; NaN for a single known point.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> trustworthiness(X, X[:2] + 0.1, -3 * X, -3 * X[:2], n_neighbors=2)
    1.0
    """
    N, k = len(X_known), min(n_neighbors, len(X_known) - 1)
    if k < 1:
        return float("nan")
    m = min(k, N - k)
    worst = m * (2 * N - m + 1) / 2 - m * k
    lost = sum(
        int((before - k)[(after <= k) & (before > k)].sum())
        for before, after in _ranks(X_known, X_new, Y_known, Y_new)
    )
    return 1 - lost / (len(X_new) * worst)


def continuity(X_known: Array, X_new: Array, Y_known: Array, Y_new: Array, n_neighbors: int = NEIGHBORS) -> float:
    """C_k: 1 where the neighbours of new points in the data are neighbours in the embedding.

    Parameters and result are those of :func:`trustworthiness`, whose two spaces are exchanged.
    """
    return trustworthiness(Y_known, Y_new, X_known, X_new, n_neighbors)


def neighborhood_preservation(
    X_known: Array, X_new: Array, Y_known: Array, Y_new: Array, n_neighbors: int = NEIGHBORS
) -> float:
    """Q_k: the share of the k nearest known points of a new point that are so in both spaces.

    Parameters and result are those of :func:`trustworthiness`; at random it is k/N.
    """
    k = min(n_neighbors, len(X_known) - 1)
    if k < 1:
        return float("nan")
    kept = sum(
        int(np.count_nonzero(np.maximum(before, after) <= k))
        for before, after in _ranks(X_known, X_new, Y_known, Y_new)
    )
    return kept / (k * len(X_new))


def rnx_curve(X_known: Array, X_new: Array, Y_known: Array, Y_new: Array) -> Array:
    """R_k for k = 1, …, N − 1.

    Parameters
    ----------
    X_known, X_new, Y_known, Y_new : ndarray
        As for :func:`trustworthiness`.

    Returns
    -------
    ndarray of shape (N − 1,)
        0 at random, 1 if perfect.
    """
    N = len(X_known)
    counts = np.zeros(N + 1, dtype=np.int64)
    for before, after in _ranks(X_known, X_new, Y_known, Y_new):
        counts += np.bincount(np.maximum(before, after).ravel(), minlength=N + 1)
    k = np.arange(1, N)
    Q = np.cumsum(counts)[1:N] / (k * len(X_new))
    curve: Array = (N * Q - k) / (N - k)
    return curve


def area_under_rnx(X_known: Array, X_new: Array, Y_known: Array, Y_new: Array) -> float:
    """The mean of R_k with weights 1/k.

    Parameters
    ----------
    X_known, X_new, Y_known, Y_new : ndarray
        As for :func:`trustworthiness`.

    Returns
    -------
    float
        At most 1, about 0 at random; NaN for a single known point.
    """
    R = rnx_curve(X_known, X_new, Y_known, Y_new)
    return float(np.average(R, weights=1 / np.arange(1, len(R) + 1))) if len(R) else float("nan")


def shepard_correlation(X_known: Array, X_new: Array, Y_known: Array, Y_new: Array) -> float:
    """Spearman's correlation of the distances from new to known points before and after.

    Parameters
    ----------
    X_known, X_new, Y_known, Y_new : ndarray
        As for :func:`trustworthiness`. Of very many pairs those of evenly spaced new points are taken.

    Returns
    -------
    float
        In [−1, 1]; NaN where all distances of one space are equal.

    Examples
    --------
    >>> X = 2.0 ** np.arange(8)[:, None]
    >>> round(shepard_correlation(X[:6], X[6:], -4 * X[:6], -4 * X[6:]), 12)
    1.0
    """
    rows = evenly(len(X_new), MOST_PAIRS // len(X_known))
    before, after = _all_ranks(X_known, X_new[rows]), _all_ranks(Y_known, Y_new[rows])
    before, after = before - before.mean(), after - after.mean()
    size = np.linalg.norm(before) * np.linalg.norm(after)
    return float(before @ after / size) if size > 0 else float("nan")


def shift(alone: Array, together: Array, known: Array) -> float:
    """How far new points move between being placed one by one and together.

    Parameters
    ----------
    alone, together : ndarray of shape (n, d)
        Coordinates of the same new points, placed each by itself and with others.
    known : ndarray of shape (N, d)
        Coordinates of the known points.

    Returns
    -------
    float
        The mean distance over the root mean squared distance of known points from their mean: 0 for a map.

    Examples
    --------
    >>> shift(np.array([[1.0]]), np.array([[1.5]]), np.array([[-1.0], [1.0]]))
    0.5
    """
    spread = float(np.sqrt(np.mean(np.sum((known - known.mean(axis=0)) ** 2, axis=1))))
    moved = float(np.linalg.norm(alone - together, axis=1).mean())
    return moved / spread if spread > 0 else float("nan")


def chimeras(X_new: Array) -> Array:
    """Points like none of the data: the first half of the features of one new point, the rest of another.

    Examples
    --------
    >>> chimeras(np.array([[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]])).tolist()
    [[1, 1, 3, 3], [2, 2, 4, 4], [3, 3, 1, 1], [4, 4, 2, 2]]
    """
    n, half = len(X_new), X_new.shape[1] // 2
    rows = evenly(n, MOST_FOREIGN)
    return np.hstack([X_new[rows, :half], X_new[(rows + n // 2) % n, half:]])


def novelty_auc(known: Array, new: Array, foreign: Array) -> float:
    """How well the distance to the nearest known coordinates tells foreign points from new ones.

    Parameters
    ----------
    known, new, foreign : ndarray of shape (N, d), (n, d), (m, d)
        Coordinates.

    Returns
    -------
    float
        The chance that a foreign point is farther from the known ones than a new point: .5 where it tells nothing.

    Examples
    --------
    >>> novelty_auc(np.array([[0.0], [1.0]]), np.array([[0.1], [1.2]]), np.array([[3.0], [0.95]]))
    0.5
    """
    near, far = (_distances(known, points).min(axis=1) for points in (new, foreign))
    below, at_most = (np.searchsorted(np.sort(near), far, side=side) for side in ("left", "right"))
    return float(np.mean(below + at_most)) / (2 * len(near))


def _ranks(X_known: Array, X_new: Array, Y_known: Array, Y_new: Array) -> Iterator[tuple[Ranks, Ranks]]:
    """Blocks of rows of ρ and r."""
    rows = max(1, BLOCK_FLOATS // len(X_known))
    for start in range(0, len(X_new), rows):
        yield _row_ranks(X_known, X_new, start, rows), _row_ranks(Y_known, Y_new, start, rows)


def _row_ranks(known: Array, new: Array, start: int, rows: int) -> Ranks:
    """Ranks of the known points by their distance from some of the new ones; made once for all metrics and arms."""

    def make() -> Ranks:
        order = np.random.default_rng(0).permutation(len(known))
        distances = _distances(known[order], new[start : start + rows])
        nearest = order[np.argsort(distances, axis=1, kind="stable")]
        ranks = np.empty(nearest.shape, dtype=np.int32)
        np.put_along_axis(ranks, nearest, np.arange(1, len(known) + 1, dtype=np.int32)[None], axis=1)
        return ranks

    ranks: Ranks = shared(("ranks", start, rows), [known, new], make)
    return ranks


def _all_ranks(known: Array, new: Array) -> Array:
    """Ranks of all distances together, the mean rank for equal ones."""
    from scipy.stats import rankdata  # takes longer to import than all else that metrics need

    ranks: Array = shared("all ranks", [known, new], lambda: rankdata(_distances(known, new), axis=None))
    return ranks


def _distances(known: Array, new: Array) -> Array:
    center = known.mean(axis=0)
    return squared_distances(new - center, known - center)


#: What tables can show, by name: a description and a function of known and new points and their coordinates.
#: The higher the better for all.
PLACEMENT: dict[str, tuple[str, Callable[[Array, Array, Array, Array], float]]] = {
    "trustworthiness": (
        f"1 less the strangers among the {NEIGHBORS} nearest known points of a new point in the embedding, by rank",
        trustworthiness,
    ),
    "continuity": (
        f"1 less the {NEIGHBORS} nearest known points of a new point that the embedding moved away, by rank",
        continuity,
    ),
    "neighborhood_preservation": (
        f"share of the {NEIGHBORS} nearest known points of a new point that stay so in the embedding",
        neighborhood_preservation,
    ),
    "area_under_rnx": (
        "neighbours of new points kept above chance, mean over all neighbourhood sizes k with weights 1/k",
        area_under_rnx,
    ),
    "shepard_correlation": (
        "rank correlation of the distances from new to known points in the data and in the embedding",
        shepard_correlation,
    ),
}
