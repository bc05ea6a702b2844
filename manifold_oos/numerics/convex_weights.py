"""Projects points on the convex hulls of their neighbours: thousands of small quadratic programs at once."""

import numpy as np
import osqp
import scipy.sparse as sp
from numpy.typing import NDArray

from manifold_oos.numerics.chunks import BLOCK_FLOATS

Array = NDArray[np.floating]
#: Relative to the largest squared distance: what makes the weights unique, and the multipliers taken for zero.
_RIDGE, _ZERO = 1e-13, 1e-12
#: How many neighbours, the nearest if they are in order, have weight at the start.
_START = 12
#: Floats in the differences of one block: small enough for a processor's cache.
_CACHED = 2**17


def convex_weights(X: Array, neighbours: NDArray, targets: Array, *, solver: str = "active_set") -> Array:
    r"""Weights of the nearest point in the convex hull of each target's neighbours.

    .. math:: \min_w \Big\|x - \sum_{i=1}^K w_i x_i\Big\|^2 \quad \text{s.t.} \quad w \ge 0, \quad \sum_i w_i = 1

    eq. 20 of [1]_. With :math:`G_{ij} = (x_i - x)^T (x_j - x)` the optimality (KKT) conditions are
    :math:`(Gw)_i \ge w^T G w` for all i; the active-set solver meets them to 1e-10 :math:`\max_i G_{ii}`.

    Parameters
    ----------
    X : ndarray of shape (N, D)
        Points.
    neighbours : ndarray of shape (n, K) of int
        Rows of X that are the neighbours of each target; equal points share their weight.
    targets : ndarray of shape (n, D)
        Points to project.
    solver : {"active_set", "osqp"}, default="active_set"
        Block principal pivoting [2]_ on all targets at once, or OSQP on one after the other.

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
    X, targets, neighbours = np.asarray(X, np.float64), np.asarray(targets, np.float64), np.asarray(neighbours)
    if neighbours.ndim != 2 or len(neighbours) != len(targets) or neighbours.shape[1] < 1:
        raise ValueError(
            f"neighbours of shape {neighbours.shape} must have a row per target ({len(targets)}) and a column"
        )
    solvers = {"active_set": _active_set, "osqp": _osqp}
    if solver not in solvers:
        raise ValueError(f"solver={solver!r}: use one of {', '.join(solvers)}")
    weights = np.empty(neighbours.shape)
    K = neighbours.shape[1]
    rows = max(1, BLOCK_FLOATS // (16 * K**2))
    for start in range(0, len(targets), rows):
        block = slice(start, start + rows)
        weights[block] = solvers[solver](_scaled_grams(X, neighbours[block], targets[block]))
    return weights


def _scaled_grams(X: Array, neighbours: NDArray, targets: Array) -> Array:
    """G of every target over its largest diagonal entry."""
    n, K = neighbours.shape
    G = np.empty((n, K, K))
    rows = max(1, _CACHED // (K * X.shape[1]))
    for start in range(0, n, rows):
        block = slice(start, start + rows)
        differences = np.take(X, neighbours[block], axis=0)
        differences -= targets[block, None]
        np.matmul(differences, differences.transpose(0, 2, 1), out=G[block])
    scale = np.einsum("nii->ni", G).max(axis=1)
    G /= np.where(scale > 0, scale, 1)[:, None, None]
    return G


def _active_set(G: Array) -> Array:
    """Block principal pivoting on min ½ uᵀHu − 1ᵀu, u ≥ 0, with H = G + 11ᵀ; then w = u / Σu.

    Its conditions Hu = 1 + y, y ≥ 0, uᵀy = 0 are those of w times Σu, so the equality needs no multiplier.
    """
    n, K = G.shape[:2]
    H = G + 1
    columns = np.arange(K)
    H[:, columns, columns] += _RIDGE
    u = np.zeros((n, K))
    passive = np.broadcast_to(columns < _START, (n, K)).copy()
    fewest, patience = np.full(n, K + 1), np.full(n, 3)
    todo = np.arange(n)
    while len(todo):
        P = passive[todo]
        solution = _solve_passive(H, todo, P)
        u[todo] = solution
        y = (H[todo] @ solution[:, :, None])[:, :, 0] - 1
        wrong = np.where(P, solution < 0, y < -_ZERO)
        n_wrong = wrong.sum(axis=1)
        better = n_wrong < fewest[todo]
        patience[todo] = np.where(better, 3, patience[todo] - 1)
        fewest[todo] = np.minimum(fewest[todo], n_wrong)
        # Exchanging all wrong ones at once is fast but may cycle; only the last one, always ends.
        single = patience[todo] < 0
        last = K - 1 - wrong[:, ::-1].argmax(axis=1)
        wrong[single] &= columns == last[single, None]
        passive[todo] ^= wrong
        todo = todo[n_wrong > 0]
    return u / u.sum(axis=1, keepdims=True)


def _solve_passive(H: Array, rows: NDArray, P: NDArray[np.bool_]) -> Array:
    """Solve H_PP u_P = 1 for some of the problems, with u = 0 elsewhere."""
    if P.all():
        return np.linalg.solve(H[rows], np.ones((*P.shape, 1)))[:, :, 0]
    size = int(P.sum(axis=1).max())
    members = np.argsort(~P, axis=1, kind="stable")[:, :size]
    used = np.take_along_axis(P, members, axis=1)
    M = H[rows[:, None, None], members[:, :, None], members[:, None, :]]
    M *= used[:, :, None] & used[:, None, :]
    M[:, np.arange(size), np.arange(size)] += ~used
    u = np.zeros(P.shape)
    np.put_along_axis(u, members, np.linalg.solve(M, used[:, :, None].astype(float))[:, :, 0], axis=1)
    return u


def _osqp(G: Array) -> Array:
    """One quadratic program after the other."""
    n, K = G.shape[:2]
    upper = np.triu_indices(K)
    pattern = sp.csc_matrix((np.ones(len(upper[0])), upper), shape=(K, K))
    constraints = sp.vstack([np.ones((1, K)), sp.eye(K)], format="csc")
    problem = osqp.OSQP()
    problem.setup(
        pattern,
        np.zeros(K),
        constraints,
        np.r_[1.0, np.zeros(K)],
        np.r_[1.0, np.full(K, np.inf)],
        eps_abs=1e-10,
        eps_rel=1e-10,
        max_iter=100_000,
        polishing=True,
        verbose=False,
    )
    columns_first = np.triu(np.ones((K, K), dtype=bool)).T
    w = np.empty((n, K))
    for i in range(n):
        problem.update(Px=G[i].T[columns_first])
        w[i] = problem.solve(raise_error=False).x
    return w
