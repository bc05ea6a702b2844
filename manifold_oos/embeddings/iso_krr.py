"""IsoKRR: Isomap on distances that know the classes; kernel ridge regression maps new points."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.embeddings.isomap import classical_scaling
from manifold_oos.numerics.components import DisconnectedGraph
from manifold_oos.numerics.geodesics import shortest_paths
from manifold_oos.numerics.graphs import directed_graph
from manifold_oos.numerics.kernels import (
    Scale,
    gaussian_kernel,
    mean_squared_distance,
    resolve_sigma,
    shared_distances,
)
from manifold_oos.numerics.shared import shared


class IsoKRR(JointEmbedding):
    r"""Supervised Isomap with kernel ridge regression as its map [1]_.

    Isomap runs on the dissimilarities of [2]_,

    .. math:: \Delta_{ij} = \sqrt{1 - e^{-\|x_i - x_j\|^2/\beta}} \text{ within a class}, \qquad
              \Delta_{ij} = \sqrt{e^{\|x_i - x_j\|^2/\beta}} - \alpha \text{ between classes},

    below 1 within classes and unbounded between them; a large β makes points of all classes the corners of a
    regular simplex, a small one keeps their geometry. Then
    :math:`f(x) = k(x)^\top (K + \rho I)^{-1} Y`. New points carry no label, so that the map has to learn the gaps
    between classes from Y alone and smooths them.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int or None, default=None
        Neighbours per point, by Δ; None joins all.
    alpha : float, default=0.5
        How much closer than a point of its own class one of another class may come, the α of [2]_.
    beta : float, default=10
        β in mean squared distances, so that Δ does not depend on the units of the data.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the kernel of the regression.
    ridge : float, default=1e-3
        The ρ of the regression.
    disconnected : {"connect", "error"}, default="connect"
        Whether the shortest links by Δ join the components of the graph (with a warning).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, the classical scaling of the lengths of shortest paths.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the scaling, descending.
    coefficients_ : ndarray of shape (n_samples, n_components)
        (K + ρI)⁻¹Y.
    sigma_ : float
        Width of the kernel, absolute.

    References
    ----------
    .. [1] Orsenigo & Vercellis, Kernel ridge regression for out-of-sample mapping in supervised manifold learning,
       Pattern Recognition, 2012.
    .. [2] Geng, Zhan & Zhou, Supervised nonlinear dimensionality reduction for visualization and classification,
       IEEE Transactions on Systems, Man, and Cybernetics B, 2005.
    """

    name: ClassVar[str] = "iso_krr"
    memory: ClassVar[str] = "14*N*N"
    instead: ClassVar[str] = "landmark_isomap, or suplap with krr and n_centers"
    supervised: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_components": [2, 5, 10, 19, 25, 39, 49],
        "n_neighbors": [5, 10, 20, 60, None],
        "beta": [0.3, 1, 3, 10, 30, 100],
        "sigma": [{"median": f} for f in (0.5, 0.75, 1, 1.5, 2, 3)],
        "ridge": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "disconnected": [StrOptions({"connect", "error"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        alpha: float = 0.5,
        beta: float = 10.0,
        sigma: Scale = "mean_squared",
        ridge: float = 1e-3,
        disconnected: str = "connect",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.sigma = sigma
        self.ridge = ridge
        self.disconnected = disconnected

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        self.sigma_ = resolve_sigma(self.sigma, X)
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        squared = shared_distances(X)
        graph = self._graph(dissimilarities(squared, codes, self.beta * mean_squared_distance(X), self.alpha))
        name = ("iso_krr", self.n_neighbors, self.alpha, self.beta)
        lengths = shared(name, [X, codes], lambda: shortest_paths(graph))
        self.eigenvalues_, V = classical_scaling(lengths**2, self.n_components)
        Y: Array = V * np.sqrt(self.eigenvalues_)
        K = gaussian_kernel(squared, self.sigma_)
        K.flat[:: len(K) + 1] += self.ridge
        self.coefficients_ = linalg.solve(K, Y, assume_a="pos")
        self.X_fit_ = X
        return Y

    def _graph(self, delta: Array) -> sparse.csr_array:
        """Δ of every point to its nearest neighbours, connected."""
        n = len(delta)
        k = n - 1 if self.n_neighbors is None else self.n_neighbors
        if k >= n:
            raise ValueError(f"n_neighbors={k} needs more than {k} points and there are n_samples = {n}")
        np.fill_diagonal(delta, np.inf)
        index = np.argpartition(delta, k - 1, axis=1)[:, :k]
        graph = directed_graph(index, np.take_along_axis(delta, index, axis=1))
        count, part = connected_components(graph, directed=False)
        if count == 1:
            return graph
        message = f"the graph of {k} neighbours has {count} components"
        if self.disconnected == "error":
            raise ValueError(f"{message}: raise n_neighbors, or set disconnected='connect'")
        warnings.warn(
            f"{message}, joined by their shortest links; raise n_neighbors", DisconnectedGraph, stacklevel=4
        )
        # With next to nothing within components the spanning tree has one edge fewer than components between them
        # (as a sparse graph: a dense one takes tiny entries for absent ones).
        apart = np.maximum(np.where(part[:, None] == part, 0, delta), np.finfo(float).tiny)
        tree = minimum_spanning_tree(sparse.csr_array(apart)).tocoo()
        links, edges = part[tree.row] != part[tree.col], graph.tocoo()
        rows, columns = np.r_[edges.row, tree.row[links]], np.r_[edges.col, tree.col[links]]
        return sparse.csr_array((np.r_[edges.data, tree.data[links]], (rows, columns)), shape=graph.shape)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = gaussian_kernel(shared_distances(X, self.X_fit_), self.sigma_) @ self.coefficients_
        return coordinates


def dissimilarities(squared: Array, y: NDArray, beta: float, alpha: float) -> Array:
    """Class-aware dissimilarities Δ of Geng, Zhan & Zhou.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared Euclidean distances.
    y : ndarray of shape (n,)
        Class labels.
    beta : float
        Scale of squared distances.
    alpha : float
        What is taken off between classes.

    Returns
    -------
    ndarray of shape (n, n)
        Δ.

    Examples
    --------
    >>> dissimilarities(np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([0, 1]), 1.0, 0.5).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    same = y[:, None] == y
    if squared.max() > 1400 * beta:
        raise ValueError(f"beta={beta:g} is too small for squared distances up to {squared.max():g}: raise beta")
    delta: Array = np.where(same, np.sqrt(-np.expm1(-squared / beta)), np.exp(squared / (2 * beta)) - alpha)
    return delta
