"""A person's own tables: CSV, NPY and NPZ, good and bad."""

import io
import zipfile

import numpy as np
import pytest

from manifold_oos.datasets import load
from manifold_oos.errors import ConfigError, DataError


def refused(error_type, name, **options):
    """The one line with which a load is refused."""
    with pytest.raises(error_type) as error:
        load(name, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


ROWS = np.array([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.25]])


@pytest.fixture
def iris(tmp_path):
    file = tmp_path / "iris.csv"
    file.write_text(
        "plant,length,width,kind\np1,1.5,2,virginica\np2,3,4,setosa\np3,5,6,setosa\np4,7,8.25,virginica\n"
    )
    return file


def test_csv_with_a_header(iris):
    data = load("table", path=iris, label_column="kind", id="plant")
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("setosa", "virginica")
    assert data.y.tolist() == [1, 0, 0, 1]
    assert data.names == ("p1", "p2", "p3", "p4")
    assert data.image_shape is None
    assert load("table", path=iris, label_column=-1, id=0).fingerprint == data.fingerprint
    assert load("table", path=iris, label_column="kind", id="plant", classes=["setosa"]).X.tolist() == [
        [3, 4],
        [5, 6],
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_without_a_header(tmp_path, delimiter):
    file = tmp_path / "bare.csv"
    file.write_bytes(
        b"\xef\xbb\xbf" + "\r\n".join(f"{a}{delimiter} {b}{delimiter}{a > 4}" for a, b in ROWS).encode()
    )
    data = load("table", path=file, label_column=2)
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("False", "True")
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.names == ("0", "1", "2", "3")


def test_numeric_labels_are_in_the_order_of_numbers(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("10,1\n9,2\n10,3\n")
    data = load("table", path=file, label_column=0)
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
    data = load("table", path=tmp_path / "X.npy", label_column=-1)
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.class_names == ("1", "2")


@pytest.mark.parametrize("save_npz", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save_npz):
    file = tmp_path / "set.npz"
    save_npz(file, X=ROWS, Z=2 * ROWS, y=np.array(["b", "a", "a", "b"]), who=np.arange(4))
    data = load("table", path=file, label_column="y", id="who")
    np.testing.assert_array_equal(data.X, ROWS)
    assert data.y.tolist() == [1, 0, 0, 1]
    assert data.names == ("0", "1", "2", "3")
    np.testing.assert_array_equal(load("table", path=file, features="Z").X, 2 * ROWS)
    save_npz(tmp_path / "single.npz", anything=ROWS)
    np.testing.assert_array_equal(load("table", path=tmp_path / "single.npz").X, ROWS)


def test_the_same_rows_have_the_same_fingerprint(tmp_path, iris):
    np.savez(tmp_path / "set.npz", X=ROWS, y=np.array([1, 0, 0, 1]))
    from_npz = load("table", path=tmp_path / "set.npz", label_column="y")
    assert load("table", path=iris, label_column="kind", id="plant").fingerprint == from_npz.fingerprint


def test_new_points_need_no_labels(tmp_path, iris):
    new = tmp_path / "new.csv"
    new.write_text("plant,length,width\nq1,1,2\n")
    data = load("table", path=new, label_column="kind", id="plant", labelled=False)
    assert data.y is None
    assert data.names == ("q1",)
    np.testing.assert_array_equal(data.X, [[1, 2]])
    np.testing.assert_array_equal(load("table", path=iris, label_column="kind", id="plant", labelled=False).X, ROWS)
    assert load("table", path=new, label_column=None, id="plant").y is None


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
            {"label_column": "kind"},
            "bad.csv: no column 'kind' (table.label_column) in its first line; there are a, b",
        ),
        ("a,a\n1,2\n", {"label_column": "a"}, "bad.csv: 2 columns are named 'a' (table.label_column)"),
        ("1,2\n", {"label_column": 2}, "bad.csv: no column 2 (table.label_column); it has 2, counted from 0"),
        ("a,b\n1, \n", {"label_column": "b"}, "bad.csv, line 2, column 1 (b): empty, but it is the label"),
        ("1\n2\n", {"label_column": 0}, "bad.csv: no columns are left for the features"),
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
    assert "set.npz: y: has pickled objects" in refused(
        DataError, "table", path=tmp_path / "set.npz", label_column="y"
    )
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
    assert "X.npy: no column 2; it has 2" in message(ROWS, label_column=2)
    assert "X.npy, row 0 (from 0): 1.5 is no label" in message(ROWS, label_column=0)
    whole = npy_bytes(ROWS)
    for length in (0, 5, 60, len(whole) - 1):
        (tmp_path / "X.npy").write_bytes(whole[:length])
        assert "X.npy" in refused(DataError, "table", path=tmp_path / "X.npy")


def test_bad_npz(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, a=ROWS, b=ROWS, y=[1, 2])
    assert "set.npz: no array 'X' in it; there are a, b, y" in refused(DataError, "table", path=file)
    assert "set.npz: no array 'label'" in refused(DataError, "table", path=file, features="a", label_column="label")
    assert "set.npz: y: 2 labels or names for 4 rows" in refused(
        DataError, "table", path=file, features="a", label_column="y"
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
    assert "not both" in refused(ConfigError, "table", path=iris, label_column="kind", labels_file="y.txt")
    assert "table.label_column" in refused(ConfigError, "table", path=iris, label_column=1.5)
    assert "table.features" in refused(ConfigError, "table", path=iris, features="X")
    assert "table.lable" in refused(ConfigError, "table", path=iris, lable="kind")
    np.save(tmp_path / "X.npy", ROWS)
    assert "no names" in refused(ConfigError, "table", path=tmp_path / "X.npy", label_column="kind")
