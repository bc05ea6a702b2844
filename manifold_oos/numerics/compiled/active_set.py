"""The compiled part of :mod:`manifold_oos.numerics.convex_weights`: imported on first use, numba loading slowly."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from manifold_oos.arrays import Array

#: Relative to the largest squared distance: what makes the weights unique, and the multipliers taken for zero.
RIDGE, ZERO = 1e-13, 1e-12
#: How many neighbours, the nearest if they are in order, have weight at the start.
START = 12
#: Exchanges after which rounding decides more than the data.
ENOUGH = 1000
# Sums may be reordered for vector instructions; the same machine code gives the same results.
compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


@compiled
def weights(X: Array, neighbours: NDArray[np.int64], targets: Array) -> Array:
    """Convex weights of each target, one after the other."""
    (n, K), D = neighbours.shape, X.shape[1]
    w, H, F, differences = np.empty((n, K)), np.empty((K, K)), np.empty((K, K)), np.empty((K, D))
    P, passive = np.empty(K, np.int64), np.empty(K, np.bool_)
    for r in range(n):
        gram(H, differences, X, neighbours[r], targets[r])
        exchange(w[r], H, F, P, passive)
    return w


@compiled
def gram(H: Array, differences: Array, X: Array, neighbours: NDArray[np.int64], target: Array) -> None:
    """H = G + 11ᵀ with a ridge, G over its largest diagonal entry."""
    K, D = differences.shape
    scale = 0.0
    for i in range(K):
        for c in range(D):
            differences[i, c] = X[neighbours[i], c] - target[c]
        for j in range(i + 1):
            total = 0.0
            for c in range(D):
                total += differences[i, c] * differences[j, c]
            H[i, j] = total
        scale = max(scale, H[i, i])
    scale = 1 / scale if scale > 0 else 1.0
    for i in range(K):
        for j in range(i + 1):
            H[i, j] = H[j, i] = H[i, j] * scale + 1
        H[i, i] += RIDGE


@compiled
def exchange(u: Array, H: Array, F: Array, P: NDArray[np.int64], passive: NDArray[np.bool_]) -> None:
    """Block principal pivoting on min ½ uᵀHu − 1ᵀu, u ≥ 0; then u / Σu.

    Its conditions Hu = 1 + y, y ≥ 0, uᵀy = 0 are those of the weights times Σu, so that Σw = 1 needs no multiplier.
    """
    K = len(u)
    passive[:] = np.arange(K) < START
    wrong, fewest, patience = np.empty(K, np.bool_), K + 1, 3
    for _ in range(ENOUGH):
        n = solve(u, H, F, P, passive)
        n_wrong, last = 0, -1
        for i in range(K):
            y = -1.0
            for j in range(n):
                y += H[i, P[j]] * u[P[j]]
            wrong[i] = u[i] < 0 if passive[i] else y < -ZERO
            if wrong[i]:
                n_wrong, last = n_wrong + 1, i
        if n_wrong == 0:
            break
        patience = 3 if n_wrong < fewest else patience - 1
        fewest = min(fewest, n_wrong)
        # Exchanging all wrong ones at once is fast but may cycle; only the last one, always ends.
        for i in range(K):
            if wrong[i] and (patience >= 0 or i == last):
                passive[i] = not passive[i]
    total = u.sum()
    for i in range(K):
        u[i] /= total


@compiled
def solve(u: Array, H: Array, F: Array, P: NDArray[np.int64], passive: NDArray[np.bool_]) -> int:
    """Solve H_PP u_P = 1 by Cholesky, u = 0 elsewhere; P is filled and its size returned."""
    n = 0
    for i in range(len(u)):
        u[i] = 0
        if passive[i]:
            P[n] = i
            n += 1
    for i in range(n):
        z = 1.0
        for j in range(i):
            total = H[P[i], P[j]]
            for c in range(j):
                total -= F[i, c] * F[j, c]
            F[i, j] = total / F[j, j]
            z -= F[i, j] * u[P[j]]
        total = H[P[i], P[i]]
        for c in range(i):
            total -= F[i, c] * F[i, c]
        # Equal neighbours: rounding must not eat the ridge.
        F[i, i] = np.sqrt(max(total, RIDGE))
        u[P[i]] = z / F[i, i]
    for i in range(n - 1, -1, -1):
        z = u[P[i]] / F[i, i]
        u[P[i]] = z
        for j in range(i):
            u[P[j]] -= F[i, j] * z
    return n
