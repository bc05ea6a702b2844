"""The parts that solids are put together from: boxes, prisms, ellipsoids, bodies of revolution and tubes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from manifold_oos.arrays import Array
from manifold_oos.datasets.render import Mesh, mesh_of


def _triangles(grid: Array) -> Array:
    """Two triangles for every cell of an (m, n, 3) grid of points."""
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3, 3)


def box(width: float, depth: float, height: float, albedo: float = 0.8, cells: int = 1) -> Mesh:
    """A box standing on z = 0, centred in x and y; ``cells``² squares per side leave room for paint."""
    u, v = np.meshgrid(np.linspace(-1, 1, cells + 1), np.linspace(-1, 1, cells + 1), indexing="ij")
    one = np.ones_like(u)
    sides = [
        np.stack(side, axis=-1)
        for side in ((one, u, v), (-one, v, u), (v, one, u), (u, -one, v), (u, v, one), (v, u, -one))
    ]
    corners = np.concatenate([_triangles(side) for side in sides]) + np.array([0, 0, 1])
    return mesh_of(corners * (np.array([width, depth, height]) / 2), albedo)


def prism(outline: ArrayLike, height: float, albedo: float = 0.8) -> Mesh:
    """An outline in x and y, star-shaped about its mean, drawn up from z = 0."""
    flat = np.asarray(outline, dtype=float)
    flat = np.vstack([flat, flat[:1]])
    low = np.column_stack([flat, np.zeros(len(flat))])
    lift = np.array([0, 0, height])
    centre = np.broadcast_to([*flat[:-1].mean(axis=0), 0], low.shape)
    return mesh_of(_triangles(np.stack([centre, low, low + lift, centre + lift])), albedo)


def revolve(profile: Sequence[tuple[float, float]], albedo: float = 0.8, segments: int = 36) -> Mesh:
    """The body that a profile of (radius, z) pairs sweeps about the z axis."""
    radius, z = np.array(profile, dtype=float).T[:, :, None]
    turn = np.linspace(0, 2 * np.pi, segments + 1)
    grid = np.stack([radius * np.cos(turn), radius * np.sin(turn), z + 0 * turn], axis=-1)
    grid[:, -1] = grid[:, 0]
    return mesh_of(_triangles(grid), albedo)


def curve(points: ArrayLike, count: int = 16) -> Array:
    """A Catmull–Rom curve through control points of any dimension, ``count`` samples in all."""
    control = np.asarray(points, dtype=float)
    padded = np.vstack([2 * control[0] - control[1], control, 2 * control[-1] - control[-2]])
    place = np.linspace(0, len(control) - 1, count)
    piece = np.minimum(place.astype(int), len(control) - 2)
    t = (place - piece)[:, None]
    p0, p1, p2, p3 = (padded[piece + i] for i in range(4))
    path: Array = p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
    return path


def tube(path: ArrayLike, radius: float | Array, albedo: float = 0.8, segments: int = 12) -> Mesh:
    """A round tube along a path, with one radius or one per point of the path, closed by flat ends."""
    centre = np.asarray(path, dtype=float)
    along = np.gradient(centre, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.empty_like(centre)
    carried = np.eye(3)[np.argmin(np.abs(along[0]))]
    for i, direction in enumerate(along):
        carried = carried - (carried @ direction) * direction
        carried /= np.linalg.norm(carried)
        side[i] = carried
    across = np.cross(along, side)
    turn = np.linspace(0, 2 * np.pi, segments + 1)[:, None]
    ring = np.cos(turn) * side[:, None] + np.sin(turn) * across[:, None]
    grid = centre[:, None] + np.broadcast_to(radius, len(centre))[:, None, None] * ring
    grid[:, -1] = grid[:, 0]
    ends = [np.broadcast_to(point, grid[:1].shape) for point in (centre[0], centre[-1])]
    return mesh_of(_triangles(np.concatenate([ends[0], grid, ends[1]])), albedo)


def ellipsoid(radii: tuple[float, float, float], albedo: float = 0.8, segments: int = 24) -> Mesh:
    """An ellipsoid about the origin."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, segments // 2 + 1)
    angle_cos = np.cos(angle)
    angle_cos[[0, -1]] = 0
    ball = revolve(list(zip(angle_cos, np.sin(angle), strict=True)), albedo, segments)
    return mesh_of(ball.corners * np.array(radii, dtype=float), albedo)


def cylinder(radius: float, height: float, albedo: float = 0.8, segments: int = 36) -> Mesh:
    """A closed cylinder standing on z = 0."""
    return revolve([(0, 0), (radius, 0), (radius, height), (0, height)], albedo, segments)


def cone(radius: float, height: float, albedo: float = 0.8, segments: int = 36) -> Mesh:
    """A closed cone standing on z = 0."""
    return revolve([(0, 0), (radius, 0), (0, height)], albedo, segments)
