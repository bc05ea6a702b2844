"""Locality preserving projections and spectral regression: Laplacian eigenmaps held to a linear or kernel map."""

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.alignment import laplacian_alignment
from manifold_oos.numerics.eigen import fix_signs, smallest_eigenpairs
from manifold_oos.numerics.kernels import Scale, center_kernel, kernel_matrix, resolve_sigma
from manifold_oos.numerics.nearest import SEARCHES

_GRIDS: dict[str, Any] = {"n_components": [2, 5, 10, 20, 50], "n_neighbors": [4, 6, 8, 10, 15, 20]}
_WIDTH = [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})]
_GRAPH: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "heat_sigma": [*_WIDTH, None],
    "disconnected": [StrOptions({"connect", "error"})],
}
_SEARCH: dict[str, list[Any]] = {"neighbors": [StrOptions(set(SEARCHES))]}
_CUTOFF: dict[str, list[Any]] = {"cutoff": [Interval(Real, 0, 1, closed="left")]}
_RIDGE: dict[str, list[Any]] = {"gamma": [Interval(Real, 0, None, closed="neither")]}
_KERNEL: dict[str, list[Any]] = {
    "kernel": [StrOptions({"rbf", "linear", "polynomial"})],
    "sigma": _WIDTH,
    "degree": [Interval(Integral, 1, None, closed="left")],
}


class _GraphProjection(JointEmbedding):
    """A map x ↦ features(x) A learned from the Laplacian of the neighbour graph."""

    n_neighbors: int
    heat_sigma: Scale | None
    disconnected: str

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        sigma = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
        L = laplacian_alignment(X, self.n_neighbors, sigma, disconnected=self.disconnected)
        Y, self.coef_ = self._learn(self._fit_features(X), L)
        return Y

    def _fit_features(self, X: Array) -> Array:
        self.mean_ = X.mean(axis=0)
        return X - self.mean_

    def _features(self, X: Array) -> Array:
        return X - self.mean_

    @abstractmethod
    def _learn(self, F: Array, L: Any) -> tuple[Array, Array]:
        """Coordinates of the training points and the coefficients of the map."""

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._features(X) @ self.coef_
        return coordinates

    def _preserve_locality(self, U: Array, L: Any) -> Array:
        """Y = UV minimising tr(YᵀLY) with YᵀY = I, where the orthonormal U spans what the map can reach."""
        if U.shape[1] < self.n_components:
            raise ValueError(
                f"the features of n_samples = {len(U)}, n_features = {self.n_features_in_} span {U.shape[1]}"
                f" dimensions: lower n_components={self.n_components} or the cutoff"
            )
        S = U.T @ (L @ U)
        self.eigenvalues_, V = smallest_eigenpairs((S + S.T) / 2, self.n_components, semidefinite=True)
        return fix_signs(U @ V)

    def _spectral_coordinates(self, L: Any) -> Array:
        """Y minimising tr(YᵀLY) with YᵀY = I, the constant left out (eq. 25)."""
        constant = np.ones((L.shape[0], 1))
        self.eigenvalues_, Y = smallest_eigenpairs(L, self.n_components, null=constant, semidefinite=True)
        return Y


class _KernelProjection(_GraphProjection):
    """Features are centred kernel values between a point and the training points."""

    kernel: str
    sigma: Scale
    degree: int

    def _fit_features(self, X: Array) -> Array:
        self.sigma_ = resolve_sigma(self.sigma, X) if self.kernel == "rbf" else None
        self._train = X
        K = self._kernel(X, None)
        self._means = K.mean(axis=0)
        return center_kernel(K, self._means)

    def _features(self, X: Array) -> Array:
        return center_kernel(self._kernel(X, self._train), self._means)

    def _kernel(self, X: Array, Z: Array | None) -> Array:
        return kernel_matrix(X, Z, kernel=self.kernel, sigma=self.sigma_ or 1.0, degree=self.degree)


