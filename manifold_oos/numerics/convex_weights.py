"""Projects points on the convex hulls of their neighbours: a small quadratic program for each, exactly."""

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array


def convex_weights(X: Array, neighbours: NDArray, targets: Array) -> Array:
    r"""Weights of the nearest point in the convex hull of each target's neighbours.

    .. math:: \min_w \Big\|x - \sum_{i=1}^K w_i x_i\Big\|^2 \quad \text{s.t.} \quad w \ge 0, \quad \sum_i w_i = 1

    eq. 20 of [1]_. With :math:`G_{ij} = (x_i - x)^T (x_j - x)` the optimality (KKT) conditions are
    :math:`(Gw)_i \ge w^T G w` for all i; block principal pivoting [2]_, an active-set method, meets them to 1e-10
    :math:`\max_i G_{ii}`. It is compiled at its first use, which takes some seconds.

    Parameters
    ----------
    X : ndarray of shape (N, D)
        Points.
    neighbours : ndarray of shape (n, K) of int
        Rows of X that are the neighbours of each target; equal points share their weight.
    targets : ndarray of shape (n, D)
        Points to project.

    Returns
    -------
    ndarray of shape (n, K)
        The weights.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for classification,
       IEEE Transactions on Image Processing, 2016.
    .. [2] Kim & Park, Fast nonnegative matrix factorization: an active-set-like method and comparisons, SIAM J.
       Sci. Comput., 2011.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> convex_weights(X, np.array([[0, 1, 2]]), np.array([[1.0, -2.0]])).round(6).tolist()
    [[0.75, 0.25, 0.0]]
    """
    X, targets = np.ascontiguousarray(X, np.float64), np.ascontiguousarray(targets, np.float64)
    neighbours = np.ascontiguousarray(neighbours, np.int64)
    if neighbours.ndim != 2 or len(neighbours) != len(targets) or neighbours.shape[1] < 1:
        raise ValueError(
            f"neighbours of shape {neighbours.shape} must have a row per target ({len(targets)}) and a column"
        )
    if X.ndim != 2 or targets.ndim != 2 or X.shape[1] != targets.shape[1]:
        raise ValueError(f"X of shape {X.shape} and targets of shape {targets.shape} must have as many columns")
    if neighbours.size and not 0 <= neighbours.min() <= neighbours.max() < len(X):
        raise ValueError(f"neighbours must be rows of X: 0 to {len(X) - 1}")
    from manifold_oos.numerics.compiled.active_set import weights

    return weights(X, neighbours, targets)
