"""Draws triangles: a z-buffer in plain NumPy with Lambert shading, seen from a camera beside a turntable."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manifold_oos.arrays import Array

#: Cosine of the largest angle between two faces that are shaded as one smooth surface.
CREASE = np.cos(np.deg2rad(40))
ELEVATION = np.deg2rad(20)
#: Towards the lamp, in (right, up, towards the viewer): fixed to the room, the object turns under it.
LIGHT = np.array([-0.45, 0.55, 0.70]) / np.linalg.norm([-0.45, 0.55, 0.70])
AMBIENT = 0.35
OVERSAMPLING = 2


@dataclass(frozen=True)
class Mesh:
    """Triangles with the normals of their corners and one albedo each; z points up.

    Parameters
    ----------
    corners : ndarray of shape (T, 3, 3)
        Triangle, corner, coordinate.
    normals : ndarray of shape (T, 3, 3)
        Unit normals at the corners.
    albedo : ndarray of shape (T,)
        Reflectance in 0..1.
    """

    corners: Array
    normals: Array
    albedo: Array

    def __add__(self, other: Self) -> "Mesh":
        return Mesh(
            np.concatenate([self.corners, other.corners]),
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.albedo, other.albedo]),
        )

    def moved(self, shift: ArrayLike = (0, 0, 0), *, yaw: float = 0, pitch: float = 0, roll: float = 0) -> "Mesh":
        """The mesh turned (degrees; roll about x, then pitch about y, then yaw about z) and then shifted."""
        turn = rotation(2, yaw) @ rotation(1, pitch) @ rotation(0, roll)
        return Mesh(self.corners @ turn.T + np.asarray(shift, dtype=float), self.normals @ turn.T, self.albedo)

    def painted(self, where: NDArray[np.bool_], albedo: float) -> "Mesh":
        """The mesh with another albedo on some of its triangles."""
        return Mesh(self.corners, self.normals, np.where(where, albedo, self.albedo))

    @property
    def centres(self) -> Array:
        """Middles of the triangles' extents, (x, y, z) rows: both halves of a rectangle have the same."""
        centres: Array = (self.corners.min(axis=1) + self.corners.max(axis=1)) / 2
        return centres


def rotation(axis: int, degrees: float) -> Array:
    """Right-handed rotation matrix about a coordinate axis."""
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = cosine
    matrix[second, first], matrix[first, second] = sine, -sine
    return matrix


def mesh_of(corners: Array, albedo: float) -> Mesh:
    """A mesh of consistently oriented triangles, smooth except over creases.

    Parameters
    ----------
    corners : ndarray of shape (T, 3, 3)
        Triangle, corner, coordinate; those without an area are dropped.
    albedo : float
        Reflectance of all.

    Returns
    -------
    Mesh
        With a corner's normal averaged over the faces around it that lie within 40° of its own.
    """
    from scipy.sparse import csr_array

    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(face, axis=1)
    kept = area > 1e-12
    corners, face, area = corners[kept], face[kept], area[kept]
    unit = face / area[:, None]
    vertex = np.unique(corners.reshape(-1, 3).round(9), axis=0, return_inverse=True)[1].reshape(-1)
    owner = np.repeat(np.arange(len(corners)), 3)
    touches = csr_array((np.ones(len(owner)), (np.arange(len(owner)), vertex)))
    around = csr_array((np.ones(len(owner)), (vertex, owner)))
    pairs = (touches @ around).tocoo()
    corner, other = pairs.coords
    smooth = np.einsum("ij,ij->i", unit[owner[corner]], unit[other]) > CREASE
    chosen = csr_array((np.ones(smooth.sum()), (corner[smooth], other[smooth])), shape=pairs.shape)
    normals = chosen @ face
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh(corners, normals.reshape(-1, 3, 3), np.full(len(corners), float(albedo)))


