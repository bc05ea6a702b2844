"""The Isomap faces: one rendered head under changing pose and light."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import column_major, pixels, read_mat
from manifold_oos.datasets.preprocess import COMMON
from manifold_oos.datasets.sources import Source
from manifold_oos.errors import DataError

SIDE = 32
PARAMETERS = ("light", "left_right", "up_down")
"""What the rows of dataT are; the pictures say so."""


class IsomapFaces(FileLoader):
    """Isomap faces: 698 renderings of one head, grey 32×32, without labels, with the true pose and light.

    ``left_right`` and ``up_down`` are the two angles of the pose and ``light`` is the direction of the light, each
    with mean 0 and deviation 1. The official file has 64×64 pictures; this one is the same at half size.

    References
    ----------
    .. [1] Tenenbaum, de Silva & Langford, A global geometric framework for nonlinear dimensionality reduction,
       Science, 2000.
    """

    name = "isomap_faces"
    variants = {"mat32": "isomap_faces_32.mat, 32×32"}
    options = tuple(key for key in COMMON if key not in ("classes", "per_class"))

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        shapes = [(SIDE * SIDE, None), (len(PARAMETERS), None)]
        columns, truth = read_mat(source.path, ["dataY", "dataT"], shapes)
        if columns.shape[1] != truth.shape[1]:
            raise DataError(f"{source.path}: dataT: {truth.shape[1]} poses for {columns.shape[1]} images in dataY")
        images = column_major(columns.T, (SIDE, SIDE))
        return Raw(
            pixels(images, f"{source.path}: dataY"),
            names=[f"face{number}" for number in range(1, len(images) + 1)],
            parameters=dict(zip(PARAMETERS, truth, strict=True)),
        )
