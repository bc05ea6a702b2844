"""Each loader on a tiny set in the official layout, as archive and as folder."""

import numpy as np
import pytest
import scipy.io

from manifold_oos.datasets import available, load
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.specs import spec
from manifold_oos.errors import DataError
from manifold_oos.resources import shipped

pytestmark = pytest.mark.usefixtures("alone")

LAYOUTS = {
    "coil20": (
        "coil-20-proc",
        "PNG",
        [f"coil-20-proc/obj{o}__{v}.png" for o in (10, *range(1, 10)) for v in (0, 10, 2)],
    ),
    "orl": ("att_faces", "PPM", [f"s{p}/{i}.pgm" for p in (10, *range(1, 10)) for i in (10, 1, 2)]),
    "yale": (
        "yalefaces",
        "GIF",
        [f"yalefaces/subject{p:02}.{c}" for p in (1, 2) for c in ("wink", "happy", "sad")],
    ),
    "yaleb": (
        "CroppedYale",
        "PPM",
        [
            f"CroppedYale/yaleB{p:02}/yaleB{p:02}_P00A{a:+04}E{e:+03}.pgm"
            for p in (*range(1, 14), 15)
            for a, e in ((0, 0), (-110, 40), (5, -10))
        ],
    ),
    "eth80": (
        "eth80-cropped-close128",
        "PNG",
        [
            f"eth80-cropped-close128/{c}/{c}-{e:03}-{a:03}.png"
            for c in ("cow1", "car1")
            for e, a in ((0, 0), (90, 22))
        ],
    ),
    "fei": ("FEI", "PPM", [f"FEI/{p}-{i:02}.jpg" for p in (1, 2, 3) for i in (1, 2, 14)]),
    "mit_cbcl": (
        "MIT-CBCL-facerec-database",
        "PPM",
        [
            *(f"MIT-CBCL-facerec-database/training-synthetic/{p:04}_{t}_0_1.pgm" for p in (0, 1) for t in (0, 24)),
            *(f"MIT-CBCL-facerec-database/test/{p:04}_0000{t}.pgm" for p in (0, 1) for t in (1, 2, 3)),
        ],
    ),
    "robotics_csie": (
        "ROBOTICS-CSIE",
        "JPEG",
        [f"ROBOTICS-CSIE/Subject{p:02}/A_{p:02}_{a}.Jpg" for p in (1, 2) for a in ("-90", "-5", "0", "+5", "90")],
    ),
    "pf01": ("PF01", "JPEG", [f"PF01/{p:03}/{p:03}_{i}.jpg" for p in (1, 2) for i in range(1, 18)]),
}
VARIANT = {"eth80": "close"}
DECOYS = ["README", "__MACOSX/._obj1__0.png", "CroppedYale/yaleB01/yaleB01_P00_Ambient.pgm"]
DECOYS += ["CroppedYale/yaleB01/yaleB01_P00.info", "CroppedYale/yaleB12/yaleB12_P00A+050E-40.pgm.bad"]
DECOYS += ["yalefaces/subject01.gif", "eth80-cropped-close128/cow1/maps/cow1-000-000-map.png"]
DECOYS += ["eth80-cropped-close128/cow2/cow2-000-000.png"]


@pytest.fixture(params=sorted(LAYOUTS))
def layout(request, make):
    stem, kind, names = LAYOUTS[request.param]
    members = {name: make.picture(number, kind) for number, name in enumerate(names)}
    members |= {name: b"not a picture" for name in DECOYS if "/" not in name or name.startswith(("__MACOSX", stem))}
    return request.param, stem, members


def test_archive_and_folder_give_the_same(layout, make, tmp_path):
    name, stem, members = layout
    options = {"variant": VARIANT[name]} if name in VARIANT else {}
    official = spec(name).variants[options.get("variant", next(iter(available()[name].variants)))].copies
    archive = next(copy.files[0] for copy in official if stem in copy.folders)
    make.zip(tmp_path / "zipped" / f"{archive.partition('.')[0]}.zip", members)
    make.tgz(tmp_path / "tarred" / f"{archive.partition('.')[0]}.tar.gz", members)
    inside = all(member.startswith(f"{stem}/") for member in LAYOUTS[name][2])
    make.folder(tmp_path / "unpacked" / ("" if inside else stem), members)
    loaded = [load(name, data_dir=tmp_path / form, **options) for form in ("zipped", "tarred", "unpacked")]
    loaded.append(load(name, data_dir=tmp_path / "unpacked" / stem, **options))
    for data in loaded:
        assert data.fingerprint == loaded[0].fingerprint
        assert data.names == loaded[0].names
        np.testing.assert_array_equal(data.X, loaded[0].X)
    assert len(loaded[0]) == len(LAYOUTS[name][2])
    assert loaded[0].image_shape[:2] == (8, 6)


