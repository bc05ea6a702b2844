"""The teapot photographs: one teapot on a full turn."""

import numpy as np

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import column_major, pixels, read_mat, read_struct_field
from manifold_oos.datasets.mat5 import read_variables
from manifold_oos.datasets.preprocess import COMMON
from manifold_oos.datasets.sources import Source

GRAY_SIZE = (50, 38)
COLOR_SIZE = (101, 76)


class Teapot(FileLoader):
    """Teapot photographs: one teapot on a full turn, without labels.

    ``angle`` is the turn in degrees, the photographs being evenly spaced. The official file holds a struct
    ``Input`` whose first matrix has a photograph per column, 76 × 101 × 3 as MATLAB stores it; a plain matrix of
    that shape, named ``Input`` or ``teapotImages``, is read as well.

    References
    ----------
    .. [1] Weinberger & Saul, Unsupervised learning of image manifolds by semidefinite programming, CVPR, 2004.
    """

    name = "teapot"
    variants = {
        "gray100": "every fourth photograph, grey, half size 50×38",
        "color400": "all 400 in colour, 101×76",
    }
    options = tuple(key for key in COMMON if key not in ("classes", "per_class"))

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        path = source.path
        if variant == "gray100":
            (rows,) = read_mat(path, ["teapotImages"], [(None, GRAY_SIZE[0] * GRAY_SIZE[1])])
            images = column_major(rows, GRAY_SIZE)
        else:
            known = read_variables(path)
            name = "Input" if "Input" in known else "teapotImages"
            shape = (3 * COLOR_SIZE[0] * COLOR_SIZE[1], None)
            columns = (
                read_struct_field(path, name, shape)
                if name in known and known[name].kind == "struct"
                else read_mat(path, [name], [shape])[0]
            )
            channels = columns.T.reshape(-1, 3, *COLOR_SIZE)
            images = np.ascontiguousarray(channels.transpose(0, 3, 2, 1))
        n = len(images)
        return Raw(
            pixels(images, f"{path}: photographs"),
            names=[f"view{number}" for number in range(1, n + 1)],
            parameters={"angle": 360.0 * np.arange(n) / n},
        )
