"""The toy manifolds, the moving face and the digits: shapes, true coordinates, seeds, wrong options."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

from manifold_oos.datasets import load
from manifold_oos.datasets.toy import HEIGHT, ROLL, spiral_length
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.numerics.kernels import gaussian_kernel, squared_distances

TOYS = ("swiss_roll", "swiss_roll_hole", "s_surface", "two_manifolds", "torus", "noisy_sphere")


def local_stretch(dataset, parameters, n_neighbors=4):
    """Distance in space over distance in parameters, for near neighbours in parameters."""
    P = np.column_stack([dataset.parameters[key] for key in parameters])
    near = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(P)
    distance, index = near.kneighbors(P)
    space = np.linalg.norm(dataset.X[:, None] - dataset.X[index[:, 1:]], axis=2)
    return space / distance[:, 1:]


@pytest.mark.parametrize("name", TOYS)
def test_same_seed_same_points_and_other_seed_other_points(name):
    one, again, other = load(name, seed=3), load(name, seed=3), load(name, seed=4)
    assert one.fingerprint == again.fingerprint != other.fingerprint
    np.testing.assert_array_equal(one.X, again.X)
    assert len(np.intersect1d(one.X[:, 0], other.X[:, 0])) == 0


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("n_samples", [2, 7, 500])
def test_number_of_samples(name, n_samples):
    data = load(name, n_samples=n_samples)
    assert len(data.X) == len(data.names) == n_samples
    assert all(values.shape == (n_samples,) for values in data.parameters.values())


@pytest.mark.parametrize("name", TOYS)
def test_noise_is_gaussian_of_that_size_around_the_same_points(name):
    clean, noisy = load(name, n_samples=4000, noise=0.0), load(name, n_samples=4000, noise=0.2)
    for key, values in clean.parameters.items():
        np.testing.assert_array_equal(values, noisy.parameters[key])
    assert (noisy.X - clean.X).std() == pytest.approx(0.2, rel=0.03)


@pytest.mark.parametrize("name", ["swiss_roll", "swiss_roll_hole", "s_surface"])
def test_parameters_unroll_the_surface_without_stretching(name):
    stretch = local_stretch(load(name, n_samples=5000), ("arc_length", "width"))
    assert stretch.max() <= 1 + 1e-9
    assert np.quantile(stretch, 0.01) > 0.98


def test_swiss_roll_has_the_classical_scale():
    data = load("swiss_roll", n_samples=20_000)
    x, height, z = data.X.T
    t = np.hypot(x, z)
    np.testing.assert_allclose(np.column_stack([t * np.cos(t), t * np.sin(t)]), np.column_stack([x, z]), atol=1e-9)
    assert pytest.approx((4.71238898, 14.13716694)) == ROLL
    assert ROLL[0] <= t.min() < ROLL[0] + 0.01
    assert ROLL[1] - 0.01 < t.max() <= ROLL[1]
    assert 0 <= height.min() < 0.01 < HEIGHT - 0.01 < height.max() <= 21
    assert t.mean() == pytest.approx(3 * np.pi, abs=0.1)


def test_arc_length_of_the_spiral_against_quadrature():
    for t in (0.3, 5.0, 14.1):
        assert spiral_length(np.array(t)) == pytest.approx(quad(lambda s: np.hypot(1, s), 0, t)[0])
    data = load("swiss_roll", n_samples=5)
    t = np.hypot(data.X[:, 0], data.X[:, 2])
    expected = [quad(lambda s: np.hypot(1, s), ROLL[0], end)[0] for end in t]
    np.testing.assert_allclose(data.parameters["arc_length"], expected)


def test_hole_is_empty_and_only_the_hole():
    whole, holed = load("swiss_roll", n_samples=5000), load("swiss_roll_hole", n_samples=5000)

    def inside(data):
        t, height = np.hypot(data.X[:, 0], data.X[:, 2]), data.X[:, 1]
        return ((t > 9) & (t < 12) & (height > 9) & (height < 14)).mean()

    share = (12 - 9) / (ROLL[1] - ROLL[0]) * (14 - 9) / HEIGHT
    assert inside(whole) == pytest.approx(share, abs=0.015)
    assert inside(holed) == 0
    t, height = np.hypot(holed.X[:, 0], holed.X[:, 2]), holed.X[:, 1]
    assert ((t > 9) & (t < 12) & (height < 9)).any()


def test_torus_is_uniform_by_area_and_its_angles_are_true():
    data = load("torus", n_samples=20_000)
    azimuth, angle = (np.radians(data.parameters[key]) for key in ("azimuth", "angle"))
    radius = 2 + np.cos(angle)
    expected = np.column_stack([radius * np.cos(azimuth), radius * np.sin(azimuth), np.sin(angle)])
    np.testing.assert_allclose(data.X, expected, atol=1e-12)
    outer = np.hypot(data.X[:, 0], data.X[:, 1]) > 2
    assert outer.mean() == pytest.approx((np.pi * 2 + 2) / (4 * np.pi), abs=0.015)  # areas of the two halves
    assert azimuth.mean() == pytest.approx(np.pi, abs=0.05)


def test_sphere_is_uniform_by_area_and_its_angles_are_true():
    data = load("noisy_sphere", n_samples=20_000, noise=0.0)
    azimuth, elevation = (np.radians(data.parameters[key]) for key in ("azimuth", "elevation"))
    radius = np.cos(elevation)
    expected = np.column_stack([radius * np.cos(azimuth), radius * np.sin(azimuth), np.sin(elevation)])
    np.testing.assert_allclose(data.X, expected, atol=1e-12)
    np.testing.assert_allclose((data.X**2).mean(axis=0), 1 / 3, atol=0.01)
    assert np.abs(np.linalg.norm(load("noisy_sphere", n_samples=20_000).X, axis=1) - 1).std() > 0.02


def test_s_surface_is_roweis_s_curve_cut_in_halves_by_a_plane():
    data = load("s_surface")
    assert data.X.shape == (1200, 3)
    x, width, z = data.X.T
    below = z < 1
    assert below.sum() == 600
    assert below[:600].all()
    np.testing.assert_array_equal(below, data.parameters["arc_length"] < 1.5 * np.pi)
    np.testing.assert_allclose(np.hypot(x, np.where(below, z, z - 2)), 1)
    # Literal: angle = pi (1.5 u - 1); (cos, sin) below and (-cos, 2 - sin) above.
    length = data.parameters["arc_length"]
    angle = np.where(below, length - np.pi, 2 * np.pi - length)
    np.testing.assert_allclose(x, np.where(below, np.cos(angle), -np.cos(angle)))
    np.testing.assert_allclose(z, np.where(below, np.sin(angle), 2 - np.sin(angle)))
    assert length.max() == pytest.approx(3 * np.pi, abs=0.05)
    np.testing.assert_array_equal(width, data.parameters["width"])
    assert width.max() == pytest.approx(5, abs=0.05)


def test_two_manifolds_are_two_classes_that_no_line_parts():
    data = load("two_manifolds", n_samples=600, noise=0.0)
    assert data.class_names == ("+1", "-1")
    assert np.bincount(data.y).tolist() == [300, 300]
    np.testing.assert_array_equal(data.parameters["side"], np.where(data.y == 0, 1, -1))
    assert LogisticRegression(C=1e6).fit(data.X, data.y).score(data.X, data.y) < 0.97
    gap = np.sqrt(squared_distances(data.X[data.y == 0], data.X[data.y == 1]))
    assert gap.min() > 0.5
    for label in (0, 1):
        part = data.X[data.y == label]
        length = data.parameters["arc_length"][data.y == label]
        order = np.argsort(length)
        walked = np.linalg.norm(np.diff(part[order], axis=0), axis=1).sum()
        assert walked == pytest.approx(np.ptp(length), rel=1e-3)


def test_two_manifolds_show_what_figure_2_of_sosi_says_of_the_scale():
    data = load("two_manifolds", n_samples=1000, seed=99)
    reach, peak = {}, {}
    for sigma in (0.5, 2, 6):
        values = []
        for seed in range(20):
            train = load("two_manifolds", n_samples=8, seed=seed)
            kernel = gaussian_kernel(squared_distances(train.X), sigma)
            weights = np.linalg.solve(kernel, train.parameters["side"])
            values.append(np.abs(gaussian_kernel(squared_distances(data.X, train.X), sigma) @ weights))
        reach[sigma], peak[sigma] = np.median(values), np.median(np.max(values, axis=1))
    assert reach[0.5] < 0.3 < 0.6 < reach[2], "a small scale does not cover the curves"
    assert peak[6] > 1.3 * peak[2], "a large scale overshoots between the samples"


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples: 0 is not a whole number from"),
        ({"n_samples": 10.5}, "n_samples: 10.5 is not"),
        ({"n_samples": True}, "n_samples: True is not"),
        ({"noise": -1}, "noise: -1 is not"),
        ({"noise": float("nan")}, "noise: nan is not"),
        ({"noise": "much"}, "noise: 'much' is not"),
        ({"n_sample": 5}, "n_sample: no such option; did you mean n_samples"),
        ({"seed": -1}, "seed: -1 is not"),
    ],
)
def test_wrong_options_are_one_line(name, options, message):
    with pytest.raises(ConfigError) as error:
        load(name, **options)
    assert str(error.value).startswith(f"{name}.")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_points_are_no_images():
    with pytest.raises(ConfigError, match=r"swiss_roll\.size: no such option"):
        load("swiss_roll", size=(5, 5))


def test_moving_face_composes_one_face_over_one_background():
    data = load("moving_face", variant="rendered")
    assert data.X.shape == (441, 116 * 106)
    assert data.image_shape == (116, 106)
    assert data.y is None
    assert "rendered" in data.note
    images = data.X.reshape(-1, 116, 106)
    x, y = data.parameters["x"].astype(int), data.parameters["y"].astype(int)
    assert sorted(zip(x, y, strict=True)) == [(i, j) for i in range(21) for j in range(21)]
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 20, 20)
    face = images[0, :96, :86]
    background = images[-1].copy()
    background[20:, 20:] = images[0, 20:, 20:]
    background[20:96, 20:86] = np.nan
    for image, left, top in zip(images, x, y, strict=True):
        np.testing.assert_array_equal(image[top : top + 96, left : left + 86], face)
        around = np.ones((116, 106), dtype=bool)
        around[top : top + 96, left : left + 86] = False
        around &= ~np.isnan(background)
        np.testing.assert_array_equal(image[around], background[around])
    assert load("moving_face", variant="rendered").fingerprint == data.fingerprint
    assert load("moving_face", variant="rendered", seed=1).fingerprint != data.fingerprint


@pytest.mark.parametrize(("variant", "shape"), [("frey", (28, 20)), ("orl", (112, 92))])
def test_moving_face_with_a_photograph(data_dir, variant, shape):
    data = load("moving_face", variant=variant, face=3, data_dir=data_dir, offline=True)
    assert data.X.shape == (441, 116 * 106)
    assert data.note == ""
    source = load(variant, data_dir=data_dir, offline=True)
    assert source.image_shape == shape
    small = load(variant, data_dir=data_dir, offline=True, size=(86, 96)).X[3]
    face = data.X[0].reshape(116, 106)[:96, :86].ravel()
    assert np.corrcoef(face, small)[0, 1] > 0.999
    with pytest.raises(DataError, match=rf"moving_face\.face: 5000 asked for, but {variant} has {len(source)}"):
        load("moving_face", variant=variant, face=5000, data_dir=data_dir, offline=True)


def test_moving_face_without_the_faces_names_their_set(tmp_path, monkeypatch):
    monkeypatch.setenv("MOOS_DATA", str(tmp_path))
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="frey"):
        load("moving_face", offline=True)


@pytest.mark.parametrize(
    "options",
    [{"variant": "lena"}, {"face": -1}, {"face": 1.5}, {"variant": "rendered", "face": 2}, {"gray": True}],
)
def test_moving_face_refuses_wrong_options(options):
    with pytest.raises(ConfigError, match=r"^moving_face\.(variant|face|gray)"):
        load("moving_face", **options)


def test_digits_are_those_of_scikit_learn():
    data, bunch = load("digits"), load_digits()
    np.testing.assert_array_equal(data.X, bunch.data / 16)
    np.testing.assert_array_equal(data.y, bunch.target)
    assert data.image_shape == (8, 8)
    assert data.class_names == tuple("0123456789")
    assert np.bincount(load("digits", classes=3, per_class=5).y).tolist() == [5, 5, 5]
