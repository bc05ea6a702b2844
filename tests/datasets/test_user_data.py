"""A person's own data: folders of images and tables, good and bad."""

import io
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from manifold_oos.datasets import load
from manifold_oos.datasets.images import resize
from manifold_oos.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path_factory.mktemp("cache")))


def picture(number, width=6, height=5, mode="L"):
    """An image whose pixels depend on a number."""
    shape = (height, width) if mode == "L" else (height, width, 3)
    return np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def pets(tmp_path):
    """Two classes: three cats (numbered so that text order is wrong) and two dogs."""
    for i in (1, 2, 10):
        save(tmp_path / "pets" / "cat" / f"{i}.png", picture(i))
    for i in (1, 2):
        save(tmp_path / "pets" / "dog" / f"{i}.bmp", picture(20 + i))
    return tmp_path / "pets"


def refused(error_type, name, **options):
    """The one line with which a load is refused."""
    with pytest.raises(error_type) as error:
        load(name, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


def zipped(folder, file, prefix=""):
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, prefix + str(path.relative_to(folder)))
    return file


# Folders of images


def test_one_folder_per_class(pets):
    data = load("folder", path=pets)
    assert data.names == ("cat/1.png", "cat/2.png", "cat/10.png", "dog/1.bmp", "dog/2.bmp")
    assert data.class_names == ("cat", "dog")
    assert data.y.tolist() == [0, 0, 0, 1, 1]
    assert data.image_shape == (5, 6)
    expected = np.stack([picture(i) for i in (1, 2, 10, 21, 22)]).reshape(5, -1) / 255
    np.testing.assert_array_equal(data.X, expected)


def test_common_options_apply(pets):
    data = load("folder", path=str(pets), classes=["dog"], size=(3, 4), resample="box", normalize="unit")
    assert data.image_shape == (4, 3)
    assert data.class_names == ("dog",)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
    expected = resize(picture(21)[None], (3, 4), "box").ravel().astype(float)
    np.testing.assert_allclose(data.X[0], expected / np.linalg.norm(expected))


def test_archive_and_folder_are_the_same(pets, tmp_path):
    folder = load("folder", path=pets)
    with tarfile.open(tmp_path / "pets.tgz", "w:gz") as archive:
        archive.add(pets, arcname="download/pets")
    copies = [
        zipped(pets, tmp_path / "plain.zip"),
        zipped(pets, tmp_path / "wrapped.zip", "outer/pets/"),
        tmp_path / "pets.tgz",
    ]
    for copy in copies:
        data = load("folder", path=copy)
        assert data.fingerprint == folder.fingerprint
        assert data.class_names == ("cat", "dog")
        np.testing.assert_array_equal(data.X, folder.X)


def test_a_changed_folder_is_read_again(pets):
    before = load("folder", path=pets)
    save(pets / "dog" / "3.png", picture(99))
    after = load("folder", path=pets)
    assert len(after) == len(before) + 1


def test_pattern_finds_the_label(tmp_path):
    for i, name in enumerate(("s1_happy.png", "s1_sad.png", "s2_happy.png", "s10_happy.png")):
        save(tmp_path / "faces" / name, picture(i))
    data = load("folder", path=tmp_path / "faces", pattern=r"^s(?P<label>\d+)_")
    assert data.class_names == ("1", "2", "10")
    assert data.y.tolist() == [0, 0, 1, 2]
    by_mood = load("folder", path=tmp_path / "faces", pattern=r"_(?P<label>\w+)\.png")
    assert by_mood.class_names == ("happy", "sad")


def test_new_images_need_no_labels_and_keep_their_names(pets, tmp_path):
    save(tmp_path / "new" / "a.png", picture(5, 60, 50))
    save(tmp_path / "new" / "deep" / "b.png", picture(6, 30, 30))
    data = load("folder", path=tmp_path / "new", labelled=False, size=(6, 5))
    assert data.y is None
    assert data.names == ("a.png", "deep/b.png")
    assert data.X.shape[1] == load("folder", path=pets, size=(6, 5)).X.shape[1]
    np.testing.assert_array_equal(data.X[0], resize(picture(5, 60, 50)[None], (6, 5)).ravel() / 255)


