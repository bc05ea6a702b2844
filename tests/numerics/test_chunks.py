"""Rows in blocks: the results of all at once, no block larger than it may be."""

import numpy as np
import pytest

from manifold_oos.numerics import chunks
from manifold_oos.numerics.chunks import map_rows


@pytest.mark.parametrize(("row_floats", "largest"), [(1, 3), (25, 4), (40, 2), (1000, 1)])
def test_blocks_are_as_large_as_they_may_be(row_floats, largest, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_FLOATS", 100)
    X, sizes = np.arange(33.0 * 10).reshape(10, 33), []

    def doubled(rows):
        sizes.append(len(rows))
        return 2 * rows[:, :2]

    width = 33 if row_floats == 1 else 2  # the points themselves count where they are larger
    np.testing.assert_array_equal(map_rows(doubled, X[:, :width], row_floats), 2 * X[:, :2])
    assert set(sizes[:-1]) == {largest} and sum(sizes) == 10


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16])
def test_every_number_of_rows(n, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_FLOATS", 8)
    X = np.arange(float(n))[:, None]
    np.testing.assert_array_equal(map_rows(lambda rows: rows + 1, X, row_floats=1), X + 1)


def test_single_precision_comes_in_as_double(monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_FLOATS", 4)
    types = []
    result = map_rows(lambda rows: types.append(rows.dtype) or rows, np.ones((10, 1), dtype=np.float32), 1)
    assert set(types) == {np.dtype(np.float64)} and result.dtype == np.float64


def test_a_block_takes_eight_mebibytes():
    sizes = []
    map_rows(lambda rows: sizes.append(len(rows)) or rows, np.zeros((3000, 1)), row_floats=1000)
    assert 2**22 < 8 * 1000 * max(sizes) <= 2**23
