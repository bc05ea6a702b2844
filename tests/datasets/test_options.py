"""The common options, their order and their errors, on a loader that gives known samples."""

import numpy as np
import pytest
from PIL import Image

from manifold_oos.datasets import available, limits, load
from manifold_oos.datasets.base import ROW_OPTIONS, Loader, Raw
from manifold_oos.errors import ConfigError, DataError

COUNTS = {"a": 5, "b": 3, "c": 4}
rng = np.random.default_rng(0)
PIXELS = rng.integers(0, 256, (12, 16, 12, 3), dtype=np.uint8)
ROWS = rng.standard_normal((30, 7))


class Pictures(Loader):
    """Twelve colour pictures."""

    name = "pictures"

    def read(self, variant):
        labels = np.repeat(np.arange(3), list(COUNTS.values()))
        return Raw(PIXELS, labels=labels, class_names=list(COUNTS), parameters={"angle": np.arange(12)})


class Points(Loader):
    """Thirty points."""

    name = "points"
    options = ROW_OPTIONS

    def read(self, variant, *, shift=0.0):
        return Raw(ROWS + shift)


def test_without_options_pixels_are_in_0_to_1_and_rows_reshape_to_the_image():
    data = Pictures().load()
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X.reshape(12, *data.image_shape), PIXELS / 255)
    assert data.y.tolist() == [0] * 5 + [1] * 3 + [2] * 4
    assert data.class_names == ("a", "b", "c")
    assert (data.variant, data.note, data.standardize) == ("default", "", False)


def test_rows_are_not_scaled():
    np.testing.assert_array_equal(Points().load().X, ROWS)
    assert Points().load().image_shape is None


def test_result_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        Points().load().X[0] = 0


@pytest.mark.parametrize("classes", [2, ["a", "b"], ["b", "a"], [1, "a"]])
def test_classes_keep_the_order_of_the_data(classes):
    data = Pictures().load(classes=classes)
    assert data.class_names == ("a", "b")
    assert data.y.tolist() == [0] * 5 + [1] * 3
    assert data.names == tuple(str(i) for i in range(8))


def test_labels_are_renumbered_and_everything_is_selected_alike():
    data = Pictures().load(classes=["b", "c"], per_class=2)
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.names == ("5", "6", "8", "9")
    assert data.parameters["angle"].tolist() == [5, 6, 8, 9]
    np.testing.assert_array_equal(data.X, PIXELS[[5, 6, 8, 9]].reshape(4, -1) / 255)


def test_per_class_larger_than_a_class_names_the_class():
    with pytest.raises(DataError, match="class b has 3 samples"):
        Pictures().load(per_class=4)
    assert len(Pictures().load(classes=["a", "c"], per_class=4)) == 8


@pytest.mark.parametrize(("classes", "message"), [(4, "there are 3"), (["d"], "no class 'd'"), ([3], "no class 3")])
def test_classes_that_are_not_there(classes, message):
    with pytest.raises(DataError, match=message):
        Pictures().load(classes=classes)


def test_gray_is_pillows_luminance():
    data = Pictures().load(gray=True)
    assert data.image_shape == (16, 12)
    expected = np.asarray(Image.fromarray(PIXELS[3]).convert("L")) / 255
    np.testing.assert_array_equal(data.X[3].reshape(16, 12), expected)


@pytest.mark.parametrize("resample", ["lanczos", "box", "bicubic", "nearest"])
def test_size_is_width_then_height_and_gray_comes_first(resample):
    data = Pictures().load(size=[3, 5], resample=resample, gray=True)
    assert data.image_shape == (5, 3)
    small = Image.fromarray(PIXELS[0]).convert("L").resize((3, 5), Image.Resampling[resample.upper()])
    np.testing.assert_array_equal(data.X[0].reshape(5, 3), np.asarray(small) / 255)


