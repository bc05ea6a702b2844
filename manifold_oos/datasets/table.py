"""A person's own features: CSV, parquet, NPY or NPZ, a row per sample, labels in a column, an array or a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manifold_oos.datasets import numpy_files
from manifold_oos.datasets.base import ROW_OPTIONS, Dataset, Listing, Loader, Raw
from manifold_oos.datasets.columns import Parts, Wanted, read_table
from manifold_oos.datasets.csv_files import read_lines
from manifold_oos.datasets.sources import natural_key, own_path
from manifold_oos.errors import ConfigError, DataError

Column = str | int | None
IMPUTE = ("mean", "median", "drop")


class Table(Loader):
    """Your own features: a CSV, parquet, NPY or NPZ file with a row per sample, and labels in it or beside it."""

    name = "table"
    listing = Listing(found="your own")
    options = ("classes", "per_class", *ROW_OPTIONS)

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options; see :meth:`Loader.check`."""
        full = super().check(options)
        if not isinstance(full["path"], str | Path) or not str(full["path"]):
            raise ConfigError("table.path: give the CSV, parquet, NPY or NPZ file of your features")
        if not isinstance(full["labelled"], bool):
            raise ConfigError(f"table.labelled: {full['labelled']!r} is none of true, false")
        for key in ("label_column", "id"):
            if isinstance(full[key], bool) or not isinstance(full[key], str | int | None):
                raise ConfigError(f"table.{key}: {full[key]!r} is neither a column's name nor its position from 0")
        for key, kinds in (("ignore", str | int), ("columns", str)):
            given = full[key]
            if not isinstance(given, list | tuple) or any(
                isinstance(item, bool) or not isinstance(item, kinds) for item in given
            ):
                what = "names" if kinds is str else "names or positions from 0"
                raise ConfigError(f"table.{key}: {given!r} is not a list of columns ({what})")
        if len(set(full["columns"])) != len(full["columns"]):
            raise ConfigError("table.columns: a name stands there more than once")
        if full["impute"] not in (None, *IMPUTE):
            raise ConfigError(f"table.impute: {full['impute']!r} is none of {', '.join(IMPUTE)}")
        if full["labels_file"] is not None and not isinstance(full["labels_file"], str | Path):
            raise ConfigError(f"table.labels_file: {full['labels_file']!r} is no file")
        if full["features"] is not None and not isinstance(full["features"], str):
            raise ConfigError(f"table.features: {full['features']!r} is no key of an NPZ file")
        if full["label_column"] is not None and full["labels_file"] is not None:
            raise ConfigError("table: give label_column or labels_file, not both")
        return full

    def read(
        self,
        variant: str,
        *,
        path: str | Path = "",
        label_column: Column = None,
        labels_file: str | Path | None = None,
        id: Column = None,
        features: str | None = None,
        labelled: bool = True,
        ignore: Sequence[str | int] = (),
        columns: Sequence[str] = (),
        impute: str | None = None,
    ) -> Raw:
        """Read the rows.

        In a CSV or parquet file the label is found by itself where it is not named: a column called label, class,
        target or y, or the only column of text. One whose cells all differ has the samples' names. A first column
        without a name that numbers the rows (pandas' index) is left out. The note says so.

        Parameters
        ----------
        variant : str
            The only one.
        path : path
            The file; has to be given. A CSV may have a header: the first line is one if a column is asked for by
            name, or if none of its cells is a number.
        label_column : str or int, optional
            Column of the labels: its name, or its position from 0 (negative from the end); in an NPZ, the key of
            the array of labels.
        labels_file : path, optional
            Labels in a file of their own: CSV or text with one per line, or NPY.
        id : str or int, optional
            Column (or key) of the samples' names; without it they are numbered.
        features : str, optional
            Key of the features in an NPZ; may be left out if it has a single array, or one named X.
        labelled : bool, default=True
            False for new points: no labels are looked for, and that column is left out if it is there.
        ignore : list of str or int, default=()
            Columns to leave out.
        columns : list of str, default=()
            The features by name, in this order: a missing one is an error, and so is one that is neither among
            them nor the label, the names or ignored. Without it, all columns in the order of the file.
        impute : {"mean", "median", "drop"}, optional
            Missing cells become the mean or median of their column, or their rows are left out; without it they
            are an error that lists them.

        Returns
        -------
        Raw
            In the order of the file, classes in natural order.
        """
        file = existing(path)
        if file.suffix.lower() in (".npy", ".npz"):
            if ignore or columns or impute:
                raise ConfigError(f"table: {file} has no columns with names; ignore, columns, impute go with CSV")
            parts = _from_numpy(file, label_column, id, features, labelled)
        elif features is not None:
            raise ConfigError(f"table.features: {file} is no NPZ file and has no keys")
        else:
            guess = labels_file is None
            parts = read_table(file, Wanted(label_column, id, ignore, columns, impute, labelled, guess))
        labels = parts.labels
        if labels_file is not None and labelled:
            labels = _labels_beside(existing(labels_file), len(parts.rows), file)
        facts: dict[str, Any] = {"names": parts.names, "note": parts.note, "feature_names": parts.feature_names}
        if labels is None:
            return Raw(parts.rows, **facts)
        class_names = sorted(set(labels), key=natural_key)
        number = {text: i for i, text in enumerate(class_names)}
        return Raw(parts.rows, labels=[number[text] for text in labels], class_names=class_names, **facts)


