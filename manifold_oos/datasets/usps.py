"""USPS: handwritten digits from envelopes, a labelled set of some size."""

import numpy as np

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import pixels, read_mat, zero_based
from manifold_oos.datasets.sources import Source
from manifold_oos.errors import DataError

SIDE = 16
DIGITS = 10


class USPS(FileLoader):
    """USPS handwritten digits: 10 classes, 1100 grey images 16×16 each.

    Samples are sorted by digit, and in the order of the file within each. Its labels are 1 for the digit 0 up to
    10 for the digit 9, as the pictures show.

    References
    ----------
    .. [1] Hull, A database for handwritten text recognition research, PAMI 16(5), 1994.
    """

    name = "usps"
    variants = {"mat16": "USPS.mat, 16×16"}

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        path = source.path
        rows, ones = read_mat(path, ["fea", "gnd"], [(None, SIDE * SIDE), (None, 1)])
        if len(ones) != len(rows):
            raise DataError(f"{path}: gnd: {len(ones)} labels for {len(rows)} images in fea")
        digits = zero_based(ones.ravel(), f"{path}: gnd")
        if digits.max() != DIGITS - 1:
            raise DataError(f"{path}: gnd: labels up to {digits.max() + 1} instead of {DIGITS}")
        order = np.argsort(digits, kind="stable")
        return Raw(
            pixels(rows[order].reshape(-1, SIDE, SIDE), f"{path}: fea"),
            labels=digits[order],
            class_names=[str(digit) for digit in range(DIGITS)],
            names=[f"{digits[i]}/{i + 1}" for i in order],
        )
