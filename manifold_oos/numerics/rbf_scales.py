"""Chooses the scale of a Gaussian interpolant per dimension: steep across class boundaries, else smooth."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.blas import dtrmm

from manifold_oos.arrays import Array
from manifold_oos.numerics.kernels import gaussian_kernel, squared_distances
from manifold_oos.numerics.rbf import solve, trusted

#: Scales that are tried; a step is a factor of about 1.09.
N_SCALES = 40
#: Largest scale that is tried, in median distances.
LARGEST = 10.0
#: Floats of one work array of the gradients: 1 MiB, which stays in the processor's cache.
WORK_FLOATS = 2**17


@dataclass(frozen=True)
class Boundaries:
    r"""The directions in which derivatives are judged, from neighbours :math:`x_j` to :math:`x_i` in each class p.

    Parameters
    ----------
    weight : ndarray of shape (n, n)
        :math:`1 / (|\bar n_p(x_i)| \|x_i - x_j\|)` for neighbours j of class p, else zero.
    share : ndarray of shape (n, M)
        :math:`|\bar n_p(x_i)| / |\bar n(x_i)|`.
    separable : ndarray of shape (d, M, M) of bool
        :math:`I^k`: the class pairs whose coordinates do not overlap in dimension k.
    codes : ndarray of shape (n,)
        Class of each point, counted from 0.
    """

    weight: Array
    share: Array
    separable: NDArray[np.bool_]
    codes: NDArray[np.intp]

    def only(self, dimensions: NDArray[np.bool_] | slice) -> Self:
        """The same directions for some of the dimensions."""
        return replace(self, separable=self.separable[dimensions])


def class_neighbors(squared: Array, codes: NDArray[np.intp], n_neighbors: int) -> NDArray[np.bool_]:
    """Mark the nearest neighbours (columns) of each point in every class, identical points left out."""
    marks = np.zeros(squared.shape, dtype=bool)
    reach = np.where(squared > 0, squared, np.inf)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        nearest = members[np.argsort(reach[:, members], axis=1, kind="stable")[:, :n_neighbors]]
        np.put_along_axis(marks, nearest, True, axis=1)
    return marks & np.isfinite(reach)


def separable_pairs(Y: Array, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    r"""The sets :math:`I^k`, of shape (d, M, M) and symmetric in the two classes."""
    classes = range(codes.max() + 1)
    lowest = np.array([Y[codes == code].min(axis=0) for code in classes]).T
    highest = np.array([Y[codes == code].max(axis=0) for code in classes]).T
    below = highest[:, :, None] < lowest[:, None, :]
    return below | below.transpose(0, 2, 1)


def boundaries(X: Array, Y: Array, codes: NDArray[np.intp], n_neighbors: int) -> Boundaries:
    """Prepare :func:`regularity` for training points, with K neighbours per class."""
    squared = squared_distances(X)
    marks = class_neighbors(squared, codes, n_neighbors)
    in_class = marks @ np.eye(codes.max() + 1)[codes]
    with np.errstate(divide="ignore"):
        weight = np.where(marks, 1 / (in_class[:, codes] * np.sqrt(squared)), 0.0)
    share = in_class / np.maximum(marks.sum(axis=1, keepdims=True), 1)
    return Boundaries(weight, share, separable_pairs(Y, codes), codes)


def gradients(Phi: Array, C: Array, A: Array, sigma: float) -> Array:
    r"""Gradients of Gaussian interpolants at the first n of their L centres, for all dimensions at once.

    .. math:: \nabla f^k(x_i) = \frac{2}{\sigma^2} \sum_{l \ne i} c_l^k \phi_{il} (a_l - x_i)

    Parameters
    ----------
    Phi : ndarray of shape (n, L)
        Kernel values of the points :math:`x_i = a_i` and the centres.
    C : ndarray of shape (L, d)
        Coefficients.
    A : ndarray of shape (L, r)
        The centres, faster where :func:`compress` made them triangular.
    sigma : float
        Width of the kernel.

    Returns
    -------
    ndarray of shape (d, n, r)
        The gradients.
    """
    n = len(Phi)
    weighted = np.ascontiguousarray(2 / sigma**2 * C.T)[:, None, :] * Phi
    # The centre at x_i itself adds nothing, but where it outweighs the others it would drown them in rounding.
    weighted[:, np.arange(n), np.arange(n)] = 0
    total = weighted.sum(axis=2, keepdims=True)
    gradient = _times(weighted, A, transposed=False)
    gradient -= total * A[:n]
    return gradient


def regularity(Phi: Array, C: Array, A: Array, sigma: float, at: Boundaries) -> tuple[Array, Array]:
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
    Phi, C, A, sigma
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
    n, d = len(Phi), C.shape[1]
    member = np.eye(at.share.shape[1])[at.codes]
    G, D = np.empty(d), np.empty(d)
    step = max(1, WORK_FLOATS // (n * max(len(A), A.shape[1])))
    for block in (slice(start, start + step) for start in range(0, d, step)):
        gradient = gradients(Phi, C[:, block], A, sigma)
        norm = np.sqrt(np.einsum("kir,kir->ki", gradient, gradient))
        own = np.einsum("kir,ir->ki", gradient, A[:n])
        slope = _times(gradient, A[:n], transposed=True)
        slope -= own[:, :, None]  # ∇f^k(x_i)ᵀ(x_j − x_i)
        np.abs(slope, out=slope)
        slope *= at.weight
        in_class = (slope.reshape(-1, n) @ member).reshape(*norm.shape, -1)  # mean |∇_u f^k(x_i)| over u ∈ n̄_p(x_i)
        average = np.einsum("kip,ip->ki", in_class, at.share)
        across = np.einsum("kip,kip->ki", in_class, at.separable[block][:, at.codes])
        for term, total in ((norm, G), (across, D)):
            total[block] = np.divide(term, average, out=np.zeros_like(average), where=average > 0).sum(axis=1)
    return G, D


def _times(B: Array, A: Array, transposed: bool) -> Array:
    """B A or B Aᵀ for stacked rows B, where A has a lower triangle on top by half the work for that."""
    n, r = A.shape
    if not r <= n < 2 * r or np.triu(A[:r], 1).any():
        product: Array = B @ (A.T if transposed else A)
        return product
    # Fortran sees the rows of B as columns: AᵀBᵀ or ABᵀ.
    rows, triangle, rest = B.reshape(-1, B.shape[2]), A[:r].T, A[r:]
    head = dtrmm(1.0, triangle, rows[:, :r].T, trans_a=transposed, overwrite_b=n == r).T
    if n > r and transposed:
        head = np.hstack([head, rows @ rest.T])
    elif n > r:
        head += rows[:, r:] @ rest
    return head.reshape(*B.shape[:2], -1)


def compress(X: Array) -> Array:
    """Centred points in an orthonormal basis of their span, in which their first rows are lower triangular.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.

    Returns
    -------
    ndarray of shape (n, min(n, D))
        The same points, moved and turned: the same differences.

    Examples
    --------
    >>> squared_distances(compress(np.array([[1.0, 2, 3], [1, 5, 7]])))[0, 1].round(6).item()
    25.0
    """
    X = X - X.mean(axis=0)
    return qr(X.T, mode="r", check_finite=False)[0][: len(X)].T


@dataclass(frozen=True)
class ScaleCurves:
    r"""How :math:`\hat G` and :math:`\hat D` vary with the scale.

    Parameters
    ----------
    grid : ndarray of shape (S,)
        Scales, ascending.
    G, D : ndarray of shape (S, d)
        The two terms of each dimension; NaN at scales whose interpolant rounding would spoil.
    """

    grid: Array
    G: Array
    D: Array


def scale_grid(squared: Array) -> Array:
    """The scales worth trying: from the median nearest-neighbour distance to ten median distances.

    Below the first, a kernel does not reach the next point; there the gradient grows again as the scale falls.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of distinct training points.

    Returns
    -------
    ndarray of shape (S,)
        Scales, ascending; a lone point has the scale 1.

    Examples
    --------
    >>> scale_grid(np.array([[0.0, 4.0], [4.0, 0.0]]))[[0, -1]].tolist()
    [2.0, 20.0]
    """
    n = len(squared)
    if n < 2:
        return np.ones(1)
    apart = np.sqrt(squared[~np.eye(n, dtype=bool)]).reshape(n, n - 1)
    grid = np.geomspace(np.median(apart.min(axis=1)), LARGEST * np.median(apart), N_SCALES)
    grid[0], grid[-1] = np.median(apart.min(axis=1)), LARGEST * np.median(apart)
    return grid


def scale_curves(squared: Array, Y: Array, X: Array, at: Boundaries, grid: Array) -> ScaleCurves:
    """Evaluate the two terms over a grid of scales, with one factorisation per scale for all dimensions.

    Parameters
    ----------
    squared : ndarray of shape (L, L)
        Squared distances of the centres, the training points first.
    Y : ndarray of shape (L, d)
        Values at the centres.
    X : ndarray of shape (L, r)
        The centres.
    at : Boundaries
        Of the training points.
    grid : ndarray of shape (S,)
        Scales.

    Returns
    -------
    ScaleCurves
        The terms, summed over the training points.
    """
    n = len(at.codes)
    G = np.full((len(grid), Y.shape[1]), np.nan)
    D = np.full_like(G, np.nan)
    for s, scale in enumerate(grid):
        Phi = gaussian_kernel(squared, scale)
        C = solve(Phi, Y)
        good = trusted(C, Y)
        if C is None or not good.any():
            break  # larger scales are worse conditioned still
        G[s, good], D[s, good] = regularity(Phi[:n], C[:, good], X, scale, at.only(good))
    return ScaleCurves(grid, G, D)


def balanced_scales(
    curves: ScaleCurves, separable: NDArray[np.bool_], lambda_: float | None
) -> tuple[Array, Array]:
    r"""The scale of each dimension that minimises :math:`\hat R^k = \hat G^k - \lambda^k \hat D^k` (eq. 8, 19).

    Parameters
    ----------
    curves : ScaleCurves
        The two terms.
    separable : ndarray of shape (d, M, M) of bool
        Separable class pairs of each dimension.
    lambda_ : float or None
        One λ for all dimensions. None balances the terms in each: both have the same range over the grid.

    Returns
    -------
    sigma : ndarray of shape (d,)
        Scales within two standard deviations of their mean.
    lambda_ : ndarray of shape (d,)
        The λ of each dimension.
    """
    G, D = curves.G, curves.D
    tried = np.isfinite(G)
    spread = np.where(tried, G, -np.inf).max(axis=0) - np.where(tried, G, np.inf).min(axis=0)
    spread_across = np.where(tried, D, -np.inf).max(axis=0) - np.where(tried, D, np.inf).min(axis=0)
    weight = np.divide(spread, spread_across, out=np.zeros(G.shape[1]), where=spread_across > 0)
    if lambda_ is not None:
        weight = np.full(G.shape[1], float(lambda_))
    objective = np.where(tried, G - weight * D, np.inf)
    return bound_scales(curves.grid[objective.argmin(axis=0)], separable), weight


def ratio_scales(curves: ScaleCurves, separable: NDArray[np.bool_], threshold: float) -> Array:
    r"""The largest scale of each dimension whose :math:`\hat D^k / \hat G^k` reaches a share of its largest value.

    Parameters
    ----------
    curves : ScaleCurves
        The two terms.
    separable : ndarray of shape (d, M, M) of bool
        Separable class pairs of each dimension.
    threshold : float
        The share.

    Returns
    -------
    ndarray of shape (d,)
        Scales within two standard deviations of their mean.
    """
    ratio = np.divide(curves.D, curves.G, out=np.zeros_like(curves.G), where=curves.G > 0)
    reached = ratio >= threshold * ratio.max(axis=0)
    largest = len(reached) - 1 - reached[::-1].argmax(axis=0)
    return bound_scales(curves.grid[largest], separable)


def bound_scales(sigma: Array, separable: NDArray[np.bool_]) -> Array:
    """Keep scales within two standard deviations of their mean (footnote 4 of SOSI).

    A dimension that separates fewer than half as many class pairs as the best one says little about class
    boundaries: it takes the mean scale of the others.

    Parameters
    ----------
    sigma : ndarray of shape (d,)
        Scales.
    separable : ndarray of shape (d, M, M) of bool
        Separable class pairs of each dimension.

    Returns
    -------
    ndarray of shape (d,)
        Bounded scales.

    Examples
    --------
    >>> pairs = np.array([[[False, True], [True, False]]] * 2 + [[[False, False], [False, False]]])
    >>> bound_scales(np.array([1.0, 3.0, 9.0]), pairs).tolist()
    [1.0, 3.0, 2.0]
    """
    pairs = separable.sum(axis=(1, 2))
    voters = pairs * 2 >= pairs.max()
    mean, deviation = sigma[voters].mean(), sigma[voters].std()
    return np.clip(np.where(voters, sigma, mean), mean - 2 * deviation, mean + 2 * deviation)
