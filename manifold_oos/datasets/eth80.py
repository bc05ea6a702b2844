"""ETH-80: things of eight categories, seen from the upper half of a sphere."""

import numpy as np
from PIL import Image

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, Picture, labelled, pictures
from manifold_oos.datasets.sources import Source

SIDE = 128


class ETH80(FileLoader):
    """ETH-80: 8 categories of things, the first object of each, 41 colour views from the upper half sphere.

    ``elevation`` and ``azimuth`` are in degrees, as in the names of the files. SOSI takes one object of each
    category; which crop it used is not said, so both are here.

    References
    ----------
    .. [1] Leibe & Schiele, Analyzing appearance and contour based methods for object categorization, CVPR, 2003.
    """

    name = "eth80"
    variants = {
        "full": "the object within its 256×256 frame (eth80-cropped256), at 128×128 by 2×2 means",
        "close": "cropped close to the object, 128×128 (eth80-cropped-close128)",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        images = pictures(
            source,
            r"(?P<category>[a-z]+)(?P<object>\d+)-(?P<elevation>\d+)-(?P<azimuth>\d+)\.png",
            keep=lambda tokens: int(tokens["object"]) == 1,
        )
        if variant == "full":
            images = [_halved(image) for image in images]
        angles = {key: [float(image.tokens[key]) for image in images] for key in ("elevation", "azimuth")}
        return labelled(images, source, group="category", parameters=angles)


def _halved(image: Picture) -> Picture:
    if image.pixels.shape[:2] != (2 * SIDE, 2 * SIDE):
        return image
    return Picture(image.member, image.tokens, np.asarray(Image.fromarray(image.pixels).reduce(2)))