class LPP(_GraphProjection):
    r"""Locality preserving projections.

    .. math:: \min_W \operatorname{tr}(W^\top X L X^\top W) \quad \text{s.t.} \quad W^\top X X^\top W = I

    on centred data (eq. 24 of [1]_; He & Niyogi's own constraint has D between X and its transpose). It is LGRM
    with a linear kernel and a Gaussian Laplacian for μ → ∞, μγ → 0 (Proposition 1). A linear map cannot unroll.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    cutoff : float, default=1e-10
        Directions with less than this share of the largest variance are left out.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        XᵀW, with orthonormal columns.
    coef_ : ndarray of shape (n_features, n_components)
        W.
    eigenvalues_ : ndarray of shape (n_components,)
        Values of the objective, ascending.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] Yang et al., Local and global regressive mapping for manifold learning with out-of-sample extrapolation,
       AAAI, 2010.
    .. [2] He & Niyogi, Locality preserving projections, NIPS, 2003.
    """

    name: ClassVar[str] = "lpp"
    memory: ClassVar[str] = "max(5*N*min(N, D), 12*N*n_neighbors)"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Any]] = _GRIDS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_GRAPH, **_SEARCH, **_CUTOFF}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        heat_sigma: Scale | None = "mean_squared",
        cutoff: float = 1e-10,
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.cutoff = cutoff
        self.disconnected = disconnected
        self.neighbors = neighbors

    def _learn(self, F: Array, L: Any) -> tuple[Array, Array]:
        U, s, Vt = linalg.svd(F, full_matrices=False)
        kept = s**2 > max(self.cutoff, 1e-15) * s[0] ** 2
        U, s, Vt = U[:, kept], s[kept], Vt[kept]
        Y = self._preserve_locality(U, L)
        return Y, Vt.T @ ((U.T @ Y) / s[:, None])


class KLPP(_KernelProjection):
    r"""Kernel locality preserving projections: LPP in the feature space of a kernel.

    .. math:: \min_A \operatorname{tr}(A^\top \tilde K L \tilde K A) \quad \text{s.t.} \quad
        A^\top \tilde K \tilde K A = I

    with the centred kernel matrix :math:`\tilde K` (Proposition 2 of [1]_). With a kernel of full rank any
    coordinates can be reached and ``cutoff`` alone keeps the map smooth.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    kernel : {"rbf", "linear", "polynomial"}, default="rbf"
        The kernel.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the Gaussian kernel.
    degree : int, default=3
        Degree of the polynomial kernel.
    cutoff : float, default=1e-6
        Directions of the feature space with less than this share of the largest variance are left out.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        K̃A, with orthonormal columns.
    coef_ : ndarray of shape (n_samples, n_components)
        A.
    eigenvalues_ : ndarray of shape (n_components,)
        Values of the objective, ascending.
    sigma_ : float or None
        The absolute width of the kernel; None for other kernels.

    References
    ----------
    .. [1] Yang et al., Local and global regressive mapping for manifold learning with out-of-sample extrapolation,
       AAAI, 2010.
    .. [2] He & Niyogi, Locality preserving projections, NIPS, 2003.
    """

    name: ClassVar[str] = "klpp"
    memory: ClassVar[str] = "5*N*N"
    instead: ClassVar[str] = "lpp"
    grids: ClassVar[Mapping[str, Any]] = {**_GRIDS, "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_GRAPH, **_KERNEL, **_CUTOFF}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        heat_sigma: Scale | None = "mean_squared",
        kernel: str = "rbf",
        sigma: Scale = "mean_squared",
        degree: int = 3,
        cutoff: float = 1e-6,
        disconnected: str = "connect",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.cutoff = cutoff
        self.disconnected = disconnected

    def _learn(self, F: Array, L: Any) -> tuple[Array, Array]:
        values, U = linalg.eigh(F)
        kept = values > max(self.cutoff, 1e-15) * values[-1]
        values, U = values[kept], U[:, kept]
        Y = self._preserve_locality(U, L)
        return Y, U @ ((U.T @ Y) / values[:, None])


class SpectralRegression(_GraphProjection):
    r"""Spectral regression: Laplacian coordinates first, then a ridge regression onto them.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}(Y^\top L Y), \qquad
        \min_{W, b} \|X^\top W + 1 b^\top - Y\|_F^2 + \gamma \|W\|_F^2

    It is LGRM with a linear kernel and a Gaussian Laplacian for μ → 0 (Proposition 3 of [1]_). ``embedding_`` has
    the coordinates Y, ``transform`` their regression.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    gamma : float, default=1e-4
        Ridge.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    neighbors : {"exact", "approximate"}, default="exact"
        Whether the search for neighbours may miss some: of more than 1,000 points by pynndescent, an extra.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    coef_ : ndarray of shape (n_features, n_components)
        W.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L, ascending.
    neighbor_recall_ : float
        Share of the true neighbours that an approximate search found, on a sample of 1,000 points.

    References
    ----------
    .. [1] Yang et al., Local and global regressive mapping for manifold learning with out-of-sample extrapolation,
       AAAI, 2010.
    .. [2] Cai, He & Han, Spectral regression for efficient regularized subspace learning, ICCV, 2007.
    """

    name: ClassVar[str] = "spectral_regression"
    memory: ClassVar[str] = "max(30*N*n_neighbors, 2*N*min(N, D))"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Any]] = {**_GRIDS, "gamma": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_GRAPH, **_SEARCH, **_RIDGE}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        heat_sigma: Scale | None = "mean_squared",
        gamma: float = 1e-4,
        disconnected: str = "connect",
        neighbors: str = "exact",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.gamma = gamma
        self.disconnected = disconnected
        self.neighbors = neighbors

    def _learn(self, F: Array, L: Any) -> tuple[Array, Array]:
        Y = self._spectral_coordinates(L)
        n, D = F.shape
        if n < D:
            return Y, F.T @ linalg.solve(F @ F.T + self.gamma * np.eye(n), Y, assume_a="pos")
        return Y, linalg.solve(F.T @ F + self.gamma * np.eye(D), F.T @ Y, assume_a="pos")


