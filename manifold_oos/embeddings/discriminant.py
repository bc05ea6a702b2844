"""Linear discriminant projections: LDA, local Fisher discriminant analysis, local discriminant embedding."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.eigen import fix_signs, largest_eigenpairs
from manifold_oos.numerics.graphs import between_class_weights, laplacian, within_class_weights
from manifold_oos.numerics.kernels import Scale, resolve_sigma, squared_distances
from manifold_oos.numerics.shared import shared

_GRIDS: dict[str, Sequence[Any]] = {
    "n_components": [2, 5, 7, 10, 15, 19, 30, 39, 49, 100],
    "ridge": [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    "rcond": [1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1],
}
_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "regularization": [StrOptions({"pinv", "ridge"})],
    "rcond": [Interval(Real, 0, 1, closed="left")],
    "ridge": [Interval(Real, 0, None, closed="neither")],
}
#: Variance, relative to the largest, below which a direction counts as not spanned by the data.
SPAN = 1e-12


class _Discriminant(JointEmbedding):
    """Projections w that maximise wᵀS_b w / wᵀS_w w, in the span of the centred data so that D > N costs little."""

    supervised: ClassVar[bool] = True
    n_components: int | None  # type: ignore[assignment]
    regularization: str
    rcond: float
    ridge: float

    @abstractmethod
    def _scatters(self, Z: Array, X: Array, y: NDArray) -> tuple[Array, Array]:
        """S_b and S_w of the coordinates Z of the data X."""

    def _graph(self) -> tuple[Hashable, ...]:
        """The parameters that the scatters depend on."""
        return ()

    def _limit(self, y: NDArray) -> float:
        """The largest number of useful projections, whatever the data."""
        return np.inf

    def _metric(self, eigenvalues: Array) -> Array:
        """Length of each projection w, in units of wᵀS_w w = 1."""
        return np.ones_like(eigenvalues)

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        classes, y = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"{self.name}: all samples are of class {classes[0]}; y needs two classes or more")
        spectrum = shared((self.name, *self._graph()), [X, y], lambda: self._spectrum(X, y))
        self.mean_ = spectrum.mean.copy()
        kept, values = self._regularised(spectrum)
        available = int(min(len(values), self._limit(y)))
        d = available if self.n_components is None else self.n_components
        if d > available:
            raise ValueError(
                f"{self.name}: n_components={d}, but n_samples = {len(X)}, n_features = {X.shape[1]} and"
                f" {len(classes)} classes leave {available}: lower n_components"
            )
        self.eigenvalues_, W = spectrum.projections(kept, values, d)
        self.coef_ = W * self._metric(self.eigenvalues_)
        return self._transform(X)

    def _spectrum(self, X: Array, y: NDArray) -> "_Spectrum":
        span = shared("span", [X], lambda: _Span.of(X))
        S_b, S_w = self._scatters(span.Z, X, y)
        values, Q = linalg.eigh(S_w) if S_w.size else (np.zeros(1), S_w)
        # S_w must not vanish beside the scatter between classes.
        if not values[-1] > max(SPAN * np.trace(S_b), 0):
            raise ValueError(
                f"{self.name}: the within-class scatter is zero (one sample per class, or identical samples);"
                " at least one class needs two different samples that are neighbours"
            )
        return _Spectrum(span.mean, values, span.Vt.T @ Q, Q.T @ S_b @ Q)

    def _regularised(self, spectrum: "_Spectrum") -> tuple[slice, Array]:
        """The directions that are kept (the last ones) and the eigenvalues of S_w along them."""
        values = spectrum.values
        if self.regularization == "ridge":
            return slice(None), values.clip(0) + self.ridge * values.mean()
        few = int((values <= max(self.rcond, len(values) * np.finfo(float).eps) * values[-1]).sum())
        return slice(few, None), values[few:]

    def _transform(self, X: Array) -> Array:
        coordinates: Array = (X - self.mean_) @ self.coef_
        return coordinates


@dataclass(frozen=True, eq=False)
class _Span:
    """Coordinates Z of the centred data in the orthonormal rows of Vt that span them."""

    mean: Array
    Z: Array
    Vt: Array

    @classmethod
    def of(cls, X: Array) -> "_Span":
        mean = X.mean(axis=0)
        U, s, Vt = linalg.svd(X - mean, full_matrices=False)
        r = int((s**2 > SPAN * s[0] ** 2).sum())
        return cls(mean, U[:, :r] * s[:r], Vt[:r])


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Eigenvalues of S_w, its eigenvectors P in the space of the data, and S_b in their coordinates."""

    mean: Array
    values: Array
    P: Array
    S_b: Array

    def projections(self, kept: slice, values: Array, d: int) -> tuple[Array, Array]:
        """λ and w of S_b w = λ S_w w in the span of some eigenvectors of S_w, whose values may be others."""
        root = 1 / np.sqrt(values)
        S = root[:, None] * self.S_b[kept, kept] * root
        eigenvalues, V = largest_eigenpairs((S + S.T) / 2, d, multiple=True)
        return eigenvalues, fix_signs(self.P[:, kept] @ (root[:, None] * V))