def load_tiny(name, make, tmp_path, **options):
    stem, kind, names = LAYOUTS[name]
    make.folder(
        tmp_path / stem if name == "orl" else tmp_path, {n: make.picture(i, kind) for i, n in enumerate(names)}
    )
    return load(name, data_dir=tmp_path, **options), names


def test_natural_order_and_classes_of_coil20(make, tmp_path):
    data, names = load_tiny("coil20", make, tmp_path)
    assert data.class_names == tuple(f"obj{i}" for i in range(1, 11))
    assert data.names[:4] == ("obj1__0", "obj1__2", "obj1__10", "obj2__0")
    assert data.parameters["angle"][:3].tolist() == [0, 10, 50]
    number = names.index("coil-20-proc/obj2__10.png")
    row = data.X[data.names.index("obj2__10")].reshape(8, 6)
    np.testing.assert_array_equal(row, make.pixels(number) / 255)
    assert data.y[data.names.index("obj10__2")] == 9


def test_orl(make, tmp_path):
    data, _ = load_tiny("orl", make, tmp_path)
    assert data.class_names[:2] == ("s1", "s2")
    assert data.names[:3] == ("s1-1", "s1-2", "s1-10")


def test_yale_reads_official_names_and_those_without_the_dot(make, tmp_path):
    pictures = {
        (p, c): make.picture(p * 10 + i, "GIF") for p in (1, 2) for i, c in enumerate(("happy", "sad", "wink"))
    }
    patterns = ("subject{:02}.{}", "subject{:02}.{}.gif", "subject{:02}{}.gif")
    for number, pattern in enumerate(patterns):
        members = {f"yalefaces/{pattern.format(*key)}": content for key, content in pictures.items()}
        make.zip(tmp_path / str(number) / "yalefaces.zip", members)
    loaded = [load("yale", data_dir=tmp_path / str(number)) for number in range(len(patterns))]
    assert len({data.fingerprint for data in loaded}) == 1
    assert {data.names for data in loaded} == {loaded[0].names}
    assert loaded[0].names[:2] == ("subject01.happy", "subject01.sad")
    assert loaded[0].image_shape == (8, 6)


def test_yaleb_forms(make, tmp_path):
    data, _ = load_tiny("yaleb", make, tmp_path)
    assert data.class_names[-2:] == ("yaleB13", "yaleB15")
    assert data.names[:3] == ("yaleB01_P00A+000E+00", "yaleB01_P00A+005E-10", "yaleB01_P00A-110E+40")
    assert data.parameters["azimuth"][:3].tolist() == [0, 5, -110]
    assert data.parameters["elevation"][:3].tolist() == [0, -10, 40]
    extended = load("yaleb", data_dir=tmp_path, variant="extended28")
    assert extended.class_names == ("yaleB11", "yaleB12", "yaleB13", "yaleB15")
    assert extended.fingerprint != data.fingerprint


def test_eth80_takes_the_first_object_and_halves_the_full_frames(make, tmp_path):
    full = {
        f"eth80-cropped256/{c}{o}/{c}{o}-090-{a:03}.png": make.picture(
            10 * o + a, width=256, height=256, channels=3
        )
        for c in ("cow", "car")
        for o in (1, 2, 10)
        for a in (0, 22)
    }
    make.tgz(tmp_path / "eth80-cropped256.tgz", full)
    data = load("eth80", data_dir=tmp_path)
    assert data.class_names == ("car", "cow")
    assert data.names == ("car1-090-000", "car1-090-022", "cow1-090-000", "cow1-090-022")
    assert data.parameters["azimuth"].tolist() == [0, 22, 0, 22]
    assert data.parameters["elevation"].tolist() == [90] * 4
    means = make.pixels(10, width=256, height=256, channels=3).reshape(128, 2, 128, 2, 3).mean((1, 3))
    np.testing.assert_allclose(data.X[0].reshape(128, 128, 3) * 255, means, atol=0.501)
    with pytest.raises(ValueError, match=r"eth80 \(close\): not found"):
        load("eth80", data_dir=tmp_path, variant="close")