def render(mesh: Mesh, degrees: float, size: int = 128) -> NDArray[np.uint8]:
    """One view of a mesh on a turntable, scaled to fill the frame, on black.

    Parameters
    ----------
    mesh : Mesh
        What stands on the table.
    degrees : float
        How far the table has turned, seen from above against the clock.
    size : int, default=128
        Width and height in pixels.

    Returns
    -------
    ndarray of shape (size, size) of uint8
        Grey levels.
    """
    fine = size * OVERSAMPLING
    up = np.array([0, np.sin(ELEVATION), np.cos(ELEVATION)])
    viewer = np.array([0, -np.cos(ELEVATION), np.sin(ELEVATION)])
    camera = np.stack([[1, 0, 0], up, viewer]) @ rotation(2, degrees)
    points = mesh.corners @ camera.T
    low, high = points[..., :2].reshape(-1, 2).min(axis=0), points[..., :2].reshape(-1, 2).max(axis=0)
    points = (points - np.append((low + high) / 2, 0)) * (fine / (high - low).max())
    points[..., 0] += fine / 2
    points[..., 1] = fine / 2 - points[..., 1]
    # Thin walls have one layer of triangles: the side that is seen is the one that is lit.
    facing = np.sign(mesh.normals.sum(axis=1) @ camera[2])
    lambert = (facing[:, None] * (mesh.normals @ (LIGHT @ camera))).clip(0)
    brightness = mesh.albedo[:, None] * (AMBIENT + (1 - AMBIENT) * lambert)

    sides = points[:, 1:, :2] - points[:, :1, :2]
    seen = np.abs(np.linalg.det(sides)) > 1e-4
    points, brightness = points[seen], brightness[seen]
    pixel, triangle = _visible(points, fine)
    along_x, along_y, offset = _plane(points, brightness)
    image = np.zeros(fine * fine)
    light = along_x[triangle] * (pixel % fine) + along_y[triangle] * (pixel // fine) + offset[triangle]
    image[pixel] = light.clip(0, 1)
    blocks = image.reshape(size, OVERSAMPLING, size, OVERSAMPLING).mean(axis=(1, 3))
    return np.rint(255 * blocks).astype(np.uint8)


def _visible(points: Array, fine: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pixels that something covers, and the nearest triangle at each: triangle → rows → spans → z-buffer."""
    x, y, depth = np.moveaxis(points, 2, 0)
    first = np.ceil(y.min(axis=1) - 0.5).clip(0).astype(int)
    last = np.floor(y.max(axis=1) - 0.5).clip(None, fine - 1).astype(int)
    triangle, row = _expand(first, last)
    left, right = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for a, b in ((0, 1), (1, 2), (2, 0)):
            part = (row + 0.5 - y[triangle, a]) / (y[:, b] - y[:, a])[triangle]
            crossing = x[triangle, a] + part * (x[:, b] - x[:, a])[triangle]
            met = (part >= 0) & (part <= 1)
            np.minimum(left, crossing, out=left, where=met)
            np.maximum(right, crossing, out=right, where=met)
    met = left <= right
    triangle, row = triangle[met], row[met]
    begin = np.ceil(left[met] - 0.5).clip(0).astype(int)
    end = np.floor(right[met] - 0.5).clip(None, fine - 1).astype(int)
    span, column = _expand(begin, end)

    # Depth in the upper bits and the triangle in the lower ones: one maximum keeps both.
    nearness = (depth - depth.min()) * (2**29 / (np.ptp(depth) or 1)) + 2**28
    along_x, along_y, offset = _plane(points, nearness)
    level = along_x[triangle][span] * column + (along_y[triangle] * row + offset[triangle])[span]
    key = (level.astype(np.int64) << 32) | triangle[span]
    buffer = np.full(fine * fine, -1, dtype=np.int64)
    np.maximum.at(buffer, (row * fine)[span] + column, key)
    pixel = np.flatnonzero(buffer >= 0)
    return pixel, buffer[pixel] & 0xFFFFFFFF


def _plane(points: Array, values: Array) -> tuple[Array, Array, Array]:
    """Slopes and offset over (column, row) of the planes through values at the corners of triangles."""
    x, y = points[..., 0], points[..., 1]
    (x1, x2), (y1, y2), (v1, v2) = ((u[:, 1] - u[:, 0], u[:, 2] - u[:, 0]) for u in (x, y, values))
    area = x1 * y2 - y1 * x2
    along_x = (v1 * y2 - v2 * y1) / area
    along_y = (v2 * x1 - v1 * x2) / area
    return along_x, along_y, values[:, 0] - along_x * (x[:, 0] - 0.5) - along_y * (y[:, 0] - 0.5)


def _expand(first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Every integer of the ranges first..last (inclusive, maybe empty), with the index of its range."""
    count = (last - first + 1).clip(0)
    index = np.repeat(np.arange(len(count)), count)
    start = np.cumsum(count) - count
    return index, np.arange(len(index)) + (first - start)[index]
