"""What an iterative method (SOSI, progressive schemes, CP, NSSE) remembers of one iteration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Step:
    """One iteration of a method, kept in its ``steps_``.

    Parameters
    ----------
    number : int
        Iteration, from 1.
    coordinates : ndarray of shape (n_new, d), optional
        Coordinates of the new points after the iteration.
    labels : ndarray of shape (n_new,), optional
        Labels of the new points after the iteration.
    confidence : ndarray of shape (n_new,), optional
        How sure each label is.
    taken : ndarray of shape (n_new,) of bool, optional
        Which new points the method has taken in.
    values : mapping of str to float
        Scalars that belong to the iteration, such as ``objective`` and ``sigma``.
    """

    number: int
    coordinates: NDArray[np.floating] | None = None
    labels: NDArray | None = None
    confidence: NDArray[np.floating] | None = None
    taken: NDArray[np.bool_] | None = None
    values: Mapping[str, float] = field(default_factory=dict)