def test_a_single_class_and_deeper_folders(tmp_path):
    save(tmp_path / "one" / "cat" / "1.png", picture(1))
    assert load("folder", path=tmp_path / "one").class_names == ("cat",)
    for session in ("mon", "tue"):
        for who in ("ann", "bob"):
            save(tmp_path / "deep" / who / session / "1.png", picture(2))
    assert load("folder", path=tmp_path / "deep").class_names == ("ann", "bob")


def test_hidden_files_and_other_files_are_passed_over(pets):
    (pets / "cat" / ".DS_Store").write_bytes(b"junk")
    (pets / "cat" / "._1.png").write_bytes(b"junk")
    (pets / "__MACOSX").mkdir()
    (pets / "__MACOSX" / "1.png").write_bytes(b"junk")
    (pets / "readme.txt").write_text("about the pets")
    assert len(load("folder", path=pets)) == 5


def test_grey_among_coloured(pets):
    save(pets / "dog" / "3.png", picture(30, mode="RGB"))
    data = load("folder", path=pets)
    assert data.image_shape == (5, 6, 3)
    np.testing.assert_array_equal(data.X[0].reshape(5, 6, 3), np.repeat(picture(1)[..., None] / 255, 3, axis=2))
    np.testing.assert_array_equal(data.X[-1].reshape(5, 6, 3), picture(30, mode="RGB") / 255)
    assert load("folder", path=pets, gray=True).image_shape == (5, 6)


def test_mixed_sizes_need_size(pets):
    save(pets / "dog" / "3.png", picture(30, 9, 8))
    message = refused(DataError, "folder", path=pets)
    assert "cat/1.png is 6×5 but dog/3.png is 9×8; give size" in message
    assert load("folder", path=pets, size=(4, 4)).X.shape == (6, 16)


