"""Rendered solids on a turntable, 72 views each: the image set that is always at hand."""

import numpy as np

from manifold_oos.datasets import render, solids
from manifold_oos.datasets.base import Listing, Loader, Raw
from manifold_oos.datasets.render import Mesh

VIEWS = 72
SIZE = 128


class Turntable(Loader):
    """Solids rendered by this project on a turntable: 72 views each in steps of 5°, 128×128 grey.

    Made in the manner of COIL-20, with look-alikes among the cups, cars and cartons, and not a stand-in for it.
    The seed draws how each solid is put on the table and how bright it is.
    """

    name = "turntable"
    variants = {"default": f"{len(solids.SOLIDS)} solids, {VIEWS} views each"}
    listing = Listing(
        samples=VIEWS * len(solids.SOLIDS),
        classes=len(solids.SOLIDS),
        size=f"{SIZE}×{SIZE}",
        licence="generated, free",
    )
    note = "rendered solids, not photographs"
    cached = True

    def read(self, variant: str, *, seed: int = 0) -> Raw:
        """Render every view of every solid.

        Parameters
        ----------
        variant : str
            The only one.
        seed : int, default=0
            Draws the pose at angle 0 and the brightness of each solid.

        Returns
        -------
        Raw
            With the parameter ``angle``, in degrees.
        """
        rng = np.random.default_rng(seed)
        angles = np.arange(VIEWS) * (360 / VIEWS)
        images = []
        for build in solids.SOLIDS.values():
            pose, brightness = rng.uniform(0, 360), rng.uniform(0.75, 1.0)
            mesh = build()
            mesh = Mesh(mesh.corners, mesh.normals, mesh.albedo * brightness)
            images += [render.render(mesh, pose + angle, SIZE) for angle in angles]
        count = len(solids.SOLIDS)
        return Raw(
            np.stack(images),
            labels=np.repeat(np.arange(count), VIEWS),
            class_names=list(solids.SOLIDS),
            names=[f"{solid}/{angle:03.0f}" for solid in solids.SOLIDS for angle in angles],
            parameters={"angle": np.tile(angles, count)},
        )