def test_fei_parts_equal_the_whole_and_the_small_copy_says_so(make, tmp_path):
    members = {
        f"{p}-{i:02}.jpg": make.picture(10 * p + i, "JPEG", channels=3) for p in (1, 2, 3, 4) for i in (1, 2)
    }
    for part in range(1, 5):
        chosen = {name: content for name, content in members.items() if name.startswith(f"{part}-")}
        make.zip(tmp_path / "parts" / f"originalimages_part{part}.zip", chosen)
    make.zip(tmp_path / "whole" / "FEI.zip", {f"FEI/{name}": content for name, content in members.items()})
    parts, whole = load("fei", data_dir=tmp_path / "parts"), load("fei", data_dir=tmp_path / "whole")
    assert parts.fingerprint == whole.fingerprint
    assert parts.class_names == ("1", "2", "3", "4")
    assert parts.note == ""
    assert whole.note == "FEI at 28×28, not the official 640×480"
    (tmp_path / "parts" / "originalimages_part3.zip").unlink()
    with pytest.raises(ValueError, match=r"fei .*not found"):
        load("fei", data_dir=tmp_path / "parts")


def test_mit_cbcl_variants(make, tmp_path):
    data, _ = load_tiny("mit_cbcl", make, tmp_path)
    assert data.y.tolist() == [0] * 5 + [1] * 5
    assert data.class_names == ("0000", "0001")
    assert data.names[:3] == ("0000_0_0_1", "0000_24_0_1", "0000_00001")
    assert len(load("mit_cbcl", data_dir=tmp_path, variant="synthetic")) == 4
    assert len(load("mit_cbcl", data_dir=tmp_path, variant="test")) == 6


def test_robotics_csie_is_ordered_by_angle(make, tmp_path):
    data, _ = load_tiny("robotics_csie", make, tmp_path)
    assert data.parameters["angle"].tolist() == [-90, -5, 0, 5, 90] * 2
    assert data.class_names == ("Subject01", "Subject02")
    assert len(set(data.names)) == 10


def test_pf01(make, tmp_path):
    data, _ = load_tiny("pf01", make, tmp_path)
    assert np.bincount(data.y).tolist() == [17, 17]
    assert data.names[9] == "001-001_10"


def as_rows(images):
    """MATLAB's form: one image per row, column by column."""
    return images.transpose(0, 2, 1).reshape(len(images), -1)


@pytest.mark.parametrize(
    ("name", "variant", "file"),
    [
        ("coil20", "mat32", "COIL20.mat"),
        ("orl", "tight32", "ORL_32x32.mat"),
        ("yale", "tight32", "Yale_32x32.mat"),
        ("umist", "mat32", "UMIST.mat"),
        ("pie", "pose27", "PIE_pose27.mat"),
        ("pie", "subset1926", "PIE_1926.mat"),
    ],
)
@pytest.mark.parametrize("keys", [("fea", "gnd"), ("X", "Y")])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_usual_mat_files(name, variant, file, keys, dtype, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (6, 32, 32), dtype=np.uint8)
    labels = np.array([[1], [1], [1], [2], [2], [3]], dtype=dtype)
    scipy.io.savemat(
        tmp_path / file, {keys[0]: as_rows(images).astype(dtype), keys[1]: labels}, do_compression=True
    )
    data = load(name, variant=variant, data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(6, 32, 32), images / 255)
    assert data.y.tolist() == [0, 0, 0, 1, 1, 2]
    assert data.image_shape == (32, 32)
    assert data.names[4] == f"{data.class_names[1]}-2"
    assert ("not the paper's" in data.note) == (variant == "pose27")


def test_coil20_mat_has_angles_and_keeps_fractions(tmp_path):
    images = np.random.default_rng(0).random((4, 32, 32))
    scipy.io.savemat(tmp_path / "COIL20.mat", {"fea": as_rows(images), "gnd": [[1], [1], [2], [2]]})
    data = load("coil20", variant="mat32", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(4, 32, 32), images)
    assert data.parameters["angle"].tolist() == [0, 5, 0, 5]


def test_frey(tmp_path):
    frames = np.random.default_rng(0).integers(0, 256, (5, 28, 20), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "frey_rawface.mat", {"ff": frames.reshape(5, -1).T})
    data = load("frey", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(5, 28, 20), frames / 255)
    assert data.y is None
    assert data.n_classes == 0


