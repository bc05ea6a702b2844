"""The real data sets: counts, orientation, the traps that are known, and one published number."""

import zipfile

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from manifold_oos.cli import main
from manifold_oos.datasets import load

pytestmark = pytest.mark.real_data

LOADS = [
    ("coil20", {}, 1440, 20, (128, 128)),
    ("coil20", {"variant": "mat32"}, 1440, 20, (32, 32)),
    ("coil20", {"per_class": 71}, 1420, 20, (128, 128)),
    ("orl", {}, 400, 40, (112, 92)),
    ("orl", {"variant": "tight32"}, 400, 40, (32, 32)),
    ("yale", {}, 165, 15, (243, 320)),
    ("yale", {"variant": "tight32"}, 165, 15, (32, 32)),
    ("yaleb", {"size": [21, 24]}, 2414, 38, (24, 21)),
    ("yaleb", {"size": [21, 24], "per_class": 59}, 2242, 38, (24, 21)),
    ("yaleb", {"size": [21, 24], "classes": 12, "per_class": 58}, 696, 12, (24, 21)),
    ("yaleb", {"size": [21, 24], "variant": "extended28"}, 1774, 28, (24, 21)),
    ("eth80", {"size": 20}, 328, 8, (20, 20, 3)),
    ("eth80", {"size": 20, "variant": "close", "gray": True}, 328, 8, (20, 20)),
    ("umist", {}, 575, 20, (32, 32)),
    ("pie", {}, 2856, 68, (32, 32)),
    ("fei", {}, 2800, 200, (28, 28, 3)),
    ("fei", {"classes": 50, "gray": True}, 700, 50, (28, 28)),
    ("frey", {}, 1965, 0, (28, 20)),
    ("teapot", {}, 100, 0, (38, 50)),
    ("isomap_faces", {}, 698, 0, (32, 32)),
    ("usps", {}, 11000, 10, (16, 16)),
    ("usps", {"per_class": 100}, 1000, 10, (16, 16)),
]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOS_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("MOOS_OFFLINE", "1")
        yield


@pytest.mark.parametrize(("name", "options", "samples", "classes", "shape"), LOADS)
def test_counts_and_shapes(name, options, samples, classes, shape, data_dir):
    data = load(name, data_dir=data_dir, **options)
    assert len(data) == len(data.names) == samples
    assert data.n_classes == classes
    assert data.image_shape == shape
    assert data.X.shape[1] == np.prod(shape)
    assert data.X.min() >= 0
    assert data.X.max() <= 1
    assert len(set(data.names)) == samples
    if classes:
        assert np.bincount(data.y).min() >= 1
        assert (np.diff(data.y) >= 0).all()


def test_all_files_verify(data_dir, capsys):
    with pytest.raises(SystemExit) as status:
        main(["data", "verify", "--data-dir", str(data_dir)])
    assert status.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    right = [line for line in lines if line.startswith("right")]
    assert len({line.rsplit(", ", 1)[1] for line in right}) == 16
    assert all("fingerprint" in line and "no fingerprint" not in line for line in right)


def test_coil20_mat_is_the_block_mean_of_the_png_images(data_dir):
    png, mat = load("coil20", data_dir=data_dir), load("coil20", data_dir=data_dir, variant="mat32")
    means = png.X.reshape(1440, 32, 4, 32, 4).mean((2, 4))
    np.testing.assert_allclose(mat.X.reshape(1440, 32, 32), means, atol=1e-12)
    np.testing.assert_array_equal(png.y, mat.y)
    np.testing.assert_array_equal(png.parameters["angle"], mat.parameters["angle"])
    assert png.fingerprint != mat.fingerprint


@pytest.mark.parametrize(("name", "tight"), [("orl", "tight32"), ("yale", "tight32")])
def test_tight_crops_are_no_shrink_of_the_full_pictures(name, tight, data_dir):
    full = load(name, data_dir=data_dir, size=32)
    crop = load(name, data_dir=data_dir, variant=tight)
    agreement = [np.corrcoef(a, b)[0, 1] for a, b in zip(full.X, crop.X, strict=True)]
    assert np.mean(agreement) < 0.7


def test_known_duplicates(data_dir):
    def duplicates(data):
        return len(data) - len(np.unique(data.X, axis=0))

    assert duplicates(load("yale", data_dir=data_dir)) == 9
    assert duplicates(load("yale", data_dir=data_dir, variant="tight32")) == 0
    assert duplicates(load("coil20", data_dir=data_dir)) == 0
    umist = load("umist", data_dir=data_dir)
    assert duplicates(umist) == 10
    second = umist.X[umist.y == 1]
    assert len(second) - len(np.unique(second, axis=0)) == 10


@pytest.mark.parametrize(
    ("name", "options", "note"),
    [
        ("pie", {}, "not the paper's 1926-image subset"),
        ("fei", {}, "28×28"),
        ("eth80", {"variant": "close"}, "not the official"),
        ("teapot", {}, "100 of the 400"),
        ("coil20", {}, ""),
    ],
)
def test_caveats(name, options, note, data_dir):
    found = load(name, data_dir=data_dir, **options).note
    assert note in found
    assert bool(found) == bool(note)


