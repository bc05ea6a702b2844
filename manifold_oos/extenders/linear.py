"""Linear extender: one matrix, fitted by least squares, takes points to coordinates."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender


class LinearExtender(Extender):
    r"""Linearization of the embedding.

    .. math:: y(x) = A^\top x, \qquad \min_A \sum_i \|y_i - A^\top x_i\|^2

    with the smallest such A where training points are fewer than features (section 4.2 of [1]_). Then it
    interpolates; near as many points as features it amplifies noise without bound, unless small singular values
    of the data are left out.

    First contact: it is behind everywhere, and far behind in two dimensions: no linear map puts classes side by
    side that the embedding had to bend for.

    Parameters
    ----------
    rcond : float or None, default=None
        Singular values of the data below this share of the largest are left out; None leaves out those that are
        zero to machine precision.

    Attributes
    ----------
    matrix_ : ndarray of shape (n_features, d)
        A.

    References
    ----------
    .. [1] Raducanu & Dornaika, Embedding new observations via sparse-coding for non-linear manifold learning,
       Pattern Recognition, 2014.

    Examples
    --------
    >>> LinearExtender().fit([[1.0, 0.0], [0.0, 2.0]], [[3.0], [4.0]]).transform([[1.0, 1.0]]).round(9).tolist()
    [[5.0]]
    """

    name: ClassVar[str] = "linear"
    memory: ClassVar[str] = "2*N*D"
    instead: ClassVar[str] = "random_projection of the data first"
    grids: ClassVar[Mapping[str, Any]] = {"rcond": [1e-4, 1e-3, 3e-3, 1e-2, 3e-2]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"rcond": [None, Interval(Real, 0, 1, closed="left")]}

    def __init__(self, rcond: float | None = None):
        self.rcond = rcond

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        self.matrix_ = np.linalg.lstsq(X, Y, rcond=self.rcond)[0]
        self._row_floats = sum(self.matrix_.shape)

    def _transform(self, X: Array) -> Array:
        coordinates: Array = X @ self.matrix_
        return coordinates
