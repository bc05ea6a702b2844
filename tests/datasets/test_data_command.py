"""moos data list, verify and show, on tiny sets."""

import json

import numpy as np
import pytest
import scipy.io
from PIL import Image

from manifold_oos import datasets
from manifold_oos.cli import main
from manifold_oos.datasets.base import Dataset
from manifold_oos.datasets.contact_sheet import GAP, LABEL, LINE, contact_sheet
from manifold_oos.errors import DataError

pytestmark = pytest.mark.usefixtures("alone")


def moos(*arguments):
    with pytest.raises(SystemExit) as status:
        main(["data", *map(str, arguments)])
    return status.value.code


@pytest.fixture
def frey(tmp_path):
    frames = np.random.default_rng(0).integers(0, 256, (560, 1965), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "frey_rawface.mat", {"ff": frames})
    return tmp_path


def test_list_for_people(frey, capsys):
    assert moos("list", "--data-dir", frey) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "frey_rawface.mat" in lines["frey"]
    assert "1965" in lines["frey"]
    assert lines["coil20"].rstrip().endswith("absent")
    assert lines["swiss_roll"].split()[1:5] == ["default", "1000", "0", "R³"]
    assert lines["swiss_roll"].rstrip().endswith("built in")
    assert lines["folder"].split() == ["folder", "default", "your", "own"]


def test_list_for_programs(frey, capsys):
    assert moos("list", "--json", "--data-dir", frey) == 0
    rows = {(row["name"], row["variant"]): row for row in json.loads(capsys.readouterr().out)}
    row = rows["frey", "frames"]
    assert (row["samples"], row["classes"], row["size"]) == (1965, 0, "20×28")
    assert row["found"] == str(frey / "frey_rawface.mat")
    assert rows["orl", "tight32"]["found"] == "absent"
    assert rows["moving_face", "frey"]["found"] == row["found"]
    assert rows["moving_face", "orl"]["found"] == "absent"
    assert rows["fei", "original"]["licence"].startswith("research only")


@pytest.mark.parametrize(
    "name", ["digits", "moving_face", "s_surface", "swiss_roll", "swiss_roll_hole", "two_manifolds"]
)
def test_what_is_listed_of_a_built_in_set_is_what_is_loaded(name):
    loader = datasets.find(name)()
    variant = list(loader.variants)[-1]
    listing, loaded = loader.listed(variant), loader.load(variant=variant)
    assert (listing.samples, listing.classes, listing.found) == (len(loaded), loaded.n_classes, "built in")
    if loaded.image_shape is None:
        assert listing.size == {2: "R²", 3: "R³"}[loaded.X.shape[1]]
    else:
        assert listing.size == f"{loaded.image_shape[1]}×{loaded.image_shape[0]}"


def test_verify_finds_other_content(frey, capsys):
    assert moos("verify", "--data-dir", frey) == 2
    out = capsys.readouterr()
    assert "wrong    frey (frames)" in out.out
    assert "decoded content is not that on record" in out.out
    assert "absent   coil20 (png)" in out.out
    assert out.err == "moos: 1 of 1 data sets are not as recorded; get them again\n"


def test_verify_finds_missing_samples(tmp_path, capsys):
    scipy.io.savemat(tmp_path / "frey_rawface.mat", {"ff": np.zeros((560, 7), dtype=np.uint8)})
    assert moos("verify", "frey", "--data-dir", tmp_path) == 2
    assert "7 samples of 0 classes instead of 1965 of 0" in capsys.readouterr().out


def test_verify_finds_a_damaged_file_and_goes_on(frey, capsys):
    (frey / "coil-20-proc.zip").write_bytes(b"PK broken")
    assert moos("verify", "--data-dir", frey) == 2
    out = capsys.readouterr()
    assert "wrong    coil20 (png)" in out.out
    assert "wrong    frey (frames)" in out.out
    assert "2 of 2" in out.err


def test_verify_of_unequal_classes(make, tmp_path, capsys):
    images = np.zeros((575, 1024), dtype=np.uint8)
    labels = np.concatenate([np.arange(1, 21), np.full(555, 20)])[:, None]
    scipy.io.savemat(tmp_path / "UMIST.mat", {"X": images, "Y": labels})
    assert moos("verify", "umist", "--data-dir", tmp_path) == 2
    assert "1 to 556 per class instead of (19, 48)" in capsys.readouterr().out


def test_verify_of_other_sizes(make, tmp_path, capsys):
    members = {f"coil-20-proc/obj{o}__{v}.png": make.picture(o) for o in range(1, 21) for v in range(72)}
    make.zip(tmp_path / "coil-20-proc.zip", members)
    assert moos("verify", "coil20", "--data-dir", tmp_path) == 2
    assert "6×8 pixels instead of 128×128" in capsys.readouterr().out


