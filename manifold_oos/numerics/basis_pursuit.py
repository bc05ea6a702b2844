"""Codes vectors sparsely in a dictionary: min ‖a‖₁ + ‖e‖₁ s.t. Aa + e = b, exactly and for many b at once."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog
from threadpoolctl import ThreadpoolController

from manifold_oos.arrays import Array
from manifold_oos.numerics.shared import shared

#: Certified relative duality gap above which a column is solved again by HiGHS.
GAP = 1e-6
_MAX_ROUNDS = 200
#: Weights of e, relative to that of a, that stand for "no error allowed".
_PENALTIES = (1e3, 1e6)


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


def basis_pursuit(A: Array, B: Array, *, error: bool = True, exclude_self: bool = False) -> BasisPursuit:
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

    Returns
    -------
    BasisPursuit
        Codes, errors, dual points, certified gaps (≤ 1e-6) and which columns fell back to HiGHS.

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

    Examples
    --------
    >>> code = basis_pursuit(np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]]), np.array([[0.6], [0.8]]))
    >>> code.coefficients.ravel().round(9).tolist()
    [0.0, 0.0, 1.0]
    """
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if A.ndim != 2 or B.ndim != 2 or len(A) != len(B):
        raise ValueError(f"A of shape {A.shape} and B of shape {B.shape} must be matrices with as many rows")
    if exclude_self and A.shape != B.shape:
        raise ValueError(f"exclude_self codes the columns of A: B of shape {B.shape} must be A, of shape {A.shape}")
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise ValueError("A or B has NaN or infinite entries")
    skip = np.arange(B.shape[1]) if exclude_self else np.full(B.shape[1], -1)
    if not error:
        _check_span(A, B, exclude_self)
    a, v = _simplex(A, B, skip, error)
    e, gap = _certify(A, B, error, a, v)
    fallback = ~(gap <= GAP)
    if fallback.any():
        again = B[:, fallback]
        a[:, fallback], v[:, fallback] = _highs(A, again, skip[fallback], error)
        e[:, fallback], gap[fallback] = _certify(A, again, error, a[:, fallback], v[:, fallback])
    return BasisPursuit(a, e, v, gap, fallback)


def sparse_codes(X: Array, X_new: Array | None = None, *, error: bool = True) -> sp.csr_array:
    """Sparse codes of points by known ones, the same in every unit of length; made once per trial.

    The error is measured in the mean norm of the known points, which is 1 for points of unit norm.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Known points.
    X_new : ndarray of shape (n_new, D), optional
        Points to code; when left out, every known point by the others.
    error
        See :func:`basis_pursuit`.

    Returns
    -------
    csr_array of shape (n_new, n)
        A code per row.

    Examples
    --------
    >>> sparse_codes(np.array([[3.0, 4.0], [-4.0, 3.0]]), np.array([[1.5, 2.0]])).toarray().round(9).tolist()
    [[0.5, 0.0]]
    """

    def code() -> sp.csr_array:
        unit = np.linalg.norm(X, axis=1).mean() or 1.0
        A = X.T / unit
        B = A if X_new is None else X_new.T / unit
        result = basis_pursuit(A, B, error=error, exclude_self=X_new is None)
        return sp.csr_array(result.coefficients.T)

    return shared(("sparse_codes", error), [X, X_new], code)


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


def _certify(A: Array, B: Array, error: bool, a: Array, v: Array) -> tuple[Array, Array]:
    """The errors of codes, and from dual-feasible points how far the codes are from the optimum at most."""
    e = B - A @ a
    primal = np.abs(a).sum(axis=0)
    if error:
        primal += np.abs(e).sum(axis=0)
    dual = np.einsum("ij,ij->j", B, v)
    gap = np.zeros(len(primal))
    np.divide(np.abs(primal - dual), primal, out=gap, where=primal != 0)
    if not error:
        gap[np.abs(e).max(axis=0, initial=0) > 1e-9 * np.abs(B).max(axis=0, initial=0)] = np.inf
    return e, gap


def _feasible(A: Array, v: Array, skip: NDArray, error: bool) -> Array:
    """Shrink v into the dual polytope."""
    d = np.abs(A.T @ v)
    coded = skip >= 0
    d[skip[coded], np.flatnonzero(coded)] = 0
    size = d.max(axis=0, initial=1)
    return v / (np.maximum(size, np.abs(v).max(axis=0, initial=1)) if error else size)


def _simplex(A: Array, B: Array, skip: NDArray, error: bool) -> tuple[Array, Array]:
    """Without the error term, e costs so much that an optimal basis drives it out."""
    from manifold_oos.numerics.compiled.l1_simplex import solve

    (D, N), m = A.shape, B.shape[1]
    a, v, b = np.zeros((m, N)), np.zeros((m, D)), np.ascontiguousarray(B.T)
    # Fixed signs and sizes against cycling: the same b has the same code whatever else is in B.
    random = np.random.default_rng(0)
    noise = random.uniform(0.5, 1.5, D) * random.choice([-1.0, 1.0], D)
    todo = np.flatnonzero(b.any(axis=1))
    with _threads().limit(limits=1):  # the matrices are small: a second thread costs more than it gives
        for weight in (1.0,) if error else _PENALTIES:
            atoms = np.ascontiguousarray(weight * A.T)
            unit = np.abs(b[todo]).max(axis=1, keepdims=True)
            code, dual = solve(atoms, b[todo] / unit, noise, skip[todo], _MAX_ROUNDS)
            code *= weight * unit
            a[todo], v[todo] = code, weight * dual
            if not error:
                todo = todo[~(np.abs(b[todo] - code @ A.T).max(axis=1) <= 1e-9 * unit[:, 0])]
    return a.T, v.T


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


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
    return a, _feasible(A, v, skip, error)
