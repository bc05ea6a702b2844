"""How sure a label is: distances to the classes in the embedding, sharpened as held-out known points teach."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.metrics import pairwise_distances_argmin_min

from manifold_oos.arrays import Array

#: Smallest and largest power that calibration may take.
POWERS = (0.25, 32.0)
#: Of each class every so many known points are held out to calibrate.
EVERY = 4


@dataclass(frozen=True)
class Sharpness:
    """How distances become probabilities; see :func:`class_probabilities`.

    Parameters
    ----------
    power : float
        t.
    doubt : float
        ε.
    """

    power: float = 1.0
    doubt: float = 0.0


def held_out(y: NDArray) -> NDArray[np.bool_]:
    """The known points that play new ones in calibration: every fourth of each class.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.

    Returns
    -------
    ndarray of shape (n,) of bool
        Which.

    Examples
    --------
    >>> held_out(np.array([0, 0, 0, 1, 0, 1])).tolist()
    [False, False, False, False, True, False]
    """
    out = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        out[np.flatnonzero(y == label)[EVERY - 1 :: EVERY]] = True
    return out


def class_distances(Y: Array, y: NDArray, Z: Array) -> Array:
    """Distance of points to the nearest known point of each class.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Coordinates of the known points.
    y : ndarray of shape (n,)
        Their labels.
    Z : ndarray of shape (m, d)
        Coordinates of points.

    Returns
    -------
    ndarray of shape (m, n_classes)
        A column per class, in the order of ``np.unique(y)``.
    """
    return np.column_stack([pairwise_distances_argmin_min(Z, Y[y == label])[1] for label in np.unique(y)])


def class_probabilities(distances: Array, sharpness: Sharpness) -> Array:
    r"""Probabilities of the classes from distances.

    .. math:: p_c = (1 - \epsilon) \frac{d_c^{-t}}{\sum_b d_b^{-t}} + \frac{\epsilon}{C}

    Parameters
    ----------
    distances : ndarray of shape (m, C)
        :math:`d_c`, see :func:`class_distances`.
    sharpness : Sharpness
        t and ε. With t = 1, ε = 0 and two classes it is :math:`d_2 / (d_1 + d_2)`.

    Returns
    -------
    ndarray of shape (m, C)
        Rows sum to one.

    Examples
    --------
    >>> class_probabilities(np.array([[1.0, 3.0], [0.0, 3.0]]), Sharpness()).tolist()
    [[0.75, 0.25], [1.0, 0.0]]
    """
    nearest = distances.min(axis=1, keepdims=True)
    on_a_point = nearest == 0
    ratio = np.where(on_a_point, 1.0, distances) / np.where(on_a_point, 1.0, nearest)
    weights = np.where(on_a_point, distances == 0, ratio ** -float(sharpness.power))
    shares = weights / weights.sum(axis=1, keepdims=True)
    probabilities: Array = (1 - sharpness.doubt) * shares + sharpness.doubt / distances.shape[1]
    return probabilities


def calibrate(distances: Array, codes: NDArray) -> Sharpness:
    """The power with the largest likelihood of the true classes of held-out points.

    Parameters
    ----------
    distances : ndarray of shape (m, C)
        Of held-out points to the classes.
    codes : ndarray of shape (m,) of int
        Columns of their true classes.

    Returns
    -------
    Sharpness
        t, and ε = 1/(m + 2): m points cannot tell a smaller chance of error.

    Examples
    --------
    >>> apart, even = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    >>> calibrate(apart, np.array([0, 1])).power > 10 > 1 > calibrate(even, np.array([0, 1])).power
    True
    """
    doubt = 1 / (len(codes) + 2)

    def surprise(log_power: float) -> float:
        p = class_probabilities(distances, Sharpness(float(np.exp(log_power)), doubt))
        return -float(np.log(p[np.arange(len(codes)), codes]).sum())

    best = minimize_scalar(surprise, bounds=np.log(POWERS), method="bounded")
    return Sharpness(float(np.exp(best.x)), doubt)