def test_box_halving_is_the_mean_of_blocks():
    values = np.random.default_rng(1).random((4, 8, 6))

    class Floats(Pictures):
        def read(self, variant):
            return Raw(values)

    small = Floats().load(size=(3, 4), resample="box").X.reshape(4, 4, 3)
    np.testing.assert_allclose(small, values.reshape(4, 4, 2, 3, 2).mean((2, 4)), atol=1e-7)


def test_float_colour_images_are_resized_per_channel_and_greyed():
    values = np.random.default_rng(1).random((2, 8, 6, 3))

    class Floats(Pictures):
        def read(self, variant):
            return Raw(values)

    small = Floats().load(size=(3, 4), resample="box").X.reshape(2, 4, 3, 3)
    np.testing.assert_allclose(small, values.reshape(2, 4, 2, 3, 2, 3).mean((2, 4)), atol=1e-7)
    gray = Floats().load(gray=True).X.reshape(2, 8, 6)
    np.testing.assert_allclose(gray, values @ [0.299, 0.587, 0.114])


def test_lanczos_on_floats_stays_in_the_range_of_pixels():
    steps = np.zeros((1, 32, 32))
    steps[:, :, 16:] = 1

    class Floats(Pictures):
        def read(self, variant):
            return Raw(steps)

    X = Floats().load(size=(20, 20)).X
    assert X.min() == 0
    assert X.max() == 1


def test_unit_rows_and_a_black_image_stays_black():
    black = PIXELS.copy()
    black[4] = 0

    class Black(Pictures):
        def read(self, variant):
            return Raw(black)

    norms = np.linalg.norm(Black().load(normalize="unit").X, axis=1)
    np.testing.assert_allclose(np.delete(norms, 4), 1)
    assert norms[4] == 0


def test_standard_is_only_asked_for():
    data = Points().load(normalize="standard")
    assert data.standardize
    np.testing.assert_array_equal(data.X, ROWS)


def test_random_projection_is_linear_seeded_and_comes_before_unit():
    one, again, other = (Points().load(random_projection=4, seed=seed).X for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)
    matrix, *_ = np.linalg.lstsq(ROWS, one, rcond=None)
    np.testing.assert_allclose(ROWS @ matrix, one, atol=1e-12)
    unit = Points().load(random_projection=4, seed=1, normalize="unit").X
    np.testing.assert_allclose(unit, one / np.linalg.norm(one, axis=1, keepdims=True))


def test_random_projection_keeps_lengths_on_average():
    matrix = [np.linalg.norm(Points().load(random_projection=50, seed=s).X) ** 2 for s in range(40)]
    assert np.mean(matrix) == pytest.approx(np.linalg.norm(ROWS) ** 2, rel=0.05)


def test_projected_images_are_no_images():
    assert Pictures().load(random_projection=5).image_shape is None


def test_own_options_reach_the_loader_and_change_the_fingerprint():
    assert Points.defaults() == {
        "variant": "default",
        "normalize": "none",
        "random_projection": None,
        "seed": 0,
        "shift": 0.0,
    }
    moved = Points().load(shift=2.0)
    np.testing.assert_array_equal(moved.X, ROWS + 2)
    assert moved.fingerprint != Points().load().fingerprint


def test_fingerprint_ignores_common_options():
    assert Pictures().load(size=(4, 4), classes=1).fingerprint == Pictures().load().fingerprint


