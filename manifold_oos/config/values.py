"""Parameter values that a config leaves open: grids, values by data set, and sizes such as ``n_train-1``."""

import itertools
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifold_oos.config import limits
from manifold_oos.errors import ConfigError

SIZE = re.compile(r"(n_train|n_classes|n_features)\s*(?:([-+*/])\s*(\d+(?:\.\d+)?))?")
RANGE_KEYS = {"from", "to", "step", "count", "log"}
OPEN_KEYS = {"grid", "default", "by_dataset"}


@dataclass(frozen=True)
class Facts:
    """What the size expressions of a config may refer to."""

    dataset: str
    n_train: int
    n_classes: int
    n_features: int


@dataclass(frozen=True)
class Grid:
    """The values of a parameter, in order, and the one to start from or to fall back on."""

    values: tuple[Any, ...]
    default: Any


def is_grid(value: Any) -> bool:
    """Whether a value of a config is a grid: ``{grid: [1, 2]}`` or ``{grid: {from: 1, to: 9, count: 3}}``."""
    return isinstance(value, Mapping) and "grid" in value


def is_by_dataset(value: Any) -> bool:
    """Whether a value of a config differs by data set: ``{by_dataset: {coil20: 7, orl: 39}}``."""
    return isinstance(value, Mapping) and "by_dataset" in value


def has_grid(value: Any, dataset: str | None = None) -> bool:
    """Whether a value is or holds a grid (for a data set; for any without one)."""
    if is_grid(value):
        return True
    if is_by_dataset(value):
        options = value["by_dataset"]
        picked = options.values() if dataset is None else [options.get(dataset, options.get("default"))]
        return any(has_grid(item, dataset) for item in picked)
    if isinstance(value, Mapping):
        return any(has_grid(item, dataset) for item in value.values())
    return False


def literals(value: Any) -> Iterator[Any]:
    """Every plain value that an open one can become, for checks before anything is run."""
    if is_by_dataset(value):
        for item in value["by_dataset"].values():
            yield from literals(item)
    elif is_grid(value):
        inner = value["grid"]
        for item in inner if isinstance(inner, list) else [inner.get("from"), inner.get("to")]:
            yield from literals(item)
        if "default" in value:
            yield from literals(value["default"])
    elif isinstance(value, str) and SIZE.fullmatch(value):
        yield 2
    elif isinstance(value, Mapping) and any(has_grid(item) for item in value.values()):
        keys = list(value)
        for items in itertools.product(*(list(literals(value[key])) for key in keys)):
            yield dict(zip(keys, items, strict=True))
    else:
        yield value


def settle(value: Any, facts: Facts) -> Any:
    """Decide what the split decides: values by data set and size expressions; grids become :class:`Grid`."""
    if is_by_dataset(value):
        options = value["by_dataset"]
        if facts.dataset not in options and "default" not in options:
            raise ConfigError(f"by_dataset has no value for {facts.dataset} and no default")
        return settle(options.get(facts.dataset, options.get("default")), facts)
    if is_grid(value):
        inner = value["grid"]
        values = (
            _range(settle(inner, facts)) if isinstance(inner, Mapping) else [settle(item, facts) for item in inner]
        )
        seen: dict[str, Any] = {}
        for item in values:  # sizes may coincide
            seen.setdefault(repr(item), item)
        values = list(seen.values())
        middle = values[len(values) // 2]
        return Grid(tuple(values), settle(value["default"], facts) if "default" in value else middle)
    if isinstance(value, Mapping):
        return {key: settle(item, facts) for key, item in value.items()}
    if isinstance(value, str) and (match := SIZE.fullmatch(value)):
        return _size(match, facts)
    return value


def grids_of(settled: Any, path: str = "") -> dict[str, Grid]:
    """The grids in settled parameters by dotted path, in the order of the config."""
    if isinstance(settled, Grid):
        return {path: settled}
    if isinstance(settled, Mapping):
        found: dict[str, Grid] = {}
        for key, item in settled.items():
            found |= grids_of(item, f"{path}.{key}" if path else str(key))
        return found
    return {}


def fill(settled: Any, assignment: Mapping[str, Any], path: str = "") -> Any:
    """Settled parameters with every grid replaced by a value."""
    if isinstance(settled, Grid):
        return assignment[path]
    if isinstance(settled, Mapping):
        return {key: fill(item, assignment, f"{path}.{key}" if path else str(key)) for key, item in settled.items()}
    return settled


def product(grids: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last parameter varying fastest.

    Examples
    --------
    >>> product({"a": [1, 2], "b": [3]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(grids, values, strict=True)) for values in itertools.product(*grids.values())]


def spread(start: float, stop: float, count: int, log: bool) -> list[float]:
    """Evenly spaced values, or evenly spaced in the logarithm, rounded to 12 digits.

    Examples
    --------
    >>> spread(0.1, 10, 3, log=True)
    [0.1, 1.0, 10.0]
    """
    if log and (start <= 0 or stop <= 0):
        raise ConfigError(f"{start:g}:{stop:g}: a logarithmic range needs positive ends")
    values = np.geomspace(start, stop, count) if log else np.linspace(start, stop, count)
    return [float(f"{value:.12g}") for value in values]


def _range(inner: Mapping[str, Any]) -> list[Any]:
    start, stop, log = inner["from"], inner["to"], inner.get("log", False)
    step, count = inner.get("step", 1), inner.get("count", 1)
    if not all(is_number(value) for value in (start, stop, step, count)) or not isinstance(log, bool):
        raise ConfigError("from, to, step and count of a grid are numbers, log is true or false")
    if start > stop or step <= 0 or count != int(count) or not 1 <= count <= limits.GRID:
        raise ConfigError(f"a grid goes from less to more, by a step above 0 or by a count of 1 to {limits.GRID}")
    if (stop - start) / step > limits.GRID and "step" in inner:
        raise ConfigError(f"more than {limits.GRID} values in one grid")
    if "step" in inner:
        return [start + i * step for i in range(int((stop - start) / step + 1e-9) + 1)]
    values: list[Any] = spread(start, stop, int(count), log)
    whole = isinstance(start, int) and isinstance(stop, int)
    return sorted({round(value) for value in values}) if whole else values


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, which a truth value is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _size(match: re.Match[str], facts: Facts) -> int:
    value: float = getattr(facts, match[1])
    if match[2]:
        number = float(match[3])
        if match[2] == "/" and number == 0:
            raise ConfigError(f"{match[0]} divides by 0")
        operation = {"-": operator.sub, "+": operator.add, "*": operator.mul, "/": operator.truediv}[match[2]]
        value = operation(value, number)
    return int(value)