def test_corrupt_image_is_named(pets, tmp_path):
    whole = (pets / "cat" / "2.png").read_bytes()
    for content in (b"not an image", whole[: len(whole) // 2], b""):
        (pets / "cat" / "2.png").write_bytes(content)
        message = refused(DataError, "folder", path=pets)
        assert str(pets) in message
        assert "cat/2.png" in message
    archive = zipped(pets, tmp_path / "pets.zip")
    message = refused(DataError, "folder", path=archive)
    assert "pets.zip: cat/2.png" in message


def test_format_that_is_not_read_is_named_not_dropped(pets):
    (pets / "cat" / "3.webp").write_bytes(b"RIFF")
    assert "cat/3.webp: images of this format are not read" in refused(DataError, "folder", path=pets)


def test_image_beside_the_class_folders_is_named(pets):
    save(pets / "stray.png", picture(1))
    message = refused(DataError, "folder", path=pets)
    assert "stray.png: lies in no class folder" in message
    assert len(load("folder", path=pets, labelled=False)) == 6


def test_flat_folder_is_no_single_class(tmp_path):
    save(tmp_path / "flat" / "1.png", picture(1))
    assert "1.png: lies in no class folder" in refused(DataError, "folder", path=tmp_path / "flat")


def test_links_that_leave_the_folder_are_not_followed(pets, tmp_path):
    save(tmp_path / "elsewhere" / "secret.png", picture(1))
    link = pets / "cat" / "3.png"
    link.symlink_to(tmp_path / "elsewhere" / "secret.png")
    assert "cat/3.png: a link that leaves the folder" in refused(DataError, "folder", path=pets)
    link.unlink()
    (pets / "bird").symlink_to(tmp_path / "elsewhere")
    assert load("folder", path=pets).class_names == ("cat", "dog")


def test_truncated_archive_and_escaping_member(pets, tmp_path):
    whole = zipped(pets, tmp_path / "pets.zip").read_bytes()
    (tmp_path / "half.zip").write_bytes(whole[: len(whole) // 2])
    assert "half.zip" in refused(DataError, "folder", path=tmp_path / "half.zip")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.write(pets / "cat" / "1.png", "../cat/1.png")
    message = refused(DataError, "folder", path=tmp_path / "evil.zip")
    assert "evil.zip: ../cat/1.png" in message


def test_pattern_that_does_not_fit(pets):
    message = refused(DataError, "folder", path=pets, pattern=r"cat/(?P<label>\d+)")
    assert "dog/1.bmp: folder.pattern" in message
    assert "no group (?P<label>" in refused(ConfigError, "folder", path=pets, pattern=r"cat/(\d+)")
    assert "no regular expression" in refused(ConfigError, "folder", path=pets, pattern="(")


def test_no_path_no_folder_no_images(tmp_path):
    assert "folder.path" in refused(ConfigError, "folder")
    assert "nowhere: no such folder" in refused(DataError, "folder", path=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing")
    assert "empty: no images in it" in refused(DataError, "folder", path=tmp_path / "empty")
    (tmp_path / "notes.txt").write_text("no archive")
    assert "notes.txt" in refused(DataError, "folder", path=tmp_path / "notes.txt")


# Tables

ROWS = np.array([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.25]])


@pytest.fixture
def iris(tmp_path):
    file = tmp_path / "iris.csv"
    file.write_text(
        "plant,length,width,kind\np1,1.5,2,virginica\np2,3,4,setosa\np3,5,6,setosa\np4,7,8.25,virginica\n"
    )
    return file


def test_csv_with_a_header(iris):
    data = load("table", path=iris, label="kind", id="plant")
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("setosa", "virginica")
    assert data.y.tolist() == [1, 0, 0, 1]
    assert data.names == ("p1", "p2", "p3", "p4")
    assert data.image_shape is None
    assert load("table", path=iris, label=-1, id=0).fingerprint == data.fingerprint
    assert load("table", path=iris, label="kind", id="plant", classes=["setosa"]).X.tolist() == [[3, 4], [5, 6]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_without_a_header(tmp_path, delimiter):
    file = tmp_path / "bare.csv"
    file.write_bytes(
        b"\xef\xbb\xbf" + "\r\n".join(f"{a}{delimiter} {b}{delimiter}{a > 4}" for a, b in ROWS).encode()
    )
    data = load("table", path=file, label=2)
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("False", "True")
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.names == ("0", "1", "2", "3")


def test_numeric_labels_are_in_the_order_of_numbers(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("10,1\n9,2\n10,3\n")
    data = load("table", path=file, label=0)
    assert data.class_names == ("9", "10")
    assert data.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize("header", ["", "kind\n"])
def test_labels_in_a_file_of_their_own(tmp_path, header):
    np.save(tmp_path / "X.npy", ROWS)
    (tmp_path / "y.txt").write_text(header + "b\na\na\nb\n")
    data = load("table", path=tmp_path / "X.npy", labels_file=tmp_path / "y.txt")
    assert data.class_names == ("a", "b")
    assert data.y.tolist() == [1, 0, 0, 1]
    np.save(tmp_path / "y.npy", np.array([1.0, 0, 0, 1]))
    assert load("table", path=tmp_path / "X.npy", labels_file=tmp_path / "y.npy").class_names == ("0", "1")


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, ">f8", bool])
def test_npy_of_any_number_type(tmp_path, dtype):
    values = ROWS.astype(dtype)
    np.save(tmp_path / "X.npy", np.asfortranarray(values))
    data = load("table", path=tmp_path / "X.npy")
    np.testing.assert_array_equal(data.X, values.astype(float))
    assert data.X.dtype == np.float64
    assert data.y is None


def test_npy_with_a_label_column(tmp_path):
    np.save(tmp_path / "X.npy", np.column_stack([ROWS, [2, 1, 1, 2]]))
    data = load("table", path=tmp_path / "X.npy", label=-1)
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("1", "2")


@pytest.mark.parametrize("save_npz", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save_npz):
    file = tmp_path / "set.npz"
    save_npz(file, X=ROWS, Z=2 * ROWS, y=np.array(["b", "a", "a", "b"]), who=np.arange(4))
    data = load("table", path=file, label="y", id="who")
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.y.tolist() == [1, 0, 0, 1]
    assert data.names == ("0", "1", "2", "3")
    np.testing.assert_array_equal(load("table", path=file, features="Z").X, 2 * ROWS)
    save_npz(tmp_path / "single.npz", anything=ROWS)
    np.testing.assert_array_equal(load("table", path=tmp_path / "single.npz").X, ROWS)


def test_the_same_rows_have_the_same_fingerprint(tmp_path, iris):
    np.savez(tmp_path / "set.npz", X=ROWS, y=np.array([1, 0, 0, 1]))
    from_npz = load("table", path=tmp_path / "set.npz", label="y")
    assert load("table", path=iris, label="kind", id="plant").fingerprint == from_npz.fingerprint


def test_new_points_need_no_labels(tmp_path, iris):
    new = tmp_path / "new.csv"
    new.write_text("plant,length,width\nq1,1,2\n")
    data = load("table", path=new, label="kind", id="plant", labelled=False)
    assert data.y is None
    assert data.names == ("q1",)
    np.testing.assert_array_equal(data.X, [[1, 2]])
    np.testing.assert_array_equal(load("table", path=iris, label="kind", id="plant", labelled=False).X, ROWS)
    assert load("table", path=new, label=None, id="plant").y is None


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3,x\n", {}, "bad.csv, line 3, column 1 (b): 'x' is not a finite number"),
        ("1,2\n3,nan\n", {}, "bad.csv, line 2, column 1: 'nan' is not a finite number"),
        ("nan,nan\n3,4\n", {}, "bad.csv, line 1, column 0: 'nan' is not a finite number"),
        ("1,inf\n", {}, "line 1, column 1: 'inf'"),
        ("1,2\n\n3,\n", {}, "line 3, column 1: ''"),
        ("1,1_000\n", {}, "line 1, column 1: '1_000'"),
        ("1,2\n3,4,5\n", {}, "bad.csv, line 2: 3 cells, but 2 in the first line"),
        (
            "a,b\n1,2\n",
            {"label": "kind"},
            "bad.csv: no column 'kind' (table.label) in its first line; there are a, b",
        ),
        ("a,a\n1,2\n", {"label": "a"}, "bad.csv: 2 columns are named 'a' (table.label)"),
        ("1,2\n", {"label": 2}, "bad.csv: no column 2 (table.label); it has 2, counted from 0"),
        ("a,b\n1, \n", {"label": "b"}, "bad.csv, line 2, column 1 (b): empty, but it is the label"),
        ("1\n2\n", {"label": 0}, "bad.csv: no columns are left for the features"),
        ("", {}, "bad.csv: no rows in it"),
        ("a,b\n", {}, "bad.csv: no rows in it after the header"),
    ],
)
def test_bad_csv_names_line_and_column(tmp_path, text, options, message):
    (tmp_path / "bad.csv").write_text(text)
    assert message in refused(DataError, "table", path=tmp_path / "bad.csv", **options)


def test_binary_is_no_csv(tmp_path):
    (tmp_path / "bad.csv").write_bytes(b"1,2\n\xff\xfe\x00,3\n")
    assert "bad.csv: not text in UTF-8" in refused(DataError, "table", path=tmp_path / "bad.csv")
    (tmp_path / "nul.csv").write_bytes(b"1,\x00\n")
    assert "nul.csv" in refused(DataError, "table", path=tmp_path / "nul.csv")
    (tmp_path / "long.csv").write_text("1" * 200_000)
    assert "long.csv" in refused(DataError, "table", path=tmp_path / "long.csv")


def npy_bytes(values, **options):
    stream = io.BytesIO()
    np.save(stream, values, **options)
    return stream.getvalue()


class Exploding:
    """Would create a file if it were ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_pickles_are_never_opened(tmp_path):
    trap = tmp_path / "trap"
    content = npy_bytes(np.array([[Exploding(str(trap))]], dtype=object), allow_pickle=True)
    (tmp_path / "X.npy").write_bytes(content)
    assert "X.npy: has pickled objects" in refused(DataError, "table", path=tmp_path / "X.npy")
    np.savez(tmp_path / "set.npz", X=ROWS)
    with zipfile.ZipFile(tmp_path / "set.npz", "a") as archive:
        archive.writestr("y.npy", content)
    assert "set.npz: y: has pickled objects" in refused(DataError, "table", path=tmp_path / "set.npz", label="y")
    (tmp_path / "plain.npy").write_bytes(b"\x80\x04N.")
    assert "plain.npy: not a readable NPY" in refused(DataError, "table", path=tmp_path / "plain.npy")
    assert not trap.exists()


def claiming(shape):
    """An NPY file whose header claims a shape that is not there."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + ROWS.tobytes()


@pytest.mark.parametrize("shape", [(10**9, 10**4), (5, 2), (3, 2)])
def test_claimed_shape_is_checked_before_memory_is_taken(tmp_path, shape, monkeypatch):
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("read before the check"))
    (tmp_path / "X.npy").write_bytes(claiming(shape))
    assert f"X.npy: {len(claiming(shape))} bytes, but shape {shape}" in refused(
        DataError, "table", path=tmp_path / "X.npy"
    )
    with zipfile.ZipFile(tmp_path / "X.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", claiming(shape))
    assert f"X.npz: X: {len(claiming(shape))} bytes, but shape" in refused(
        DataError, "table", path=tmp_path / "X.npz"
    )


def test_bad_arrays(tmp_path):
    def message(values, **options):
        np.save(tmp_path / "X.npy", values)
        return refused(DataError, "table", path=tmp_path / "X.npy", **options)

    broken = ROWS.copy()
    broken[2, 1] = np.nan
    assert "X.npy, row 2, column 1 (from 0): nan is not a finite number" in message(broken)
    assert "X.npy: has shape (4,), but 2 dimensions" in message(ROWS[:, 0])
    assert "X.npy: has values of type complex128" in message(ROWS * 1j)
    assert "X.npy: has values of type <U3" in message(ROWS.astype("U3"))
    assert "X.npy: empty, of shape (0, 2)" in message(ROWS[:0])
    assert "X.npy: no column 2; it has 2" in message(ROWS, label=2)
    assert "X.npy, row 0 (from 0): 1.5 is no label" in message(ROWS, label=0)
    whole = npy_bytes(ROWS)
    for length in (0, 5, 60, len(whole) - 1):
        (tmp_path / "X.npy").write_bytes(whole[:length])
        assert "X.npy" in refused(DataError, "table", path=tmp_path / "X.npy")


def test_bad_npz(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, a=ROWS, b=ROWS, y=[1, 2])
    assert "set.npz: no array 'X' in it; there are a, b, y" in refused(DataError, "table", path=file)
    assert "set.npz: no array 'label'" in refused(DataError, "table", path=file, features="a", label="label")
    assert "set.npz: y: 2 labels or names for 4 rows" in refused(
        DataError, "table", path=file, features="a", label="y"
    )
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert "set.npz: not a readable NPZ" in refused(DataError, "table", path=file)
    damaged = bytearray(whole)
    damaged[200] ^= 0xFF
    file.write_bytes(bytes(damaged))
    assert "set.npz: a" in refused(DataError, "table", path=file, features="a")


def test_labels_file_of_another_length(tmp_path, iris):
    np.save(tmp_path / "X.npy", ROWS)
    (tmp_path / "y.txt").write_text("a\nb\n")
    options = {"path": tmp_path / "X.npy", "labels_file": tmp_path / "y.txt"}
    message = refused(DataError, "table", **options)
    assert "y.txt: 2 labels for the 4 rows of" in message
    (tmp_path / "y.txt").write_text("a,1\nb,2\nc,3\nd,4\n")
    assert "y.txt, line 1: 2 columns" in refused(DataError, "table", **options)


def test_wrong_options_of_a_table(tmp_path, iris):
    assert "table.path" in refused(ConfigError, "table")
    assert "gone.csv: no such file" in refused(DataError, "table", path=tmp_path / "gone.csv")
    assert "not both" in refused(ConfigError, "table", path=iris, label="kind", labels_file="y.txt")
    assert "table.label" in refused(ConfigError, "table", path=iris, label=1.5)
    assert "table.features" in refused(ConfigError, "table", path=iris, features="X")
    assert "table.lable" in refused(ConfigError, "table", path=iris, lable="kind")
    np.save(tmp_path / "X.npy", ROWS)
    assert "no names" in refused(ConfigError, "table", path=tmp_path / "X.npy", label="kind")
