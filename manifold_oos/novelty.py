"""How far a point is from everything that was learned: its distance to the known points against their own."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifold_oos.arrays import Array

#: A point with a larger novelty is novel: farther from the known points than all but 1 % of those are.
NOVEL = 99.0


class NoveltyScale:
    r"""Where the distance of a point to the known ones stands among theirs.

    .. math:: \nu(x) = \frac{100}{N} \, \#\{i : \delta_i < \delta(x)\}, \qquad \delta(x) = \min_i \|x - x_i\|, \quad
              \delta_i = \min_{j \ne i} \|x_i - x_j\|,

    and :math:`100 \, \delta(x) / \max_i \delta_i` where :math:`\delta(x)` is larger than all of them. About 1 % of
    points like the known ones are above 99. It sees no more than Euclidean distance does: in a sparse part of the
    data a point of another kind may look usual.

    Parameters
    ----------
    X : ndarray of shape (N, D)
        The known points.
    own : ndarray of shape (N,), optional
        :math:`\delta_i`, ascending, where they are known already.

    Examples
    --------
    >>> NoveltyScale(np.array([[0.0], [1.0], [3.0], [7.0]])).of(np.array([[1.0], [4.5], [11.0], [15.0]])).tolist()
    [0.0, 50.0, 75.0, 200.0]
    """

    def __init__(self, X: Array, own: Array | None = None) -> None:
        self.points = X
        self.neighbors = NearestNeighbors(n_neighbors=1).fit(X)
        if own is None:
            own = np.sort(self.neighbors.kneighbors()[0][:, 0]) if len(X) > 1 else np.zeros(1)
        self.own = own

    def of(self, X: Array) -> Array:
        """Novelty of points.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            From 0; above ``NOVEL`` a point is novel.
        """
        distance = self.neighbors.kneighbors(X)[0][:, 0]
        largest = self.own[-1] or np.finfo(float).tiny
        percentile = 100 * np.searchsorted(self.own, distance) / len(self.own)
        with np.errstate(over="ignore"):
            novelty: Array = np.where(distance > largest, 100 * (distance / largest), percentile)
        return novelty