def test_verify_by_counts_where_no_fingerprint_is_on_record(tmp_path, capsys):
    labels = np.concatenate([np.arange(1926) % 68 + 1])[:, None]
    images = np.random.default_rng(0).integers(0, 256, (1926, 1024), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "PIE_1926.mat", {"fea": images, "gnd": labels})
    assert moos("verify", "pie", "--data-dir", tmp_path) == 0
    assert "1926 samples, 68 classes, no fingerprint on record" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("verify", "orl"), ("verify", "digits"), ("get", "digits"), ("show", "orl")])
def test_wrong_use_is_one_line(arguments, capsys):
    assert moos(*arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith("moos: ")
    assert message.count("\n") == 1


def test_show(make, tmp_path, capsys):
    members = {f"coil-20-proc/obj{o}__{v}.png": make.picture(10 * o + v) for o in (1, 2, 3) for v in (0, 1)}
    make.zip(tmp_path / "coil-20-proc.zip", members)
    sheet = tmp_path / "deep" / "sheet.png"
    assert (
        moos("show", "coil20", "--out", sheet, "--data-dir", tmp_path, "--set", "classes=2", "--set", "size=[4, 4]")
        == 0
    )
    assert "4 samples, 2 classes" in capsys.readouterr().out
    with Image.open(sheet) as image:
        assert image.format == "PNG"


@pytest.mark.parametrize("setting", ["size", "size=[1", "siz=3", "size=x"])
def test_show_with_a_wrong_option(setting, capsys):
    assert moos("show", "digits", "--set", setting) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def nowhere(tmp_path):
    """A path below a file, where nobody can write."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "below"


def test_show_where_nothing_can_be_written(nowhere, capsys):
    assert moos("show", "digits", "--out", nowhere / "sheet.png") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"{nowhere / 'sheet.png'}: cannot be written" in message


def test_a_cache_that_cannot_be_written_slows_but_does_not_stop(nowhere, make, tmp_path, monkeypatch):
    monkeypatch.setenv("MOOS_CACHE", str(nowhere))
    make.zip(tmp_path / "coil-20-proc.zip", {"coil-20-proc/obj1__0.png": make.picture(1)})
    sheet = tmp_path / "sheet.png"
    assert moos("show", "coil20", "--data-dir", tmp_path, "--out", sheet) == 0
    assert sheet.is_file()


def test_get_into_a_cache_that_cannot_be_written(nowhere, monkeypatch, capsys):
    monkeypatch.setenv("MOOS_CACHE", str(nowhere))
    monkeypatch.delenv("MOOS_OFFLINE", raising=False)
    assert moos("get", "coil20") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "cannot be written" in message
    assert "MOOS_CACHE" in message


def test_interrupt_leaves_nothing(make, tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    make.zip(tmp_path / "coil-20-proc.zip", {"coil-20-proc/obj1__0.png": make.picture(1)})
    monkeypatch.setattr(Image.Image, "save", interrupted)
    sheet = tmp_path / "out" / "sheet.png"
    assert moos("show", "coil20", "--data-dir", tmp_path, "--out", sheet) == 130
    assert capsys.readouterr().err.strip() == "moos: interrupted"
    assert list(sheet.parent.iterdir()) == []


def dataset(X, y, shape, **more):
    classes = () if y is None else tuple(f"class{i}" for i in range(max(y) + 1))
    facts = {"name": "tiny", "variant": "default", "fingerprint": "0"}
    y = None if y is None else np.array(y)
    return Dataset(X, y, classes, tuple(map(str, range(len(X)))), shape, {}, **facts, **more)


def test_rows_of_a_contact_sheet_are_classes(tmp_path):
    """Class 0 is black, class 1 grey, class 2 white."""
    X = np.repeat([[0.0], [0.5], [1.0]], 4, axis=0) * np.ones(64)
    path = contact_sheet(dataset(X, [0] * 4 + [1] * 4 + [2] * 4, (8, 8)), tmp_path / "a.png", columns=3, rows=2)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("L"))
    tiles = [
        pixels[2 * LINE + 5 + row * (72 + GAP), LABEL + 5 + column * (72 + GAP)]
        for row in (0, 1)
        for column in range(4)
    ]
    assert tiles == [0, 0, 0, 255, 128, 128, 128, 255]
    assert pixels.shape[0] == 2 * LINE + 2 * (72 + GAP) + GAP


def test_contact_sheet_is_upright_and_wide_images_stay_wide(tmp_path):
    image = np.zeros((10, 20))
    image[:5] = 1
    path = contact_sheet(dataset(image.reshape(1, -1), None, (10, 20)), tmp_path / "a.png")
    with Image.open(path) as sheet:
        pixels = np.asarray(sheet.convert("L"))
    assert pixels[2 * LINE + 5, LABEL + 60] == 255
    assert pixels[2 * LINE + 30, LABEL + 60] == 0


def test_points_have_no_contact_sheet(tmp_path):
    with pytest.raises(DataError, match="points, not images"):
        contact_sheet(dataset(np.zeros((3, 3)), None, None), tmp_path / "a.png")
