"""PF01 (POSTECH) faces: a hundred and three people, seventeen pictures each."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.sources import Source


class PF01(FileLoader):
    """PF01 (Asian Face Image Database, POSTECH): 103 people, 17 colour pictures each.

    One normal face, 4 lights, 8 poses, 4 expressions. The database is given out on request; the loader reads a
    folder per person with the 17 pictures in it, in the order of their names.

    References
    ----------
    .. [1] Asian Face Image Database PF01, Intelligent Multimedia Lab, POSTECH, 2001.
    """

    name = "pf01"
    variants = {"faces": "a folder per person, 17 pictures each"}

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        images = pictures(source, r"(?P<person>[^/]+)/(?P<picture>[^/]+)\.(?:jpe?g|bmp|png|pgm|ppm|tiff?)")
        return labelled(
            images,
            source,
            group="person",
            sample_name=lambda image: f"{image.tokens['person']}-{image.tokens['picture']}",
        )
