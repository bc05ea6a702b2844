"""New points as they come: rows of NPY and CSV files and images of folders, made as those that a model knows."""

import csv
import hashlib
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets import images, limits
from manifold_oos.datasets.columns import LABELS, UNNAMED
from manifold_oos.datasets.folder import SUFFIXES
from manifold_oos.datasets.preprocess import COMMON, checked, features
from manifold_oos.datasets.sources import listed, natural_key, shown
from manifold_oos.errors import DataError
from manifold_oos.pipeline import OutOfSample

#: Rows of a block.
BLOCK = 2048
Block = tuple[Sequence[str], Array]


def stamp(path: Path) -> list[Any]:
    """What changes when a file does."""
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


class IncomingRows:
    """Points in blocks, made as those that the model was fitted on."""

    def __init__(self, path: Path, model: OutOfSample) -> None:
        self.path, self.model, self.about = path, model, model.about_
        options = self.about.get("options", {})
        self.step = checked("model", {**COMMON, **{key: options[key] for key in COMMON if key in options}})

    def identity(self) -> list[Any]:
        """What changes when the points do."""
        return stamp(self.path)

    def points(self, values: NDArray, start: int) -> Array:
        """Features of raw rows or images."""
        X = features(values, self.step)
        if X.shape[1] != self.model.n_features_in_:
            raise DataError(f"{self.path}: {X.shape[1]} features where the model has {self.model.n_features_in_}")
        if not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise DataError(f"{self.path}, row {row} (from 0): a value is not a finite number")
        if self.about.get("mean") is not None:
            X = (X - np.array(self.about["mean"])) / np.array(self.about["scale"])
        return X


class NpyRows(IncomingRows):
    """An NPY file, through a memory map."""

    def __init__(self, path: Path, model: OutOfSample) -> None:
        super().__init__(path, model)
        try:
            self.values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise DataError(f"{path}: not a readable NPY array ({error})") from error
        if self.values.ndim != 2 or self.values.dtype.kind not in "biuf":
            raise DataError(f"{path}: has {self.values.dtype} of shape {self.values.shape}, not rows of numbers")

    def __len__(self) -> int:
        return len(self.values)

    def blocks(self, start: int) -> Iterator[Block]:
        """Names and points from a row on."""
        for at in range(start, len(self.values), BLOCK):
            X = self.points(np.array(self.values[at : at + BLOCK]), at)
            yield [str(i) for i in range(at, at + len(X))], X


class CsvRows(IncomingRows):
    """A CSV file; columns are found by the names that the fit knew, else all but label and id are taken."""

    def __init__(self, path: Path, model: OutOfSample) -> None:
        super().__init__(path, model)
        wanted = list(self.about.get("features", ()))
        first = next(self._cells(), None)
        if first is None:
            raise DataError(f"{path}: no rows in it")
        self.header = [cell.strip() for cell in first] if wanted or not any(map(_is_number, first)) else None
        names = self.header or []
        options = self.about.get("options", {})
        label, self.id = (_place(options.get(key), names, len(first)) for key in ("label_column", "id"))
        ignored = {_place(column, names, len(first)) for column in options.get("ignore", ())}
        others = [i for i in range(len(first)) if i not in {label, self.id, *ignored}]
        if wanted:
            self._check_names(names, wanted, others)
        self.columns = [names.index(name) for name in wanted] or others
        self.count = sum(1 for _ in self._cells()) - (self.header is not None)

    def _check_names(self, names: list[str], wanted: list[str], others: list[int]) -> None:
        """Every column that the model needs is there, and no other but a label or the number of the row."""
        faults = [f"no column {name}" for name in wanted if name not in names]
        faults += [
            f"not expected: {names[i] or f'column {i}'}"
            for i in others
            if names[i] not in wanted and names[i].lower() not in LABELS and (i or not UNNAMED.fullmatch(names[0]))
        ]
        if faults:
            what = "other columns than those that the model was fitted on"
            raise listed(f"{self.path}: {what}: ", faults[: limits.SHOWN], len(faults))

    def __len__(self) -> int:
        return self.count

    def _cells(self) -> Iterator[list[str]]:
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                start = stream.readline(1 << 20)
                stream.seek(0)
                yield from (cells for cells in csv.reader(stream, delimiter=max(",;\t", key=start.count)) if cells)
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{self.path}: cannot be read as CSV ({error})") from error

    def blocks(self, start: int) -> Iterator[Block]:
        """Names and points from a row on."""
        rows = islice(self._cells(), start + (self.header is not None), None)
        at = start
        while chunk := list(islice(rows, BLOCK)):
            try:
                values = np.array([[float(cells[column]) for column in self.columns] for cells in chunk])
            except (ValueError, IndexError):
                raise self._bad_cell(chunk, at) from None
            numbers = range(at, at + len(chunk))
            names = map(str, numbers) if self.id is None else (cells[self.id].strip() for cells in chunk)
            yield list(names), self.points(values, at)
            at += len(chunk)

    def _bad_cell(self, chunk: list[list[str]], at: int) -> DataError:
        """The first cell that is not there or no number."""
        for row, cells in enumerate(chunk, at):
            for column in self.columns:
                cell = cells[column].strip() if column < len(cells) else ""
                if not _is_number(cell):
                    name = f" ({self.header[column]})" if self.header else ""
                    what = f"{shown(cell)[:60]!r} is not a number" if cell else "the cell is missing"
                    return DataError(f"{self.path}, row {row} (from 0), column {column}{name}: {what}")
        raise AssertionError("every cell is a number")


class FolderRows(IncomingRows):
    """Images of a folder, all of them or those that are named."""

    def __init__(self, path: Path, model: OutOfSample, names: Sequence[str] = ()) -> None:
        super().__init__(path, model)
        found = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and not names)
        every = [file.relative_to(path).as_posix() for file in found if not file.name.startswith(".")]
        self.names = list(names) or sorted(every, key=natural_key)
        if not self.names:
            raise DataError(f"{path}: no images in it (read are {', '.join(sorted(SUFFIXES))})")

    def __len__(self) -> int:
        return len(self.names)

    def identity(self) -> list[Any]:
        """Which images there are."""
        return [str(self.path.resolve()), hashlib.sha256("\n".join(self.names).encode()).hexdigest()]

    def blocks(self, start: int) -> Iterator[Block]:
        """Names and points from a row on."""
        for at in range(start, len(self.names), BLOCK):
            names = self.names[at : at + BLOCK]
            yield names, np.vstack([self.picture(name, at + i) for i, name in enumerate(names)])

    def picture(self, name: str, row: int) -> Array:
        """The features of one image."""
        file = self.path / name
        return self.points(images.decode(file.read_bytes(), str(file), deep=True)[None], row)


def open_rows(path: Path, model: OutOfSample) -> Any:
    """The points of a file or folder, by its kind."""
    if path.is_dir():
        return FolderRows(path, model)
    kinds = {".npy": NpyRows, ".csv": CsvRows, ".tsv": CsvRows, ".txt": CsvRows}
    if path.suffix.lower() not in kinds:
        raise DataError(f"{path}: points are read from a folder of images, a .npy or a .csv file")
    return kinds[path.suffix.lower()](path, model)


def _place(column: str | int | None, names: list[str], width: int) -> int | None:
    """Position of a column that may be there, by name or position."""
    if isinstance(column, int):
        return column % width if -width <= column < width else None
    return names.index(column) if column in names else None


def _is_number(cell: str) -> bool:
    try:
        return not math.isnan(float(cell)) or cell.strip().lower() == "nan"
    except ValueError:
        return False
