"""ORL (AT&T) faces: forty people, ten pictures each."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.mat import labelled_images
from manifold_oos.datasets.sources import Source


class ORL(FileLoader):
    """ORL (AT&T) faces: 40 people, 10 grey pictures each, over two years.

    The two variants are different crops: results on one say nothing of the other. NSSE's numbers fit ``full``.

    References
    ----------
    .. [1] Samaria & Harter, Parameterisation of a stochastic model for human face identification, 1994.
    """

    name = "orl"
    variants = {
        "full": "the 92×112 pictures of att_faces.zip",
        "tight32": "ORL_32x32.mat: tighter crops at 32×32",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        if variant == "tight32":
            return labelled_images(source.path, lambda number: f"s{number}")
        images = pictures(source, r"s(?P<person>\d+)/(?P<picture>\d+)\.pgm")
        return labelled(
            images,
            source,
            group="person",
            class_name="s{}".format,
            sample_name=lambda image: f"s{image.tokens['person']}-{image.tokens['picture']}",
        )
