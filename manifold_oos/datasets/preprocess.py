"""The common options: choose samples, grey, resize, project and normalise, in that order."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets import images, limits
from manifold_oos.errors import ConfigError, DataError

COMMON: Mapping[str, Any] = {
    "classes": None,
    "per_class": None,
    "gray": False,
    "size": None,
    "resample": "lanczos",
    "normalize": "none",
    "random_projection": None,
    "seed": 0,
}
"""The options that the base applies, with their defaults."""

ROW_OPTIONS = ("normalize", "random_projection", "seed")
"""The common options that make sense for points that are neither images nor labelled."""

NORMALIZATIONS = ("none", "unit", "standard")


def select(
    labels: NDArray[np.int64],
    class_names: Sequence[str],
    classes: int | Sequence[str | int] | None,
    per_class: int | None,
    name: str = "data",
) -> tuple[NDArray[np.intp], NDArray[np.int64], tuple[str, ...]]:
    """The samples that ``classes`` and ``per_class`` leave: positions, labels renumbered from 0, class names.

    Classes are a number (the first so many), or names (str) and positions (int, from 0); their order is that of the
    data whatever the order of the list.

    Examples
    --------
    >>> index, y, names = select(np.array([0, 0, 1, 1, 2, 2]), ["a", "b", "c"], ["c", "a"], 1)
    >>> index.tolist(), y.tolist(), names
    ([0, 4], [0, 1], ('a', 'c'))
    """
    known = list(class_names)
    chosen = set(range(len(known)))
    if isinstance(classes, int):
        if classes > len(known):
            raise DataError(f"{name}.classes: {classes} asked for, but there are {len(known)}")
        chosen = set(range(classes))
    elif classes is not None:
        for item in classes:
            if not (item in known if isinstance(item, str) else 0 <= item < len(known)):
                near = get_close_matches(str(item), known, n=3, cutoff=0.5) or known[:3]
                raise DataError(
                    f"{name}.classes: no class {item!r}; there are {len(known)}, such as {', '.join(near)}"
                )
        chosen = {known.index(item) if isinstance(item, str) else item for item in classes}
    keep = np.isin(labels, list(chosen))
    if per_class is not None:
        rank = np.empty(len(labels), dtype=np.intp)
        for label in range(len(known)):
            members = np.flatnonzero(labels == label)
            rank[members] = np.arange(len(members))
            if label in chosen and len(members) < per_class:
                raise DataError(
                    f"{name}.per_class: {per_class} asked for, but class {known[label]} has {len(members)} samples"
                )
        keep &= rank < per_class
    order = sorted(chosen)
    return (
        np.flatnonzero(keep),
        np.searchsorted(order, labels[keep]).astype(np.int64),
        tuple(known[c] for c in order),
    )


def checked(name: str, common: dict[str, Any]) -> dict[str, Any]:
    """Every key of ``COMMON`` in one form (a list as tuple, a size as pair), or a line that says which is wrong."""

    def positive(key: str) -> None:
        value = common[key]
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ConfigError(f"{name}.{key}: {value!r} is not a whole number from 1")

    if isinstance(common["classes"], list | tuple):
        common["classes"] = tuple(common["classes"])
        if not common["classes"] or any(
            isinstance(item, bool) or not isinstance(item, str | int) for item in common["classes"]
        ):
            raise ConfigError(f"{name}.classes: a list has class names (text) or positions (from 0)")
    else:
        positive("classes")
    positive("per_class")
    positive("random_projection")
    if common["random_projection"] is not None and common["random_projection"] > limits.PROJECTION:
        value = common["random_projection"]
        raise ConfigError(f"{name}.random_projection: {value} is more than {limits.PROJECTION} directions")
    size = common["size"]
    if size is not None:
        pair = (size, size) if isinstance(size, int) else tuple(size) if isinstance(size, list | tuple) else ()
        if len(pair) != 2 or any(isinstance(s, bool) or not isinstance(s, int) or not 1 <= s <= 4096 for s in pair):
            raise ConfigError(f"{name}.size: {size!r} is not [width, height] in pixels")
        common["size"] = pair
    for key, allowed in (
        ("resample", tuple(images.RESAMPLE)),
        ("normalize", NORMALIZATIONS),
        ("gray", (True, False)),
    ):
        if common[key] not in allowed:
            raise ConfigError(f"{name}.{key}: {common[key]!r} is none of {', '.join(map(str, allowed))}")
    if not isinstance(common["seed"], int) or isinstance(common["seed"], bool) or common["seed"] < 0:
        raise ConfigError(f"{name}.seed: {common['seed']!r} is not a whole number from 0")
    return common


def features(values: NDArray, step: Mapping[str, Any], name: str = "data") -> Array:
    """Float64 rows of the chosen samples, raw images or rows; ``step`` has every key of ``COMMON``, checked."""
    width = math.prod(image_shape(values.shape, {**step, "random_projection": None}) or values.shape[1:])
    if len(values) * width > limits.VALUES:
        how = "size, gray, classes or per_class" if values.ndim > 2 else "fewer rows or columns"
        raise DataError(
            f"{name}: {len(values)} samples of {width} numbers are more than {limits.VALUES}; give {how}"
        )
    if (
        step["random_projection"] is not None
        and max(width, len(values)) * step["random_projection"] > limits.VALUES
    ):
        what = f"{step['random_projection']} directions for {len(values)} samples of {width} numbers"
        raise DataError(f"{name}.random_projection: {what} take more than {limits.VALUES} numbers")
    if values.ndim > 2:
        if step["gray"]:
            values = images.to_gray(values)
        if step["size"] is not None:
            values = images.resize(values, step["size"], step["resample"])
        scale = 255.0 if values.dtype == np.uint8 else 1.0
        X = values.reshape(len(values), -1) / scale
    else:
        X = np.array(values, dtype=np.float64)
    if step["random_projection"] is not None:
        dimension = step["random_projection"]
        gaussian = np.random.default_rng(step["seed"]).standard_normal((X.shape[1], dimension))
        X = X @ (gaussian / np.sqrt(dimension))
    if step["normalize"] == "unit":
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X /= np.where(norms > 0, norms, 1.0)
    return X


def image_shape(shape: tuple[int, ...], step: Mapping[str, Any]) -> tuple[int, ...] | None:
    """(h, w) or (h, w, 3) in a row that :func:`features` makes of raw values of a shape; None without images."""
    if len(shape) == 2 or step["random_projection"] is not None:
        return None
    height_width = shape[1:3] if step["size"] is None else step["size"][::-1]
    return tuple(height_width) + (() if step["gray"] else shape[3:])
