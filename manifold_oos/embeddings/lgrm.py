"""LGRM: coordinates that are locally linear and globally a smooth kernel regression, which maps new points."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.alignment import (
    laplacian_alignment,
    lgrm_alignment,
    lle_alignment,
    ltsa_alignment,
    spline_alignment,
)
from manifold_oos.numerics.centers import kernel_features, some_centers, spectral_whitening
from manifold_oos.numerics.eigen import LessLowRank, smallest_eigenpairs
from manifold_oos.numerics.kernels import Scale, kernel_matrix, resolve_sigma


class LGRM(JointEmbedding):
    r"""Local and global regressive mapping.

    .. math:: \min_{Y^\top Y = I} \operatorname{tr}\, Y^\top (L_{loc} + \mu L_g) Y, \qquad
        L_g = \gamma H (H K H + \gamma I)^{-1} H

    (eq. 18, 19 and 23 of [1]_). The local Laplacian is :math:`L_l` of eq. 10–12, the error of a ridge regression
    from the p local principal coordinates of each clique, or that of another method. A new point is mapped by the
    global regression (eq. 22)

    .. math:: y(x) = Y^\top (HKH + \gamma I)^{-1} H K_x + \tfrac1n Y^\top 1
        - \tfrac1n Y^\top (HKH + \gamma I)^{-1} H K 1

    which on training points gives :math:`Y - L_g Y`, not quite Y. Dense, N in the thousands at most, but for
    ``n_centers``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension m of the embedding.
    n_neighbors : int, default=8
        Neighbours in a clique beside the point itself: the paper's k − 1.
    p : int or None, default=None
        Dimension of the local PCA, at least m; None takes m.
    mu : float, default=1e-5
        Weight of the global regression.
    gamma : float, default=1e-4
        Ridge of the local and the global regressions.
    kernel : {"rbf", "linear", "polynomial"}, default="rbf"
        Kernel of the global regression.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the Gaussian kernel (eq. 17).
    degree : int, default=3
        Degree of the polynomial kernel.
    local : {"lgrm", "laplacian", "lle", "ltsa", "spline"}, default="lgrm"
        The local Laplacian (eq. 23).
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights of ``local="laplacian"``; None for binary weights.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links join the components of the neighbour graph (with a warning).
    n_centers : int or None, default=None
        A fixed number of centres, spread by taking the farthest point again and again: the global regression is
        sought among functions that they span. None, or as many as points, is the exact form.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns, orthogonal to the constant.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the objective's matrix, ascending.
    dual_coef_ : ndarray of shape (n_samples or n_centers, n_components)
        H (HKH + γI)⁻¹ Y: what kernel values are multiplied with.
    intercept_ : ndarray of shape (n_components,)
        b of eq. 21.
    sigma_ : float or None
        The absolute width; None for other kernels.

    References
    ----------
    .. [1] Yang, Nie, Xiang, Zhuang & Wang, Local and global regressive mapping for manifold learning with
       out-of-sample extrapolation, AAAI, 2010.
    """

    name: ClassVar[str] = "lgrm"
    instead: ClassVar[str] = "n_centers=1000, or spectral_regression"
    nested: ClassVar[bool] = False
    grids: ClassVar[Mapping[str, Any]] = {
        "n_neighbors": [6, 7, 8, 9, 10, 12],
        "mu": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3],
        "gamma": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2],
        "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)],
        "local": ["lgrm", "laplacian", "lle", "ltsa", "spline"],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Integral, 1, None, closed="left"), None],
        "mu": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"rbf", "linear", "polynomial"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "local": [StrOptions({"lgrm", "laplacian", "lle", "ltsa", "spline"})],
        "heat_sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"}), None],
        "disconnected": [StrOptions({"connect", "error"})],
        "n_centers": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 8,
        p: int | None = None,
        mu: float = 1e-5,
        gamma: float = 1e-4,
        kernel: str = "rbf",
        sigma: Scale = "mean_squared",
        degree: int = 3,
        local: str = "lgrm",
        heat_sigma: Scale | None = "mean_squared",
        disconnected: str = "connect",
        n_centers: int | None = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.p = p
        self.mu = mu
        self.gamma = gamma
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.local = local
        self.heat_sigma = heat_sigma
        self.disconnected = disconnected
        self.n_centers = n_centers

    @property
    def memory(self) -> str:  # type: ignore[override]
        """Dense matrices of all points; of centres their features, and the local Laplacian's factor."""
        return "6*N*N" if self.n_centers is None else "4.1*N*n_centers + 2*n_centers**2 + 9*N*n_neighbors**2"

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        L_loc = self._local_laplacian(X)
        self.sigma_ = resolve_sigma(self.sigma, X) if self.kernel == "rbf" else None
        chosen = some_centers(X, self.n_centers)
        return self._fit_all(X, L_loc) if chosen is None else self._fit_centers(X, X[chosen], L_loc)

    def _fit_all(self, X: Array, L_loc: sparse.csr_array) -> Array:
        n = len(X)
        self._centers = X
        K = self._kernel(X, None)
        R = regression_inverse(K, self.gamma)
        # (HKH + γI)⁻¹ 1 = 1/γ, so that the centring of L_g (eq. 18) takes away the constant alone.
        L_g = self.gamma * R - 1 / n
        A = L_loc.toarray() + self.mu * L_g
        self.eigenvalues_, Y = smallest_eigenpairs(A, self.n_components, null=np.ones((n, 1)), semidefinite=True)
        C = R @ Y
        self.dual_coef_ = C - C.mean(axis=0)
        self.intercept_ = Y.mean(axis=0) - K.mean(axis=0) @ self.dual_coef_
        return Y

    def _fit_centers(self, X: Array, centers: Array, L_loc: sparse.csr_array) -> Array:
        r"""Eq. 15 with the features ψ(x) that the centres span for φ(x); ΨΨᵀ = HKH where all points are centres.

        .. math:: L_g = H - \Psi (\Psi^\top \Psi + \gamma I)^{-1} \Psi^\top, \qquad
            y(x) = Y^\top \Psi (\Psi^\top \Psi + \gamma I)^{-1} (\psi(x) - \bar\psi) + \tfrac1n Y^\top 1
        """
        n = len(X)
        self._centers, self._row_floats = centers, len(centers)
        W = spectral_whitening(self._kernel(centers, None))
        Psi, mean = kernel_features(lambda rows: self._kernel(rows, centers), X, W)
        R = linalg.cholesky(Psi.T @ Psi + self.gamma * np.eye(W.shape[1]))
        U = np.sqrt(self.mu) * linalg.solve_triangular(R, Psi.T, trans="T").T
        # H is I but for the constant, which is left out.
        A = LessLowRank(L_loc + self.mu * sparse.eye_array(n, format="csr"), U)
        self.eigenvalues_, Y = smallest_eigenpairs(A, self.n_components, null=np.ones((n, 1)), semidefinite=True)
        self.dual_coef_ = linalg.cho_solve((R, False), Psi.T @ Y)
        self.intercept_ = Y.mean(axis=0) - mean @ self.dual_coef_
        self.dual_coef_ = W @ self.dual_coef_
        return Y

    def _kernel(self, X: Array, Z: Array | None) -> Array:
        return kernel_matrix(X, Z, kernel=self.kernel, sigma=self.sigma_ or 1.0, degree=self.degree)

    def _local_laplacian(self, X: Array) -> sparse.csr_array:
        m, k, connect = self.n_components, self.n_neighbors, self.disconnected
        p = m if self.p is None else self.p
        if self.local in ("lgrm", "ltsa", "spline") and p > X.shape[1]:
            raise ValueError(f"a local PCA of dimension {p} does not fit into n_features = {X.shape[1]}: lower p")
        if p < m:
            raise ValueError(f"p={p} is below n_components={m}: raise p")
        if self.local == "laplacian":
            sigma = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
            return laplacian_alignment(X, k, sigma, disconnected=connect)
        if self.local == "lle":
            return lle_alignment(X, k, disconnected=connect)
        if self.local == "ltsa":
            return ltsa_alignment(X, k, m, disconnected=connect)
        if self.local == "spline":
            return spline_alignment(X, k, m, disconnected=connect)
        if k < p + 1:
            raise ValueError(
                f"local regressions on p={p} coordinates need n_neighbors >= {p + 1}, got {k}:"
                " raise n_neighbors or lower p or n_components"
            )
        return lgrm_alignment(X, k, p, self.gamma, disconnected=connect)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._kernel(X, self._centers) @ self.dual_coef_ + self.intercept_
        return coordinates


def regression_inverse(K: Array, gamma: float) -> Array:
    """(HKH + γI)⁻¹ of a kernel matrix, by Cholesky.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    gamma : float
        Ridge.

    Returns
    -------
    ndarray of shape (n, n)
        The inverse, symmetric.
    """
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    centred.flat[:: len(K) + 1] += gamma
    factor, failed = linalg.lapack.dpotrf(centred, lower=1, clean=1)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=1)
    if failed:
        raise ValueError(f"the kernel matrix is singular up to rounding with gamma={gamma:g}: raise gamma")
    symmetric: Array = inverse + inverse.T  # above the diagonal the inverse has zeros
    symmetric.flat[:: len(K) + 1] /= 2
    return symmetric
