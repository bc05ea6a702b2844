"""Nyström extender: a new point is the kernel-weighted sum of all known coordinates, over the eigenvalues."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.extenders.krr import gaussian_width
from manifold_oos.numerics.kernels import Scale, relative_exp, squared_distances


class Nystrom(Extender):
    r"""Nyström's formula, with the embedding's own kernel or with a normalised Gaussian.

    .. math:: f^k(x) = \frac{1}{\lambda_k} \sum_i y_i^k \tilde M(x, x_i)

    eq. 3 of [2]_. With ``kernel="embedding"`` it is the formula of [1]_ for Laplacian eigenmaps, kernel PCA, Isomap
    and LLE, whose data-dependent kernels :math:`\tilde M` take training points to their coordinates. A supervised
    embedding has none, for it would depend on the unknown label: ``kernel="gaussian"`` is what [2]_ compares with
    in section V, :math:`\tilde M(x, x_i) \propto \exp(-\|x - x_i\|^2/\sigma^2)` with sum 1 over i, without
    :math:`1/\lambda_k`. It shrinks the embedding towards its mean, the more the wider the kernel.

    First contact: after a supervised embedding it is no better than chance, as the median distance is far too wide:
    all points land near the mean. Give ``sigma={"median": 0.1}`` there, or take ``normalized_rbf``.

    Parameters
    ----------
    kernel : {"auto", "embedding", "gaussian"}, default="auto"
        ``"auto"`` takes the embedding's kernel where there is one.
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        Width of the Gaussian kernel; None is the median training distance.
    divide : bool, default=False
        Whether the Gaussian form too divides by the eigenvalues of the embedding.

    Attributes
    ----------
    sigma_ : float or None
        The absolute width; None with the embedding's kernel.

    References
    ----------
    .. [1] Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS,
       2003.
    .. [2] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for classification,
       IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> Nystrom(sigma=1.0).fit(X, Y).transform([[1.0], [1e9]]).tolist()
    [[0.5], [1.0]]
    """

    name: ClassVar[str] = "nystrom"
    memory: ClassVar[str] = "N*D + min(N, 10000)**2"
    instead: ClassVar[str] = 'sigma="mean_squared"'
    grids: ClassVar[Mapping[str, Any]] = {"sigma": [{"median": f} for f in (0.1, 0.2, 0.4, 0.7, 1.0)]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"auto", "embedding", "gaussian"})],
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "divide": ["boolean"],
    }

    def __init__(self, kernel: str = "auto", sigma: Scale | None = None, divide: bool = False):
        self.kernel = kernel
        self.sigma = sigma
        self.divide = divide

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        own = self.kernel != "gaussian" and hasattr(embedding, "extension_kernel")
        if self.kernel == "embedding" and not own:
            raise ValueError(
                f"{'no embedding' if embedding is None else type(embedding).__name__} has no kernel for new points:"
                ' use kernel="gaussian", or laplacian_eigenmaps, kpca, isomap or lle'
            )
        self.sigma_ = None if own else gaussian_width(self.sigma, X)
        self._centers = X
        self._embedding = embedding if own else None
        self._row_floats = 6 * len(X) + Y.shape[1]
        if own or self.divide:
            Y = Y / self._eigenvalues(Y, embedding, "extension_eigenvalues_" if own else "eigenvalues_")
        self._values = Y

    def _eigenvalues(self, Y: Array, embedding: Embedding | None, attribute: str) -> Array:
        """λ_k of the columns of Y, which must be the embedding's."""
        if embedding is None or not hasattr(embedding, attribute):
            raise ValueError("divide=True needs a fitted embedding with eigenvalues (fit(..., embedding=...))")
        known: Array = embedding.embedding_[:, : Y.shape[1]]
        if known.shape != Y.shape or not np.allclose(known, Y, rtol=1e-6, atol=1e-9 * np.abs(known).max()):
            raise ValueError("Y are not the coordinates of the embedding, in the order of its training points")
        eigenvalues: Array = getattr(embedding, attribute)[: Y.shape[1]]
        if np.abs(eigenvalues).min() <= 1e-12 * np.abs(eigenvalues).max():
            raise ValueError("the embedding has zero eigenvalues, which the formula divides by: lower n_components")
        return eigenvalues

    def _transform(self, X: Array) -> Array:
        if self._embedding is not None:
            M = self._embedding.extension_kernel(X)
        else:
            assert self.sigma_ is not None
            squared = squared_distances(X, self._centers)
            squared -= squared.min(axis=1, keepdims=True)  # the nearest weighs 1: far points do not underflow
            M = relative_exp(squared / -(self.sigma_**2))
            M /= M.sum(axis=1, keepdims=True)
        coordinates: Array = M @ self._values
        return coordinates
