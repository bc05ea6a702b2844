"""Reads numeric matrices from untrusted MATLAB files; names, types and sizes are checked before content is read."""

import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from manifold_oos.datasets.base import Raw
from manifold_oos.errors import DataError

MAX_BYTES = 1 << 29
"""Bytes of a file's content when unpacked: several times the largest known set."""
NUMERIC = {"double", "single", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "logical"}
COMPRESSED = 15


def read_mat(path: Path, names: Sequence[str], shapes: Sequence[tuple[int | None, ...]]) -> list[NDArray]:
    """Read matrices from a MATLAB file (version 4 to 7.2).

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        The variables, all of which must be there.
    shapes : sequence of tuple
        Shape of each; None stands for any length.

    Returns
    -------
    list of ndarray
        Real, finite matrices.
    """
    known = _contents(path)
    for name, shape in zip(names, shapes, strict=True):
        if name not in known:
            raise DataError(f"{path}: {name}: no such variable; it has {', '.join(known) or 'none'}")
        found, kind = known[name]
        if kind not in NUMERIC:
            raise DataError(f"{path}: {name}: a {kind} array, not numbers")
        _check_shape(path, name, found, shape)
    content = _load(path, names)
    arrays = [np.asarray(content[name]) for name in names]
    for name, array, shape in zip(names, arrays, shapes, strict=True):
        if array.dtype.kind not in "uifb":
            raise DataError(f"{path}: {name}: {array.dtype} values, not real numbers")
        _check_shape(path, name, array.shape, shape)
        if not np.isfinite(array).all():
            raise DataError(f"{path}: {name}: NaN or infinite values")
    return arrays


def variables(path: Path) -> dict[str, str]:
    """The variables of a MATLAB file and their types, without reading their content.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict of str to str
        MATLAB's type by name.
    """
    return {name: kind for name, (_, kind) in _contents(path).items()}


def read_struct_field(path: Path, name: str, shape: tuple[int | None, ...]) -> NDArray:
    """The first numeric field of a 1×1 struct that has a shape.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The struct.
    shape : tuple
        Shape of the field; None stands for any length.

    Returns
    -------
    ndarray
        The field's matrix.
    """
    record = np.asarray(_load(path, [name])[name])
    if record.dtype.names is None or record.size != 1:
        raise DataError(f"{path}: {name}: not a single struct")
    for field in record.dtype.names:
        value = np.asarray(record.flat[0][field])
        if value.dtype.kind in "uif" and len(value.shape) == len(shape):
            _check_shape(path, f"{name}.{field}", value.shape, shape)
            return value
    raise DataError(f"{path}: {name}: no numeric field among {', '.join(record.dtype.names)}")


def labelled_images(path: Path, class_name: Callable[[int], str], size: tuple[int, int] = (32, 32)) -> Raw:
    """Samples of a file in the usual form: ``fea`` and ``gnd``, or ``X`` and ``Y``.

    Parameters
    ----------
    path : Path
        The file.
    class_name : callable
        Name of a class by its number from 1.
    size : (width, height)
        Of the images, which are stored column by column, one image per row.

    Returns
    -------
    Raw
        Upright images in the order of the file.
    """
    names = ("X", "Y") if "X" in variables(path) else ("fea", "gnd")
    values, ones = read_mat(path, names, [(None, size[0] * size[1]), (None, 1)])
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
    """Upright images from rows that MATLAB stored column by column.

    Parameters
    ----------
    rows : ndarray of shape (n, width · height)
        One image per row.
    size : (width, height)
        Of the images.

    Returns
    -------
    ndarray of shape (n, height, width)
        Contiguous.
    """
    return np.ascontiguousarray(rows.reshape(len(rows), *size).transpose(0, 2, 1))


def pixels(values: NDArray, where: str) -> NDArray:
    """Pixel values in one of the two forms that loaders give.

    Parameters
    ----------
    values : ndarray
        In 0..1, or whole numbers in 0..255.
    where : str
        File and variable, for messages.

    Returns
    -------
    ndarray
        float64 in 0..1, or uint8.
    """
    low, high = float(values.min()), float(values.max())
    whole = values.dtype.kind in "uib" or (high > 1 and bool((values == np.round(values)).all()))
    if whole and low >= 0 and high <= 255:
        return values.astype(np.uint8)
    if low >= 0 and high <= 1:
        return values.astype(np.float64)
    raise DataError(f"{where}: values from {low:g} to {high:g} are neither in 0..1 nor whole numbers in 0..255")


def zero_based(labels: NDArray, where: str) -> NDArray[np.int64]:
    """Labels 1..M as 0..M−1.

    Parameters
    ----------
    labels : ndarray
        Whole numbers from 1, every one present.
    where : str
        File and variable, for messages.

    Returns
    -------
    ndarray of int64
        From 0.
    """
    if not (labels == np.round(labels)).all():
        raise DataError(f"{where}: labels that are not whole numbers")
    classes = np.unique(labels)
    expected = np.arange(1, len(classes) + 1)
    if not np.array_equal(classes, expected):
        gap = next((int(e) for e, c in zip(expected, classes, strict=True) if e != c), 0)
        raise DataError(f"{where}: labels with gaps, {gap} is missing; they must be 1..{len(classes)}")
    return labels.astype(np.int64) - 1


def _contents(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    try:
        _check_inflated(path)
        found = scipy.io.whosmat(path)
    except DataError:
        raise
    except NotImplementedError as error:
        raise DataError(f"{path}: a version 7.3 file; save it with -v7") from error
    except Exception as error:  # SciPy's reader raises nearly anything on damaged bytes
        raise DataError(f"{path}: not a readable MATLAB file ({_reason(error)})") from error
    known = {name: (tuple(int(length) for length in shape), kind) for name, shape, kind in found}
    for name, (shape, _) in known.items():
        if np.prod([float(length) for length in shape]) * 8 > MAX_BYTES:
            raise DataError(f"{path}: {name}: {shape} is more than {MAX_BYTES} bytes")
    return known


def _load(path: Path, names: Sequence[str]) -> dict[str, Any]:
    try:
        content: dict[str, Any] = scipy.io.loadmat(path, variable_names=list(names))
    except Exception as error:  # as above
        raise DataError(f"{path}: truncated or damaged ({_reason(error)}); get the file again") from error
    missing = [name for name in names if name not in content]
    if missing:
        raise DataError(f"{path}: {missing[0]}: no such variable")
    return content


def _check_inflated(path: Path) -> None:
    """Refuse a version 5 file whose compressed elements unpack to more than the limit."""
    with path.open("rb") as stream:
        header = stream.read(128)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        total = 0
        while order and len(tag := stream.read(8)) == 8:
            kind, length = struct.unpack(f"{order}II", tag)
            if kind != COMPRESSED:
                total += length
                stream.seek(length, 1)
            else:
                inflate = zlib.decompressobj()
                data = stream.read(length)
                while data and not inflate.eof and total <= MAX_BYTES:
                    total += len(inflate.decompress(data, 1 << 20))
                    data = inflate.unconsumed_tail
            if total > MAX_BYTES:
                raise DataError(f"{path}: unpacks to more than {MAX_BYTES} bytes")


def _check_shape(path: Path, name: str, found: tuple[int, ...], shape: tuple[int | None, ...]) -> None:
    if len(found) != len(shape) or any(s is not None and s != f for f, s in zip(found, shape, strict=False)):
        wanted = "×".join("n" if length is None else str(length) for length in shape)
        raise DataError(f"{path}: {name}: {'×'.join(map(str, found))} instead of {wanted}")
    if 0 in found:
        raise DataError(f"{path}: {name}: empty")


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
