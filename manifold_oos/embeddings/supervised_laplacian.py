"""Supervised Laplacian eigenmaps: neighbours of a class stay together, different classes part."""

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


class SupervisedLaplacian(Embedding):
    r"""Supervised Laplacian eigenmaps, in the forms of SOSI and of NSSE.

    .. math:: \min_Y \; \mathrm{tr}(Y^\top L_w Y) - \mu \, \mathrm{tr}(Y^\top L_b Y)

    ``formulation="sosi"``: :math:`Y^\top D_w Y = I`, both graphs join a point with its ``n_neighbors`` nearest
    points of its own class, respectively of other classes, by heat weights (eq. 1 of [1]_).
    ``formulation="nsse"``: :math:`Y^\top Y = I`, and :math:`W_b` is 1 for every pair of different classes (eq. 2
    of [2]_); the M − 1 contrasts of M classes then share the smallest eigenvalue −μN, so that fewer coordinates
    than M − 1 are an arbitrary rotation of them. Which one hangs on the eigen-solver of the machine, and the error
    of new points with it, by many points in few dimensions: take M − 1 there, or ``formulation="sosi"``.

    The constant vector, an eigenvector of eigenvalue 0 in the middle of the spectrum, tells no points apart and is
    left out.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    mu : float, default=0.01
        Weight of the separation of classes.
    n_neighbors : int or None, default=5
        Neighbours per point and graph; None joins all.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    formulation : {"sosi", "nsse"}, default="sosi"
        Which of the two problems.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the algebraically smallest eigenvectors, ascending.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for classification,
       IEEE Transactions on Image Processing, 2016.
    .. [2] Örnek & Vural, Nonlinear supervised dimensionality reduction via smooth regular embeddings, Pattern
       Recognition, 2019.
    .. [3] Raducanu & Dornaika, A supervised non-linear dimensionality reduction approach for manifold learning,
       Pattern Recognition, 2012.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> Y = SupervisedLaplacian(n_components=1, n_neighbors=1).fit(X, y).embedding_
    >>> bool((Y[:2] * Y[2:] < 0).all())
    True
    """

    name: ClassVar[str] = "suplap"
    instead: ClassVar[str] = 'formulation="sosi" with few n_neighbors'
    supervised: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_components": [2, 5, 7, 10, 15, 19, 25, 30, 39, 49],
        "mu": [1e-4, 1e-3, 1e-2, 1e-1, 1],
        "n_neighbors": [3, 5, 7, 10, None],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "mu": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "heat_sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"}), None],
        "formulation": [StrOptions({"sosi", "nsse"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu: float = 0.01,
        n_neighbors: int | None = 5,
        heat_sigma: Scale | None = "mean_squared",
        formulation: str = "sosi",
    ):
        self.n_components = n_components
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.formulation = formulation

    @property
    def memory(self) -> str:  # type: ignore[override]
        """Dense in the form of NSSE."""
        return "4*N*N" if self.formulation == "nsse" else "2*min(N*N/4, 2**20) + 80*N*n_neighbors"

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        y = np.asarray(y)
        sigma = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
        L_w, D_w = laplacian(within_class_weights(X, y, self.n_neighbors, sigma))
        constant = np.ones((len(X), 1))
        if self.formulation == "sosi":
            alone = np.flatnonzero(D_w == 0)
            if len(alone):
                raise ValueError(
                    f"sample {alone[0]} of class {y[alone[0]]} has no neighbour in its class, so that D_w is"
                    " singular and eq. 1 unbounded: give every class two samples or set formulation='nsse'"
                )
            L_b, _ = laplacian(between_class_weights(X, y, self.n_neighbors, sigma))
            A, multiple = L_w - self.mu * L_b, False
        else:
            L_b, _ = laplacian(between_class_weights(X, y).toarray())
            A, multiple, D_w = L_w.toarray() - self.mu * L_b, True, None
        self.eigenvalues_, Y = smallest_eigenpairs(A, self.n_components, D_w, null=constant, multiple=multiple)
        return Y
