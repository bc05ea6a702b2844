"""Diffusion maps: points that a random walk reaches from the same places are placed close together."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.numerics.eigen import fix_signs, largest_eigenpairs
from manifold_oos.numerics.graphs import connect_weights, neighbor_graph
from manifold_oos.numerics.kernels import Scale, kernel_matrix, resolve_sigma, squared_distances

#: The neighbour whose distance is the width when none is given.
NEAR = 6


class DiffusionMaps(Embedding):
    r"""Diffusion maps with the α-normalisation that takes the density of the sample out.

    .. math:: k^{(\alpha)}(x, z) = \frac{k(x, z)}{q(x)^\alpha q(z)^\alpha}, \qquad
        p(x, z) = \frac{k^{(\alpha)}(x, z)}{d(x)}, \qquad
        P \psi_l = \lambda_l \psi_l, \qquad \Psi_t(x) = \bigl(\lambda_1^t \psi_1(x), \ldots\bigr)

    with :math:`k(x, z) = \exp(-\|x - z\|^2/\sigma^2)`, :math:`q(x) = \sum_z k(x, z)` and
    :math:`d(x) = \sum_z k^{(\alpha)}(x, z)` over the training points ([1]_, whose ε is σ²). The eigenfunctions have
    unit norm under the walk's stationary distribution :math:`d / \sum d`, and the constant :math:`\psi_0` is left
    out. Distances between all N − 1 coordinates are the diffusion distances of the walk after t steps.

    One global width has to fit everywhere: where points are uneven, it is too wide for one part and too narrow for
    another. A long strip is bent into a horseshoe, as by every spectral method.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    alpha : float, default=1.0
        0 is the plain random walk (the normalised graph Laplacian), ½ Fokker–Planck diffusion, 1 the geometry
        alone, whatever the density (the Laplace–Beltrami operator).
    t : float, default=1.0
        How long the walk is: the larger, the less the later coordinates count.
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        Width of the kernel; None is the median distance to the sixth neighbour, which is narrow enough to unroll
        a surface and leaves few points alone.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Ψ_t.
    eigenvalues_, extension_eigenvalues_ : ndarray of shape (n_components,)
        λ, descending.
    sigma_ : float
        The absolute width.

    References
    ----------
    .. [1] Coifman & Lafon, Diffusion maps, Applied and Computational Harmonic Analysis, 2006.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> Z = DiffusionMaps(n_components=1, sigma=2.0).fit(X).embedding_
    >>> bool((np.diff(Z[:, 0]) * np.sign(Z[-1, 0]) > 0).all())
    True
    """

    name: ClassVar[str] = "diffusion_maps"
    memory: ClassVar[str] = "2*N*N"
    instead: ClassVar[str] = "laplacian_eigenmaps, whose graph is sparse"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_components": [2, 5, 10, 20, 50],
        "alpha": [0, 0.5, 1],
        "t": [0.5, 1, 2, 4, 8],
        "sigma": [{"median": f} for f in (0.125, 0.25, 0.5, 1, 2)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "t": [Interval(Real, 0, None, closed="left")],
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
    }

    def __init__(self, n_components: int = 2, *, alpha: float = 1.0, t: float = 1.0, sigma: Scale | None = None):
        self.n_components = n_components
        self.alpha = alpha
        self.t = t
        self.sigma = sigma

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        if self.n_components >= len(X):
            raise ValueError(f"n_components={self.n_components} needs more than n_samples = {len(X)} points")
        self.sigma_ = resolve_sigma(local_distance(X) if self.sigma is None else self.sigma, X)
        K = connect_weights(kernel_matrix(X, sigma=self.sigma_), X, self.sigma_)
        self._weights = K.sum(axis=1) ** -self.alpha  # q^-α
        K *= self._weights
        K *= self._weights[:, None]
        root = np.sqrt(K.sum(axis=1))
        # P is similar to the symmetric matrix with k^(α)(x, z) / √(d(x) d(z)).
        K /= root
        K /= root[:, None]
        constant = root / np.linalg.norm(root)
        # The eigenvalue 1 of the constant goes below the others, which are at least −1.
        K -= 3 * np.outer(constant, constant)
        values, V = largest_eigenpairs(K, self.n_components)
        self.eigenvalues_ = np.maximum(values, 0)  # none is negative but by rounding
        self.extension_eigenvalues_ = self.eigenvalues_
        self._train = X
        return fix_signs(V / constant[:, None]) * self.eigenvalues_**self.t

    def extension_kernel(self, X: ArrayLike) -> Array:
        r"""The transition probabilities from any points to the training points.

        Since :math:`P \psi = \lambda \psi`, ``extension_kernel(x) @ embedding_ / extension_eigenvalues_`` are the
        coordinates of x, and of a training point exactly its own.

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
        squared = squared_distances(X, self._train)
        squared -= squared.min(axis=1, keepdims=True)  # the nearest weighs 1: far points do not underflow
        P = np.exp(squared / -(self.sigma_**2)) * self._weights
        P /= P.sum(axis=1, keepdims=True)
        return P


def local_distance(X: Array) -> float:
    """Median distance of points to their sixth neighbour (to the last where there are fewer)."""
    return float(np.median(neighbor_graph(X, min(NEAR, len(X) - 1))[1][:, -1]))
