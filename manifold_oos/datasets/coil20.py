"""COIL-20: twenty things on a turntable, a view every five degrees."""

from dataclasses import replace

import numpy as np

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.mat import labelled_images
from manifold_oos.datasets.sources import Source


class Coil20(FileLoader):
    """COIL-20: 20 objects on a turntable, 72 grey views each, 5 degrees apart.

    ``angle`` is the turn of the table in degrees. SOSI uses 71 views of each object (``per_class: 71``), NSSE all.

    References
    ----------
    .. [1] Nene, Nayar & Murase, Columbia Object Image Library (COIL-20), CUCS-005-96, 1996.
    """

    name = "coil20"
    variants = {
        "png": "the processed 128×128 images, coil-20-proc.zip",
        "mat32": "COIL20.mat: the same shrunk to 32×32 by 4×4 means",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        if variant == "mat32":
            raw = labelled_images(source.path, lambda number: f"obj{number}")
            view = [int(name.rsplit("-", 1)[1]) - 1 for name in raw.names]
            return replace(raw, parameters={"angle": 5.0 * np.array(view)})
        images = pictures(source, r"obj(?P<object>\d+)__(?P<view>\d+)\.png")
        angle = [5.0 * int(image.tokens["view"]) for image in images]
        return labelled(images, source, group="object", class_name="obj{}".format, parameters={"angle": angle})
