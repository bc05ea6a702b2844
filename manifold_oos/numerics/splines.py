"""Tangent coordinates of neighbourhoods and the splines on them, for whole stacks of neighbourhoods at once."""

from collections.abc import Iterator

import numpy as np

from manifold_oos.arrays import Array, Index
from manifold_oos.numerics.chunks import BLOCK_FLOATS
from manifold_oos.numerics.shared import shared

#: Points closer than this, in units of their neighbourhood, bend a spline as if they were this far apart: at one
#: place they pull each other together strongly instead of making the system singular.
CLOSEST = 1e-4
#: Smallest eigenvalue of a spline's kernel, relative to the largest, when values are interpolated.
FLOOR = 1e-12


def neighborhood_blocks(n: int, row_floats: int) -> Iterator[slice]:
    """Slices of n neighbourhoods whose work arrays of ``row_floats`` floats each stay within one block.

    Parameters
    ----------
    n : int
        Number of neighbourhoods.
    row_floats : int
        Floats per neighbourhood.

    Yields
    ------
    slice
        Consecutive neighbourhoods.
    """
    rows = max(1, BLOCK_FLOATS // max(row_floats, 1))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def tangent_coordinates(X: Array, index: Index, d: int) -> Array:
    """Principal coordinates of every neighbourhood: its points on the d main directions of its local SVD.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    index : ndarray of shape (m, k)
        Points of each neighbourhood.
    d : int
        Dimension of the tangent space.

    Returns
    -------
    ndarray of shape (m, k, d)
        Centred coordinates, at the scale of X, of falling variance; zero in directions that a neighbourhood
        does not have.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [3.0, 1.0], [6.0, 1.0]])
    >>> np.abs(tangent_coordinates(X, np.array([[0, 1, 2]]), 1)).ravel().tolist()
    [3.0, 0.0, 3.0]
    """
    T: Array = shared(("tangent coordinates", d), [X, index], lambda: _tangent_coordinates(X, index, d))
    return T


def _tangent_coordinates(X: Array, index: Index, d: int) -> Array:
    m, k = index.shape
    D = X.shape[1]
    T = np.zeros((m, k, d))
    have = min(d, k, D)
    for block in neighborhood_blocks(m, k * max(D, k)):
        local = X[index[block]]
        local = local - local.mean(axis=1, keepdims=True)
        across = local.transpose(0, 2, 1)
        if k > D:
            directions = np.linalg.eigh(across @ local)[1][:, :, : -have - 1 : -1]
            T[block, :, :have] = local @ directions
        else:
            values, vectors = np.linalg.eigh(local @ across)
            scale = np.sqrt(np.maximum(values[:, : -have - 1 : -1], 0))
            T[block, :, :have] = vectors[:, :, : -have - 1 : -1] * scale[:, None, :]
    return T


def green_function(r: Array, d: int) -> Array:
    """The spline kernel φ(r) of a d-dimensional tangent space, conditionally positive definite of order 2.

    r³ for d = 1, r² log r for d = 2 and −r from d = 3 on: r itself, as printed for d = 3, is conditionally
    *negative* definite. Each is valid in any dimension beside a linear polynomial.

    Parameters
    ----------
    r : ndarray
        Distances.
    d : int
        Dimension.

    Returns
    -------
    ndarray
        φ(r), of the shape of r.
    """
    if d == 1:
        return r**3
    if d == 2:
        return r**2 * np.log(np.where(r > 0, r, 1))
    return -r


def growth(d: int) -> int:
    """The power of a length in the kernel of :func:`green_function`, log factor aside.

    Parameters
    ----------
    d : int
        Dimension.

    Returns
    -------
    int
        3, 2, 1, 1, … for d = 1, 2, 3, 4, …
    """
    return max(4 - d, 1)


def spline_blocks(T: Array) -> Array:
    r"""The bending energy :math:`f^\top B f` of the spline that interpolates values f at each neighbourhood.

    B is the upper left k × k block of the inverse of :math:`\begin{pmatrix}\Phi & P\\ P^\top & 0\end{pmatrix}`
    with :math:`\Phi_{ij} = \varphi(\|t_i - t_j\|)` and :math:`P = [1, t]`, computed as
    :math:`Q (Q^\top \Phi Q)^{-1} Q^\top` on a basis Q of the complement of P, which keeps it semi-definite.

    Parameters
    ----------
    T : ndarray of shape (m, k, d)
        Tangent coordinates, k > d + 1.

    Returns
    -------
    ndarray of shape (m, k, k)
        Symmetric positive semi-definite matrices that vanish on P.
    """
    d = T.shape[2]
    unit, scale = _unit(T)
    _, Phi, Q = _system(unit)
    inverse = _inverse(Q.transpose(0, 2, 1) @ Phi @ Q, CLOSEST ** growth(d))
    B: Array = Q @ inverse @ Q.transpose(0, 2, 1)
    # A kernel at another scale differs by a power, and a multiple of r² that vanishes beside P.
    return (B + B.transpose(0, 2, 1)) / 2 * (scale ** -growth(d))[:, None, None]


def spline_weights(T: Array, t: Array) -> Array:
    """Weights w such that Σ w_j f_j is the value at t of the spline that interpolates f_j at T_j.

    Exact interpolation, f_j at t = T_j, and exact for linear functions where the points determine one. With
    fewer points the polynomial has the least slope; a single point gives a constant.

    Parameters
    ----------
    T : ndarray of shape (m, r, d)
        Points with known values, for each of m splines.
    t : ndarray of shape (m, d)
        Where each spline is wanted.

    Returns
    -------
    ndarray of shape (m, r)
        Weights that sum to 1 in each row.

    Examples
    --------
    >>> T = np.array([[[0.0], [1.0], [2.0]]])
    >>> w = spline_weights(T, np.array([[3.0]]))
    >>> bool(np.isclose(w @ [5.0, 7.0, 9.0], 11.0).all())
    True
    """
    m, d = T.shape[0], T.shape[2]
    centre = T.mean(axis=1, keepdims=True)
    unit, scale = _unit(T - centre)
    t = (t - centre[:, 0]) / scale[:, None]
    P, Phi, Q = _system(unit)
    p = np.concatenate([np.ones((m, 1)), t], axis=1)
    phi = green_function(np.linalg.norm(unit - t[:, None], axis=2), d)
    # g(t) = φᵀα + pᵀβ with α = Q (QᵀΦQ)⁻¹ Qᵀ f and β = P⁺ (f − Φα).
    fit = np.einsum("mp,mpr->mr", p, np.linalg.pinv(P, rcond=1e-10))
    if Q.shape[2]:
        rest = phi - np.einsum("mr,mrs->ms", fit, Phi)
        inverse = _inverse(Q.transpose(0, 2, 1) @ Phi @ Q, FLOOR)
        fit = fit + np.einsum("mr,mrq,mqp,msp->ms", rest, Q, inverse, Q, optimize=True)
    return fit


def _unit(T: Array) -> tuple[Array, Array]:
    """Coordinates at scale 1 and the scales."""
    scale = np.sqrt((T**2).sum(axis=(1, 2)) / T.shape[1])
    scale = np.where(scale > 0, scale, 1)
    return T / scale[:, None, None], scale


def _system(T: Array) -> tuple[Array, Array, Array]:
    """P, Φ and a basis Q of the complement of P."""
    m, k, d = T.shape
    P = np.concatenate([np.ones((m, k, 1)), T], axis=2)
    difference = T[:, :, None] - T[:, None]
    Phi = green_function(np.sqrt((difference**2).sum(axis=3)), d)
    Q = np.linalg.qr(P, mode="complete")[0][:, :, min(d + 1, k) :]
    return P, Phi, Q


def _inverse(A: Array, floor: float) -> Array:
    """Inverses of positive definite matrices, with eigenvalues raised to ``floor`` times the largest."""
    values, vectors = np.linalg.eigh(A)
    largest = np.maximum(values[:, -1:], np.finfo(float).tiny)
    inverse: Array = (vectors / np.maximum(values, floor * largest)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return inverse
