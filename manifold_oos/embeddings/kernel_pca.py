"""Kernel principal components: the directions of largest variance in a feature space."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.centers import kernel_features, some_centers, spectral_whitening
from manifold_oos.numerics.eigen import fix_signs, largest_eigenpairs
from manifold_oos.numerics.kernels import Scale, center_kernel, kernel_matrix, resolve_sigma


class KPCA(JointEmbedding):
    r"""Kernel principal component analysis.

    .. math:: H K H = V \Lambda V^\top, \qquad Y = V \Lambda^{1/2}, \qquad
        y(x) = \Lambda^{-1/2} V^\top \tilde k(x)

    with :math:`\tilde k(x)` the centred kernel values between x and the training points. Not a manifold learner: it
    follows variance, so that a roll stays rolled.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    kernel : {"rbf", "linear", "polynomial"}, default="rbf"
        The kernel.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the Gaussian kernel.
    degree : int, default=3
        Degree of the polynomial kernel.
    n_centers : int or None, default=None
        A fixed number of centres, spread by taking the farthest point again and again: the components are sought
        among functions that they span. None, or as many as points, is the exact form.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y.
    eigenvalues_, extension_eigenvalues_ : ndarray of shape (n_components,)
        Λ, descending.
    sigma_ : float or None
        The absolute width; None for other kernels.

    References
    ----------
    .. [1] Schölkopf, Smola & Müller, Nonlinear component analysis as a kernel eigenvalue problem, Neural
       Computation, 1998.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> KPCA(n_components=1, kernel="linear").fit(X).embedding_.ravel().round(6).tolist()
    [-2.0, -1.0, 3.0]
    """

    name: ClassVar[str] = "kpca"
    instead: ClassVar[str] = "n_centers=1000, or laplacian_eigenmaps"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_components": [2, 5, 10, 20, 50],
        "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"rbf", "linear", "polynomial"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "n_centers": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "rbf",
        sigma: Scale = "mean_squared",
        degree: int = 3,
        n_centers: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.n_centers = n_centers

    @property
    def memory(self) -> str:  # type: ignore[override]
        """One kernel matrix and its eigenvectors; of centres the features of all points."""
        return "2*N*N" if self.n_centers is None else "2*N*n_centers + 2*n_centers**2"

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        self.sigma_ = resolve_sigma(self.sigma, X) if self.kernel == "rbf" else None
        chosen = some_centers(X, self.n_centers)
        embedding = self._fit_all(X) if chosen is None else self._fit_centers(X, X[chosen])
        self.extension_eigenvalues_ = self.eigenvalues_
        return embedding

    def _fit_all(self, X: Array) -> Array:
        self._centers = X
        K = self._kernel(X, None)
        self._means = K.mean(axis=0)
        K -= self._means  # centred in place: the means of rows and columns are the same
        K -= (self._means - self._means.mean())[:, None]
        self.eigenvalues_, V = largest_eigenpairs(K, self.n_components)
        self._check_variance(X, np.abs(self._means).max())
        embedding: Array = V * np.sqrt(self.eigenvalues_)
        self._directions = embedding / self.eigenvalues_  # of sum 0: what centring adds to a row falls away
        self._offset = self._means @ self._directions
        return embedding

    def _fit_centers(self, X: Array, centers: Array) -> Array:
        """Principal components of the features Ψ that the centres span; ΨΨᵀ = HKH where all points are centres."""
        self._centers, self._row_floats = centers, len(centers)
        K = self._kernel(centers, None)
        W = spectral_whitening(K)
        Psi, mean = kernel_features(lambda rows: self._kernel(rows, centers), X, W)
        self.eigenvalues_, V = largest_eigenpairs(Psi.T @ Psi, self.n_components)
        self._check_variance(X, len(X) * np.abs(K).max())
        embedding = Psi @ V
        signs = np.sign(np.sum(fix_signs(embedding) * embedding, axis=0))
        self._directions, self._offset = W @ (V * signs), mean @ (V * signs)
        signed: Array = embedding * signs
        return signed

    def _check_variance(self, X: Array, largest: float) -> None:
        positive = self.eigenvalues_ > 1e-12 * max(self.eigenvalues_[0], largest)
        if not positive.all():
            raise ValueError(
                f"the kernel of n_samples = {len(X)}, n_features = {X.shape[1]} has {positive.sum()} components"
                f" of positive variance: lower n_components={self.n_components}"
            )

    def _kernel(self, X: Array, Z: Array | None) -> Array:
        return kernel_matrix(X, Z, kernel=self.kernel, sigma=self.sigma_ or 1.0, degree=self.degree)

    @available_if(lambda self: self.n_centers is None)
    def extension_kernel(self, X: ArrayLike) -> Array:
        """Centred kernel values between points and the training points.

        ``extension_kernel(x) @ embedding_ / extension_eigenvalues_`` are the coordinates of x, on training points
        exactly ``embedding_``: it is what :meth:`transform` computes. There are none of a fixed number of centres.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n, n_samples)
            Kernel values.
        """
        check_is_fitted(self, "embedding_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return center_kernel(self._kernel(X, self._centers), self._means)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = self._kernel(X, self._centers) @ self._directions - self._offset
        return coordinates
