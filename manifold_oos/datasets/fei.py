"""FEI faces: two hundred people turning from profile to profile."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.sources import Source


class FEI(FileLoader):
    """FEI faces: 200 people, 14 colour pictures each, turning from profile to profile.

    Pictures 1 to 10 are the turn, 11 to 13 frontal, 14 is almost black for many. NSSE takes 50 people and does
    not say which: ``classes: 50`` are the first.

    References
    ----------
    .. [1] Thomaz & Giraldi, A new ranking method for principal components analysis and its application to face
       image analysis, Image and Vision Computing, 2010.
    """

    name = "fei"
    variants = {"original": "all pictures of the four parts; 640×480, or a smaller copy with the same names"}

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        images = pictures(source, r"(?P<person>\d+)-(?P<picture>\d+)\.jpg")
        return labelled(images, source, group="person")