def match_columns(known: Dataset, path: str | Path, **options: Any) -> Dataset:
    """Load new points from a table whose columns may stand in another order.

    Parameters
    ----------
    known : Dataset
        A table with a header.
    path : path
        The table of new points, with a header, too; a label is not needed.
    **options
        Further options of the table, such as ``id`` or ``normalize``.

    Returns
    -------
    Dataset
        With the features of ``known``; columns that are missing or not expected are one error that lists them.
    """
    if not known.feature_names:
        raise DataError(f"{known.name}: its columns have no names, so that those of {path} cannot be matched")
    columns = list(known.feature_names)
    return Table().load(**{**options, "path": path, "columns": columns, "labelled": False})


def existing(path: str | Path) -> Path:
    """The path (which may start with ``~``), if it is a file."""
    file = own_path(path)
    try:
        found = file.is_file()
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({error})") from error
    if not found:
        raise DataError(f"{file}: no such file")
    return file


def _from_numpy(file: Path, label: Column, id: Column, features: str | None, labelled: bool) -> Parts:
    if file.suffix.lower() == ".npz":
        keys = numpy_files.keys(file)
        if features is None:
            features = keys[0] if len(keys) == 1 else "X"
        rows = numpy_files.numbers(file, features)
        wanted = {"label": label if labelled else None, "id": id}
        texts = {what: numpy_files.texts(file, len(rows), key) for what, key in wanted.items() if key is not None}
        return Parts(rows, texts.get("label"), texts.get("id", ()))
    if features is not None or isinstance(label, str) or id is not None:
        raise ConfigError(
            f"table: {file} is an NPY file, which has no names; give label_column as a position, or labels_file"
        )
    rows = numpy_files.numbers(file)
    if label is None:
        return Parts(rows)
    if not -rows.shape[1] <= label < rows.shape[1]:
        raise DataError(f"{file}: no column {label}; it has {rows.shape[1]}, counted from 0")
    labels = numpy_files.as_texts(rows[:, label], str(file)) if labelled else None
    if rows.shape[1] == 1:
        raise DataError(f"{file}: no columns are left for the features")
    return Parts(np.delete(rows, label, axis=1), labels)


def _labels_beside(file: Path, count: int, features_file: Path) -> Sequence[str]:
    if file.suffix.lower() == ".npy":
        return numpy_files.texts(file, count)
    labels = read_lines(file)
    if len(labels) == count + 1:
        labels = labels[1:]  # a header
    if len(labels) != count:
        raise DataError(f"{file}: {len(labels)} labels for the {count} rows of {features_file}")
    return labels
