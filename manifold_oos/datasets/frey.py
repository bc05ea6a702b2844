"""Frey faces: one man's expressions in a film."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import pixels, read_mat
from manifold_oos.datasets.preprocess import COMMON
from manifold_oos.datasets.sources import Source

WIDTH, HEIGHT = 20, 28


class Frey(FileLoader):
    """Frey faces: 1965 frames of one face, grey 20×28, without labels.

    References
    ----------
    .. [1] Roweis & Saul, Nonlinear dimensionality reduction by locally linear embedding, Science, 2000.
    """

    name = "frey"
    variants = {"frames": "frey_rawface.mat"}
    options = tuple(key for key in COMMON if key not in ("classes", "per_class"))

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        (columns,) = read_mat(source.path, ["ff"], [(WIDTH * HEIGHT, None)])
        frames = pixels(columns.T.reshape(-1, HEIGHT, WIDTH), f"{source.path}: ff")
        return Raw(frames, names=[f"frame{number}" for number in range(1, len(frames) + 1)])
