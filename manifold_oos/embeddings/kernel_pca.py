"""Kernel principal components: the directions of largest variance in a feature space."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.eigen import largest_eigenpairs
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
    memory: ClassVar[str] = "2*N*N"
    instead: ClassVar[str] = "fewer points, or laplacian_eigenmaps"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_components": [2, 5, 10, 20, 50],
        "sigma": [{"median": f} for f in (0.25, 0.5, 1, 2, 4)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"rbf", "linear", "polynomial"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "degree": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, n_components: int = 2, *, kernel: str = "rbf", sigma: Scale = "mean_squared", degree: int = 3
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        self.sigma_ = resolve_sigma(self.sigma, X) if self.kernel == "rbf" else None
        self._train = X
        K = self._kernel(X, None)
        self._means = K.mean(axis=0)
        K -= self._means  # centred in place: the means of rows and columns are the same
        K -= (self._means - self._means.mean())[:, None]
        self.eigenvalues_, V = largest_eigenpairs(K, self.n_components)
        positive = self.eigenvalues_ > 1e-12 * max(self.eigenvalues_[0], np.abs(self._means).max())
        if not positive.all():
            raise ValueError(
                f"the kernel of n_samples = {len(X)}, n_features = {X.shape[1]} has {positive.sum()} components"
                f" of positive variance: lower n_components={self.n_components}"
            )
        self.extension_eigenvalues_ = self.eigenvalues_
        embedding: Array = V * np.sqrt(self.eigenvalues_)
        return embedding

    def _kernel(self, X: Array, Z: Array | None) -> Array:
        return kernel_matrix(X, Z, kernel=self.kernel, sigma=self.sigma_ or 1.0, degree=self.degree)

    def extension_kernel(self, X: ArrayLike) -> Array:
        """Centred kernel values between points and the training points.

        ``extension_kernel(x) @ embedding_ / extension_eigenvalues_`` are the coordinates of x, on training points
        exactly ``embedding_``: it is what :meth:`transform` computes.

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
        return center_kernel(self._kernel(X, self._train), self._means)

    def _transform(self, X: Array) -> Array:
        K = center_kernel(self._kernel(X, self._train), self._means)
        coordinates: Array = K @ (self.embedding_ / self.eigenvalues_)
        return coordinates
