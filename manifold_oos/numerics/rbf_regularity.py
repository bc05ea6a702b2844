"""How steep a Gaussian interpolant is at its training points, in all directions and across class boundaries."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from manifold_oos.numerics.kernels import squared_distances

Array = NDArray[np.floating]
#: Floats of one work array of the gradients: 128 MiB.
WORK_FLOATS = 2**24


@dataclass(frozen=True)
class Boundaries:
    r"""The directions in which the derivatives of an interpolant are judged.

    Parameters
    ----------
    inverse_distance : ndarray of shape (n, n)
        :math:`1/\|x_i - x_j\|`, zero for identical points, which have no direction.
    mean : ndarray of shape (n, n)
        Row i averages over :math:`\bar n(x_i)`, the neighbours of :math:`x_i` in all classes.
    class_mean : ndarray of shape (n, n)
        Row i, restricted to a class p, averages over :math:`\bar n_p(x_i)`.
    separable : ndarray of shape (d, M, M) of bool
        The class pairs of :math:`I^k`: their coordinates do not overlap in dimension k.
    codes : ndarray of shape (n,)
        Class of each point, counted from 0.
    """

    inverse_distance: Array
    mean: Array
    class_mean: Array
    separable: NDArray[np.bool_]
    codes: NDArray[np.intp]

    def only(self, dimensions: NDArray[np.bool_]) -> Self:
        """The same directions for some of the dimensions."""
        return replace(self, separable=self.separable[dimensions])


def class_neighbors(squared: Array, codes: NDArray[np.intp], n_neighbors: int) -> NDArray[np.bool_]:
    """Mark the nearest neighbours of each point in every class, identical points left out.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances.
    codes : ndarray of shape (n,)
        Class of each column, counted from 0.
    n_neighbors : int
        Neighbours per class; a smaller class gives all its points.

    Returns
    -------
    ndarray of shape (n, n) of bool
        True at (i, j) where j is a neighbour of i.

    Examples
    --------
    >>> class_neighbors(np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]]), np.array([0, 0, 0]), 1).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    """
    marks = np.zeros(squared.shape, dtype=bool)
    reach = np.where(squared > 0, squared, np.inf)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        nearest = members[np.argsort(reach[:, members], axis=1, kind="stable")[:, :n_neighbors]]
        np.put_along_axis(marks, nearest, True, axis=1)
    return marks & np.isfinite(reach)


def separable_pairs(Y: Array, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    r"""The sets :math:`I^k` of class pairs whose coordinates do not overlap in dimension k.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Coordinates.
    codes : ndarray of shape (n,)
        Class of each point, counted from 0.

    Returns
    -------
    ndarray of shape (d, M, M) of bool
        Symmetric in the two classes.

    Examples
    --------
    >>> separable_pairs(np.array([[0.0], [1.0], [2.0]]), np.array([0, 0, 1])).astype(int).tolist()
    [[[0, 1], [1, 0]]]
    """
    classes = range(codes.max() + 1)
    lowest = np.array([Y[codes == code].min(axis=0) for code in classes]).T
    highest = np.array([Y[codes == code].max(axis=0) for code in classes]).T
    below = highest[:, :, None] < lowest[:, None, :]
    return below | below.transpose(0, 2, 1)


def boundaries(X: Array, Y: Array, codes: NDArray[np.intp], n_neighbors: int) -> Boundaries:
    """Prepare :func:`regularity` for training points and their classes.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Training points.
    Y : ndarray of shape (n, d)
        Their coordinates.
    codes : ndarray of shape (n,)
        Their classes, counted from 0.
    n_neighbors : int
        Neighbours per class, the K of the paper.

    Returns
    -------
    Boundaries
        Directions and separable class pairs.
    """
    squared = squared_distances(X)
    marks = class_neighbors(squared, codes, n_neighbors)
    in_class = marks @ np.eye(codes.max() + 1)[codes]
    with np.errstate(divide="ignore"):
        inverse_distance = np.where(squared > 0, 1 / np.sqrt(squared), 0.0)
        mean = np.where(marks, 1 / marks.sum(axis=1, keepdims=True), 0.0)
        class_mean = np.where(marks, 1 / in_class[:, codes], 0.0)
    return Boundaries(inverse_distance, mean, class_mean, separable_pairs(Y, codes), codes)


def gradients(Phi: Array, C: Array, F: Array, X: Array, A: Array, sigma: float) -> Array:
    r"""Gradients of Gaussian interpolants at points, for all dimensions at once.

    .. math:: \nabla f^k(x_i) = -\frac{2}{\sigma^2} \sum_l c_l^k \phi_{il} (x_i - a_l)
              = -\frac{2}{\sigma^2} \Bigl( f^k(x_i) x_i - \sum_l \phi_{il} c_l^k a_l \Bigr)

    Parameters
    ----------
    Phi : ndarray of shape (n, L)
        Kernel values of the points and the centres.
    C : ndarray of shape (L, d)
        Coefficients.
    F : ndarray of shape (n, d)
        Values of the interpolants at the points.
    X : ndarray of shape (n, r)
        The points.
    A : ndarray of shape (L, r)
        The centres.
    sigma : float
        Width of the kernel.

    Returns
    -------
    ndarray of shape (d, n, r)
        The gradients.
    """
    weighted = C.T[:, None, :] * Phi
    return (weighted @ A - F.T[:, :, None] * X) * (2 / sigma**2)


def regularity(
    Phi: Array, C: Array, F: Array, X: Array, A: Array, sigma: float, at: Boundaries
) -> tuple[Array, Array]:
    r"""The terms of SOSI's regularisation objective for every dimension at one scale.

    .. math::
        \hat G(f^k) &= \sum_i \frac{\|\nabla f^k(x_i)\|}
                       {|\bar n(x_i)|^{-1} \sum_{v \in \bar n(x_i)} |\nabla_v f^k(x_i)|} \\
        \hat D(f^k) &= \sum_{(m,p) \in I^k} \sum_{i: C_i = m} \frac{1}{|\bar n_p(x_i)|}
                       \sum_{u \in \bar n_p(x_i)} \frac{|\nabla_u f^k(x_i)|}
                       {|\bar n(x_i)|^{-1} \sum_{v \in \bar n(x_i)} |\nabla_v f^k(x_i)|}

    (eq. 9 and 10 of [1]_). A point where every directional derivative vanishes counts for nothing in both.

    Parameters
    ----------
    Phi, C, F, X, A, sigma
        As in :func:`gradients`, at the training points.
    at : Boundaries
        Of the training points.

    Returns
    -------
    G, D : ndarray of shape (d,)
        :math:`\hat G(f^k)` and :math:`\hat D(f^k)`.

    References
    ----------
    .. [1] Vural & Guillemot, Out-of-sample generalizations for supervised manifold learning for
       classification, IEEE Transactions on Image Processing, 2016.
    """
    n, d = F.shape
    G, D = np.empty(d), np.empty(d)
    step = max(1, WORK_FLOATS // (n * max(len(A), n, X.shape[1])))
    for block in (slice(start, start + step) for start in range(0, d, step)):
        gradient = gradients(Phi, C[:, block], F[:, block], X, A, sigma)
        along = gradient @ X.T
        own = np.einsum("kir,ir->ki", gradient, X)
        derivative = np.abs(own[:, :, None] - along) * at.inverse_distance  # |∇_u f^k(x_i)|, u from x_j to x_i
        average = np.einsum("kij,ij->ki", derivative, at.mean)
        across = derivative * at.class_mean * at.separable[block][:, at.codes[:, None], at.codes]
        for term, total in ((np.linalg.norm(gradient, axis=2), G), (across.sum(axis=2), D)):
            total[block] = np.divide(term, average, out=np.zeros_like(average), where=average > 0).sum(axis=1)
    return G, D


def compress(X: Array) -> Array:
    """Centred points in an orthonormal basis of their span: the same differences, in at most n numbers each.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.

    Returns
    -------
    ndarray of shape (n, min(n, D))
        The same points, moved and turned.

    Examples
    --------
    >>> squared_distances(compress(np.array([[1.0, 2, 3], [1, 5, 7]])))[0, 1].round(6).item()
    25.0
    """
    X = X - X.mean(axis=0)
    if X.shape[1] <= len(X):
        return X
    return qr(X.T, mode="r", check_finite=False)[0][: len(X)].T
