"""Fisher embedding: coordinates that vary most between classes for how little they vary within."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.numerics.eigen import smallest_eigenpairs
from manifold_oos.numerics.graphs import between_class_weights, laplacian, within_class_weights
from manifold_oos.numerics.kernels import Scale, resolve_sigma


class FisherEmbedding(Embedding):
    r"""Fisher-like embedding without a linear map, eq. 2 of [1]_.

    .. math:: \max_z \; \frac{z^\top L_b z}{z^\top (L_w + \varepsilon I) z}

    with the graphs of supervised Laplacian eigenmaps: heat weights between a point and its ``n_neighbors`` nearest
    points of its own class (:math:`L_w`) and of other classes (:math:`L_b`). The class indicators annihilate
    :math:`L_w`, so that eq. 2 itself is infinite on every contrast of classes; :math:`\varepsilon` = ``ridge`` ·
    tr(L_w)/N decides among them by their variance. Eq. 2 leaves the scale of z free: here
    :math:`z^\top (L_w + \varepsilon I) z = 1`, so that coordinates after the M − 1 contrasts of M classes, which
    vary within classes, come out small (by about the root of ``ridge``) and do not blur them.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int or None, default=5
        Neighbours per point and graph; None joins all.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    ridge : float, default=1e-3
        ε in units of the mean diagonal entry of L_w.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The vectors z.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratios, descending.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for classification,
       IEEE Transactions on Image Processing, 2016.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> Z = FisherEmbedding(n_components=1, n_neighbors=2).fit(X, y).embedding_
    >>> np.sign(Z).ravel().tolist()
    [1.0, 1.0, -1.0, -1.0]
    """

    name: ClassVar[str] = "fisher"
    memory: ClassVar[str] = "8*N*N"
    instead: ClassVar[str] = "suplap"
    supervised: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_components": [2, 5, 7, 10, 15, 19, 25],
        "n_neighbors": [3, 5, 7, 10, None],
        "ridge": [1e-6, 1e-4, 1e-3, 1e-2, 1e-1],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "heat_sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"}), None],
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 5,
        heat_sigma: Scale | None = "mean_squared",
        ridge: float = 1e-3,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.ridge = ridge

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        y = np.asarray(y)
        sigma = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
        L_w, degree = laplacian(within_class_weights(X, y, self.n_neighbors, sigma).toarray())
        if not degree.any():
            raise ValueError("every class has a single sample, so that L_w = 0: eq. 2 needs classes of two or more")
        L_b, _ = laplacian(between_class_weights(X, y, self.n_neighbors, sigma).toarray())
        L_w.flat[:: len(X) + 1] += self.ridge * degree.mean()
        values, Z = smallest_eigenpairs(-L_b, self.n_components, L_w, null=np.ones((len(X), 1)), multiple=True)
        self.eigenvalues_ = -values
        return Z
