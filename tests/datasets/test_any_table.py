"""Tables as people have them: labels found by themselves, pandas' index, missing cells, columns matched by name."""

import sys
import types

import numpy as np
import pandas as pd
import pytest

from manifold_oos.datasets import limits, load
from manifold_oos.datasets.table import match_columns
from manifold_oos.errors import ConfigError, DataError


@pytest.fixture
def table(tmp_path):
    """Writes a CSV and gives its path."""

    def write(text, name="own.csv"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def refused(path, error_type=DataError, **options):
    with pytest.raises(error_type) as error:
        load("table", path=path, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ["label", "Class", "TARGET", "y"])
@pytest.mark.parametrize("cells", ["cat,dog,cat", "7,3,7"])
def test_a_column_with_a_known_name_is_the_label(table, name, cells):
    a, b, c = cells.split(",")
    data = load("table", path=table(f"u,{name},v\n1,{a},2\n3,{b},4\n5,{c},6\n"))
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    assert data.class_names == tuple(sorted({a, b}))
    assert data.feature_names == ("u", "v")
    assert data.note == f"labels are column '{name}'"


def test_a_header_of_numbers_is_seen_by_its_label(table):
    data = load("table", path=table("0,1,target\n5,6,a\n7,8,b\n7,9,b\n"))
    assert data.feature_names == ("0", "1")
    assert data.class_names == ("a", "b")


def test_the_only_text_column_is_the_label_with_and_without_a_header(table):
    rows = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,2.9,virginica\n"
    for header, names in (("sl,sw,species\n", ("sl", "sw")), ("", ())):
        data = load("table", path=table(header + rows))
        assert data.class_names == ("setosa", "virginica")
        assert data.y.tolist() == [0, 0, 1]
        assert data.feature_names == names
        assert "labels are column" in data.note


def test_text_that_differs_in_every_row_is_names(table):
    data = load("table", path=table("who,a,label\nann,1,x\nbob,2,x\ncid,3,z\n"))
    assert data.names == ("ann", "bob", "cid")
    assert data.class_names == ("x", "z")
    assert data.note == "labels are column 'label'; names are column 'who'"


def test_y_beside_x_is_a_coordinate(table):
    data = load("table", path=table("x,y,z\n1,2,3\n4,5,6\n"))
    assert data.y is None
    assert data.feature_names == ("x", "y", "z")


def test_named_label_goes_before_guesses(table):
    file = table("label,kind,a\n1,p,5\n2,q,6\n3,q,7\n")
    data = load("table", path=file, label_column="kind")
    assert data.class_names == ("p", "q")
    assert data.feature_names == ("label", "a")
    assert data.note == ""


def test_labels_of_any_script_are_sorted_and_kept(table):
    cells = ["10", "9", "²", "٣", "0" * 5 + "8", "7" * 900, "ärger"]
    data = load("table", path=table("a,label\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))))
    assert set(data.class_names) == set(cells)
    assert data.class_names[:4] == ("000008", "9", "10", "7" * 900)


def test_two_candidates_are_one_question(table):
    message = refused(table("label,target,a\n1,2,3\n"))
    assert "own.csv: columns 'label' and 'target' may be the label; give label_column" in message
    assert load("table", path=table("label,target,a\n1,2,3\n"), ignore=["target"]).class_names == ("1",)


@pytest.mark.parametrize("numbers", [[0, 1, 2], [1, 2, 3], [7, 3, 11]])
@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_pandas_index_is_left_out(tmp_path, numbers, name):
    frame = pd.DataFrame({"a": [1.5, 2, 3], "b": [4.0, 5, 6.5]}, index=pd.Index(numbers, name=name or None))
    frame.to_csv(tmp_path / "own.csv")
    data = load("table", path=tmp_path / "own.csv")
    np.testing.assert_array_equal(data.X, frame.to_numpy())
    assert data.feature_names == ("a", "b")
    assert "column 0 was left out" in data.note


def test_another_unnamed_column_is_asked_for(table):
    assert "own.csv: no name for column 0" in refused(table(",a\n1.5,2\n1.5,3\n"))
    assert "no name for column 1, 2" in refused(table("a,,Unnamed: 2\n1,2,3\n"))
    assert "more than one column is named a" in refused(table("a,a,b\n1,2,3\n"))


def test_ignored_columns_may_hold_anything(table):
    data = load("table", path=table("a,junk,b,t\n1,x,2,?\n3,,4,\n"), ignore=["junk", -1])
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    assert data.feature_names == ("a", "b")
    assert "no column 'gone' (table.ignore)" in refused(table("a\n1\n"), ignore=["gone"])


HOLES = "a,b,kind\n1,NA,p\n,4,q\n5,?,p\n7,10,q\n"


def test_missing_cells_are_one_error_with_every_place(table):
    message = refused(table(HOLES))
    for place in ("line 2, column 1 (b): 'NA'", "line 3, column 0 (a): ''", "line 4, column 1 (b): '?'"):
        assert place in message
    assert "missing cells: impute" in message


@pytest.mark.parametrize(
    ("impute", "X", "note"),
    [
        ("mean", [[1, 7], [13 / 3, 4], [5, 7], [7, 10]], "3 missing cells are the mean of their column"),
        ("median", [[1, 7], [5, 4], [5, 7], [7, 10]], "3 missing cells are the median of their column"),
        ("drop", [[7, 10]], "3 rows with missing cells were left out"),
    ],
)
def test_impute(table, impute, X, note):
    data = load("table", path=table(HOLES), impute=impute)
    np.testing.assert_allclose(data.X, X)
    assert note in data.note
    assert len(data.names) == len(data.y) == len(X)


def test_drop_takes_rows_without_a_label_too(table):
    data = load("table", path=table("a,label\n1,p\n2,\n3,q\n"), impute="drop")
    assert data.X.ravel().tolist() == [1, 3]
    assert "no row is left" in refused(table("a,b\n1,\n,2\n"), impute="drop")
    assert "column 1 (b): no cell of it is a number" in refused(table("a,b\n1,\n3,\n"), impute="mean")


def test_a_missing_label_is_no_class(table):
    file = table("a,kind\n1,p\n2,NA\n3,q\n4,none\n5,p\n")
    assert "own.csv, line 3, column 1 (kind): 'NA', but it is the label" in refused(file)
    assert load("table", path=file, impute="drop").class_names == ("none", "p", "q")


def test_new_points_are_not_filled_from_each_other(table):
    assert "fill them in" in refused(table("a,b\n1,\n2,3\n"), impute="mean", labelled=False)


@pytest.mark.parametrize("name", ["target", "price"])
def test_a_continuous_label_is_refused_with_a_way_out(table, name):
    rows = "".join(f"{i},{i**1.5:.3f}\n" for i in range(30))
    label = {} if name == "target" else {"label_column": name}
    message = refused(table(f"a,{name}\n{rows}"), **label)
    assert f"own.csv: column 1 ({name}): 30 different numbers are no classes; leave it out (ignore)" in message
    assert load("table", path=table(f"a,{name}\n{rows}"), columns=["a", name]).X.shape == (30, 2)
    assert load("table", path=table(f"a,{name}\n{rows}"), ignore=[name]).X.shape == (30, 1)


def test_many_whole_classes_and_few_fractions_are_labels(table):
    people = "".join(f"{i},{i // 2}\n" for i in range(100))
    assert load("table", path=table(f"a,label\n{people}")).n_classes == 50
    doses = "".join(f"{i},{i % 3 / 2}\n" for i in range(30))
    assert load("table", path=table(f"a,label\n{doses}")).n_classes == 3


def test_all_faults_are_listed_at_once(table):
    message = refused(table("a,b,label\n1,x,p\n2,3\nz,4,\n5,inf,q\n"))
    assert message.count("line ") == 5
    for part in (
        "own.csv, line 2, column 1 (b): 'x'",
        "line 3: 2 cells, but 3 in the first line",
        "line 4, column 0 (a): 'z'",
        "line 4, column 2 (label): empty, but it is the label",
        "line 5, column 1 (b): 'inf'",
    ):
        assert part in message


def test_only_the_first_faults_are_shown_and_the_others_counted(table):
    message = refused(table("a,b\n1,2\n" + "1,x\n" * 37))
    assert message.count("'x'") == limits.SHOWN
    assert message.endswith("and 27 more")


def test_two_columns_of_text_are_one_fault_each(table):
    message = refused(table("a,s,t\n" + "1,u,v\n" * 50))
    assert message.count("no cell of it is a number") == 2
    assert "column 1 (s)" in message and "column 2 (t)" in message


KNOWN = "a,b,c,kind\n1,2,3,p\n4,5,6,q\n7,8,10,q\n"


def test_new_points_are_matched_by_name(table):
    known = load("table", path=table(KNOWN))
    new = table(",kind,c,a,b\n0,p,3,1,2\n1,q,6,4,5\n", "new.csv")
    np.testing.assert_array_equal(match_columns(known, new).X, known.X[:2])
    assert match_columns(known, new).feature_names == known.feature_names
    assert match_columns(known, new).y is None
    np.testing.assert_array_equal(load("table", path=new, columns=["c", "b"], ignore=["a"]).X, [[3, 2], [6, 5]])


def test_other_columns_are_one_error_that_lists_them(table):
    known = load("table", path=table(KNOWN))
    with pytest.raises(DataError) as error:
        match_columns(known, table("a,d,e\n1,2,3\n", "new.csv"))
    assert "new.csv: other columns than the known points have: no column b, c, not" in str(error.value)
    assert str(error.value).endswith("expected: d, e")
    with pytest.raises(DataError, match=r"new\.csv: .*no column a, b, c, not expected: 1, 2, 3"):
        match_columns(known, table("1,2,3\n4,5,6\n", "new.csv"))
    with pytest.raises(DataError, match="have no names"):
        match_columns(load("table", path=table("1,2\n")), table("a,b\n1,2\n", "new.csv"))
    with pytest.raises(DataError, match=r"not expected: column 3"):
        match_columns(known, table("a,b,c,\n1,2,3,4\n", "new.csv"))


def test_options_that_are_no_lists_or_no_names(table):
    file = table(KNOWN)
    assert "table.columns" in refused(file, ConfigError, columns="a")
    assert "table.columns" in refused(file, ConfigError, columns=["a", 1])
    assert "more than once" in refused(file, ConfigError, columns=["a", "a"])
    assert "table.ignore" in refused(file, ConfigError, ignore=[True])
    assert "none of mean, median, drop" in refused(file, ConfigError, impute="zero")


def test_columns_go_with_named_columns_only(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((2, 2)))
    for options in ({"columns": ["a"]}, {"ignore": [0]}, {"impute": "mean"}):
        assert "X.npy has no columns with names" in refused(tmp_path / "X.npy", ConfigError, **options)


def test_parquet_without_pyarrow_is_one_line(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "own.parquet: reading parquet needs pyarrow" in refused(table("PAR1", "own.parquet"))


@pytest.fixture
def arrow(monkeypatch):
    """Stands in for pyarrow: says how many rows there are, and pandas reads a frame."""
    frame = pd.DataFrame({"a": [0.1, None, 3.0], "kind": ["p", "q", "q"], "b": [1, 2, 3]})
    group = types.SimpleNamespace(total_byte_size=100)
    facts = types.SimpleNamespace(num_rows=3, num_columns=3, num_row_groups=1, row_group=lambda i: group)
    module = types.ModuleType("pyarrow.parquet")
    module.read_metadata = lambda file: facts
    package = types.ModuleType("pyarrow")
    package.parquet = module
    monkeypatch.setitem(sys.modules, "pyarrow", package)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", module)
    monkeypatch.setattr(pd, "read_parquet", lambda file: frame)
    return facts


def test_parquet_is_read_like_csv(table, arrow):
    file = table("PAR1", "own.parquet")
    assert "own.parquet, line 3, column 0 (a): ''" in refused(file)
    data = load("table", path=file, impute="drop")
    np.testing.assert_array_equal(data.X, [[0.1, 1], [3, 3]])
    assert (data.feature_names, data.class_names) == (("a", "b"), ("p", "q"))


def test_columns_of_parquet_have_names_even_if_they_are_numbers(table, arrow, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", lambda file: pd.DataFrame({0: [1, 2], 1: [3.5, 4]}))
    data = load("table", path=table("PAR1", "own.parquet"))
    assert data.feature_names == ("0", "1")
    np.testing.assert_array_equal(data.X, [[1, 3.5], [2, 4]])


def test_parquet_is_measured_before_it_is_read(table, arrow, monkeypatch):
    arrow.num_rows = 10**9
    monkeypatch.setattr(pd, "read_parquet", lambda file: pytest.fail("read before the check"))
    assert "own.parquet: 1000000000 rows are more than" in refused(table("PAR1", "own.parquet"))


def test_lines_and_cells_have_an_end(table, monkeypatch):
    monkeypatch.setattr(limits, "LINE_LENGTH", 100)
    assert "own.csv: cannot be read as CSV (a line of more than 100" in refused(table("1," * 200))
    monkeypatch.setattr(limits, "VALUES", 10)
    assert "own.csv, line 6: more than 10 cells" in refused(table("1,2\n" * 9))
    monkeypatch.setattr(limits, "TABLE_BYTES", 10)
    assert "own.csv: more than 10 bytes" in refused(table("1,2\n" * 9))
