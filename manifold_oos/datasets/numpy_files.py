"""Reads arrays from untrusted NPY and NPZ files: no pickle, and shapes are checked before memory is taken."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets import limits
from manifold_oos.datasets.sources import DAMAGE, open_member, open_zip, shown
from manifold_oos.errors import DataError


def keys(file: Path) -> list[str]:
    """Names of the arrays in an NPZ file, in its order."""
    try:
        with open_zip(file) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except DAMAGE as error:
        raise DataError(f"{file}: not a readable NPZ file ({_reason(error)})") from error


def numbers(file: Path, key: str | None = None) -> Array:
    """A two-dimensional array of finite numbers from an NPY file, or of a key of an NPZ file, as float64."""
    where = _where(file, key)
    values = _read(file, key, kinds="biuf", shape=(None, None)).astype(np.float64, copy=False)
    if values.size == 0:
        raise DataError(f"{where}: empty, of shape {values.shape}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(
            f"{where}, row {row}, column {column} (from 0): {values[row, column]} is not a finite number"
        )
    return values


def texts(file: Path, count: int, key: str | int | None = None) -> list[str]:
    """So many labels or names, as :func:`as_texts` writes them."""
    return as_texts(_read(file, key, kinds="biufUS", shape=(count,)), _where(file, key))


def as_texts(values: NDArray, where: str) -> list[str]:
    """Labels or names as text: whole numbers without a decimal point, or text."""
    if values.dtype.kind == "f":
        broken = np.flatnonzero(~(np.abs(values) < 2**53) | (values != np.round(values)))
        if len(broken):
            raise DataError(
                f"{where}, row {broken[0]} (from 0): {values[broken[0]]} is no label; use whole numbers"
            )
        values = values.astype(np.int64)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    return [str(value) for value in values.tolist()]


def _where(file: Path, key: str | int | None) -> str:
    return str(file) if key is None else f"{file}: {shown(key)}"


def _reason(error: BaseException) -> str:
    return shown((str(error) or "damaged").splitlines()[0][:200])


def _read(file: Path, key: str | int | None, kinds: str, shape: tuple[int | None, ...]) -> NDArray:
    """An array of one of these kinds and of this shape, where None is any length."""
    where = _where(file, key)
    try:
        with _stream(file, key) as (stream, size):
            found, dtype = _header(stream, where)
            if dtype.kind not in kinds:
                what = "pickled objects" if dtype.hasobject else f"values of type {_reason(ValueError(dtype))}"
                raise DataError(f"{where}: has {what}, which are not read here; save plain numbers")
            if len(found) != len(shape):
                raise DataError(f"{where}: has shape {found}, but {len(shape)} dimensions are expected")
            if shape[0] not in (None, found[0]):
                raise DataError(f"{where}: {found[0]} labels or names for {shape[0]} rows of features")
            expected = stream.tell() + math.prod(found) * dtype.itemsize
            if expected != size or min(found) < 0:
                raise DataError(f"{where}: {size} bytes, but shape {found} of {dtype} takes {expected}; damaged?")
            if max(math.prod(found) * 8, expected) > limits.VALUES * 8:
                raise DataError(
                    f"{where}: shape {found} is more than {limits.VALUES} numbers or {limits.VALUES * 8} bytes"
                )
            stream.seek(0)
            return npy.read_array(stream, allow_pickle=False)
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(f"{where}: not a readable NPY array ({_reason(error)})") from error


def _header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array that follows."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise DataError(f"{where}: NPY format {version} is for arrays of records; save plain numbers")
    start = stream.tell()
    if int.from_bytes(stream.read(2 * version[0]), "little") > limits.NPY_HEADER_BYTES:
        raise DataError(f"{where}: a header of more than {limits.NPY_HEADER_BYTES} bytes")
    stream.seek(start)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        found, _, dtype = header(stream)
    except Exception as error:  # NumPy evaluates the header as Python, which raises nearly anything on damage
        raise DataError(f"{where}: not a readable NPY array ({_reason(error)})") from error
    return found, dtype


@contextmanager
def _stream(file: Path, key: str | int | None) -> Iterator[tuple[IO[bytes], int]]:
    """The bytes of an array, and how many there are."""
    if file.suffix.lower() == ".npy":
        with file.open("rb") as stream:
            yield stream, file.stat().st_size
        return
    known = keys(file)
    if key not in known:
        some = shown(", ".join(known[:8])[:200])
        raise DataError(f"{file}: no array {key!r} in it; there are {some} (table.features, table.label_column)")
    with open_zip(file) as archive:
        info = archive.getinfo(f"{key}.npy")
        with open_member(archive, info) as stream:
            yield stream, info.file_size
