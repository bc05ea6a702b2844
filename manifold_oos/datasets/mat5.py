"""A reader of MATLAB files (version 5 to 7.2) for numbers alone, safe on damaged and hostile bytes.

SciPy's reader is compiled code that crashes the process on some damaged files, so it is no choice for files that
come from anywhere. The format is that of MathWorks' "MAT-File Format": elements with a tag (type, length), some of
them deflated; a matrix is an element whose parts are flags, dimensions, name and values.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manifold_oos.datasets import limits
from manifold_oos.errors import DataError

COMPRESSED, MATRIX = 15, 14
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single", 8: "int8"}
CLASSES |= {9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64"}
CLASSES |= {16: "function", 17: "opaque"}
NUMERIC = frozenset(range(6, 16))
STRUCT = 2
COMPLEX = 0x0800


@dataclass(frozen=True)
class Variable:
    """A variable of a file.

    ``kind`` is MATLAB's class, such as ``double`` or ``struct``, or ``complex``; ``values`` are real numbers in the
    type they are stored in, None for every other kind; ``fields`` are those of a single struct.
    """

    kind: str
    shape: tuple[int, ...]
    values: NDArray | None = None
    fields: "dict[str, Variable]" = field(default_factory=dict)


def read_variables(path: Path) -> dict[str, Variable]:
    """Every variable of a file by name; a file that is not in order is a :class:`DataError` of one line."""
    try:
        if path.stat().st_size > limits.MAT_BYTES:
            raise DataError(f"{path}: more than {limits.MAT_BYTES} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise DataError(f"{path}: not a MATLAB file of version 5 to 7.2")
    if struct.unpack(f"{order}H", content[124:126]) != (0x0100,):
        raise DataError(f"{path}: a version 7.3 file; save it with -v7")
    try:
        return dict(_variables(memoryview(content)[128:], order))
    except _Damaged as error:
        raise DataError(f"{path}: {error}") from error


class _Damaged(Exception):
    """What is wrong with the bytes."""

    def __init__(self, what: str = "truncated or damaged; get the file again") -> None:
        super().__init__(what)


def _variables(data: memoryview, order: str) -> Iterator[tuple[str, Variable]]:
    left = limits.MAT_BYTES
    for kind, part in _elements(data, order):
        if kind == COMPRESSED:
            unpacked = _inflate(part, left)
            left -= len(unpacked)
            inner = list(_elements(memoryview(unpacked), order))
        else:
            inner = [(kind, part)]
        for inner_kind, matrix in inner:
            if inner_kind == MATRIX:
                yield _matrix(matrix, order)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    position = 0
    while position < len(data):
        if position + 8 > len(data):
            raise _Damaged
        kind, size = struct.unpack_from(f"{order}II", data, position)
        start, small = position + 8, kind >> 16
        if small:
            kind, size, start = kind & 0xFFFF, small, position + 4
        if start + size > len(data) or small > 4:
            raise _Damaged
        yield kind, data[start : start + size]
        position = position + 8 if small else start + size + (0 if kind == COMPRESSED else -size % 8)


def _inflate(part: memoryview, limit: int) -> bytes:
    inflate = zlib.decompressobj()
    try:
        unpacked = inflate.decompress(part, limit + 1)
    except zlib.error as error:
        raise _Damaged from error
    if len(unpacked) > limit:
        raise _Damaged(f"unpacks to more than {limits.MAT_BYTES} bytes")
    if not inflate.eof:
        raise _Damaged
    return unpacked


def _matrix(data: memoryview, order: str, *, nested: bool = False) -> tuple[str, Variable]:
    parts = _elements(data, order)
    flags = _numbers(_next(parts), order, "u4")
    shape = tuple(int(length) for length in _numbers(_next(parts), order, "i4"))
    name = bytes(_next(parts)[1]).decode("ascii", errors="replace")
    if len(flags) != 2 or not 2 <= len(shape) <= 4 or min(shape) < 0:
        raise _Damaged
    number = int(flags[0]) & 0xFF
    kind = CLASSES.get(number, "unknown")
    if number == STRUCT:
        return name, Variable(kind, shape, fields={} if nested or shape != (1, 1) else _fields(parts, order))
    if number not in NUMERIC:
        return name, Variable(kind, shape)
    if int(flags[0]) & COMPLEX:
        return name, Variable("complex", shape)
    values = _numbers(_next(parts), order)
    if len(values) != math.prod(shape):
        raise _Damaged(f"{name}: {len(values)} values for a shape of {'×'.join(map(str, shape))}")
    return name, Variable(kind, shape, values.reshape(shape, order="F"))


def _fields(parts: Iterator[tuple[int, memoryview]], order: str) -> dict[str, Variable]:
    lengths = _numbers(_next(parts), order, "i4")
    text = bytes(_next(parts)[1])
    if len(lengths) != 1 or not 1 <= lengths[0] <= 64:
        raise _Damaged
    step = int(lengths[0])
    padded = [text[i : i + step] for i in range(0, len(text), step)]
    names = [name.split(b"\0")[0].decode("ascii", errors="replace") for name in padded]
    fields = {}
    for name, (kind, part) in zip(names, parts, strict=False):
        if kind == MATRIX and len(part) > 0:
            fields[name] = _matrix(part, order, nested=True)[1]
    return fields


def _next(parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
    part = next(parts, None)
    if part is None:
        raise _Damaged
    return part


def _numbers(part: tuple[int, memoryview], order: str, expected: str | None = None) -> NDArray:
    kind, data = part
    name = TYPES.get(kind)
    if name is None or (expected is not None and name != expected) or len(data) % int(name[1]) != 0:
        raise _Damaged
    return np.frombuffer(data, dtype=f"{order}{name}")
