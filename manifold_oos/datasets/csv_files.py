"""Reads CSV files row by row, so that an error can name the line and the column."""

import csv
import math
from array import array
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manifold_oos.errors import DataError

Array = NDArray[np.floating]


#: The option of the loader behind each use of a text column.
OPTIONS = {"label": "label_column", "id": "id"}


def read_csv(
    file: Path, texts: Mapping[str, str | int], optional: str | None = None
) -> tuple[Array, dict[str, list[str]]]:
    """Read a CSV file with commas, semicolons or tabs, in UTF-8; empty lines are passed over.

    Parameters
    ----------
    file : Path
        The file. Its first line names the columns if one is asked for by name, or if none of its cells is a
        number.
    texts : mapping of str to str or int
        Columns of text, by what they are for: name, or position from 0 (negative from the end).
    optional : str, optional
        The one of ``texts`` that may be missing where it is asked for by name.

    Returns
    -------
    numbers : ndarray of shape (n_rows, n_other_columns)
        All other columns, as finite numbers.
    texts : dict of str to list of str
        The columns asked for, no cell empty.
    """
    rows = _rows(file)
    start, first = next(rows, (0, []))
    if not first:
        raise DataError(f"{file}: no rows in it")
    named = any(isinstance(column, str) for column in texts.values())
    header = [cell.strip() for cell in first] if named or _is_header(first) else None
    place = {}
    for use, column in texts.items():
        at = _position(file, header, len(first), column, use, needed=use != optional)
        if at is not None:
            place[use] = at
    columns = [i for i in range(len(first)) if i not in place.values()]
    values = array("d")
    found: dict[str, list[str]] = {use: [] for use in place}
    count = 0
    for line, cells in rows if header else chain([(start, first)], rows):
        if len(cells) != len(first):
            raise DataError(f"{file}, line {line}: {len(cells)} cells, but {len(first)} in the first line")
        numbers = _numbers([cells[column] for column in columns])
        if numbers is None:
            wrong = next(column for column in columns if not math.isfinite(_number(cells[column])))
            what = f"{cells[wrong]!r} is not a finite number (text columns: label_column, id)"
            raise DataError(f"{_where(file, line, wrong, header)}: {what}")
        values.extend(numbers)
        for use, at in place.items():
            if not cells[at].strip():
                raise DataError(f"{_where(file, line, at, header)}: empty, but it is the {use}")
            found[use].append(cells[at].strip())
        count += 1
    if not count:
        raise DataError(f"{file}: no rows in it after the header")
    return np.array(values).reshape(count, len(columns)), found


def read_lines(file: Path) -> list[str]:
    """Read a text file with one cell per line.

    Parameters
    ----------
    file : Path
        In UTF-8; empty lines are passed over.

    Returns
    -------
    list of str
        The cells.
    """
    cells = []
    for line, row in _rows(file):
        if len(row) != 1 or not row[0].strip():
            raise DataError(f"{file}, line {line}: {len(row)} columns; a file of labels has one, with a label each")
        cells.append(row[0].strip())
    return cells


def _where(file: Path, line: int, column: int, header: list[str] | None) -> str:
    return f"{file}, line {line}, column {column}" + (f" ({header[column]})" if header else "")


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not empty."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            start = stream.readline(1 << 20)
            stream.seek(0)
            reader = csv.reader(stream, delimiter=max(",;\t", key=start.count))
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not text in UTF-8 ({error.reason}); is it a CSV file?") from error
    except (csv.Error, OSError) as error:
        raise DataError(f"{file}: cannot be read as CSV ({error})") from error


def _is_header(cells: list[str]) -> bool:
    def is_number(cell: str) -> bool:
        return not math.isnan(_number(cell)) or cell.strip().lower() in ("nan", "na")

    return any(cell.strip() for cell in cells) and not any(is_number(cell) for cell in cells)


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


def _position(
    file: Path, header: list[str] | None, width: int, column: str | int, use: str, needed: bool
) -> int | None:
    """Position of a column from 0; None if it is not there and need not be."""
    if isinstance(column, int):
        if not -width <= column < width:
            raise DataError(f"{file}: no column {column} (table.{OPTIONS[use]}); it has {width}, counted from 0")
        return column % width
    names = header or []
    if names.count(column) > 1:
        raise DataError(f"{file}: {names.count(column)} columns are named {column!r} (table.{OPTIONS[use]})")
    if column not in names and needed:
        some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise DataError(f"{file}: no column {column!r} (table.{OPTIONS[use]}) in its first line; there are {some}")
    return names.index(column) if column in names else None