def test_isomap_faces(tmp_path):
    images = np.random.default_rng(0).random((5, 32, 32))
    truth = np.arange(15.0).reshape(3, 5)
    scipy.io.savemat(tmp_path / "isomap_faces_32.mat", {"dataY": as_rows(images).T, "dataT": truth})
    data = load("isomap_faces", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(5, 32, 32), images)
    assert {key: values.tolist() for key, values in data.parameters.items()} == {
        "light": [0, 1, 2, 3, 4],
        "left_right": [5, 6, 7, 8, 9],
        "up_down": [10, 11, 12, 13, 14],
    }
    scipy.io.savemat(tmp_path / "isomap_faces_32.mat", {"dataY": as_rows(images).T, "dataT": truth[:, :4]})
    with pytest.raises(DataError, match=r"isomap_faces_32\.mat: dataT: 4 poses for 5 images"):
        load("isomap_faces", data_dir=tmp_path)


def test_usps(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (20, 16, 16), dtype=np.uint8)
    labels = np.repeat([[2], [10], [1], [3], [4], [5], [6], [7], [8], [9]], 2, axis=0)
    scipy.io.savemat(tmp_path / "USPS.mat", {"fea": images.reshape(20, -1), "gnd": labels})
    data = load("usps", data_dir=tmp_path)
    assert data.y.tolist() == np.repeat(np.arange(10), 2).tolist()
    np.testing.assert_array_equal(data.X[0].reshape(16, 16), images[4] / 255)
    np.testing.assert_array_equal(data.X[-2].reshape(16, 16), images[2] / 255)
    assert (data.names[0], data.class_names[-1]) == ("0/5", "9")
    fewer = labels.ravel() < 10
    scipy.io.savemat(tmp_path / "USPS.mat", {"fea": images[fewer].reshape(18, -1), "gnd": labels[fewer]})
    with pytest.raises(DataError, match=r"USPS\.mat: gnd: labels up to 9 instead of 10"):
        load("usps", data_dir=tmp_path)


def test_gray_teapots(tmp_path):
    images = np.random.default_rng(0).random((4, 38, 50))
    scipy.io.savemat(tmp_path / "teapots100.mat", {"teapotImages": as_rows(images)})
    data = load("teapot", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(4, 38, 50), images)
    assert data.parameters["angle"].tolist() == [0, 90, 180, 270]


@pytest.mark.parametrize("form", ["struct", "Input", "teapotImages"])
def test_colour_teapots(form, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (4, 76, 101, 3), dtype=np.uint8)
    columns = np.column_stack([image.ravel(order="F") for image in images]).astype(float)
    content = {"Input": {"X": columns, "info": "text"}} if form == "struct" else {form: columns}
    scipy.io.savemat(tmp_path / "teapots.mat", content)
    data = load("teapot", variant="color400", data_dir=tmp_path)
    assert data.image_shape == (76, 101, 3)
    np.testing.assert_array_equal(data.X.reshape(4, 76, 101, 3), images / 255)


def test_variants_never_stand_in_for_each_other(make, tmp_path):
    load_tiny("orl", make, tmp_path)
    with pytest.raises(ValueError, match=r"orl \(tight32\): not found"):
        load("orl", variant="tight32", data_dir=tmp_path)


def test_search_order(make, tmp_path, monkeypatch):
    places = [
        tmp_path / "asked",
        tmp_path / "environment",
        tmp_path / "here" / "datasets",
        tmp_path / "cache" / "datasets",
    ]
    for number, place in enumerate(places):
        make.zip(place / "coil-20-proc.zip", {"coil-20-proc/obj1__0.png": make.picture(number)})
    monkeypatch.setenv("MOOS_DATA", str(places[1]))
    for number, place in enumerate(places):
        data = load("coil20", data_dir=places[0])
        np.testing.assert_array_equal(data.X[0].reshape(8, 6), make.pixels(number) / 255)
        (place / "coil-20-proc.zip").unlink()
    with pytest.raises(ValueError, match="not found"):
        load("coil20", data_dir=places[0])


@pytest.mark.parametrize("name", sorted(path.stem for path in shipped("datasets").glob("*.yaml")))
def test_descriptions_fit_the_loaders(name):
    loader = available()[name]
    assert issubclass(loader, FileLoader)
    assert list(spec(name).variants) == list(loader.variants)
    for variant in spec(name).variants.values():
        for copy in variant.copies:
            assert len(copy.urls) in (0, len(copy.files))
            assert len(copy.sha256) in (0, len(copy.files))
    assert spec(name).meanwhile in available()


def test_every_file_loader_has_a_description():
    named = {name for name, loader in available().items() if issubclass(loader, FileLoader)}
    assert named == {path.stem for path in shipped("datasets").glob("*.yaml")}
