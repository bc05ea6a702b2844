"""Toy manifolds drawn from a seed, with true coordinates: Swiss rolls, S surface, torus, sphere, two curves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from manifold_oos.arrays import Array
from manifold_oos.datasets.base import ROW_OPTIONS, Listing, Loader, Raw
from manifold_oos.errors import ConfigError

#: Range of the roll's angle t (its radius too) and of its height: the scale at which LGRM's σ = 10 is meant.
ROLL, HEIGHT = (1.5 * np.pi, 4.5 * np.pi), 21.0
#: The hole of Donoho and Grimes's Swiss roll, in t and height.
HOLE_T, HOLE_HEIGHT = (9.0, 12.0), (9.0, 14.0)
S_WIDTH = 5.0
#: Radius of the circle in the middle of the torus's tube, and of the tube.
RING, TUBE = 2.0, 1.0


def spiral_length(t: Array) -> Array:
    r"""Arc length of the spiral :math:`(t \cos t, t \sin t)` from its centre to t ≥ 0."""
    length: Array = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return length


def swiss_roll(n_samples: int, rng: Generator, hole: bool = False) -> tuple[Array, dict[str, Array]]:
    r"""Points :math:`(t \cos t, h, t \sin t)` with t uniform in [1.5π, 4.5π] and h in [0, 21].

    With a hole, 9 < t < 12 with 9 < h < 14 is left out; ``arc_length`` is from the inner edge, ``width`` is h.
    """
    t, h = np.empty(0), np.empty(0)
    while len(t) < n_samples:
        more_t, more_h = rng.uniform(*ROLL, n_samples), rng.uniform(0, HEIGHT, n_samples)
        inside = (HOLE_T[0] < more_t) & (more_t < HOLE_T[1]) & (HOLE_HEIGHT[0] < more_h) & (more_h < HOLE_HEIGHT[1])
        kept = ~inside if hole else np.ones(n_samples, dtype=bool)
        t, h = np.append(t, more_t[kept])[:n_samples], np.append(h, more_h[kept])[:n_samples]
    length = spiral_length(t) - spiral_length(np.array(ROLL[0]))
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), {"arc_length": length, "width": h}


def s_surface(n_samples: int, rng: Generator) -> tuple[Array, dict[str, Array]]:
    """Points of two circular arcs that make an S in x and z, drawn out in width: Roweis's S-curve.

    The first half lies below the plane z = 1; ``arc_length`` is in [0, 3π] from the lower end, ``width`` in [0, 5].
    """
    below = n_samples // 2
    length = 1.5 * np.pi * rng.uniform(size=n_samples)
    length[below:] += 1.5 * np.pi
    width = rng.uniform(0, S_WIDTH, size=n_samples)
    angle = np.where(length < 1.5 * np.pi, length - np.pi, 2 * np.pi - length)
    sign = np.where(length < 1.5 * np.pi, 1.0, -1.0)
    X = np.column_stack([sign * np.cos(angle), width, 1 - sign + sign * np.sin(angle)])
    return X, {"arc_length": length, "width": width}


def torus(n_samples: int, rng: Generator) -> tuple[Array, dict[str, Array]]:
    """Points of a torus, uniform by area, with ``azimuth`` about the z axis and ``angle`` about the tube."""
    angle = np.empty(0)
    while len(angle) < n_samples:
        more, height = rng.uniform(-np.pi, np.pi, n_samples), rng.uniform(0, RING + TUBE, n_samples)
        angle = np.append(angle, more[height < RING + TUBE * np.cos(more)])[:n_samples]
    azimuth = rng.uniform(0, 2 * np.pi, n_samples)
    radius = RING + TUBE * np.cos(angle)
    X = np.column_stack([radius * np.cos(azimuth), radius * np.sin(azimuth), TUBE * np.sin(angle)])
    return X, {"azimuth": np.degrees(azimuth), "angle": np.degrees(angle)}


def sphere(n_samples: int, rng: Generator) -> tuple[Array, dict[str, Array]]:
    """Points of the unit sphere, uniform by area, with ``azimuth`` and ``elevation``."""
    azimuth, z = rng.uniform(0, 2 * np.pi, n_samples), rng.uniform(-1, 1, n_samples)
    radius = np.sqrt(1 - z**2)
    X = np.column_stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z])
    return X, {"azimuth": np.degrees(azimuth), "elevation": np.degrees(np.arcsin(z))}


def two_manifolds(n_samples: int, rng: Generator) -> tuple[Array, dict[str, Array]]:
    """Points of two interlocking half circles of radius 3 in the plane, as many on each.

    The first opens downwards about the origin, the second upwards about (3, 1): near each other everywhere, and
    no line parts them. ``arc_length`` is from the left end of the curve; ``side`` is 1 on the first curve and −1 on
    the second, the one-dimensional embedding of SOSI's Fig. 2.
    """
    side = np.where(np.arange(n_samples) < (n_samples + 1) // 2, 1.0, -1.0)
    angle = np.pi * rng.uniform(size=n_samples)
    x, y = -3 * np.cos(angle), 3 * np.sin(angle)
    X = np.where(side[:, None] > 0, np.column_stack([x, y]), np.column_stack([x + 3, 1 - y]))
    return X, {"arc_length": 3 * angle, "side": side}


class Toy(Loader):
    """Base of the toy sets: a subclass says how to draw, here the options are checked and noise is added."""

    listing: ClassVar[Listing] = Listing(classes=0, size="R³", licence="generated, free")
    options: ClassVar[Sequence[str]] = ROW_OPTIONS
    fewest: ClassVar[int] = 1

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options; see :meth:`Loader.check`."""
        full = super().check(options)
        n_samples, noise = full["n_samples"], full["noise"]
        if not isinstance(n_samples, int) or isinstance(n_samples, bool) or not cls.fewest <= n_samples <= 10**7:
            raise ConfigError(f"{cls.name}.n_samples: {n_samples!r} is not a whole number from {cls.fewest}")
        if isinstance(noise, bool) or not isinstance(noise, int | float) or not 0 <= noise < np.inf:
            raise ConfigError(f"{cls.name}.noise: {noise!r} is not a standard deviation from 0")
        return full

    def listed(self, variant: str) -> Listing:
        """With the default number of points; see :meth:`Loader.listed`."""
        return replace(self.listing, samples=self.defaults()["n_samples"])


