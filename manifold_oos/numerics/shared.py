"""Work on the same points that several methods share: done once while a :class:`Kept` is in force."""

import hashlib
import time
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a :class:`Kept` holds at most; the oldest things go first.
KEPT_BYTES = 2**29


class Kept:
    """What was made for some arrays, by their content, and the seconds that finding it again has saved."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self.limit = limit
        self.saved = 0.0
        self._items: OrderedDict[Hashable, tuple[Any, float, int, list[Warning | str]]] = OrderedDict()
        self._bytes = 0
        self._digests: dict[Hashable, tuple[weakref.ref[NDArray], Hashable]] = {}

    def digest(self, array: NDArray) -> Hashable:
        """What tells an array from others by content; worked out once for one that nobody can write to."""
        owner = array if array.base is None else array.base
        if not isinstance(owner, np.ndarray) or owner.base is not None or owner.flags.writeable:
            return _digest(array)
        place = id(owner), array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        known = self._digests.get(place)
        if known is None or known[0]() is not owner:  # the same address may be another array's by now
            known = self._digests[place] = weakref.ref(owner), _digest(array)
        return known[1]

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The thing of a key, made where it is not there; what the making warned of is said each time."""
        if key in self._items:
            self._items.move_to_end(key)
            value, seconds, _, caught = self._items[key]
            self.saved += seconds
            _warn(caught)
            return value
        start, before = time.perf_counter(), self.saved
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            value = make()
        caught = [record.message for record in records]
        # What the making itself found here would have cost its time as well.
        seconds = time.perf_counter() - start + (self.saved - before)
        size = _bytes(value)
        if size <= self.limit:
            self._items[key] = value, seconds, size, caught
            self._bytes += size
            while self._bytes > self.limit:
                _, (_, _, freed, _) = self._items.popitem(last=False)
                self._bytes -= freed
        _warn(caught)
        return value


def _warn(caught: Sequence[Warning | str]) -> None:
    for message in caught:
        warnings.warn(message, stacklevel=4)


_KEPT: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def sharing(kept: Kept) -> Iterator[Kept]:
    """Let :func:`shared` keep things in ``kept``; the arrays behind them may change, what it gave may not."""
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def shared(name: Hashable, arrays: Sequence[NDArray | None], make: Callable[[], Any]) -> Any:
    """What ``make()`` gives for these arrays; under :func:`sharing` it is made once for equal ones.

    Parameters
    ----------
    name : hashable
        What is made, with every parameter that it depends on beside the arrays.
    arrays : sequence of ndarray or None
        What it is made from, told apart by content, shape and type.
    make : callable
        Without arguments; its result must not be changed by whoever gets it.

    Returns
    -------
    object
        The result of ``make()``.

    Examples
    --------
    >>> made = []
    >>> with sharing(Kept()):
    ...     for X in (np.zeros(2), np.zeros(2), np.ones(2)):
    ...         _ = shared("sum", [X], lambda X=X: made.append(X.sum()))
    >>> len(made)
    2
    """
    kept = _KEPT.get()
    if kept is None:
        return make()
    return kept.get((name, *(None if array is None else kept.digest(array) for array in arrays)), make)


def saved_seconds() -> float:
    """What sharing has saved so far: a method is timed as if it had worked alone by adding the difference."""
    kept = _KEPT.get()
    return 0.0 if kept is None else kept.saved


def _digest(array: NDArray) -> tuple[Hashable, ...]:
    flat = np.ascontiguousarray(array)
    return array.shape, array.dtype.str, hashlib.sha1(flat.data, usedforsecurity=False).digest()


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    from scipy import sparse  # here: a plan, which computes nothing, imports this module too

    if sparse.issparse(value):
        return 12 * int(value.nnz)
    if isinstance(value, tuple | list):
        return sum(map(_bytes, value))
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    if hasattr(value, "__dict__"):
        return _bytes(vars(value))
    return 64