def test_fingerprint_depends_on_pixels_and_labels():
    base = Raw(PIXELS, labels=[0] * 6 + [1] * 6, class_names="ab")
    changed = PIXELS.copy()
    changed[0, 0, 0, 0] ^= 1
    assert base.fingerprint() == Raw(PIXELS.copy(), labels=[0] * 6 + [1] * 6, class_names="xy").fingerprint()
    assert base.fingerprint() != Raw(changed, labels=[0] * 6 + [1] * 6, class_names="ab").fingerprint()
    assert base.fingerprint() != Raw(PIXELS, labels=[0] * 7 + [1] * 5, class_names="ab").fingerprint()
    assert base.fingerprint() != Raw(PIXELS).fingerprint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": 3}, r"pictures\.sizes: no such option; did you mean size"),
        ({"qqq": 3}, "known: variant"),
        ({"variant": "x"}, "'x' is none of default"),
        ({"size": [3]}, r"\[3\] is not \[width, height\]"),
        ({"size": [0, 3]}, "width, height"),
        ({"size": "25"}, "width, height"),
        ({"resample": "cubic"}, "lanczos, box, bicubic, nearest"),
        ({"normalize": "l2"}, "none, unit, standard"),
        ({"gray": "yes"}, "True, False"),
        ({"per_class": 0}, "whole number from 1"),
        ({"per_class": 2.5}, "whole number from 1"),
        ({"classes": True}, "whole number from 1"),
        ({"classes": []}, "class names"),
        ({"classes": [1.5]}, "class names"),
        ({"random_projection": -1}, "whole number from 1"),
        ({"random_projection": 10**8}, "100000000 is more than 65536 directions"),
        ({"seed": -1}, "whole number from 0"),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(ConfigError, match=message) as error:
        Pictures.check(options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"pictures: 12 samples of 576 numbers are more than 6000; give size, gray, classes or per_class"),
        ({"size": 20, "gray": True, "classes": 2}, None),
        ({"size": 40, "gray": True, "classes": ["b"]}, None),
        ({"size": 40, "gray": True, "classes": 2}, "8 samples of 1600 numbers"),
        ({"gray": True, "random_projection": 600}, "600 directions for 12 samples of 192 numbers"),
        ({"size": 1, "random_projection": 500}, None),
    ],
)
def test_numbers_are_counted_before_they_are_made(options, message, monkeypatch):
    monkeypatch.setattr(limits, "VALUES", 6000)
    if message is None:
        assert Pictures().load(**options).X.size <= 6000
        return
    with pytest.raises(DataError, match=message):
        Pictures().load(**options)


def test_options_that_make_no_sense_are_not_there():
    with pytest.raises(ConfigError, match="size: no such option"):
        Points().load(size=(3, 3))


def test_classes_need_labels():
    class Unlabelled(Pictures):
        def read(self, variant):
            return Raw(PIXELS)

    with pytest.raises(ConfigError, match="need labels"):
        Unlabelled().load(per_class=2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.zeros((0, 3))},
        {"values": np.zeros(3)},
        {"values": np.zeros((2, 3, 3, 4))},
        {"values": np.array([[0.0, np.nan]])},
        {"values": np.zeros((2, 3)), "labels": [0, 2], "class_names": "ab"},
        {"values": np.zeros((2, 3)), "labels": [0, 2], "class_names": "abc"},
        {"values": np.zeros((2, 3)), "labels": [-1, 0], "class_names": "a"},
        {"values": np.zeros((2, 3)), "labels": [0], "class_names": "a"},
        {"values": np.zeros((2, 3)), "names": ["a"]},
        {"values": np.zeros((2, 3)), "parameters": {"angle": [1.0]}},
    ],
)
def test_raw_samples_that_do_not_fit_together(wrong):
    with pytest.raises(DataError):
        Raw(**wrong)


def test_unknown_set_names_the_nearest():
    with pytest.raises(ConfigError, match=r"did you mean .coil20"):
        load("coil2")


def test_every_set_of_the_issue_is_registered_and_describes_itself():
    from_files = {
        "coil20",
        "orl",
        "yale",
        "yaleb",
        "eth80",
        "umist",
        "pie",
        "fei",
        "mit_cbcl",
        "robotics_csie",
        "pf01",
        "usps",
    }
    unlabelled = {"frey", "teapot", "swiss_roll", "swiss_roll_hole", "s_surface", "moving_face"}
    unlabelled |= {"isomap_faces", "torus", "noisy_sphere"}
    others = {"two_manifolds", "turntable", "digits", "folder", "table"}
    loaders = available()
    assert from_files | unlabelled | others <= set(loaders)
    for name, loader in loaders.items():
        assert loader.__doc__, name
        first = loader.__doc__.splitlines()[0]
        assert first.endswith("."), name
        assert loader.defaults()["variant"] == next(iter(loader.variants))
