"""Coordinates that were computed elsewhere: known points keep them, extenders place the new points beside them."""

from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.errors import DataError


class Precomputed(Embedding):
    """Coordinates from a file or an array, a row for each sample of the data set in its order.

    Rows are matched by their position alone: coordinates in another order than the data set are wrong without a
    sign of it. Metrics of a batch (``alignment_error``, ``embedding_error``) compare new points with their own
    rows.

    Parameters
    ----------
    coordinates : str or array-like of shape (n, d)
        A .npy file, a text file with commas (a header is passed over), or the coordinates themselves.
    n_components : int or None, default=None
        How many of the columns are taken, from the first; None takes all.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The rows of the training points.

    Examples
    --------
    >>> Precomputed([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]).fit([[7.0], [8.0]], index=[2, 0]).embedding_.tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """

    name: ClassVar[str] = "precomputed"
    #: ``fit`` is also told which samples of the data set it is given.
    needs_index: ClassVar[bool] = True
    #: Parameters that name a file, whose content decides the coordinates.
    files: ClassVar[tuple[str, ...]] = ("coordinates",)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "coordinates": [str, "array-like"],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, coordinates: str | ArrayLike, n_components: int | None = None):
        self.coordinates = coordinates
        self.n_components = n_components  # type: ignore[assignment]

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, index: ArrayLike | None = None) -> Self:
        """Look up the coordinates of the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,), optional
            Not read.
        index : array-like of shape (n_samples,)
            Which row of the coordinates belongs to each.

        Returns
        -------
        self
            Fitted.
        """
        if index is None:
            raise ValueError("precomputed cannot tell which rows belong to these points: give fit(..., index=...)")
        self._index = np.asarray(index)
        return super().fit(X, y)

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        source = f"{self.coordinates}: " if isinstance(self.coordinates, str) else ""
        Y = (
            read_coordinates(self.coordinates)
            if isinstance(self.coordinates, str)
            else np.asarray(self.coordinates)
        )
        Y = Y.reshape(len(Y), -1).astype(np.float64)
        d = self.n_components or Y.shape[1]
        if d > Y.shape[1]:
            raise DataError(f"{source}{Y.shape[1]} columns where n_components={d} were asked for")
        if self._index.max() >= len(Y):
            raise DataError(
                f"{source}{len(Y)} rows where the data set has at least {self._index.max() + 1} samples; a row for"
                " every sample is needed, in the order of the data set"
            )
        coordinates: Array = Y[self._index, :d]
        if not np.isfinite(coordinates).all():
            row = int(self._index[~np.isfinite(coordinates).all(axis=1)][0])
            raise DataError(f"{source}row {row} (from 0) is not finite")
        return coordinates


def read_coordinates(path: str) -> Array:
    """The table of a .npy file or of a text file with commas."""
    file = Path(path).expanduser()
    try:
        if file.suffix == ".npy":
            table: Array = np.load(file, allow_pickle=False)
            return table
        with file.open(encoding="utf-8") as lines:
            header = not _is_number(lines.readline().split(",")[0])
        return np.loadtxt(file, delimiter=",", skiprows=int(header), ndmin=2)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file of coordinates") from error
    except ValueError as error:
        raise DataError(f"{path}: not a table of numbers ({error}); write .npy, or text with commas") from error


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
