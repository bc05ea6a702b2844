"""Codes vectors sparsely in a dictionary: min ‖a‖₁ + ‖e‖₁ s.t. Aa + e = b, exactly and for many b at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import osqp
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dgetrf
from scipy.optimize import linprog
from threadpoolctl import ThreadpoolController

Array = NDArray[np.floating]
#: Certified relative duality gap above which a column is solved again by HiGHS.
GAP = 1e-6
#: Columns of A in a restricted tableau.
_CANDIDATES = 32
_OPTIMAL = 1e-9
_MAX_ROUNDS = 200
#: Weights of e, relative to that of a, that stand for "no error allowed".
_PENALTIES = (1e3, 1e6)
#: Alternating directions: penalty in mean |b|, step length, iterations, columns at once, fewest columns worth it.
_MU, _STEP, _ITERATIONS, _BLOCK, _BATCH = 0.3, np.float32(1.6), 60, 128, 16


@dataclass(frozen=True)
class BasisPursuit:
    """Solutions of :func:`basis_pursuit`, one per column of B, with their certificates.

    Parameters
    ----------
    coefficients : ndarray of shape (N, m)
        The sparse codes a.
    errors : ndarray of shape (D, m)
        b − Aa.
    dual : ndarray of shape (D, m)
        Dual-feasible points v: ‖Aᵀv‖∞ ≤ 1 and, with the error term, ‖v‖∞ ≤ 1.
    gap : ndarray of shape (m,)
        (P − D)/P with P the objective at ``coefficients`` and D = bᵀv: how far from the optimum at most.
    fallback : ndarray of shape (m,) of bool
        Which columns HiGHS had to solve because the simplex method missed the gap of 1e-6.
    """

    coefficients: Array
    errors: Array
    dual: Array
    gap: Array
    fallback: NDArray[np.bool_]


def basis_pursuit(
    A: Array, B: Array, *, error: bool = True, exclude_self: bool = False, solver: str = "simplex"
) -> BasisPursuit:
    r"""Sparse codes of all columns of B in the dictionary A.

    .. math:: \min_{a, e} \|a\|_1 + \|e\|_1 \quad \text{s.t.} \quad Aa + e = b

    with the dual :math:`\max_v b^T v` s.t. :math:`\|v\|_\infty \le 1`, :math:`\|A^T v\|_\infty \le 1`. Without the
    error term, :math:`e = 0` and the first dual constraint goes.

    Parameters
    ----------
    A : ndarray of shape (D, N)
        Dictionary, one atom per column. Of identical columns any one may be used.
    B : ndarray of shape (D, m)
        Vectors to code.
    error : bool, default=True
        Whether the error e is allowed; without it every column of B must lie in the span of A.
    exclude_self : bool, default=False
        B is A, and each column is coded by the others: the L1 graph.
    solver : {"simplex", "osqp", "highs"}, default="simplex"
        A long-step primal simplex on restricted tableaux (exact, fastest), or OSQP or HiGHS on the dual. OSQP stops
        at a gap of about 1e-4, where the objective is right and small coefficients are not.

    Returns
    -------
    BasisPursuit
        Codes, errors, dual points, certified gaps (≤ 1e-6 but for OSQP) and which columns fell back to HiGHS.

    Raises
    ------
    ValueError
        If shapes do not fit, or ``error=False`` and a column of B is not in the span of A.

    References
    ----------
    .. [1] Raducanu & Dornaika, Embedding new observations via sparse-coding for non-linear manifold learning,
       Pattern Recognition, 2014, eq. 10 and 12.
    .. [2] Barrodale & Roberts, An improved algorithm for discrete l1 linear approximation, SIAM J. Numer. Anal.,
       1973 (passing several break points in one pivot).
    .. [3] Yang & Zhang, Alternating direction algorithms for l1-problems in compressive sensing, SIAM J. Sci.
       Comput., 2011 (a guess of the basis).

    Examples
    --------
    >>> code = basis_pursuit(np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]]), np.array([[0.6], [0.8]]))
    >>> code.coefficients.ravel().tolist()
    [0.0, 0.0, 1.0]
    """
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if A.ndim != 2 or B.ndim != 2 or len(A) != len(B):
        raise ValueError(f"A of shape {A.shape} and B of shape {B.shape} must be matrices with as many rows")
    if exclude_self and A.shape != B.shape:
        raise ValueError(f"exclude_self codes the columns of A: B of shape {B.shape} must be A, of shape {A.shape}")
    solvers = {"simplex": _simplex, "osqp": _osqp, "highs": _highs}
    if solver not in solvers:
        raise ValueError(f"solver={solver!r}: use one of {', '.join(solvers)}")
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise ValueError("A or B has NaN or infinite entries")
    skip = np.arange(B.shape[1]) if exclude_self else np.full(B.shape[1], -1)
    if not error:
        _check_span(A, B, exclude_self)
    a, v = solvers[solver](A, B, skip, error)
    v, gap = _certify(A, B, skip, error, a, v)
    fallback = ~(gap <= GAP) & (solver == "simplex")
    if fallback.any():
        a[:, fallback], v_again = _highs(A, B[:, fallback], skip[fallback], error)
        v[:, fallback], gap[fallback] = _certify(A, B[:, fallback], skip[fallback], error, a[:, fallback], v_again)
    return BasisPursuit(a, B - A @ a, v, gap, fallback)


def _check_span(A: Array, B: Array, exclude_self: bool) -> None:
    """Refuse columns that no combination of the atoms gives."""
    norms = np.linalg.norm(B, axis=0)
    if exclude_self:
        # Column j is in the span of the others iff some null vector of A has a non-zero j-th entry.
        _, values, Vt = np.linalg.svd(A, full_matrices=True)
        rank = int((values > values.max(initial=0) * 1e-10).sum())
        outside = (np.linalg.norm(Vt[rank:], axis=0) < 1e-8) & (norms > 0)
    else:
        U, values, _ = np.linalg.svd(A, full_matrices=False)
        U = U[:, values > values.max(initial=0) * 1e-10]
        outside = np.linalg.norm(B - U @ (U.T @ B), axis=0) > 1e-8 * norms
    if outside.any():
        raise ValueError(
            f"{outside.sum()} of {B.shape[1]} vectors (first: {int(outside.argmax())}) are not in the span of the"
            f" {A.shape[1]} atoms in {len(A)} dimensions: allow an error term (error=True) or use fewer dimensions"
        )


def _certify(A: Array, B: Array, skip: NDArray, error: bool, a: Array, v: Array) -> tuple[Array, Array]:
    """Shrink v into the dual polytope and bound the distance of a from the optimum."""
    d = np.abs(A.T @ v)
    coded = skip >= 0
    d[skip[coded], np.flatnonzero(coded)] = 0
    size = d.max(axis=0, initial=1)
    e = np.abs(B - A @ a)
    if error:
        size = np.maximum(size, np.abs(v).max(axis=0, initial=1))
        primal = np.abs(a).sum(axis=0) + e.sum(axis=0)
    else:
        primal = np.abs(a).sum(axis=0)
    v = v / size
    dual = np.einsum("ij,ij->j", B, v)
    gap = np.zeros(len(primal))
    np.divide(np.abs(primal - dual), primal, out=gap, where=primal > 0)
    if not error:
        gap[e.max(axis=0, initial=0) > 1e-9 * np.maximum(1, np.abs(B).max(axis=0, initial=0))] = np.inf
    return v, gap


def _simplex(A: Array, B: Array, skip: NDArray, error: bool) -> tuple[Array, Array]:
    """Column by column; without the error term, e costs so much that an optimal basis drives it out."""
    a, v = np.zeros((A.shape[1], B.shape[1])), np.zeros(B.shape)
    # Fixed signs and sizes against cycling: the same b has the same code whatever else is in B.
    random = np.random.default_rng(0)
    noise = random.uniform(0.5, 1.5, len(A)) * random.choice([-1.0, 1.0], len(A))
    todo = np.flatnonzero(B.any(axis=0))
    with _threads().limit(limits=1):  # the matrices are small: a second thread costs more than it gives
        for weight in (1.0,) if error else _PENALTIES:
            atoms = weight * A.T
            left = []
            for j, start in zip(todo, _starts(atoms, weight * B[:, todo], skip[todo]), strict=True):
                solution = _solve(atoms, weight * B[:, j], noise, skip[j], *start)
                if solution is None:
                    left.append(j)
                    continue
                S, a_S, v_j = solution
                a[:, j], v[:, j] = 0, weight * v_j
                a[S, j] = a_S
                if not error and np.abs(B[:, j] - a_S @ A.T[S]).max() > 1e-9 * np.abs(B[:, j]).max():
                    left.append(j)
            todo = np.array(left, dtype=int)
    return a, v


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _starts(atoms: Array, B: Array, skip: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """A basis (S, R) to start from for each column, guessed for whole blocks by a rough solution."""
    none = np.empty(0, dtype=int)
    if B.shape[1] < _BATCH:
        yield from [(none, none)] * B.shape[1]
        return
    A = atoms.T.astype(np.float32)
    inverse = np.linalg.inv(A @ A.T + np.eye(len(A), dtype=np.float32))
    for start in range(0, B.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        for a, e in zip(*_admm(A, inverse, B[:, block], skip[block]), strict=True):
            yield _basis(atoms, a, e)


def _admm(A: Array, inverse: Array, B: Array, skip: NDArray) -> tuple[Array, Array]:
    """Rough (a, e) as rows, up to scale, in single precision: alternating directions on the dual [3]_."""
    b = (B / (_MU * np.abs(B).mean(axis=0))).astype(np.float32)
    a, e = np.zeros((A.shape[1], B.shape[1]), dtype=np.float32), np.zeros_like(b)
    z_a, z_e = a.copy(), e.copy()
    coded = np.flatnonzero(skip >= 0)
    for _ in range(_ITERATIONS):
        z_a -= a
        v = inverse @ (A @ z_a + (z_e - e + b))
        d = A.T @ v
        np.add(d, a, out=z_a)
        np.clip(z_a, -1, 1, out=z_a)
        d -= z_a
        d *= _STEP
        a += d
        z_e = np.clip(v + e, -1, 1)
        e += _STEP * (v - z_e)
        a[skip[coded], coded] = z_a[skip[coded], coded] = 0
    return a.T, e.T


def _basis(atoms: Array, a: Array, e: Array) -> tuple[NDArray, NDArray]:
    """Columns S with weight in a guess, and as many rows R with a small error on which they are independent."""
    size = np.abs(a)
    S = np.flatnonzero(size > 1e-2 * size.max(initial=0))
    if len(S) > len(e):
        S = S[np.argsort(size[S])[-len(e) :]]
    if not len(S):
        return S, S
    small = np.abs(e)
    weighted = atoms[S].T / (small + 1e-2 * small.max() + 1e-30)[:, None]
    factor, swaps, _ = dgetrf(weighted)
    if np.abs(np.diag(factor)).min() < 1e-8 * np.abs(factor[0, 0]):
        return S[:0], S[:0]
    order = list(range(len(e)))
    for i, j in enumerate(swaps.tolist()):
        order[i], order[j] = order[j], order[i]
    return S, np.array(order[: len(S)])


def _solve(
    atoms: Array, b: Array, noise: Array, skip: int, S: NDArray, R: NDArray
) -> tuple[NDArray, Array, Array] | None:
    """Long-step simplex for one b from the basis (S, R): support, its coefficients and the dual point v.

    A basis is a set S of columns and a set R of as many rows with A[R, S] non-singular: the a off S and the e on R
    are zero. All variables are free with cost |x|, so every basis is feasible: each round takes the most promising
    columns into a small tableau, pivots until that is optimal, and prices all columns anew. None if the rounds do
    not end.
    """
    N, D = atoms.shape
    b_noisy = b + 1e-9 * np.abs(b).max() * noise
    for _ in range(_MAX_ROUNDS):
        A_S = atoms[S]
        try:
            W = np.linalg.inv(A_S[:, R]).T
        except np.linalg.LinAlgError:
            return None
        a = W @ b_noisy[R]
        x = b_noisy - a @ A_S
        x[R] = a  # the place of e_i, i in R, is taken by a column of S
        s = np.where(x < 0, -1.0, 1.0)
        v = s.copy()
        v[R] = 0
        v[R] = (s[R] - A_S @ v) @ W
        d = np.abs(atoms @ v)
        d[S] = 0
        if skip >= 0:
            d[skip] = 0
        if d.max() <= 1 + _OPTIMAL and np.abs(v[R]).max(initial=0) <= 1 + _OPTIMAL:
            return S, W @ b[R], v
        C = np.argpartition(d, -_CANDIDATES)[-_CANDIDATES:] if N > _CANDIDATES else np.arange(N)
        C = C[d[C] > 1 + _OPTIMAL]
        # B⁻¹[I_R, A_C] transposed: a row per non-basic variable, a column per basic one.
        k = len(R)
        T = np.empty((k + len(C), D))
        A_C = atoms[C]
        T[:k] = -W.T @ A_S
        T[:k, R] = W.T
        top = A_C[:, R] @ W.T
        T[k:] = A_C - top @ A_S
        T[k:, R] = top
        basic = np.arange(N, N + D)
        basic[R] = S
        nonbasic = np.concatenate([N + R, C])
        _pivot(T, x, s, basic, nonbasic)
        S, R = basic[basic < N], nonbasic[nonbasic >= N] - N
    return None


def _pivot(T: Array, x: Array, s: Array, basic: NDArray, nonbasic: NDArray) -> None:
    """Pivot a tableau in place until no non-basic variable of it improves the objective."""
    size, ones = np.empty_like(T), np.ones(T.shape[1])
    for _ in range(20 * T.shape[1]):
        d = T @ s
        g = np.abs(d) - 1
        np.abs(T, out=size)
        j = int((g / (1 + size @ ones)).argmax())
        if g[j] <= _OPTIMAL:
            return
        sign = 1.0 if d[j] > 0 else -1.0
        column = T[j].copy()
        q = sign * s * column
        ahead = np.flatnonzero(q > 1e-10)
        q = q[ahead]
        t = np.abs(x[ahead]) / q
        order = t.argsort()
        # Past break point i the slope grows by 2q_i: go on until it is no longer negative.
        last = int(np.add.accumulate(q[order]).searchsorted(g[j] / 2))
        L = ahead[order[last]]
        step = sign * t[order[last]]
        s[ahead[order[:last]]] *= -1
        x -= step * column
        x[L], s[L] = step, sign
        pivot_row = T[:, L] / column[L]
        dger(-1.0, column, pivot_row, a=T.T, overwrite_a=True)
        T[:, L] = pivot_row
        T[j] = column / -column[L]
        T[j, L] = 1 / column[L]
        basic[L], nonbasic[j] = nonbasic[j], basic[L]


def _highs(A: Array, B: Array, skip: NDArray, error: bool) -> tuple[Array, Array]:
    """HiGHS on the dual, max bᵀv: its multipliers are the code."""
    N = A.shape[1]
    a, v = np.zeros((N, B.shape[1])), np.zeros(B.shape)
    bounds = (-1, 1) if error else (None, None)
    for j in range(B.shape[1]):
        keep = np.arange(N) != skip[j]
        At = A.T[keep]
        result = linprog(
            -B[:, j],
            A_ub=np.vstack([At, -At]),
            b_ub=np.ones(2 * len(At)),
            bounds=bounds,
            method="highs-ds",
            options={"presolve": False, "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        if result.status != 0:
            raise ValueError(f"HiGHS did not solve column {j}: {result.message}")
        plus, minus = np.split(-result.ineqlin.marginals, 2)
        a[keep, j], v[:, j] = plus - minus, result.x
    return a, v


def _osqp(A: Array, B: Array, skip: NDArray, error: bool) -> tuple[Array, Array]:
    """OSQP on the dual: one factorisation for all columns, multipliers are the code."""
    D, N = A.shape
    a, v = np.zeros((N, B.shape[1])), np.zeros(B.shape)
    constraints = sp.csc_matrix(np.vstack([A.T, np.eye(D)]) if error else A.T)
    limit = np.ones(constraints.shape[0])
    problem = osqp.OSQP()
    problem.setup(
        sp.csc_matrix((D, D)),
        np.zeros(D),
        constraints,
        -limit,
        limit,
        eps_abs=1e-5,
        eps_rel=1e-5,
        max_iter=10_000,
        polishing=True,
        verbose=False,
    )
    for j in np.flatnonzero(B.any(axis=0)):
        u = limit.copy()
        if skip[j] >= 0:
            u[skip[j]] = np.inf
        size = np.abs(B[:, j]).mean()
        problem.update(q=-B[:, j] / size, l=-u, u=u)
        result = problem.solve(raise_error=False)
        a[:, j], v[:, j] = size * result.y[:N], result.x
        if skip[j] >= 0:
            a[skip[j], j] = 0
    return a, v
