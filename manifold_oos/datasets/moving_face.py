"""A face that moves over a fixed noise image, 21 × 21 positions: a manifold of images with known coordinates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos import datasets
from manifold_oos.datasets import images
from manifold_oos.datasets.base import Listing, Loader, Raw
from manifold_oos.datasets.render import render
from manifold_oos.datasets.solids import head
from manifold_oos.errors import ConfigError, DataError

WIDTH, HEIGHT = 86, 96
STEPS = 21


class MovingFace(Loader):
    """One face at 21×21 positions on a fixed noise image, 116×106 (coordinate propagation, Fig. 6).

    The photograph comes from another data set, which has to be there; the rendered head needs none.
    """

    name = "moving_face"
    variants = {
        "frey": "a face of the Frey set",
        "orl": "a face of the ORL set",
        "rendered": "a head rendered by this project, not a photograph",
    }
    listing = Listing(
        samples=STEPS**2,
        classes=0,
        size=f"{WIDTH + STEPS - 1}×{HEIGHT + STEPS - 1}",
        licence="generated, free",
    )
    options = ("size", "resample", "normalize", "random_projection", "seed")

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options; see :meth:`Loader.check`."""
        full = super().check(options)
        if not isinstance(full["face"], int) or isinstance(full["face"], bool) or full["face"] < 0:
            raise ConfigError(f"{cls.name}.face: {full['face']!r} is not a whole number from 0")
        if full["variant"] == "rendered" and full["face"] != 0:
            raise ConfigError(f"{cls.name}.face: the variant rendered has one face, number 0")
        return full

    def listed(self, variant: str) -> Listing:
        """There when the set of the face is; see :meth:`Loader.listed`."""
        if variant == "rendered":
            return self.listing
        faces = datasets.find(variant)
        face = faces(data_dir=self.data_dir, offline=True).listed(next(iter(faces.variants)))
        return replace(self.listing, licence=face.licence, found=face.found)

    def read(self, variant: str, *, face: int = 0, seed: int = 0) -> Raw:
        """Compose the images.

        Parameters
        ----------
        variant : {"frey", "orl", "rendered"}
            Where the face comes from.
        face : int, default=0
            Which sample of that set, from 0.
        seed : int, default=0
            Draws the background.

        Returns
        -------
        Raw
            From the top left position to the bottom right one, with the parameters ``x`` and ``y`` in pixels.
        """
        picture = self._picture(variant, face)
        noise = np.random.default_rng(seed).integers(
            0, 256, (HEIGHT + STEPS - 1, WIDTH + STEPS - 1), dtype=np.uint8
        )
        y, x = np.divmod(np.arange(STEPS**2), STEPS)
        values = np.repeat(noise[None], STEPS**2, axis=0)
        for image, top, left in zip(values, y, x, strict=True):
            image[top : top + HEIGHT, left : left + WIDTH] = picture
        return Raw(
            values,
            names=[f"{left}-{top}" for left, top in zip(x, y, strict=True)],
            parameters={"x": x, "y": y},
            note="a rendered head, not a photograph" if variant == "rendered" else "",
        )

    def _picture(self, variant: str, face: int) -> NDArray[np.uint8]:
        if variant == "rendered":
            margin = (HEIGHT - WIDTH) // 2
            return render(head(), 0, HEIGHT)[:, margin : margin + WIDTH]
        faces = datasets.load(variant, data_dir=self.data_dir, offline=self.offline)
        if face >= len(faces):
            raise DataError(f"{self.name}.face: {face} asked for, but {variant} has {len(faces)} faces from 0")
        assert faces.image_shape is not None
        picture = images.resize(faces.X[[face]].reshape(1, *faces.image_shape), (WIDTH, HEIGHT))
        return np.rint(255 * picture[0]).astype(np.uint8)
