"""What the columns of a person's table are: features, label, names, pandas' index; and all that is wrong there."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets import limits
from manifold_oos.datasets.csv_files import PARQUET, Rows, read_rows
from manifold_oos.datasets.sources import listed, shown
from manifold_oos.errors import ContinuousLabelError, DataError

LABELS = ("label", "class", "target", "y")
"""Names by which a column of labels is known; y beside x is a coordinate."""
NO_LABEL = frozenset({"", "na", "n/a", "nan", "null"})
MISSING = NO_LABEL | {"none", "?"}
OPTIONS = {"label": "label_column", "id": "id", "ignore": "ignore"}
"""The option of the loader behind each use of a column."""
TEXT = "text columns: label_column, id, ignore"
NO_NUMBER = "no cell of it is a number; give it as label_column or id, or ignore it"
UNNAMED = re.compile(r"(Unnamed: [0-9]+)?")
"""No name, or the one that pandas gives."""


@dataclass(frozen=True)
class Wanted:
    """What a person says of the columns: a name, or a position from 0 (negative from the end)."""

    label: str | int | None = None
    id: str | int | None = None
    ignore: Sequence[str | int] = ()
    columns: Sequence[str] = ()
    """The features by name, in this order; all of them where empty."""
    impute: str | None = None
    labelled: bool = True
    """False for new points: a label may be there, and is left out."""
    guess: bool = True
    """Whether to look for the label where none is named."""


@dataclass(frozen=True)
class Parts:
    """A table taken apart: ``labels`` is None without them, the names are empty without a header."""

    rows: Array
    labels: Sequence[str] | None = None
    names: Sequence[str] = ()
    feature_names: Sequence[str] = ()
    note: str = ""


@dataclass
class _Faults:
    """What is wrong, by column, so that an empty column is one fault; the first few of each and how many."""

    file: Path
    header: Sequence[str] | None
    whole: list[str] = field(default_factory=list)
    cells: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    count: Counter = field(default_factory=Counter)
    measured: int | None = None
    """The column of the label, if that is a measurement."""

    def add(self, line: int, column: int, what: str) -> None:
        self.count[column] += 1
        if self.count[column] <= limits.SHOWN:
            self.cells.setdefault(column, []).append((line, what))

    def column(self, column: int) -> str:
        name = "" if not self.header or column < 0 else f" ({shown(self.header[column])[:60]})"
        return f"column {column}{name}"

    def only(self, column: int, what: str) -> None:
        """One fault of a column instead of all that were found in its cells."""
        self.cells.pop(column, None)
        self.count.pop(column, None)
        self.whole.append(f"{self.column(column)}: {what}")

    def check(self) -> None:
        """Raise the error that lists them."""
        found = sorted((line, column, what) for column, cells in self.cells.items() for line, what in cells)
        lines = [
            f"line {line}{f', {self.column(column)}' if column >= 0 else ''}: {what}"
            for line, column, what in found
        ]
        total = len(self.whole) + self.count.total()
        if total:
            error = listed(f"{self.file}{':' if self.whole else ','} ", [*self.whole, *lines], total)
            if total == 1 and self.measured is not None:
                raise ContinuousLabelError(str(error), self.measured)
            raise error


def read_table(file: Path, wanted: Wanted) -> Parts:
    """Take a CSV or parquet file apart; one error lists everything that is wrong in it, each with its place."""
    rows = read_rows(file)
    start, first = next(rows, (0, []))
    if not first:
        raise DataError(f"{file}: no rows in it")
    asked = (wanted.label, wanted.id, *wanted.ignore)
    named = (
        bool(wanted.columns) or any(isinstance(column, str) for column in asked) or file.suffix.lower() == PARQUET
    )
    header = [cell.strip() for cell in first] if named or _is_header(first) else None
    return _Table(file, header, len(first), wanted).parts(rows if header else chain([(start, first)], rows))


class _Table:
    """A table while it is taken apart."""

    def __init__(self, file: Path, header: list[str] | None, width: int, wanted: Wanted) -> None:
        self.file, self.header, self.width, self.wanted = file, header, width, wanted
        self.faults = _Faults(file, header)
        self.notes: list[str] = []
        self.place: dict[str, int] = {}
        for use, column in (("label", wanted.label), ("id", wanted.id)):
            needed = use == "id" or wanted.labelled
            at = None if column is None else self._position(column, use, needed)
            if at is not None:
                self.place[use] = at
        ignored = {self._position(column, "ignore", wanted.labelled) for column in wanted.ignore}
        self.left_out = {at for at in ignored if at is not None}
        if wanted.label is None and wanted.guess:
            self._guess_label()
        used = {*self.place.values(), *self.left_out}
        self.numeric = [
            i for i in range(width) if i not in used and (not wanted.columns or self._name(i) in wanted.columns)
        ]
        self.others = [i for i in range(width) if i not in used and i not in self.numeric]
        if header and 0 not in used and UNNAMED.fullmatch(header[0]) and 0 not in self.numeric:
            self.others.remove(0)
            self.numeric.insert(0, 0)
        self.texts: dict[int, list[str]] = {i: [] for i in self.place.values()}
        self.lines, self.values = array("q"), array("d")

    def _name(self, column: int) -> str:
        return self.header[column] if self.header else ""

    def _position(self, column: str | int, use: str, needed: bool) -> int | None:
        """Position of a column from 0; None if it is not there and need not be."""
        option = f"(table.{OPTIONS[use]})"
        if isinstance(column, int):
            if not -self.width <= column < self.width:
                raise DataError(f"{self.file}: no column {column} {option}; it has {self.width}, counted from 0")
            return column % self.width
        names = self.header or []
        if names.count(column) > 1:
            raise DataError(f"{self.file}: {names.count(column)} columns are named {column!r} {option}")
        if column not in names and needed:
            raise DataError(
                f"{self.file}: no column {column!r} {option} in its first line; there are {_some(names)}"
            )
        return names.index(column) if column in names else None

    def _guess_label(self) -> None:
        lower = [name.lower() for name in self.header or []]
        free = [i for i, name in enumerate(lower) if name in LABELS and self._name(i) not in self.wanted.columns]
        free = [i for i in free if i not in self.left_out and i != self.place.get("id")]
        free = [i for i in free if lower[i] != "y" or "x" not in lower]
        if len(free) > 1:
            names = " and ".join(repr(self._name(i)) for i in free)
            raise DataError(
                f"{self.file}: columns {names} may be the label; give label_column, and ignore the others"
            )
        if free:
            self._take("label", free[0])

    def _take(self, use: str, column: int) -> None:
        self.place[use] = column
        name = f"column {shown(self._name(column))!r}" if self._name(column) else f"column {column}"
        if use == "label" and not self.wanted.labelled:
            self.notes.append(f"{name} was left out: it looks like the label")
        else:
            self.notes.append(f"{'labels' if use == 'label' else 'names'} are {name}")

    def parts(self, rows: Rows) -> Parts:
        guess = self._fill(rows)
        if not self.lines:
            self.faults.check()
            raise DataError(f"{self.file}: no rows in it" + (" after the header" if self.header else ""))
        if guess is not None:
            self._use_text(guess)
        values = np.array(self.values).reshape(len(self.lines), len(self.numeric))
        values = self._without_index(values)
        keep = self._keep(values)
        self._check_names()
        self._check_labels(keep)
        self.faults.check()
        if not self.numeric:
            raise DataError(f"{self.file}: no columns are left for the features")
        if not keep.any():
            raise DataError(f"{self.file}: no row is left without missing cells (table.impute: drop)")
        values = self._imputed(values[keep] if not keep.all() else values)
        names = [self._name(i) for i in self.numeric]
        if self.wanted.columns:
            order = [names.index(name) for name in self.wanted.columns]
            values, names = values[:, order], list(self.wanted.columns)
        found = {use: [t for t, k in zip(self.texts[at], keep, strict=True) if k] for use, at in self.place.items()}
        return Parts(
            values,
            found.get("label") if self.wanted.labelled else None,
            found.get("id", ()),
            names if self.header else (),
            "; ".join(self.notes),
        )

    def _fill(self, rows: Rows) -> int | None:
        """Read every row; the only column of text is returned, if it is that from the first row on."""
        guess = None
        for line, cells in rows:
            if len(cells) != self.width:
                self.faults.add(line, -1, f"{len(cells)} cells, but {self.width} in the first line")
                continue
            if not self.lines and self.wanted.guess:
                guess = self._only_text(cells)
            self.lines.append(line)
            self.values.extend(_numbers([cells[i] for i in self.numeric]) or self._odd(line, cells))
            for column, texts in self.texts.items():
                texts.append(cells[column].strip())
            if len(self.lines) * self.width > limits.VALUES:
                raise DataError(f"{self.file}, line {line}: more than {limits.VALUES} cells up to here")
        return guess

    def _only_text(self, cells: list[str]) -> int | None:
        free = [i for i in (*self.numeric, *self.others) if _is_text(cells[i]) and i not in self.left_out]
        if len(free) != 1:
            return None
        self.texts[free[0]] = []
        for columns in (self.numeric, self.others):
            if free[0] in columns:
                columns.remove(free[0])
        return free[0]

    def _odd(self, line: int, cells: list[str]) -> list[float]:
        """Numbers of a row in which one is missing or wrong, NaN in its place."""
        numbers = []
        for column in self.numeric:
            cell = cells[column].strip()
            number = _number(cell)
            if not math.isfinite(number):
                number = math.nan
                missing = cell.lower() in MISSING
                if not (missing and self.wanted.impute):
                    hint = "missing cells: impute" if missing else TEXT
                    self.faults.add(line, column, f"{_cut(cells[column])} is not a finite number ({hint})")
            numbers.append(number)
        return numbers

    def _use_text(self, column: int) -> None:
        """Make the only column of text the label, or the names where every cell differs."""
        texts = self.texts[column]
        numbers = [i for i, text in enumerate(texts) if not math.isnan(_number(text))]
        distinct = len(texts) > 1 and len(set(texts)) == len(texts)
        use = "id" if distinct and "id" not in self.place else "label"
        if use not in self.place and not numbers and self._name(column) not in self.wanted.columns:
            self._take(use, column)
            return
        if not numbers:
            self.faults.only(column, NO_NUMBER)
        for line, text in zip(self.lines, texts, strict=True):
            if numbers and not math.isfinite(_number(text)):
                self.faults.add(line, column, f"{_cut(text)} is not a finite number ({TEXT})")

    def _without_index(self, values: Array) -> Array:
        """Leave out the column in which pandas numbers the rows."""
        if not self.header or self.numeric[:1] != [0] or not UNNAMED.fullmatch(self.header[0]):
            return values
        first = values[:, 0]
        if (first >= 0).all() and (first == np.round(first)).all() and len(np.unique(first)) == len(first):
            self.numeric.remove(0)
            self.notes.append("column 0 was left out: it has no name and numbers the rows")
            return values[:, 1:]
        return values

    def _keep(self, values: Array) -> NDArray[np.bool_]:
        """The rows that stay; a column without any number is one fault."""
        missing = np.isnan(values)
        for at in np.flatnonzero(missing.all(axis=0)):
            if self.faults.count[self.numeric[at]] in (0, len(values)) and (len(values) > 1 or self.wanted.impute):
                self.faults.only(self.numeric[at], NO_NUMBER)
        keep: NDArray[np.bool_] = np.ones(len(values), dtype=bool)
        if self.wanted.impute == "drop":
            keep &= ~missing.any(axis=1)
            label = self.place.get("label")
            if label is not None and self.wanted.labelled:
                keep &= np.array([text.lower() not in NO_LABEL for text in self.texts[label]], dtype=bool)
            if not keep.all():
                self.notes.append(f"{int((~keep).sum())} rows with missing cells were left out")
        return keep

    def _imputed(self, values: Array) -> Array:
        missing = np.isnan(values)
        if not missing.any():
            return values
        if not self.wanted.labelled:
            what = f"missing cells of new points cannot have the {self.wanted.impute} of the known ones"
            raise DataError(f"{self.file}: {what}; fill them in, or give impute: drop")
        fill = np.nanmean(values, axis=0) if self.wanted.impute == "mean" else np.nanmedian(values, axis=0)
        self.notes.append(f"{int(missing.sum())} missing cells are the {self.wanted.impute} of their column")
        return np.where(missing, fill, values)

    def _check_names(self) -> None:
        """Every feature of a table with a header has a name of its own, and is expected."""
        if not self.header:
            return
        unnamed = [str(i) for i in self.numeric if UNNAMED.fullmatch(self._name(i))]
        if unnamed:
            self.faults.whole.insert(0, f"no name for column {', '.join(unnamed[: limits.SHOWN])}")
        names = Counter(self._name(i) for i in self.numeric if self._name(i))
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            self.faults.whole.insert(0, f"more than one column is named {_some(twice)}")
        absent = [name for name in self.wanted.columns if name not in names]
        extra = [self._name(i) or f"column {i}" for i in self.others if i not in self.place.values()]
        if absent or extra:
            what = [f"no column {_some(absent)}"] if absent else []
            what += [f"not expected: {_some(extra)}"] if extra else []
            others = "table.columns says" if self.wanted.labelled else "the known points have"
            self.faults.whole.insert(0, f"other columns than {others}: {', '.join(what)}")

    def _check_labels(self, keep: NDArray[np.bool_]) -> None:
        for use, at in self.place.items():
            if use == "label" and not self.wanted.labelled:
                continue
            for line, text, kept in zip(self.lines, self.texts[at], keep, strict=True):
                if kept and (not text or (use == "label" and text.lower() in NO_LABEL)):
                    self.faults.add(line, at, f"{_cut(text) if text else 'empty'}, but it is the {use}")
                elif len(text) > limits.NAME_LENGTH:
                    self.faults.add(line, at, f"{_cut(text)}: too long for a {use}")
        label = self.place.get("label")
        if label is not None and self.wanted.labelled and (n := _continuous(self.texts[label])):
            what = f"{n} different numbers are no classes; leave it out (ignore), or make it a feature (columns)"
            self.faults.only(label, f"{what}, or cut it into classes")
            self.faults.measured = label


def _continuous(labels: Sequence[str]) -> int:
    """How many different numbers there are, if they are measurements and no classes; else 0."""
    distinct = set(labels)
    numbers = [_number(text) for text in distinct]
    if any(math.isnan(number) for number in numbers) or all(re.fullmatch("[+-]?[0-9]+", text) for text in distinct):
        return 0
    broken = any(number != round(number) for number in numbers if math.isfinite(number))
    many = len(distinct) > max(20, len(labels) / 10) or (broken and len(distinct) > max(2, len(labels) / 2))
    return len(distinct) if many else 0


def _is_header(cells: list[str]) -> bool:
    def is_number(cell: str) -> bool:
        return not math.isnan(_number(cell)) or cell.strip().lower() in ("nan", "na")

    if any(cell.strip().lower() in LABELS[:3] for cell in cells):
        return True
    return any(cell.strip() for cell in cells) and not any(is_number(cell) for cell in cells)


def _is_text(cell: str) -> bool:
    letters = any(character.isalpha() for character in cell)
    return letters and math.isnan(_number(cell)) and cell.strip().lower() not in MISSING


def _numbers(cells: list[str]) -> list[float] | None:
    """The numbers in a row of cells, None if one is missing or not finite."""
    try:
        numbers = list(map(float, cells))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) and "_" not in "".join(cells) else None


def _number(cell: str) -> float:
    """The number in a cell, NaN if there is none; Python's 1_000 is not one."""
    try:
        return float(cell) if "_" not in cell else math.nan
    except ValueError:
        return math.nan


def _cut(cell: str) -> str:
    return repr(cell) if len(cell) <= 40 else f"{cell[:40]!r}…"


def _some(names: Sequence[str]) -> str:
    return ", ".join(shown(name)[:60] for name in names[:8]) + (", …" if len(names) > 8 else "")
