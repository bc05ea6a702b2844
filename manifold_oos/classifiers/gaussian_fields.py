"""Gaussian fields: labels flow over the graph of all points until each new point is the mean of its neighbours."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from manifold_oos.arrays import Array
from manifold_oos.classifiers.base import Classifier
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.numerics.graphs import knn_weights
from manifold_oos.numerics.kernels import Scale, resolve_sigma


class GaussianFields(Classifier):
    r"""Semi-supervised classification by harmonic functions.

    On a graph of labelled and new points with weights :math:`W_{ij} = \exp(-\|x_i - x_j\|^2 / \sigma^2)` between
    nearest neighbours, the label function is harmonic at the new points (eq. 5 of [1]_):

    .. math:: f_u = (D_{uu} - W_{uu})^{-1} W_{ul} f_l

    with one column per class. With class mass normalisation the columns are rescaled so that the new points
    share the class proportions of the labelled ones. Transductive: it answers for the points of ``fit`` alone.
    A narrow kernel is right for densely sampled manifolds such as views of a turning object.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of each point in the graph.
    sigma : float, {"median": f}, "mean_squared" or None, default=None
        Kernel width; None is 0.2 median distances of all points.
    mass_normalization : bool, default=False
        Whether classes are rescaled to their share among the labelled points.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_new,)
        Labels of the new points: rows with y = −1, then those of ``X_new``.
    distributions_ : ndarray of shape (n_new, n_classes)
        Their label functions; rows sum to one.
    sigma_ : float
        Absolute kernel width.

    References
    ----------
    .. [1] Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian fields and harmonic functions,
       ICML, 2003.

    Examples
    --------
    >>> fields = GaussianFields(n_neighbors=1).fit([[0.0], [1.0], [5.0], [6.0]], [0, -1, -1, 1])
    >>> fields.transduction_.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "gaussian_fields"
    transductive: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_neighbors": [3, 5, 10, 20],
        "sigma": [{"median": f} for f in (0.1, 0.2, 0.4, 0.8)],
        "mass_normalization": [False, True],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "sigma": [None, Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "mass_normalization": ["boolean"],
    }

    def __init__(self, n_neighbors: int = 5, sigma: Scale | None = None, mass_normalization: bool = False) -> None:
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.mass_normalization = mass_normalization

    def fit(self, X: ArrayLike, y: ArrayLike, X_new: ArrayLike | None = None) -> Self:
        """Label the new points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; those with label −1 are new.
        y : array-like of shape (n_samples,)
            Labels.
        X_new : array-like of shape (n_new, n_features), optional
            More new points.

        Returns
        -------
        self
            Fitted, with ``transduction_``.
        """
        X, codes, X_new = self._validate_new(X, y, X_new)
        points = np.vstack([X, X_new])
        self.distributions_: Array = np.empty((0, len(self.classes_)))
        if len(X_new):
            self.sigma_ = resolve_sigma({"median": 0.2} if self.sigma is None else self.sigma, points)
            W = knn_weights(points, min(self.n_neighbors, len(points) - 1), self.sigma_)
            self.distributions_ = harmonic(W, np.eye(len(self.classes_))[codes])
        f = self.distributions_
        if self.mass_normalization and len(f):
            mass = f.sum(axis=0)
            f = f * np.divide(np.bincount(codes), mass, out=np.zeros_like(mass), where=mass > 0)
        self.transduction_ = self.classes_[f.argmax(axis=1)]
        final = np.concatenate([codes, f.argmax(axis=1)])
        self._known = {row.tobytes(): code for row, code in zip(points[::-1] + 0.0, final[::-1], strict=True)}
        return self

    def _predict(self, X: Array) -> NDArray[np.intp]:
        rows = [row.tobytes() for row in X + 0.0]
        unknown = [i for i, row in enumerate(rows) if row not in self._known]
        if unknown:
            raise ValueError(
                f"gaussian_fields labels only the points of fit, and row {unknown[0]} was not among them"
                f" ({len(unknown)} of {len(rows)} rows): pass them to fit as X_new or with label −1"
            )
        return np.array([self._known[row] for row in rows], dtype=np.intp)


def harmonic(W: sparse.csr_array, F: Array) -> Array:
    r"""Harmonic extension of a function over a graph.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights, the points with known values first.
    F : ndarray of shape (l, c)
        Known values, a distribution over c classes per row.

    Returns
    -------
    ndarray of shape (n - l, c)
        :math:`(D_{uu} - W_{uu})^{-1} W_{ul} F`; the mean of F where no known point can be reached, with a warning.

    Examples
    --------
    >>> path = sparse.csr_array(np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]]))
    >>> harmonic(path, np.eye(2)).round(12).tolist()
    [[0.5, 0.5]]
    """
    n_known = len(F)
    _, component = connected_components(W, directed=False)
    reached = np.isin(component[n_known:], component[:n_known])
    f = np.tile(F.mean(axis=0), (len(reached), 1))
    if not reached.all():
        warnings.warn(
            f"{int((~reached).sum())} new points are not connected with any labelled point and get the class shares"
            " of the labelled ones; raise n_neighbors or sigma",
            stacklevel=2,
        )
    if reached.any():
        index = n_known + np.flatnonzero(reached)
        root = 1 / np.sqrt(W.sum(axis=1)[index])  # symmetric scaling: tiny weights would spoil the pivots
        scaled = sparse.diags_array(root) @ W[index]
        system = sparse.eye_array(len(index)) - scaled[:, index] @ sparse.diags_array(root)
        f[reached] = root[:, None] * splu(sparse.csc_array(system)).solve(scaled[:, :n_known] @ F)
    return f
