"""Turns the matrices of MATLAB files into images and labels."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.mat5 import Variable, read_variables
from manifold_oos.errors import DataError


def read_mat(path: Path, names: Sequence[str], shapes: Sequence[tuple[int | None, ...]]) -> list[NDArray]:
    """Read real, finite matrices from a MATLAB file (version 5 to 7.2); None in a shape stands for any length."""
    return _pick(path, read_variables(path), names, shapes)


def _pick(
    path: Path, known: Mapping[str, Variable], names: Sequence[str], shapes: Sequence[tuple[int | None, ...]]
) -> list[NDArray]:
    for name in names:
        if name not in known:
            raise DataError(f"{path}: {name}: no such variable; it has {', '.join(known) or 'none'}")
    return [_values(path, name, known[name], shape) for name, shape in zip(names, shapes, strict=True)]


def read_struct_field(path: Path, name: str, shape: tuple[int | None, ...]) -> NDArray:
    """The first numeric field of a single struct; None in the shape stands for any length."""
    fields = read_variables(path)[name].fields
    for field, variable in fields.items():
        if variable.values is not None:
            return _values(path, f"{name}.{field}", variable, shape)
    raise DataError(f"{path}: {name}: no numeric field among {', '.join(fields) or 'none'}")


def labelled_images(path: Path, class_name: Callable[[int], str], size: tuple[int, int] = (32, 32)) -> Raw:
    """Upright images in the order of a file in the usual form: ``fea`` and ``gnd``, or ``X`` and ``Y``.

    Images are stored column by column, one per row; ``class_name`` makes a name of a class's number from 1.
    """
    known = read_variables(path)
    names = ("X", "Y") if "X" in known else ("fea", "gnd")
    values, ones = _pick(path, known, names, [(None, size[0] * size[1]), (None, 1)])
    if len(ones) != len(values):
        raise DataError(f"{path}: {names[1]}: {len(ones)} labels for {len(values)} images in {names[0]}")
    labels = zero_based(ones.ravel(), f"{path}: {names[1]}")
    rank = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rank[labels == label] = np.arange(1, (labels == label).sum() + 1)
    class_names = [class_name(label + 1) for label in range(labels.max() + 1)]
    return Raw(
        pixels(column_major(values, size), f"{path}: {names[0]}"),
        labels=labels,
        class_names=class_names,
        names=[f"{class_names[label]}-{number}" for label, number in zip(labels, rank, strict=True)],
    )


def column_major(rows: NDArray, size: tuple[int, int]) -> NDArray:
    """Upright images (n, height, width) from rows that MATLAB stored column by column."""
    return np.ascontiguousarray(rows.reshape(len(rows), *size).transpose(0, 2, 1))


def pixels(values: NDArray, where: str) -> NDArray:
    """Pixel values as float64 in 0..1, or as uint8 where they are whole numbers in 0..255."""
    low, high = float(values.min()), float(values.max())
    whole = values.dtype.kind in "uib" or (high > 1 and bool((values == np.round(values)).all()))
    if whole and low >= 0 and high <= 255:
        return values.astype(np.uint8)
    if low >= 0 and high <= 1:
        return values.astype(np.float64)
    raise DataError(f"{where}: values from {low:g} to {high:g} are neither in 0..1 nor whole numbers in 0..255")


def zero_based(labels: NDArray, where: str) -> NDArray[np.int64]:
    """Labels 1..M, every one present, as 0..M−1."""
    if not (labels == np.round(labels)).all():
        raise DataError(f"{where}: labels that are not whole numbers")
    classes = np.unique(labels)
    expected = np.arange(1, len(classes) + 1)
    if not np.array_equal(classes, expected):
        gap = next((int(e) for e, c in zip(expected, classes, strict=True) if e != c), 0)
        raise DataError(f"{where}: labels with gaps, {gap} is missing; they must be 1..{len(classes)}")
    return labels.astype(np.int64) - 1


def _values(path: Path, name: str, variable: Variable, shape: tuple[int | None, ...]) -> NDArray:
    found = variable.shape
    if variable.values is None:
        raise DataError(f"{path}: {name}: a {variable.kind} array, not real numbers")
    if len(found) != len(shape) or any(s is not None and s != f for f, s in zip(found, shape, strict=True)):
        wanted = "×".join("n" if length is None else str(length) for length in shape)
        raise DataError(f"{path}: {name}: {'×'.join(map(str, found))} instead of {wanted}")
    if variable.values.size == 0:
        raise DataError(f"{path}: {name}: empty")
    if not np.isfinite(variable.values).all():
        raise DataError(f"{path}: {name}: NaN or infinite values")
    return variable.values
