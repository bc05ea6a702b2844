"""Row blocks that keep the work arrays of a transform small, however many points arrive."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Floats in one work array of a block: 8 MiB, so that it stays in the processor's cache.
BLOCK_FLOATS = 2**20


def map_rows(function: Callable[[NDArray], NDArray], X: NDArray, row_floats: int) -> NDArray[np.float64]:
    """Apply a function of rows block by block.

    Parameters
    ----------
    function : callable
        Maps (b, D) float64 rows to (b, d) rows, each on its own.
    X : ndarray of shape (n, D)
        The rows.
    row_floats : int
        How many floats the function's largest work array needs per row.

    Returns
    -------
    ndarray of shape (n, d)
        The results in order.

    Examples
    --------
    >>> map_rows(lambda block: 2 * block, np.ones((3, 1)), row_floats=1).ravel().tolist()
    [2.0, 2.0, 2.0]
    """
    rows = max(1, BLOCK_FLOATS // max(row_floats, X.shape[1], 1))
    first = np.asarray(function(X[:rows].astype(np.float64, copy=False)))
    if len(X) <= rows:
        return first
    result = np.empty((len(X), *first.shape[1:]))
    result[:rows] = first
    for start in range(rows, len(X), rows):
        result[start : start + rows] = function(X[start : start + rows].astype(np.float64, copy=False))
    return result


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array, told without importing Dask."""
    return type(X).__module__.startswith("dask.array")


def map_lazily(function: Callable[[NDArray], NDArray], X: Any, columns: int, dtype: Any = np.float64) -> Any:
    """A Dask array of what a function of rows will give for the blocks of one, each with all of its features.

    Examples
    --------
    >>> import dask.array
    >>> X = dask.array.ones((5, 2), chunks=(2, 1))
    >>> map_lazily(lambda rows: rows[:, :1] + 1, X, columns=1).compute().ravel().tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    X = X.rechunk({1: -1})
    return X.map_blocks(function, dtype=dtype, chunks=(X.chunks[0], (columns,)), meta=np.empty((0, 0), dtype))
