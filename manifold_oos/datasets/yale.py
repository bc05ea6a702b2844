"""Yale faces: fifteen people under eleven conditions."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.mat import labelled_images
from manifold_oos.datasets.sources import Source

CONDITIONS = "centerlight|glasses|happy|leftlight|noglasses|normal|rightlight|sad|sleepy|surprised|wink"


class Yale(FileLoader):
    """Yale faces: 15 people under 11 lights and expressions, grey.

    The archive has 9 pairs of equal pictures, as the original does. The two variants are different crops; the
    sparse-coding paper's numbers fit ``full`` shrunk to 32×32.

    References
    ----------
    .. [1] Belhumeur, Hespanha & Kriegman, Eigenfaces vs. Fisherfaces, PAMI, 1997.
    """

    name = "yale"
    variants = {
        "full": "the uncropped 320×243 pictures, yalefaces.zip",
        "tight32": "Yale_32x32.mat: tight crops at 32×32",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        if variant == "tight32":
            return labelled_images(source.path, lambda number: f"subject{number:02}")
        images = pictures(source, rf"subject(?P<person>\d+)\.?(?P<condition>{CONDITIONS})(?:\.gif)?")
        return labelled(
            images,
            source,
            group="person",
            class_name="subject{}".format,
            sample_name=lambda image: f"subject{image.tokens['person']}.{image.tokens['condition']}",
        )