def _rows(drawn: tuple[Array, dict[str, Array]], noise: float, rng: Generator, **labels: Any) -> Raw:
    X, parameters = drawn
    return Raw(X + noise * rng.standard_normal(X.shape), parameters=parameters, **labels)


class SwissRoll(Toy):
    """Swiss roll in space: t in [1.5π, 4.5π], height 21 (LGRM, Fig. 1)."""

    name = "swiss_roll"
    hole: ClassVar[bool] = False

    def read(self, variant: str, *, n_samples: int = 1000, noise: float = 0.0, seed: int = 0) -> Raw:
        """Draw the points.

        Parameters
        ----------
        variant : str
            The only one.
        n_samples : int, default=1000
            Number of points.
        noise : float, default=0.0
            Standard deviation of Gaussian noise in space.
        seed : int, default=0
            Different seeds give independent draws.

        Returns
        -------
        Raw
            With the parameters ``arc_length`` and ``width``.
        """
        rng = np.random.default_rng(seed)
        return _rows(swiss_roll(n_samples, rng, hole=self.hole), noise, rng)


class SwissRollHole(SwissRoll):
    """Swiss roll with a rectangular hole, 9 < t < 12 and 9 < height < 14 (LGRM, Fig. 2)."""

    name = "swiss_roll_hole"
    hole = True


class SSurface(Toy):
    """S-shaped surface in space; half of the points lie below the plane z = 1 (coordinate propagation, Fig. 3)."""

    name = "s_surface"
    fewest = 2

    def read(self, variant: str, *, n_samples: int = 1200, noise: float = 0.0, seed: int = 0) -> Raw:
        """Draw the points.

        Parameters
        ----------
        variant : str
            The only one.
        n_samples : int, default=1200
            Number of points; the first half lies below the plane, at arc lengths up to 1.5π.
        noise : float, default=0.0
            Standard deviation of Gaussian noise in space.
        seed : int, default=0
            Different seeds give independent draws.

        Returns
        -------
        Raw
            With the parameters ``arc_length`` and ``width``.
        """
        rng = np.random.default_rng(seed)
        return _rows(s_surface(n_samples, rng), noise, rng)


class Torus(Toy):
    """Torus in space, the circle of its tube's middle of radius 2, the tube of radius 1, uniform by area."""

    name = "torus"

    def read(self, variant: str, *, n_samples: int = 1000, noise: float = 0.0, seed: int = 0) -> Raw:
        """Draw the points.

        Parameters
        ----------
        variant : str
            The only one.
        n_samples : int, default=1000
            Number of points.
        noise : float, default=0.0
            Standard deviation of Gaussian noise in space.
        seed : int, default=0
            Different seeds give independent draws.

        Returns
        -------
        Raw
            With the parameters ``azimuth`` (about the axis) and ``angle`` (about the tube), in degrees.
        """
        rng = np.random.default_rng(seed)
        return _rows(torus(n_samples, rng), noise, rng)


class NoisySphere(Toy):
    """Unit sphere in space, uniform by area, with noise."""

    name = "noisy_sphere"

    def read(self, variant: str, *, n_samples: int = 1000, noise: float = 0.05, seed: int = 0) -> Raw:
        """Draw the points.

        Parameters
        ----------
        variant : str
            The only one.
        n_samples : int, default=1000
            Number of points.
        noise : float, default=0.05
            Standard deviation of Gaussian noise in space.
        seed : int, default=0
            Different seeds give independent draws.

        Returns
        -------
        Raw
            With the parameters ``azimuth`` and ``elevation``, in degrees, of the points without noise.
        """
        rng = np.random.default_rng(seed)
        return _rows(sphere(n_samples, rng), noise, rng)


class TwoManifolds(Toy):
    """Two curves in the plane, one per class (SOSI, Fig. 2; the paper shows them but gives no formula)."""

    name = "two_manifolds"
    listing = replace(Toy.listing, classes=2, size="R²")
    fewest = 2
    options = ("classes", "per_class", *ROW_OPTIONS)

    def read(self, variant: str, *, n_samples: int = 200, noise: float = 0.1, seed: int = 0) -> Raw:
        """Draw the points.

        Parameters
        ----------
        variant : str
            The only one.
        n_samples : int, default=200
            Number of points on both curves together.
        noise : float, default=0.1
            Standard deviation of Gaussian noise in the plane: the classes are concentrated around their curves.
        seed : int, default=0
            Different seeds give independent draws.

        Returns
        -------
        Raw
            With the parameters ``arc_length`` and ``side`` (1 or −1).
        """
        rng = np.random.default_rng(seed)
        drawn = two_manifolds(n_samples, rng)
        labels = np.where(drawn[1]["side"] > 0, 0, 1)
        return _rows(drawn, noise, rng, labels=labels, class_names=("+1", "-1"))
