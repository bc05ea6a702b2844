"""Laplacian eigenmaps: points that the graph joins strongly are placed close together."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.numerics.basis_pursuit import sparse_codes
from manifold_oos.numerics.eigen import fix_signs, largest_eigenpairs, smallest_eigenpairs
from manifold_oos.numerics.graphs import (
    ball_weights,
    connect_weights,
    directed_graph,
    full_weights,
    heat_weights,
    l1_weights,
    laplacian,
    neighbor_graph,
    symmetrize,
)
from manifold_oos.numerics.kernels import Scale, resolve_sigma, squared_distances
from manifold_oos.numerics.nearest import SEARCHES

#: Graphs whose weights are a dense matrix.
DENSE = ("full", "kernel")


class LaplacianEigenmaps(Embedding):
    r"""Laplacian eigenmaps on a neighbour graph, an ε-ball graph, the full graph, a kernel or the L1 graph.

    .. math:: \min_Z \operatorname{tr}(Z^\top L Z) \quad \text{s.t.} \quad Z^\top D Z = I,\; Z^\top D 1 = 0

    with :math:`L = D - W`, solved by :math:`L z = \lambda D z` (eq. 3 and 4 of [2]_) with the zero eigenvalue left
    out. The weights are :math:`W_{ij} = \exp(-\|x_i - x_j\|^2/\sigma^2)` (eq. 1, whose β is σ²), 1, or the
    symmetrised absolute coefficients of the code of each sample by the others (L1 graph).

    It keeps neighbours together but not distances: a long strip is bent or squeezed.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    graph : {"knn", "ball", "full", "kernel", "l1"}, default="knn"
        Which points are joined. ``"kernel"`` is the full graph with each point joined to itself as well, so that W
        is the kernel matrix: what the Nyström formula is about, which then stays stable in many dimensions.
    n_neighbors : int, default=8
        Neighbours per point of the knn graph; either of two points makes the edge.
    radius : float, default=1.0
        Radius of the ball graph.
    weights : {"heat", "binary"}, default="heat"
        Weights of the edges; the L1 graph brings its own.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the heat weights: β = σ² is the mean squared distance between training points by default.
    disconnected : {"connect", "error"}, default="connect"
        A graph of several components has as many zero eigenvalues: join them by their shortest links (with a
        warning) or fail.
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Z.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, ascending.
    degrees_ : ndarray of shape (n_samples,)
        Diagonal of D.
    sigma_ : float or None
        The absolute width; None without heat weights.
    extension_eigenvalues_ : ndarray of shape (n_components,)
        1 − λ, the eigenvalues behind :meth:`extension_kernel`.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] Belkin & Niyogi, Laplacian eigenmaps for dimensionality reduction and data representation, Neural
       Computation, 2003.
    .. [2] Raducanu & Dornaika, Embedding new observations via sparse-coding for non-linear manifold learning,
       Pattern Recognition, 2014.
    .. [3] Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS,
       2003.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> Z = LaplacianEigenmaps(n_components=1, n_neighbors=2).fit(X).embedding_
    >>> bool((np.diff(Z[:, 0]) * np.sign(Z[-1, 0]) > 0).all())
    True
    """

    name: ClassVar[str] = "laplacian_eigenmaps"
    instead: ClassVar[str] = 'graph="knn"'
    grids: ClassVar[Mapping[str, Any]] = {
        "n_components": [2, 5, 10, 20, 50],
        "n_neighbors": [4, 6, 8, 10, 15, 20],
        "graph": ["knn", "full", "l1"],
        "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"knn", "ball", "full", "kernel", "l1"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "weights": [StrOptions({"heat", "binary"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "disconnected": [StrOptions({"connect", "error"})],
        "neighbors": [StrOptions(set(SEARCHES))],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: str = "knn",
        n_neighbors: int = 8,
        radius: float = 1.0,
        weights: str = "heat",
        sigma: Scale = "mean_squared",
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.weights = weights
        self.sigma = sigma
        self.disconnected = disconnected
        self.neighbors = neighbors

    @property
    def memory(self) -> str:  # type: ignore[override]
        """Dense with the full and kernel graphs."""
        return "3*N*N" if self.graph in DENSE else "35*N*n_neighbors"

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        heat = self.weights == "heat" and self.graph != "l1"
        self.sigma_ = resolve_sigma(self.sigma, X) if heat else None
        scale = 1.0
        if self.graph == "knn":
            index, distance = neighbor_graph(X, self.n_neighbors)
            self._reach = distance[:, -1] ** 2
            W = symmetrize(directed_graph(index, heat_weights(distance, self.sigma_)))
        elif self.graph == "ball":
            W = ball_weights(X, self.radius, self.sigma_)
        elif self.graph in DENSE:
            W = full_weights(X, self.sigma_)
            if self.graph == "kernel":
                np.fill_diagonal(W, 1)
        else:
            W = l1_weights(X)
            scale = W.data.mean() if W.nnz else 1.0
        W = connect_weights(W, X, self.sigma_, self.disconnected, scale)
        self.eigenvalues_, Z = self._solve_dense(W) if self.graph in DENSE else self._solve_sparse(W)
        self.extension_eigenvalues_ = 1 - self.eigenvalues_
        self._train = X
        return Z

    def _solve_sparse(self, W: sparse.csr_array) -> tuple[Array, Array]:
        L, self.degrees_ = laplacian(W)
        constant = np.ones((W.shape[0], 1))
        return smallest_eigenpairs(L, self.n_components, self.degrees_, null=constant, semidefinite=True)

    def _solve_dense(self, W: Array) -> tuple[Array, Array]:
        """Through the largest pairs of D^(-1/2) W D^(-1/2), of which few stand out and none needs an inverse."""
        self.degrees_ = W.sum(axis=1)
        root = np.sqrt(self.degrees_)
        constant = root / np.linalg.norm(root)
        if self.n_components >= len(W):
            raise ValueError(f"n_components={self.n_components} needs more than n_samples = {len(W)} points")
        S = W / root
        S /= root[:, None]
        # The eigenvalue 1 of the constant goes below the others, which are at least −1.
        S -= 3 * np.outer(constant, constant)
        values, V = largest_eigenpairs(S, self.n_components)
        return 1 - values, fix_signs(V / root[:, None])

    def extension_kernel(self, X: ArrayLike) -> Array:
        r"""The data-dependent kernel of the Nyström extension of [3]_.

        :math:`\tilde K(x, x_i) = W(x, x_i) / \sum_j W(x, x_j)` with W the graph's weights as if x were one of
        its points, so that ``extension_kernel(x) @ embedding_ / extension_eigenvalues_`` are the coordinates of
        x. (With the symmetric normalisation of [3]_ the same formula gives the eigenvectors
        :math:`D^{1/2} z`.) A training point gets back exactly its own coordinates from the knn, ball, full and
        kernel graphs without added links; for that one coincident training point does not count as a neighbour,
        except in the kernel graph.

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
        if self.graph == "l1":
            return _rows_to_one(abs(sparse_codes(self._train, X)).toarray())
        squared = squared_distances(X, self._train)
        rounding = 1e-12 * ((X**2).sum(axis=1)[:, None] + (self._train**2).sum(axis=1))
        nearest = squared.argmin(axis=1)
        same = np.flatnonzero(squared[np.arange(len(X)), nearest] <= rounding[np.arange(len(X)), nearest])
        if self.graph != "kernel":
            squared[same, nearest[same]] = np.inf
        reach = squared.min(axis=1, keepdims=True)
        if self.graph == "knn":
            k = self.n_neighbors
            reach = np.partition(squared, k - 1, axis=1)[:, k - 1 : k]
            reach = np.maximum(reach, self._reach)
        elif self.graph == "ball":
            reach = np.maximum(reach, self.radius**2)
        else:
            reach = np.full_like(reach, np.finfo(float).max)
        edges = squared <= reach + rounding
        if self.sigma_ is None:
            return _rows_to_one(edges.astype(np.float64))
        # Relative to the nearest: the weights of a far point do not all underflow.
        exponent = (squared.min(axis=1, keepdims=True) - squared) / self.sigma_**2
        return _rows_to_one(np.where(edges, np.exp(exponent), 0))


def _rows_to_one(W: Array) -> Array:
    total = W.sum(axis=1, keepdims=True)
    normal: Array = W / np.where(total > 0, total, 1)
    return normal
