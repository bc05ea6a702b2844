"""Chooses the scale of a Gaussian interpolant per dimension: steep across class boundaries, else smooth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.numerics.kernels import gaussian_kernel
from manifold_oos.numerics.rbf import solve, trusted
from manifold_oos.numerics.rbf_regularity import Boundaries, regularity

#: Scales that are tried; a step is a factor of about 1.09.
N_SCALES = 40
#: Largest scale that is tried, in median distances.
LARGEST = 10.0


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
