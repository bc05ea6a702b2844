"""The renderer against a literal z-buffer and analytic shading; the turntable set."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from manifold_oos.datasets import find, load, solids, turntable
from manifold_oos.datasets.render import AMBIENT, ELEVATION, LIGHT, Mesh, mesh_of, render, rotation
from manifold_oos.datasets.shapes import box, cone, curve, cylinder, ellipsoid, prism, revolve, tube
from manifold_oos.datasets.solids import SOLIDS


def literal_render(mesh, degrees, size):
    """One pixel after the other, one triangle after the other, from the definitions."""
    fine = 2 * size
    turned = mesh.corners @ rotation(2, degrees).T
    normals = mesh.normals @ rotation(2, degrees).T
    right, up = np.array([1.0, 0, 0]), np.array([0, np.sin(ELEVATION), np.cos(ELEVATION)])
    viewer = np.array([0, -np.cos(ELEVATION), np.sin(ELEVATION)])
    lamp = LIGHT[0] * right + LIGHT[1] * up + LIGHT[2] * viewer
    u, v, w = turned @ right, turned @ up, turned @ viewer
    scale = fine / max(np.ptp(u), np.ptp(v))
    u = (u - (u.min() + u.max()) / 2) * scale + fine / 2
    v = fine / 2 - (v - (v.min() + v.max()) / 2) * scale
    image = np.zeros((fine, fine))
    for row in range(fine):
        for column in range(fine):
            nearest = -np.inf
            for t in range(len(turned)):
                system = np.array([u[t], v[t], [1, 1, 1]])
                if abs(np.linalg.det(system)) < 1e-6:
                    continue
                weights = np.linalg.solve(system, [column + 0.5, row + 0.5, 1])
                if weights.min() >= 0 and weights @ w[t] > nearest:
                    nearest = weights @ w[t]
                    side = np.sign(normals[t].sum(axis=0) @ viewer)
                    light = np.maximum(side * normals[t] @ lamp, 0)
                    image[row, column] = mesh.albedo[t] * (weights @ (AMBIENT + (1 - AMBIENT) * light))
    return np.rint(255 * image.reshape(size, 2, size, 2).mean(axis=(1, 3)))


@pytest.mark.parametrize("degrees", [0, 33, 200])
def test_renderer_against_the_literal_z_buffer(degrees):
    rng = np.random.default_rng(5)
    soup = mesh_of(rng.normal(size=(9, 3, 3)), 0.8)
    mesh = Mesh(soup.corners, soup.normals, rng.uniform(0.3, 1, 9))
    np.testing.assert_allclose(render(mesh, degrees, 12), literal_render(mesh, degrees, 12), atol=1)


def test_renderer_against_the_literal_z_buffer_on_a_solid():
    mesh = box(1, 0.6, 0.7, 0.9) + cone(0.3, 1.4, 0.5, segments=7).moved((0.2, 0.1, 0.1), roll=20)
    np.testing.assert_allclose(render(mesh, 25, 14), literal_render(mesh, 25, 14), atol=1)


def test_a_ball_is_shaded_by_lambert():
    size = 96
    image = render(ellipsoid((1, 1, 1), 0.9, segments=120), 40, size)
    right, up = np.meshgrid((np.arange(size) + 0.5) * 2 / size - 1, 1 - (np.arange(size) + 0.5) * 2 / size)
    inside = right**2 + up**2 < 0.95
    towards = np.sqrt(np.clip(1 - right**2 - up**2, 0, None))
    lambert = np.clip(np.stack([right, up, towards], axis=-1) @ LIGHT, 0, None)
    expected = 255 * 0.9 * (AMBIENT + (1 - AMBIENT) * lambert)
    assert np.abs(image - expected)[inside].max() < 3
    assert (image[right**2 + up**2 > 1.05] == 0).all()


def test_turning_the_table_is_turning_the_solid():
    mesh = solids.house()
    turned = render(mesh.moved(yaw=50), 20).astype(int)
    assert np.mean(np.abs(render(mesh, 70).astype(int) - turned) > 1) < 0.002
    assert np.abs(render(mesh, 71).astype(int) - turned).max() > 20


def test_normals_are_flat_on_a_box_and_radial_on_a_ball():
    flat = box(1, 2, 3, cells=3)
    assert len(flat.albedo) == 6 * 9 * 2
    np.testing.assert_allclose(np.abs(flat.normals).max(axis=2), 1)
    ball = ellipsoid((1, 1, 1), segments=48)
    radial = np.einsum("ijk,ijk->ij", ball.corners, ball.normals)
    assert np.abs(radial).min() > 0.99
    assert len(np.unique(np.sign(radial))) == 1


@pytest.mark.parametrize(
    "part",
    [
        box(1, 2, 3),
        prism([(0, 0), (2, 0), (2, 1), (0, 1)], 3),
        cylinder(1, 2),
        cone(1, 2),
        ellipsoid((1, 2, 3)),
        tube(curve([(0, 0, 0), (1, 0, 1), (1, 1, 3)]), 0.2),
        revolve([(0, 0), (1, 0.5), (0, 1)]),
    ],
)
def test_parts_are_closed_and_point_one_way(part):
    normal = np.cross(part.corners[:, 1] - part.corners[:, 0], part.corners[:, 2] - part.corners[:, 0])
    np.testing.assert_allclose(normal.sum(axis=0), 0, atol=1e-9)
    assert (np.einsum("ik,ijk->ij", normal, part.normals) > 0).all()


def test_box_volume_by_the_divergence_theorem():
    part = box(1, 2, 3, cells=2)
    volume = np.linalg.det(part.corners).sum() / 6
    assert abs(volume) == pytest.approx(6)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield patch


@pytest.fixture(scope="module")
def full(cache):
    return load("turntable")


def test_the_set(full):
    assert len(SOLIDS) >= 20
    assert "teapot" in full.class_names
    assert full.X.shape == (72 * len(SOLIDS), 128 * 128)
    assert full.image_shape == (128, 128)
    assert np.bincount(full.y).tolist() == [72] * len(SOLIDS)
    np.testing.assert_array_equal(full.parameters["angle"][:72], np.arange(0, 360, 5))
    assert full.names[73] == f"{full.class_names[1]}/005"
    assert "rendered" in full.note
    listing = find("turntable")().listed("default")
    assert (listing.samples, listing.classes, listing.size) == (len(full), full.n_classes, "128×128")
    assert full.X.min() == 0
    assert 0.5 < full.X.max() <= 1


def test_every_view_fills_the_frame_and_differs_from_every_other(full):
    images = full.X.reshape(-1, 128, 128) > 0
    height, width = images.any(axis=2).sum(axis=1), images.any(axis=1).sum(axis=1)
    assert (np.maximum(height, width) >= 127).all()
    assert (images.mean(axis=(1, 2)) > 0.05).all()
    for label in range(full.n_classes):
        views = full.X[full.y == label]
        squared = ((views[:, None, ::7] - views[None, :, ::7]) ** 2).mean(axis=2)
        squared[np.arange(72), np.arange(72)] = np.inf
        assert np.sqrt(squared.min()) > 0.004, f"{full.class_names[label]} has two views alike"


def test_difficulty_is_like_that_of_photographs(full, cache):
    data = load("turntable", size=(32, 32))
    errors = []
    for repetition in range(10):
        rng = np.random.default_rng(repetition)
        train = np.concatenate([rng.permutation(72)[:7] + 72 * label for label in range(data.n_classes)])
        test = np.setdiff1d(np.arange(len(data)), train)
        nearest = KNeighborsClassifier(1).fit(data.X[train], data.y[train])
        errors.append(1 - nearest.score(data.X[test], data.y[test]))
    assert 0.05 < np.mean(errors) < 0.15


def test_second_load_comes_from_the_cache(full, cache, monkeypatch):
    monkeypatch.setattr(turntable.render, "render", lambda *_: pytest.fail("rendered again"))
    again = load("turntable")
    assert again.fingerprint == full.fingerprint
    np.testing.assert_array_equal(again.X, full.X)


def test_seed_draws_pose_and_brightness(tmp_path, monkeypatch):
    monkeypatch.setattr(solids, "SOLIDS", {"mug": solids.mug, "chair": solids.chair})
    prints = {}
    for run, seed in enumerate((0, 0, 1)):
        monkeypatch.setenv("MOOS_CACHE", str(tmp_path / str(run)))
        data = load("turntable", seed=seed)
        assert data.X.shape == (144, 128 * 128)
        prints.setdefault(seed, set()).add(data.fingerprint)
    assert len(prints[0]) == 1
    assert prints[0].isdisjoint(prints[1])
