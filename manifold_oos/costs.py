"""What a fit will take of memory, from the formula that its method states; told, or refused, before it is taken.

Sparse eigenproblems count the fill-in of their factors on a surface, as measured at 100,000 points of a Swiss roll;
neighbour graphs of many intrinsic dimensions fill in more.
"""

import ast
import ctypes
import gc
import operator
import os
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

from manifold_oos.errors import ConfigError, MoosError

FLOAT = 8
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS = {"min": min, "max": max}


class NotEnoughMemory(MoosError, MemoryError):
    """A fit would take more than the machine has; nothing was taken yet."""


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """The value of a formula of numbers, names, ``+ - * / **``, ``min`` and ``max``.

    Examples
    --------
    >>> evaluate("2*N**2 + N*min(D, 10)", {"N": 100, "D": 50})
    21000
    """
    return _value(_parsed(formula), values)


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(node: ast.expr, values: Mapping[str, float]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, values) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)}: not a number, a known name, + - * / **, min or max")


def needed(method: Any, *, N: float, D: float, d: float, Q: float = 0, M: float | None = None) -> float | None:
    """Bytes that the largest work arrays of a fit take together.

    Parameters
    ----------
    method : estimator
        With ``memory``, its formula in floats. A parameter that is None counts as N there: all points.
    N, D, d, Q : float
        Known points, features, coordinates, and new points that a transductive method sees.
    M : float, optional
        Landmarks of the embedding; as many as points when left out.

    Returns
    -------
    float or None
        None where the method states nothing.

    Examples
    --------
    >>> from manifold_oos.registry import build
    >>> needed(build("embeddings", "isomap"), N=1000, D=3, d=2)
    16000000.0
    """
    if not method.memory:
        return None
    parameters = {
        name: N if value is None else float(value)
        for name, value in method.get_params(deep=False).items()
        if value is None or isinstance(value, Real)
    }
    sizes = {"N": N, "D": D, "d": d, "Q": Q, "M": N if M is None else M}
    return FLOAT * float(evaluate(method.memory, parameters | sizes))


def available_memory() -> float:
    """Bytes that can still be had: MOOS_MEMORY if it is set, else what the machine and its container leave."""
    if os.environ.get("MOOS_MEMORY"):
        try:
            return float(os.environ["MOOS_MEMORY"])
        except ValueError as error:
            raise ConfigError(f"MOOS_MEMORY={os.environ['MOOS_MEMORY']}: not a number of bytes") from error
    return min(_free(), _container())


def _free() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows: nothing is refused
        return float("inf")


def _container() -> float:
    """What a container of control groups leaves of its limit; no limit (``max``) is no number."""
    try:
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):
        return float("inf")
    return float(limit - used)


def peak_growth(action: Callable[[], Any]) -> float:
    """Bytes that the process grows by at most while something is done; NaN where the system does not tell.

    Linux keeps the largest resident size since it was last asked to forget it. Free memory that the allocator holds
    is given back before, so that its reuse counts too.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _resident("VmRSS")
    except (OSError, AttributeError):
        before = float("nan")
    action()
    return max(_resident("VmHWM") - before, 0.0) if before == before else before


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def check(method: Any, **sizes: float) -> None:
    """Refuse a fit that takes more memory than there is: see :func:`needed`."""
    bytes_needed = needed(method, **sizes)
    if bytes_needed is None or bytes_needed <= (there := available_memory()):
        return
    instead = f": take {method.instead}" if method.instead else ""
    at = ", ".join(f"{name} = {value:,}" for name, value in sizes.items() if name in "NQD" and value)
    raise NotEnoughMemory(
        f"{method.name} needs {readable(bytes_needed)} of memory for {at} and there are {readable(there)}{instead}"
    )


def readable(size: float) -> str:
    """Bytes in the unit that leaves few digits.

    Examples
    --------
    >>> readable(16e6), readable(3e9), readable(12)
    ('15.3 MiB', '2.8 GiB', '0.0 MiB')
    """
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
