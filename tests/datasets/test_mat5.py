"""The reader of MATLAB files: SciPy is the oracle for good files, one line the answer to damaged ones."""

import io

import numpy as np
import pytest
import scipy.io

from manifold_oos.datasets.mat5 import read_variables
from manifold_oos.errors import DataError

rng = np.random.default_rng(0)
CONTENT = {
    "doubles": rng.standard_normal((5, 7)),
    "whole": rng.integers(0, 200, (6, 3)).astype(float),
    "singles": rng.standard_normal((2, 3)).astype(np.float32),
    "bytes": rng.integers(0, 256, (30, 40), dtype=np.uint8),
    "ints": rng.integers(-9, 9, (3, 1), dtype=np.int16),
    "long": rng.integers(-9, 9, (3, 2), dtype=np.int64),
    "one": np.array([[3]], dtype=np.uint8),
    "cube": rng.standard_normal((2, 3, 4)),
    "empty": np.zeros((0, 3)),
    "flags": np.array([[True, False]]),
    "record": {"X": rng.standard_normal((3, 2)), "text": "abc", "deep": {"Y": np.eye(2)}},
    "text": "abc",
    "cells": np.array([[1, "a"]], dtype=object),
    "imaginary": np.array([[1j]]),
}


@pytest.fixture(params=[False, True], ids=["plain", "deflated"])
def file(request, tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, CONTENT, do_compression=request.param)
    return path


def test_numbers_are_those_of_scipy(file):
    known, oracle = read_variables(file), scipy.io.loadmat(file)
    assert list(known) == list(CONTENT)
    for name in ("doubles", "whole", "singles", "bytes", "ints", "long", "one", "cube", "empty"):
        np.testing.assert_array_equal(known[name].values, oracle[name])
        assert known[name].shape == oracle[name].shape
    np.testing.assert_array_equal(known["flags"].values, oracle["flags"])


def test_names_types_and_shapes_are_those_of_scipy(file):
    known = read_variables(file)
    for name, shape, kind in scipy.io.whosmat(file):
        assert known[name].shape == shape or kind == "char"  # of text SciPy counts lines
        if name not in ("flags", "imaginary"):
            assert known[name].kind == kind
    assert known["imaginary"].kind == "complex"
    assert all(known[name].values is None for name in ("text", "cells", "imaginary", "record"))


def test_fields_of_a_struct(file):
    fields = read_variables(file)["record"].fields
    np.testing.assert_array_equal(fields["X"].values, CONTENT["record"]["X"])
    assert fields["text"].kind == "char"
    assert fields["deep"].kind == "struct"
    assert fields["deep"].fields == {}


def big_endian(rows):
    """A file as a big-endian machine writes it."""

    def element(kind, data):
        return kind.to_bytes(4, "big") + len(data).to_bytes(4, "big") + data + bytes(-len(data) % 8)

    flags = (6).to_bytes(4, "big") + bytes(4)
    shape = b"".join(length.to_bytes(4, "big") for length in rows.shape)
    parts = (
        element(6, flags) + element(5, shape) + element(1, b"X") + element(9, rows.astype(">f8").tobytes(order="F"))
    )
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + element(14, parts)


def test_big_endian(tmp_path):
    (tmp_path / "a.mat").write_bytes(big_endian(CONTENT["doubles"]))
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "a.mat")["X"], CONTENT["doubles"])
    np.testing.assert_array_equal(read_variables(tmp_path / "a.mat")["X"].values, CONTENT["doubles"])


def mutated(content, rng):
    """A few bytes changed, removed or set to 255, the tags at the start more often."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(100, len(content) if rng.random() < 0.5 else 400))
        change = rng.integers(4)
        if change == 0:
            content[place] = rng.integers(256)
        elif change == 1:
            content[place] ^= 1 << int(rng.integers(8))
        elif change == 2:
            del content[place : place + int(rng.integers(1, 20))]
        else:
            content[place : place + 4] = b"\xff" * 4
    return bytes(content)


@pytest.mark.parametrize("deflate", [False, True])
def test_damaged_files_are_one_line(deflate, tmp_path):
    stream = io.BytesIO()
    scipy.io.savemat(stream, CONTENT, do_compression=deflate)
    damaged = 0
    for seed in range(500):
        (tmp_path / "a.mat").write_bytes(mutated(stream.getvalue(), np.random.default_rng(seed)))
        try:
            read_variables(tmp_path / "a.mat")
        except DataError as error:
            damaged += 1
            assert str(error).startswith(str(tmp_path / "a.mat"))
            assert "\n" not in str(error)
    assert damaged > 250
