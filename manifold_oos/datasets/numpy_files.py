"""Reads arrays from untrusted NPY and NPZ files: no pickle, and shapes are checked before memory is taken."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from manifold_oos.datasets.sources import DAMAGE
from manifold_oos.errors import DataError

Array = NDArray[np.floating]

MAX_BYTES = 1 << 34


def keys(file: Path) -> list[str]:
    """Names of the arrays in an NPZ file.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    list of str
        In the order of the file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except DAMAGE as error:
        raise DataError(f"{file}: not a readable NPZ file ({error})") from error


def numbers(file: Path, key: str | None = None) -> Array:
    """A two-dimensional array of finite numbers.

    Parameters
    ----------
    file : Path
        NPY or NPZ.
    key : str, optional
        The array within an NPZ.

    Returns
    -------
    ndarray of shape (n, D)
        As float64.
    """
    where = _where(file, key)
    values = _read(file, key, kinds="biuf", dimensions=2).astype(np.float64)
    if values.size == 0:
        raise DataError(f"{where}: empty, of shape {values.shape}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(
            f"{where}, row {row}, column {column} (from 0): {values[row, column]} is not a finite number"
        )
    return values


def texts(file: Path, count: int, key: str | int | None = None) -> list[str]:
    """A one-dimensional array of labels or names, as text.

    Parameters
    ----------
    file : Path
        NPY or NPZ.
    count : int
        How many there must be.
    key : str, optional
        The array within an NPZ.

    Returns
    -------
    list of str
        Whole numbers without a decimal point.
    """
    where = _where(file, key)
    values = _read(file, key, kinds="biufUS", dimensions=1)
    if len(values) != count:
        raise DataError(f"{where}: {len(values)} labels or names for {count} rows of features")
    return as_texts(values, where)


def as_texts(values: NDArray, where: str) -> list[str]:
    """Labels or names as text.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers, which must be whole, or text.
    where : str
        File and key, for messages.

    Returns
    -------
    list of str
        One each.
    """
    if values.dtype.kind == "f":
        broken = np.flatnonzero(~np.isfinite(values) | (values != np.round(values)))
        if len(broken):
            raise DataError(
                f"{where}, row {broken[0]} (from 0): {values[broken[0]]} is no label; use whole numbers"
            )
        values = values.astype(np.int64)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    return [str(value) for value in values.tolist()]


def _where(file: Path, key: str | int | None) -> str:
    return str(file) if key is None else f"{file}: {key}"


def _read(file: Path, key: str | int | None, kinds: str, dimensions: int) -> NDArray:
    where = _where(file, key)
    try:
        with _stream(file, key) as (stream, size):
            version = npy.read_magic(stream)
            if version not in ((1, 0), (2, 0)):
                raise DataError(f"{where}: NPY format {version} is for arrays of records; save plain numbers")
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = header(stream)
            if dtype.kind not in kinds:
                what = "pickled objects" if dtype.hasobject else f"values of type {dtype}"
                raise DataError(f"{where}: has {what}, which are not read here; save plain numbers")
            if len(shape) != dimensions:
                raise DataError(f"{where}: has shape {shape}, but {dimensions} dimensions are expected")
            expected = stream.tell() + math.prod(shape) * dtype.itemsize
            if expected != size or expected > MAX_BYTES:
                raise DataError(f"{where}: {size} bytes, but shape {shape} of {dtype} takes {expected}; damaged?")
            stream.seek(0)
            return npy.read_array(stream, allow_pickle=False)
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(
            f"{where}: not a readable NPY array ({(str(error) or 'damaged').splitlines()[0]})"
        ) from error


@contextmanager
def _stream(file: Path, key: str | int | None) -> Iterator[tuple[IO[bytes], int]]:
    """The bytes of an array, and how many there are."""
    if file.suffix.lower() == ".npy":
        with file.open("rb") as stream:
            yield stream, file.stat().st_size
        return
    known = keys(file)
    if key not in known:
        raise DataError(
            f"{file}: no array {key!r} in it; there are {', '.join(known[:8])} (table.features, table.label_column)"
        )
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo(f"{key}.npy")
        with archive.open(info) as stream:
            yield stream, info.file_size
