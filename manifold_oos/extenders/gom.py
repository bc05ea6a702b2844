"""Global optimisation: new points take the coordinates that fit all neighbourhoods best, the known ones fixed."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg, splu

from manifold_oos.arrays import Array
from manifold_oos.constraints import StrOptions
from manifold_oos.extenders.propagation import PropagationExtender


class GlobalOptimization(PropagationExtender):
    r"""Global optimization model (GOM).

    .. math:: \min_{y_u} y_u^\top M_{uu} y_u + 2 f_l^\top M_{lu} y_u
        \quad\Longleftrightarrow\quad M_{uu} y_u = -M_{ul} f_l

    for each coordinate, with M the alignment matrix of all points and :math:`f_l` the known coordinates: eq. 6 of
    [1]_. It can extend a manifold beyond the known part (not with the Laplacian, whose null space has constants
    only), but answers for the new points of ``fit`` alone.

    First contact: made for one smooth manifold. Where classes are side by side in two dimensions it is behind
    ``normalized_rbf``, as tangent spaces across classes mean nothing; in as many dimensions as neighbours it has no
    answer.

    Parameters
    ----------
    alignment : {"lle", "ltsa", "spline", "laplacian"}, default="ltsa"
        Whose alignment matrix; it need not be that of the embedding.
    n_neighbors : int, default=8
        Neighbours of a point; LTSA and splines need more than there are coordinates.
    solver : {"factorization", "cg"}, default="factorization"
        A sparse factorisation or, with less memory, conjugate gradients.

    Attributes
    ----------
    new_embedding_ : ndarray of shape (n_new, d)
        Coordinates of the new points.
    residual_ : float
        :math:`\|M_{uu} y_u + M_{ul} f_l\| / \|M_{ul} f_l\|`.

    References
    ----------
    .. [1] Xiang, Nie, Song, Zhang & Zhang, Embedding new data points for manifold learning via coordinate
       propagation, PAKDD, 2007.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> gom = GlobalOptimization(n_neighbors=3).fit(X[:8], 2 * X[:8], X_new=X[8:])
    >>> gom.new_embedding_.ravel().round(6).tolist()
    [16.0, 18.0, 20.0, 22.0]
    """

    name: ClassVar[str] = "gom"
    memory: ClassVar[str] = "(N + Q)*(min(2*(n_neighbors + 1)*D, 2**21/(N + Q)) + 2*n_neighbors**2)"
    instead: ClassVar[str] = "fewer new points at a time"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PropagationExtender._parameter_constraints,
        "solver": [StrOptions({"factorization", "cg"})],
    }

    def __init__(self, alignment: str = "ltsa", n_neighbors: int = 8, solver: str = "factorization"):
        self.alignment = alignment
        self.n_neighbors = n_neighbors
        self.solver = solver

    @property
    def nested(self) -> bool:  # type: ignore[override]
        """Whether coordinates are on their own: not where the alignment matrix depends on their number."""
        return self.alignment in ("lle", "laplacian")

    def _solve(self, points: Array, known: NDArray[np.bool_], f: Array, new: NDArray[np.integer]) -> Array:
        M = self._alignment(points, f.shape[1])
        M_uu = sparse.csc_array(M[~known][:, ~known])
        # Constants are in the null space of M: centred coordinates lose fewer digits.
        center = f.mean(axis=0)
        b = -(M[~known][:, known] @ (f - center))
        y = _factorized(M_uu, b) if self.solver == "factorization" else _conjugate_gradients(M_uu, b)
        if not np.isfinite(y).all():
            raise ValueError(
                "the new points are not tied to the known ones in every direction:"
                f" raise n_neighbors={self.n_neighbors} or take another alignment"
            )
        size = np.linalg.norm(b)
        self.residual_ = float(np.linalg.norm(M_uu @ y - b) / size) if size > 0 else 0.0
        solution: Array = y + center
        return solution


def _factorized(A: sparse.csc_array, b: Array) -> Array:
    """Solve by a sparse factorisation and one step of refinement; NaN where A is singular."""
    try:
        factor = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return np.full_like(b, np.nan)
    y: Array = factor.solve(b)
    return y + factor.solve(b - A @ y)


def _conjugate_gradients(A: sparse.csc_array, b: Array) -> Array:
    """Solve by conjugate gradients with the diagonal as preconditioner; NaN where they do not end."""
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        return np.full_like(b, np.nan)
    inverse = LinearOperator(A.shape, matvec=lambda x: x / diagonal)
    y = np.empty_like(b)
    for k in range(b.shape[1]):
        y[:, k], failed = cg(A, b[:, k], rtol=1e-10, maxiter=100 * len(b), M=inverse)
        if failed:
            return np.full_like(b, np.nan)
    return y
