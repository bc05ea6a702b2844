"""Distances and the one Gaussian kernel of the project, exp(−‖x−z‖²/σ²), with the rules that choose σ."""

from collections.abc import Mapping

import numpy as np

from manifold_oos.arrays import Array
from manifold_oos.errors import ConfigError
from manifold_oos.numerics.shared import shared

#: A kernel width: a number, {"median": f} for f median training distances, or "mean_squared".
Scale = float | Mapping[str, float] | str
#: Up to so many features each pair once is faster than all pairs by a matrix product.
PAIRWISE_FEATURES = 24
#: The median distance is that of so many points at most: 400 MB of pairs.
MEDIAN_OF = 10_000
#: Weights below its exponential are 0 beside one of 1.
FAINT = -700.0


def squared_distances(X: Array, Z: Array | None = None, z: Array | None = None) -> Array:
    """Squared Euclidean distances, never negative, exactly zero on the diagonal when Z is None.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    Z : ndarray of shape (m, D), optional
        Other points; X itself when left out.
    z : ndarray of shape (m,), optional
        Squared norms of Z, for who has them at hand.

    Returns
    -------
    ndarray of shape (n, m)
        The squared distances.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    X = np.asarray(X, dtype=np.float64)
    x = squared_norms(X)
    if Z is None:
        values = X @ X.T  # by half of the work, as a matrix with itself
        values *= -2
        z = x
    else:
        values = (-2 * X) @ np.asarray(Z, dtype=np.float64).T
        z = squared_norms(Z) if z is None else z
    values += x[:, None]
    values += z
    np.maximum(values, 0, out=values)
    if Z is None:
        np.fill_diagonal(values, 0)
    return values


def squared_norms(X: Array) -> Array:
    """Squared norms of the rows of X."""
    norms: Array = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return norms


def shared_distances(X: Array, Z: Array | None = None) -> Array:
    """:func:`squared_distances`, made once for the same points under ``sharing``: read-only."""

    def make() -> Array:
        distances = squared_distances(X, Z)
        distances.flags.writeable = False
        return distances

    distances: Array = shared("squared_distances", [X, Z], make)
    return distances


def gaussian_kernel(squared: Array, sigma: float) -> Array:
    """The Gaussian kernel exp(−d²/σ²) of squared distances.

    Parameters
    ----------
    squared : ndarray
        Squared distances.
    sigma : float
        Width σ.

    Returns
    -------
    ndarray
        Kernel values, of the shape of ``squared``.

    Examples
    --------
    >>> float(gaussian_kernel(np.array([[0.0]]), 2.0)[0, 0])
    1.0
    """
    values: Array = squared / -(sigma**2)
    return np.exp(values, out=values)


def relative_exp(exponent: Array) -> Array:
    """Exponential of exponents of which each row's largest is 0, in place: far points do not underflow together.

    Parameters
    ----------
    exponent : ndarray of shape (m, n)
        At most 0.

    Returns
    -------
    ndarray of shape (m, n)
        The same memory; 0 below exp(−700), where NumPy takes ten times as long.

    Examples
    --------
    >>> relative_exp(np.array([[0.0, -800.0, -np.inf]])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    near = exponent > FAINT if exponent.min(initial=0) < FAINT else None
    if near is not None:
        np.maximum(exponent, FAINT, out=exponent)
    np.exp(exponent, out=exponent)
    if near is not None:
        exponent *= near
    return exponent


def median_distance(X: Array) -> float:
    """Median distance between two different rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points, at least two; of more than 10,000 so many, evenly spread in the order of their features.

    Returns
    -------
    float
        The median.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [5.0]]))
    4.0
    """
    if len(X) > MEDIAN_OF:
        X = X[np.lexsort(X.T)[np.linspace(0, len(X) - 1, MEDIAN_OF).astype(int)]]
    from scipy.spatial.distance import pdist  # here: a plan, which computes nothing, imports this module too

    return float(shared("median_distance", [X], lambda: np.median(pdist(X))))


def mean_squared_distance(X: Array) -> float:
    """Mean squared distance between two different rows of X, the aperture of the sparse-coding paper.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points, at least two.

    Returns
    -------
    float
        The mean, from the variances alone: O(nD).

    Examples
    --------
    >>> mean_squared_distance(np.array([[0.0], [2.0]]))
    4.0
    """
    return float(2 * np.var(X, axis=0, ddof=1).sum())


def resolve_sigma(sigma: Scale, X: Array, median: float | None = None) -> float:
    """The absolute kernel width behind a parameter.

    Parameters
    ----------
    sigma : float, mapping or str
        A number; ``{"median": 1.5}``, in median distances of X; or ``"mean_squared"``, the width whose square
        is the mean squared distance of X.
    X : ndarray of shape (n, D)
        Training points.
    median : float, optional
        Their median distance, if it is known.

    Returns
    -------
    float
        A positive width.

    Examples
    --------
    >>> resolve_sigma({"median": 1.5}, np.array([[0.0], [2.0]]))
    3.0
    """
    if isinstance(sigma, Mapping):
        if set(sigma) != {"median"}:
            raise ConfigError(f"sigma={dict(sigma)!r}: the only rule of this form is {{median: factor}}")
        value = float(sigma["median"]) * (median_distance(X) if median is None else median)
    elif sigma == "mean_squared":
        value = float(np.sqrt(mean_squared_distance(X)))
    elif isinstance(sigma, str):
        raise ConfigError(f"sigma={sigma!r}: use a number, {{median: factor}} or mean_squared")
    else:
        value = float(sigma)
    if not value > 0 or not np.isfinite(value):
        raise ConfigError(
            f"sigma={sigma!r} gives a kernel width of {value:g}; it must be positive and finite"
            " (are more than half of the training points identical?)"
        )
    return value


def kernel_matrix(
    X: Array, Z: Array | None = None, *, kernel: str = "rbf", sigma: float = 1.0, degree: int = 3
) -> Array:
    """Values of a positive kernel for all pairs of points.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points.
    Z : ndarray of shape (m, D), optional
        Other points; X itself when left out.
    kernel : {"rbf", "linear", "polynomial"}, default="rbf"
        exp(−‖x−z‖²/σ²), xᵀz or (xᵀz + 1)^degree.
    sigma : float, default=1.0
        Width of the Gaussian.
    degree : int, default=3
        Degree of the polynomial.

    Returns
    -------
    ndarray of shape (n, m)
        Kernel values.

    Examples
    --------
    >>> kernel_matrix(np.array([[1.0], [2.0]]), kernel="polynomial", degree=2).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """
    if kernel == "rbf" and Z is None and X.shape[1] <= PAIRWISE_FEATURES:
        from scipy.spatial.distance import pdist, squareform

        values: Array = squareform(gaussian_kernel(pdist(X, "sqeuclidean"), sigma))
        np.fill_diagonal(values, 1)
        return values
    if kernel == "rbf":
        return gaussian_kernel(shared_distances(X, Z), sigma)
    products: Array = X @ (X if Z is None else Z).T
    return products if kernel == "linear" else (products + 1) ** degree


def center_kernel(K: Array, means: Array) -> Array:
    """Kernel values after the mean of the training points is moved to the origin of the feature space.

    Parameters
    ----------
    K : ndarray of shape (n, N)
        Values between any points and the training points.
    means : ndarray of shape (N,)
        Mean of each column of the training points' own kernel matrix.

    Returns
    -------
    ndarray of shape (n, N)
        HKH where K is that matrix itself.

    Examples
    --------
    >>> K = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> center_kernel(K, K.mean(axis=0)).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    centred: Array = K - (K.mean(axis=1, keepdims=True) - means.mean())
    centred -= means
    return centred
