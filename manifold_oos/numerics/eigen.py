"""Eigenproblems of embeddings: few extreme pairs, checked residuals, deterministic signs."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from manifold_oos.arrays import Array

#: A dense or sparse symmetric matrix, or a :class:`LessLowRank`.
Matrix = Any

#: Below this order, or with more wanted pairs than a tenth of it, a dense decomposition is as fast as Lanczos.
DENSE_ORDER = 250
#: Share of non-zeros from which a factorisation of a sparse matrix is no longer sparse.
DENSE_SHARE = 0.2
#: Beyond one pair in so many LAPACK finds all of them, by divide and conquer, sooner than those alone.
FEW = 8
#: Largest residual ‖Av − λBv‖ of a unit vector that counts as solved, relative to ‖A‖.
RESIDUAL = 1e-9
#: Restarts after which Lanczos on a dense matrix takes longer than its decomposition.
RESTARTS = 30
#: An eigen-gap below this, relative to ‖A‖, leaves less than three digits of an eigenvector.
GAP = 1e-13

NOT_SEMIDEFINITE = (
    "the matrix of the embedding is not positive semi-definite up to rounding:"
    " check the data for extreme values or raise the regularisation"
)


class AmbiguousEigenvectors(UserWarning):
    """The wanted eigenvectors are not determined: the cut falls into a group of equal eigenvalues."""


@dataclass(frozen=True)
class LessLowRank:
    r"""The positive semi-definite matrix :math:`A - U U^\top` of a sparse A and few columns U, never formed."""

    A: sparse.csr_array
    U: Array

    @property
    def shape(self) -> tuple[int, int]:
        """That of A."""
        return self.A.shape

    def __matmul__(self, x: Array) -> Array:
        product: Array = self.A @ x - self.U @ (self.U.T @ x)
        return product

    def toarray(self) -> Array:
        """The matrix, for few rows."""
        dense: Array = self.A.toarray() - self.U @ self.U.T
        return dense

    def inverse(self, shift: float) -> Callable[[Array], Array]:
        """Solver of (A − UUᵀ − shift I) x = b, by the identity of Sherman, Morrison and Woodbury."""
        solve = _factorise(self.A, shift)
        Z = solve(self.U)
        try:
            factor = linalg.cho_factor(np.eye(self.U.shape[1]) - self.U.T @ Z)
        except linalg.LinAlgError as error:
            raise ValueError(NOT_SEMIDEFINITE) from error

        def solved(b: Array) -> Array:
            x = solve(b)
            x += Z @ linalg.cho_solve(factor, self.U.T @ x)
            return x

        return solved


def fix_signs(V: Array) -> Array:
    """Turn each column so that its entry of largest magnitude (the first of several) is positive.

    Parameters
    ----------
    V : ndarray of shape (n, k)
        Eigenvectors in columns.

    Returns
    -------
    ndarray of shape (n, k)
        A copy with signs fixed.

    Examples
    --------
    >>> fix_signs(np.array([[1.0, 0.5], [-3.0, 0.1]])).tolist()
    [[-1.0, 0.5], [3.0, 0.1]]
    """
    if not V.size:
        return V.copy()
    magnitude = np.abs(V)
    # Entries equal up to rounding count as a tie, so that another BLAS does not choose another sign.
    first = np.argmax(magnitude >= magnitude.max(axis=0) * (1 - 1e-8), axis=0)
    signs = np.sign(V[first, np.arange(V.shape[1])])
    signs[signs == 0] = 1
    fixed: Array = V * signs
    return fixed


def smallest_eigenpairs(
    A: Matrix,
    k: int,
    B: Matrix | None = None,
    *,
    null: Array | None = None,
    semidefinite: bool = False,
    multiple: bool = False,
    ambiguous: str = "warn",
) -> tuple[Array, Array]:
    r"""The k algebraically smallest pairs of :math:`A v = \lambda B v` with :math:`V^\top B V = I`.

    Dense or small problems take LAPACK's subset driver; large ones Lanczos on the inverse of
    :math:`A - s I` (after scaling by a diagonal B), with the shift s just below the spectrum: a small negative
    number when A is known to be positive semi-definite, Gershgorin's lower bound otherwise, so that the pairs
    nearest to s are the smallest in either case. The start vector is fixed and the residuals are checked.

    Parameters
    ----------
    A : ndarray, sparse array or LessLowRank of shape (n, n)
        Symmetric, possibly indefinite.
    k : int
        How many pairs.
    B : ndarray of shape (n,) or (n, n), or sparse, optional
        Positive definite; a vector is a diagonal. The identity when left out.
    null : ndarray of shape (n, c), optional
        Vectors with Av = 0 (the constant, indicators of components) that are left out: the result is
        B-orthogonal to them. Unlike dropping the first c pairs this stays right when more eigenvalues vanish.
    semidefinite : bool, default=False
        Whether A is known to be positive semi-definite.
    multiple : bool, default=False
        Whether eigenvalues may repeat, as those of class contrasts do: Lanczos finds one vector of each, so that
        the problem is solved dense whatever its size.
    ambiguous : {"warn", "ignore"}, default="warn"
        Whether to warn when the (k+1)-th eigenvalue equals the k-th.

    Returns
    -------
    values : ndarray of shape (k,)
        Ascending.
    vectors : ndarray of shape (n, k)
        With signs of :func:`fix_signs`.

    Examples
    --------
    >>> values, vectors = smallest_eigenpairs(np.diag([3.0, -1.0, 2.0]), 2)
    >>> values.tolist(), vectors.T.tolist()
    ([-1.0, 2.0], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    n = A.shape[0]
    room = n - (0 if null is None else null.shape[1])
    if not 1 <= k <= room:
        raise ValueError(f"{k} eigenvectors asked of a problem that has {room}: lower n_components")
    weights = _diagonal(B)
    if weights is None and B is not None:
        return _generalized(A, k, B, null, multiple, ambiguous)
    if weights is not None:
        if not (weights > 0).all():
            raise ValueError("B has diagonal entries that are not positive: a point of the graph has no neighbour")
        root = np.sqrt(weights)
        null = None if null is None else null * root[:, None]
        A = _scale(A, 1 / root)
    null = None if null is None else np.linalg.qr(null)[0]
    norm = _norm(A)
    more = min(k + 1, room)
    if multiple or _is_small(A, more):
        values, vectors = _dense_pairs(_dense(A), more, null, norm)
    else:
        values, vectors = _shift_invert(A, more, null, norm, semidefinite)
    _check(A, values, vectors, k, norm, ambiguous)
    values, vectors = values[:k], vectors[:, :k]
    return values, fix_signs(vectors if weights is None else vectors / root[:, None])


def largest_eigenpairs(A: Array, k: int, *, multiple: bool = False, ambiguous: str = "warn") -> tuple[Array, Array]:
    """The k algebraically largest pairs of a dense symmetric matrix, in descending order.

    Lanczos where few pairs stand out of many; LAPACK, all pairs or a subset, for small matrices and for spectra so
    flat that Lanczos would take longer. The residuals are checked in either case.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric.
    k : int
        How many pairs.
    multiple : bool, default=False
        Whether eigenvalues may repeat, as those of class contrasts do: Lanczos finds one vector of each, so that
        the problem is solved dense whatever its size.
    ambiguous : {"warn", "ignore"}, default="warn"
        Whether to warn when the (k+1)-th eigenvalue equals the k-th and is not zero.

    Returns
    -------
    values : ndarray of shape (k,)
        Descending.
    vectors : ndarray of shape (n, k)
        Orthonormal, with signs of :func:`fix_signs`.

    Examples
    --------
    >>> largest_eigenpairs(np.diag([3.0, -1.0, 2.0]), 2)[0].tolist()
    [3.0, 2.0]
    """
    n = A.shape[0]
    if not 1 <= k <= n:
        raise ValueError(f"{k} eigenvectors asked of a problem that has {n}: lower n_components")
    norm = _norm(A)
    more = min(k + 1, n)
    dense = multiple or _is_small(A, more)
    pairs = None if dense else _lanczos(A, more, maxiter=RESTARTS, which="LA", v0=_start(n, None))
    values, vectors = _dense_largest(A, more) if pairs is None else pairs
    values, vectors = values[::-1], vectors[:, ::-1]
    no_variance = abs(values[k - 1]) <= GAP * norm
    _check(A, values, vectors, k, norm, "ignore" if no_variance else ambiguous)
    return values[:k].copy(), fix_signs(vectors[:, :k])


def _diagonal(B: Matrix | None) -> Array | None:
    """The diagonal of B if B is a diagonal matrix (or already a vector)."""
    if B is None:
        return None
    if sparse.issparse(B):
        diagonal: Array = B.diagonal()
        return diagonal if (B - sparse.diags_array(diagonal)).count_nonzero() == 0 else None
    return B if B.ndim == 1 else None


def _dense(A: Matrix) -> Array:
    dense: Array = np.asarray(A) if isinstance(A, np.ndarray) else A.toarray()
    return dense


def _norm(A: Matrix) -> float:
    """The largest absolute row sum, a bound of every eigenvalue."""
    A = A.A if isinstance(A, LessLowRank) else A
    norm = abs(A).sum(axis=1).max() if sparse.issparse(A) else linalg.norm(A, np.inf, check_finite=False)
    return float(norm) or 1.0


def _scale(A: Matrix, s: Array) -> Matrix:
    """diag(s) A diag(s)."""
    if sparse.issparse(A):
        diagonal = sparse.diags_array(s)
        return (diagonal @ A @ diagonal).tocsr()
    return s[:, None] * A * s


def _is_small(A: Matrix, k: int) -> bool:
    n = A.shape[0]
    return bool(n <= DENSE_ORDER or k > n / 10)


def _dense_pairs(A: Array, k: int, null: Array | None, norm: float) -> tuple[Array, Array]:
    if null is not None:
        A = A + (2 * norm * null) @ null.T
    values, vectors = linalg.eigh(A, subset_by_index=(0, k - 1))
    return values, vectors


def _dense_largest(A: Array, k: int) -> tuple[Array, Array]:
    """Ascending; few of them from the tridiagonal form by MRRR, where LAPACK's own subset driver would bisect."""
    n = len(A)
    if k > n / FEW or n < 3:
        values, vectors = linalg.eigh(A, driver="evd")
        return values[n - k :], vectors[:, n - k :]
    work = int(lapack.dsytrd_lwork(n, lower=1)[0])
    reflectors, diagonal, off, tau, _ = lapack.dsytrd(np.asfortranarray(A), lower=1, lwork=work)
    values, vectors = linalg.eigh_tridiagonal(
        diagonal, off, select="i", select_range=(n - k, n - 1), lapack_driver="stemr"
    )
    vectors[1:] = lapack.dormqr("L", "N", reflectors[1:, :-1], tau, vectors[1:], lwork=work)[0]
    return values, vectors


def _generalized(
    A: Matrix, k: int, B: Matrix, null: Array | None, multiple: bool, ambiguous: str
) -> tuple[Array, Array]:
    """Dense pairs for a B that is not diagonal, through its Cholesky factor B = RᵀR."""
    A, B = _dense(A), _dense(B)
    try:
        R = linalg.cholesky(B)
    except linalg.LinAlgError as error:
        raise ValueError(
            "B is not positive definite: add a ridge, or reduce the dimension of the data first"
        ) from error
    half = linalg.solve_triangular(R, A, trans="T")
    standard = linalg.solve_triangular(R, half.T, trans="T")
    standard = (standard + standard.T) / 2
    null = None if null is None else R @ null
    values, vectors = smallest_eigenpairs(standard, k, null=null, multiple=multiple, ambiguous=ambiguous)
    return values, fix_signs(linalg.solve_triangular(R, vectors))


def _start(n: int, null: Array | None) -> Array:
    """The start vector of every Lanczos run: fixed, and free of the null vectors."""
    v0 = np.random.default_rng(0).uniform(-1, 1, n)
    return v0 if null is None else v0 - null @ (null.T @ v0)


def _lanczos(A: Matrix, k: int, **options: Any) -> tuple[Array, Array] | None:
    """Ascending pairs, or None where ``maxiter`` restarts did not find them all."""
    try:
        values, vectors = eigsh(A, k, tol=1e-12, ncv=min(A.shape[0], max(2 * k + 1, 20)), **options)
    except ArpackNoConvergence:
        return None
    return values, vectors


def _shift_invert(A: Matrix, k: int, null: Array | None, norm: float, semidefinite: bool) -> tuple[Array, Array]:
    if semidefinite:
        shift = -1e-10 * norm
    else:
        diagonal = A.diagonal()
        radius = np.asarray(abs(A).sum(axis=1)).ravel() - np.abs(diagonal)
        shift = float((diagonal - radius).min()) - 1e-10 * norm
    solve = _factorise(A, shift)

    def inverse(x: Array) -> Array:
        if null is None:
            return solve(x)
        x = solve(x - null @ (null.T @ x))
        projected: Array = x - null @ (null.T @ x)
        return projected

    operator = LinearOperator(A.shape, matvec=inverse, dtype=np.float64)
    pairs = _lanczos(operator, k, maxiter=1000, sigma=shift, OPinv=operator, v0=_start(A.shape[0], null))
    if pairs is None:
        raise ValueError(
            f"the eigen-solver did not find {k} pairs in 1000 restarts: raise n_neighbors or lower n_components"
        )
    return _rayleigh_ritz(A, pairs[1])


def _factorise(A: Matrix, shift: float) -> Callable[[Array], Array]:
    """Solver of (A − shift I) x = b for a positive definite A − shift I."""
    if isinstance(A, LessLowRank):
        return A.inverse(shift)
    n = A.shape[0]
    if not sparse.issparse(A) or A.nnz > DENSE_SHARE * n * n:
        shifted = _dense(A).copy()
        shifted.flat[:: n + 1] -= shift
        try:
            factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise ValueError(NOT_SEMIDEFINITE) from error
        return lambda b: linalg.cho_solve(factor, b, check_finite=False)
    shifted = (A - shift * sparse.eye_array(n)).tocsc()
    # Symmetric pivoting keeps the fill-in of a nested-dissection-like order, which row pivoting would destroy.
    lu = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    if not (lu.U.diagonal() > 0).all():  # with symmetric pivoting their signs are those of the eigenvalues
        raise ValueError(NOT_SEMIDEFINITE)
    solver: Callable[[Array], Array] = lu.solve
    return solver


def _rayleigh_ritz(A: Matrix, V: Array) -> tuple[Array, Array]:
    """The best pairs within the span of V, ascending."""
    V = np.linalg.qr(V)[0]
    values, rotation = np.linalg.eigh(V.T @ (A @ V))
    return values, V @ rotation


def _check(A: Matrix, values: Array, vectors: Array, k: int, norm: float, ambiguous: str) -> None:
    """Raise on a residual that is not small; warn when pair k and pair k+1 cannot be told apart."""
    residual = np.linalg.norm(A @ vectors[:, :k] - vectors[:, :k] * values[:k], axis=0).max()
    if not residual <= RESIDUAL * norm:
        raise ValueError(
            f"the eigen-solver left a residual of {residual / norm:.1e} (relative):"
            " raise n_neighbors or the regularisation"
        )
    if ambiguous == "warn":
        warn_ambiguous(values, k, norm, stacklevel=4)


def warn_ambiguous(values: Array, k: int, norm: float, stacklevel: int = 3) -> None:
    """Warn when a cut behind the k-th of sorted eigenvalues falls between equal ones.

    Parameters
    ----------
    values : ndarray
        Eigenvalues, ascending or descending.
    k : int
        How many are kept.
    norm : float
        Of the matrix.
    stacklevel : int, default=3
        Of the warning.
    """
    if len(values) > k and abs(values[k] - values[k - 1]) <= GAP * norm:
        warnings.warn(
            f"eigenvalues {k} and {k + 1} are both {values[k]:.3g}: the last of {k} coordinates are an arbitrary"
            " rotation; change n_components",
            AmbiguousEigenvectors,
            stacklevel=stacklevel,
        )