class KernelSpectralRegression(_KernelProjection):
    r"""Kernel spectral regression: Laplacian coordinates first, then a kernel ridge regression onto them.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}(Y^\top L Y), \qquad A = (\tilde K + \gamma I)^{-1} Y

    with the centred kernel matrix :math:`\tilde K`: LGRM with a Gaussian Laplacian for μ → 0 (Proposition 4 of
    [1]_). ``embedding_`` has the coordinates Y, ``transform`` their regression.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=8
        Neighbours per point of the graph.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    kernel : {"rbf", "linear", "polynomial"}, default="rbf"
        The kernel.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the Gaussian kernel.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float, default=1e-4
        Ridge.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    coef_ : ndarray of shape (n_samples, n_components)
        A.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L, ascending.
    sigma_ : float or None
        The absolute width of the kernel; None for other kernels.

    References
    ----------
    .. [1] Yang et al., Local and global regressive mapping for manifold learning with out-of-sample extrapolation,
       AAAI, 2010.
    .. [2] Cai, He & Han, Spectral regression for efficient regularized subspace learning, ICCV, 2007.
    """

    name: ClassVar[str] = "kernel_spectral_regression"
    memory: ClassVar[str] = "2*N*N"
    instead: ClassVar[str] = "spectral_regression"
    grids: ClassVar[Mapping[str, Any]] = {
        **_GRIDS,
        "gamma": [1e-4, 1e-3, 1e-2, 1e-1, 1.0],
        "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_GRAPH, **_KERNEL, **_RIDGE}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        heat_sigma: Scale | None = "mean_squared",
        kernel: str = "rbf",
        sigma: Scale = "mean_squared",
        degree: int = 3,
        gamma: float = 1e-4,
        disconnected: str = "connect",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.gamma = gamma
        self.disconnected = disconnected

    def _learn(self, F: Array, L: Any) -> tuple[Array, Array]:
        Y = self._spectral_coordinates(L)
        F.flat[:: len(F) + 1] += self.gamma
        try:
            return Y, linalg.solve(F, Y, assume_a="pos")
        except linalg.LinAlgError as error:
            raise ValueError(
                f"the kernel matrix is singular up to rounding with gamma={self.gamma:g}: raise gamma"
            ) from error
