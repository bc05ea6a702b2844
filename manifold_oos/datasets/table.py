"""A person's own features: CSV, NPY or NPZ, a row per sample, with labels in a column, an array or a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.datasets import numpy_files
from manifold_oos.datasets.base import ROW_OPTIONS, Listing, Loader, Raw
from manifold_oos.datasets.csv_files import read_csv, read_lines
from manifold_oos.datasets.sources import natural_key
from manifold_oos.errors import ConfigError, DataError

Array = NDArray[np.floating]
Column = str | int | None


class Table(Loader):
    """Your own features: a CSV, NPY or NPZ file with a row per sample, and labels in it or beside it."""

    name = "table"
    listing = Listing(found="your own")
    options = ("classes", "per_class", *ROW_OPTIONS)

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options; see :meth:`Loader.check`."""
        full = super().check(options)
        if not isinstance(full["path"], str | Path) or not str(full["path"]):
            raise ConfigError("table.path: give the CSV, NPY or NPZ file of your features")
        if not isinstance(full["labelled"], bool):
            raise ConfigError(f"table.labelled: {full['labelled']!r} is none of true, false")
        for key in ("label_column", "id"):
            if isinstance(full[key], bool) or not isinstance(full[key], str | int | None):
                raise ConfigError(f"table.{key}: {full[key]!r} is neither a column's name nor its position from 0")
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
    ) -> Raw:
        """Read the rows.

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

        Returns
        -------
        Raw
            In the order of the file, classes in natural order.
        """
        file = existing(path)
        if file.suffix.lower() in (".npy", ".npz"):
            rows, labels, names = _from_numpy(file, label_column, id, features, labelled)
        elif features is not None:
            raise ConfigError(f"table.features: {file} is no NPZ file and has no keys")
        else:
            rows, labels, names = _from_csv(file, label_column, id, labelled)
        if labels_file is not None and labelled:
            labels = _labels_beside(existing(labels_file), len(rows), file)
        if labels is None:
            return Raw(rows, names=names)
        class_names = sorted(set(labels), key=natural_key)
        number = {text: i for i, text in enumerate(class_names)}
        return Raw(rows, labels=[number[text] for text in labels], class_names=class_names, names=names)


def existing(path: str | Path) -> Path:
    """The path, if it is a file.

    Parameters
    ----------
    path : path
        May start with ``~``.

    Returns
    -------
    Path
        It.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    return file


Parts = tuple[Array, Sequence[str] | None, Sequence[str]]


def _from_csv(file: Path, label: Column, id: Column, labelled: bool) -> Parts:
    texts = {use: column for use, column in (("label", label), ("id", id)) if column is not None}
    rows, found = read_csv(file, texts, optional=None if labelled else "label")
    if rows.shape[1] == 0:
        raise DataError(f"{file}: no columns are left for the features")
    return rows, found.get("label") if labelled else None, found.get("id", ())


def _from_numpy(file: Path, label: Column, id: Column, features: str | None, labelled: bool) -> Parts:
    if file.suffix.lower() == ".npz":
        keys = numpy_files.keys(file)
        if features is None:
            features = keys[0] if len(keys) == 1 else "X"
        rows = numpy_files.numbers(file, features)
        wanted = {"label": label if labelled else None, "id": id}
        texts = {what: numpy_files.texts(file, len(rows), key) for what, key in wanted.items() if key is not None}
        return rows, texts.get("label"), texts.get("id", ())
    if features is not None or isinstance(label, str) or id is not None:
        raise ConfigError(
            f"table: {file} is an NPY file, which has no names; give label_column as a position, or labels_file"
        )
    rows = numpy_files.numbers(file)
    if label is None:
        return rows, None, ()
    if not -rows.shape[1] <= label < rows.shape[1]:
        raise DataError(f"{file}: no column {label}; it has {rows.shape[1]}, counted from 0")
    labels = numpy_files.as_texts(rows[:, label], str(file)) if labelled else None
    return np.delete(rows, label, axis=1), labels, ()


def _labels_beside(file: Path, count: int, features_file: Path) -> Sequence[str]:
    if file.suffix.lower() == ".npy":
        return numpy_files.texts(file, count)
    labels = read_lines(file)
    if len(labels) == count + 1:
        labels = labels[1:]  # a header
    if len(labels) != count:
        raise DataError(f"{file}: {len(labels)} labels for the {count} rows of {features_file}")
    return labels
