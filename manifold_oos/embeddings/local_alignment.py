"""LLE, LTSA and local spline embedding: coordinates that fit every neighbourhood as its own geometry says."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.numerics.alignment import barycenter_weights, lle_alignment, ltsa_alignment, spline_alignment
from manifold_oos.numerics.eigen import smallest_eigenpairs
from manifold_oos.numerics.nearest import SEARCHES

_GRIDS: dict[str, Any] = {"n_components": [1, 2, 3, 5, 10], "n_neighbors": [6, 8, 10, 12, 15, 20]}
_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "disconnected": [StrOptions({"connect", "error"})],
    "neighbors": [StrOptions(set(SEARCHES))],
}


class _Alignment(Embedding):
    """Eigenvectors of an alignment matrix M beside the constant: min tr(YᵀMY) s.t. YᵀY = I, Yᵀ1 = 0."""

    def _embed(self, M: sparse.csr_array) -> Array:
        constant = np.ones((M.shape[0], 1))
        self.eigenvalues_, Y = smallest_eigenpairs(M, self.n_components, null=constant, semidefinite=True)
        return Y


class LLE(_Alignment):
    r"""Locally linear embedding.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}(Y^\top M Y), \qquad M = (I - W)^\top (I - W)

    where row i of W reconstructs :math:`x_i` from its neighbours with weights that sum to 1 (eq. 2 of [2]_, read
    as :math:`\|x - \sum_j w_j x_j\|^2`). Sensitive to ``reg`` and ``n_neighbors``; a strip is squeezed to a square.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours that reconstruct a point.
    reg : float, default=1e-3
        Ridge of the reconstruction, relative to the trace of the local Gram matrix.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of M, ascending.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.
    extension_eigenvalues_ : ndarray of shape (n_components,)
        Ones: see :meth:`extension_kernel`.

    References
    ----------
    .. [1] Roweis & Saul, Nonlinear dimensionality reduction by locally linear embedding, Science, 2000.
    .. [2] Yang et al., Local and global regressive mapping for manifold learning with out-of-sample extrapolation,
       AAAI, 2010.
    .. [3] Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS,
       2003.
    """

    name: ClassVar[str] = "lle"
    memory: ClassVar[str] = "min(2*N*n_neighbors*D, 2**21) + 70*N*n_neighbors"
    instead: ClassVar[str] = "a smaller n_neighbors"
    grids: ClassVar[Mapping[str, Any]] = {**_GRIDS, "reg": [1e-4, 1e-3, 1e-2]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "reg": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        reg: float = 1e-3,
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.disconnected = disconnected
        self.neighbors = neighbors

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        Y = self._embed(lle_alignment(X, self.n_neighbors, self.reg, disconnected=self.disconnected))
        self.extension_eigenvalues_ = np.ones(self.n_components)
        self._train, self._neighbors = X, NearestNeighbors(n_neighbors=self.n_neighbors).fit(X)
        return Y

    def extension_kernel(self, X: ArrayLike) -> Array:
        """The data-dependent kernel of the Nyström extension: the weights that reconstruct x from its neighbours.

        It is the limit μ → ∞ of the kernel of [3]_ (μ the multiple of the identity that makes it positive):
        ``extension_kernel(x) @ embedding_`` are the coordinates of x. A training point is its own nearest
        neighbour and gets back its coordinates up to the regularisation.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n, n_samples)
            Rows that sum to 1.
        """
        check_is_fitted(self, "embedding_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        index = self._neighbors.kneighbors(X, return_distance=False)
        kernel = np.zeros((len(X), len(self._train)))
        np.put_along_axis(kernel, index, barycenter_weights(X, self._train[index], self.reg), axis=1)
        return kernel


class LTSA(_Alignment):
    r"""Local tangent space alignment.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}(Y^\top M Y), \qquad
        M = \sum_i S_i (I - \tfrac1k 1 1^\top - U_i U_i^\top) S_i^\top

    with :math:`U_i` the main d left singular vectors of the centred neighbourhood of :math:`x_i`, itself included.
    Unrolls what is locally isometric to a flat piece; needs ``n_neighbors > n_components``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding and of the tangent spaces.
    n_neighbors : int, default=8
        Neighbours beside the point itself.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of M, ascending.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] Zhang & Zha, Principal manifolds and nonlinear dimensionality reduction via tangent space alignment, SIAM
       Journal on Scientific Computing, 2004.
    """

    name: ClassVar[str] = "ltsa"
    memory: ClassVar[str] = "min(2*N*n_neighbors*D, 2**21) + 9*N*n_neighbors**2"
    instead: ClassVar[str] = "a smaller n_neighbors"
    nested: ClassVar[bool] = False
    grids: ClassVar[Mapping[str, Any]] = _GRIDS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _CONSTRAINTS

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.disconnected = disconnected
        self.neighbors = neighbors

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        _check_dimension(X, self.n_components)
        return self._embed(ltsa_alignment(X, self.n_neighbors, self.n_components, disconnected=self.disconnected))


class LocalSplineEmbedding(_Alignment):
    r"""Local spline embedding: coordinates are smooth functions of the tangent coordinates of each neighbourhood.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}(Y^\top M Y), \qquad M = \sum_i S_i B_i S_i^\top

    with :math:`y^\top B_i y` the bending energy of the spline through the values y on the neighbourhood of
    :math:`x_i`, itself included. Points closer than the noise make the energy, and so M, badly scaled.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding and of the tangent spaces.
    n_neighbors : int, default=8
        Neighbours beside the point itself.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of M, ascending.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] Xiang, Nie, Zhang & Zhang, Nonlinear dimensionality reduction with local spline embedding, IEEE TKDE,
       2009.
    .. [2] Xiang et al., Embedding new data points for manifold learning via coordinate propagation, KAIS, 2009.
    """

    name: ClassVar[str] = "spline"
    memory: ClassVar[str] = "min(2*N*n_neighbors*D, 2**21) + 10*N*n_neighbors**2"
    instead: ClassVar[str] = "ltsa"
    nested: ClassVar[bool] = False
    grids: ClassVar[Mapping[str, Any]] = _GRIDS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _CONSTRAINTS

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.disconnected = disconnected
        self.neighbors = neighbors

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        _check_dimension(X, self.n_components)
        return self._embed(spline_alignment(X, self.n_neighbors, self.n_components, disconnected=self.disconnected))


def _check_dimension(X: Array, d: int) -> None:
    if d > X.shape[1]:
        raise ValueError(
            f"a tangent space of n_components={d} does not fit into n_features = {X.shape[1]}: lower n_components"
        )
