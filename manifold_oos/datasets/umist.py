"""UMIST (Sheffield) faces: twenty people turning from profile to front."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import labelled_images
from manifold_oos.datasets.sources import Source


class UMIST(FileLoader):
    """UMIST (Sheffield) faces: 20 people turning from profile to front, 19 to 48 grey pictures each, 32×32.

    Person 2 has 10 pictures twice, as in the usual file.

    References
    ----------
    .. [1] Graham & Allinson, Characterizing virtual eigensignatures for general purpose face recognition, 1998.
    """

    name = "umist"
    variants = {"mat32": "UMIST.mat, 32×32"}

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        return labelled_images(source.path, lambda number: f"person{number}")