class LDA(_Discriminant):
    r"""Linear discriminant analysis as a projection.

    .. math:: S_b w = \lambda S_w w, \quad w^\top S_w w = 1, \qquad
              S_w = \tfrac1N \sum_c \sum_{i \in c} (x_i - m_c)(x_i - m_c)^\top, \quad
              S_b = \tfrac1N \sum_c n_c (m_c - m)(m_c - m)^\top

    With more features than samples S_w is singular, and everything hangs on how that is mended.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimension, at most the number of classes less one; None takes that.
    regularization : {"ridge", "pinv"}, default="ridge"
        Add to the eigenvalues of S_w, or leave the small ones out together with their directions.
    ridge : float, default=0.1
        What is added, in units of the mean eigenvalue of S_w over the span of the data.
    rcond : float, default=1e-6
        Eigenvalues below this share of the largest are left out.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Projections of the training points.
    coef_ : ndarray of shape (n_features, n_components)
        The vectors w.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

    name: ClassVar[str] = "lda"
    memory: ClassVar[str] = "4*N*min(N, D)"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = _GRIDS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _CONSTRAINTS

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularization: str = "ridge",
        ridge: float = 0.1,
        rcond: float = 1e-6,
    ):
        self.n_components = n_components
        self.regularization = regularization
        self.ridge = ridge
        self.rcond = rcond

    def _scatters(self, Z: Array, X: Array, y: NDArray) -> tuple[Array, Array]:
        count = np.bincount(y)
        means = np.array([Z[y == c].mean(axis=0) for c in range(len(count))])
        within = Z - means[y]
        return (means.T * count) @ means / len(Z), within.T @ within / len(Z)

    def _limit(self, y: NDArray) -> float:
        return len(np.unique(y)) - 1


class LFDA(_Discriminant):
    r"""Local Fisher discriminant analysis [1]_: LDA that does not force far parts of a class together.

    .. math:: S_b w = \lambda S_w w, \qquad S_\bullet = \tfrac12 \sum_{ij} W^\bullet_{ij}
              (x_i - x_j)(x_i - x_j)^\top

    with :math:`W^w_{ij} = A_{ij}/n_c`, :math:`W^b_{ij} = A_{ij}(1/N - 1/n_c)` within class c, 0 and 1/N between
    classes, and :math:`A_{ij} = \exp(-\|x_i - x_j\|^2 / (\sigma_i \sigma_j))`, :math:`\sigma_i` the distance of
    :math:`x_i` to its ``n_neighbors``-th neighbour in the class. Projections weigh :math:`\sqrt\lambda`, as in
    [1]_. With few samples per class it has little to be local about, and is a noisy LDA.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimension; None takes all there are.
    n_neighbors : int, default=7
        Which neighbour sets the local scale; the farthest of a smaller class.
    regularization : {"ridge", "pinv"}, default="ridge"
        Add to the eigenvalues of S_w, or leave the small ones out together with their directions.
    ridge : float, default=0.1
        What is added, in units of the mean eigenvalue of S_w over the span of the data.
    rcond : float, default=1e-6
        Eigenvalues below this share of the largest are left out.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Projections of the training points.
    coef_ : ndarray of shape (n_features, n_components)
        The vectors w, times √λ.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending.

    References
    ----------
    .. [1] Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis,
       Journal of Machine Learning Research, 2007.
    """

    name: ClassVar[str] = "lfda"
    memory: ClassVar[str] = "3*N*N + 4*N*min(N, D)"
    instead: ClassVar[str] = "lda or lde"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {**_GRIDS, "n_neighbors": [3, 5, 7, 10]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        regularization: str = "ridge",
        ridge: float = 0.1,
        rcond: float = 1e-6,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.regularization = regularization
        self.ridge = ridge
        self.rcond = rcond

    def _graph(self) -> tuple[Hashable, ...]:
        return (self.n_neighbors,)

    def _scatters(self, Z: Array, X: Array, y: NDArray) -> tuple[Array, Array]:
        N = len(Z)
        W_w, W_b = np.zeros((N, N)), np.full((N, N), 1 / N)
        for label in np.unique(y):
            members = np.flatnonzero(y == label)
            A, block = self._affinity(X[members]), np.ix_(members, members)
            W_w[block] = A / len(members)
            W_b[block] = A * (1 / N - 1 / len(members))
        return Z.T @ laplacian(W_b)[0] @ Z, Z.T @ laplacian(W_w)[0] @ Z

    def _affinity(self, X: Array) -> Array:
        squared = squared_distances(X)
        k = min(self.n_neighbors, len(X) - 1)
        scale = np.sqrt(np.partition(squared, k, axis=1)[:, k])
        local = np.outer(scale, scale)
        affinity: Array = np.exp(-np.divide(squared, local, out=np.full_like(squared, np.inf), where=local > 0))
        return affinity

    def _metric(self, eigenvalues: Array) -> Array:
        root: Array = np.sqrt(eigenvalues.clip(0))
        return root


class LDE(_Discriminant):
    r"""Local discriminant embedding [1]_: supervised Laplacian eigenmaps held to a linear map.

    .. math:: X^\top L_b X w = \lambda X^\top L_w X w, \qquad w^\top X^\top L_w X w = 1

    with heat weights between a point and its nearest points of its own class (:math:`L_w`) and of other classes
    (:math:`L_b`). Only class boundaries count in :math:`L_b`, so that it overfits where neighbours are far.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimension; None takes all there are.
    n_neighbors : int or None, default=5
        Neighbours per point in its class; None joins all.
    n_neighbors_between : int or None, default=20
        Neighbours per point in other classes; None joins all.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights; None for binary weights.
    regularization : {"ridge", "pinv"}, default="ridge"
        Add to the eigenvalues of XᵀL_wX, or leave the small ones out together with their directions.
    ridge : float, default=0.1
        What is added, in units of the mean eigenvalue over the span of the data.
    rcond : float, default=1e-6
        Eigenvalues below this share of the largest are left out.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Projections of the training points.
    coef_ : ndarray of shape (n_features, n_components)
        The vectors w.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending.

    References
    ----------
    .. [1] Chen, Chang & Liu, Local discriminant embedding and its variants, CVPR, 2005.
    """

    name: ClassVar[str] = "lde"
    memory: ClassVar[str] = "2*min(N*N/4, 2**20) + 30*N*n_neighbors + 4*N*min(N, D)"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        **_GRIDS,
        "n_neighbors": [3, 5, 7, 10, None],
        "n_neighbors_between": [5, 10, 20, 50, None],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors_between": [Interval(Integral, 1, None, closed="left"), None],
        "heat_sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"}), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | None = 5,
        n_neighbors_between: int | None = 20,
        heat_sigma: Scale | None = "mean_squared",
        regularization: str = "ridge",
        ridge: float = 0.1,
        rcond: float = 1e-6,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.heat_sigma = heat_sigma
        self.regularization = regularization
        self.ridge = ridge
        self.rcond = rcond

    def _graph(self) -> tuple[Hashable, ...]:
        return self.n_neighbors, self.n_neighbors_between, str(self.heat_sigma)

    def _scatters(self, Z: Array, X: Array, y: NDArray) -> tuple[Array, Array]:
        sigma = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
        L_w, _ = laplacian(within_class_weights(X, y, self.n_neighbors, sigma))
        L_b, _ = laplacian(between_class_weights(X, y, self.n_neighbors_between, sigma))
        return Z.T @ (L_b @ Z), Z.T @ (L_w @ Z)