@pytest.mark.parametrize(
    ("name", "options"),
    [("umist", {}), ("pie", {}), ("yale", {"variant": "tight32"}), ("orl", {"variant": "tight32"})],
)
def test_mat_faces_are_upright(name, options, data_dir):
    """A face from the front is more alike left and right than above and below; in UMIST the last of a person is."""
    data = load(name, data_dir=data_dir, **options)
    chosen = np.flatnonzero(np.diff(data.y, append=-1)) if name == "umist" else slice(None)
    mean = data.X[chosen].mean(axis=0).reshape(32, 32)
    mirrored, tumbled = (np.corrcoef(mean.ravel(), other.ravel())[0, 1] for other in (mean[:, ::-1], mean[::-1]))
    assert mirrored > tumbled + 0.1


def test_a_turn_is_smooth_in_its_angle(data_dir):
    """The nearest view of most views is the next one, which scrambled angles would not give."""
    for name, groups in (("teapot", 1), ("coil20", 20)):
        data = load(name, data_dir=data_dir)
        angle = data.parameters["angle"]
        neighbours = 0
        for group in range(groups):
            members = np.arange(len(data)) if data.y is None else np.flatnonzero(data.y == group)
            X, a = data.X[members], angle[members]
            step = 360 / len(members)
            square = (X**2).sum(axis=1)
            distance = square[:, None] + square - 2 * X @ X.T
            np.fill_diagonal(distance, np.inf)
            turn = np.abs(a - a[distance.argmin(axis=1)])
            neighbours += (np.minimum(turn, 360 - turn) <= 1.01 * step).sum()
        assert neighbours / len(data) > 0.75, name


def test_yaleb_lights_come_from_the_named_side(data_dir):
    data = load("yaleb", data_dir=data_dir, size=(20, 20))
    images = data.X.reshape(-1, 20, 20)
    right_minus_left = images[:, :, 10:].mean((1, 2)) - images[:, :, :10].mean((1, 2))
    assert abs(np.corrcoef(right_minus_left, data.parameters["azimuth"])[0, 1]) > 0.7


def test_isomap_faces_turn_and_are_lit_as_their_parameters_say(data_dir):
    """Light from the right makes the right half bright; a head turned left reaches further to that side."""
    data = load("isomap_faces", data_dir=data_dir)
    images, side = data.X.reshape(-1, 32, 32), np.arange(32) - 15.5
    bright = images[:, :, 16:].mean((1, 2)) - images[:, :, :16].mean((1, 2))
    head = images > 0.02
    middle = (head * side).sum((1, 2)) / head.sum((1, 2))
    for measured, key in ((bright, "light"), (middle, "left_right")):
        agreement = {name: abs(np.corrcoef(measured, data.parameters[name])[0, 1]) for name in data.parameters}
        assert agreement[key] > 0.75
        assert sum(agreement.values()) - agreement[key] < 0.4
    assert set(data.parameters) == {"light", "left_right", "up_down"}


def test_usps_labels_are_the_digits_of_the_pictures(data_dir):
    """A classifier of scikit-learn's digits agrees with these labels, not shifted nor with pictures on a side."""
    digits, usps = load("digits", normalize="unit"), load("usps", data_dir=data_dir, size=8, normalize="unit")
    nearest = KNeighborsClassifier(3).fit(digits.X, digits.y)
    upright = nearest.predict(usps.X)
    agreement = [np.mean(upright == (usps.y + shift) % 10) for shift in range(10)]
    assert agreement[0] > 0.4 > 2 * max(agreement[1:])
    lying = usps.X.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 64)
    assert np.mean(nearest.predict(lying) == usps.y) < 0.75 * agreement[0]


@pytest.mark.parametrize("name", ["orl", "yale", "eth80"])
def test_unpacked_folder_has_the_same_fingerprint(name, data_dir, tmp_path):
    archive = {"orl": "att_faces.zip", "yale": "yalefaces.zip", "eth80": "eth80-128-object1.zip"}[name]
    with zipfile.ZipFile(data_dir / archive) as unpack:
        unpack.extractall(tmp_path / "att_faces" if name == "orl" else tmp_path)
    assert load(name, data_dir=tmp_path).fingerprint == load(name, data_dir=data_dir).fingerprint


def test_yale_with_official_names_has_the_same_fingerprint(data_dir, tmp_path):
    (tmp_path / "yalefaces").mkdir()
    with zipfile.ZipFile(data_dir / "yalefaces.zip") as archive:
        for name in archive.namelist():
            plain = name.removesuffix(".gif")
            official = plain[: len("yalefaces/subject01")] + "." + plain[len("yalefaces/subject01") :]
            (tmp_path / official).write_bytes(archive.read(name))
    official, ours = load("yale", data_dir=tmp_path), load("yale", data_dir=data_dir)
    assert official.fingerprint == ours.fingerprint
    assert official.names == ours.names


def test_nearest_neighbour_on_coil20_meets_the_published_error(data_dir):
    """NSSE Table 2, NN at 7 images per class: 13.90 %; over 20 random splits 13.5 ± 1."""
    data = load("coil20", data_dir=data_dir, size=(25, 25), resample="lanczos", normalize="unit")
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = [rng.permutation(np.flatnonzero(data.y == label)) for label in range(20)]
        train = np.concatenate([members[:7] for members in order])
        test = np.concatenate([members[7:] for members in order])
        predicted = KNeighborsClassifier(1).fit(data.X[train], data.y[train]).predict(data.X[test])
        errors.append(100 * np.mean(predicted != data.y[test]))
    assert np.mean(errors) == pytest.approx(13.5, abs=1)
