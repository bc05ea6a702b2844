"""Rows of untrusted tables as text with their line numbers: CSV in UTF-8, and parquet where pyarrow is there."""

import csv
import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from manifold_oos.datasets import limits
from manifold_oos.datasets.sources import shown
from manifold_oos.errors import DataError

PARQUET = ".parquet"
Rows = Iterator[tuple[int, list[str]]]


def read_rows(file: Path) -> Rows:
    """Line number and cells of each row that is not empty; the first may be a header."""
    return _parquet_rows(file) if file.suffix.lower() == PARQUET else _csv_rows(file)


def read_lines(file: Path) -> list[str]:
    """The cells of a text file with one per line, in UTF-8; empty lines are passed over."""
    cells = []
    for line, row in _csv_rows(file):
        if len(row) != 1 or not row[0].strip():
            raise DataError(f"{file}, line {line}: {len(row)} columns; a file of labels has one, with a label each")
        cells.append(row[0].strip())
    return cells


def _csv_rows(file: Path) -> Rows:
    try:
        if file.stat().st_size > limits.TABLE_BYTES:
            raise DataError(f"{file}: more than {limits.TABLE_BYTES} bytes")
        with file.open(encoding="utf-8-sig", newline="") as stream:
            start = stream.readline(1 << 20)
            stream.seek(0)
            reader = csv.reader(_lines(stream), delimiter=max(",;\t", key=start.count))
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not text in UTF-8 ({error.reason}); is it a CSV file?") from error
    except (csv.Error, OSError) as error:
        raise DataError(f"{file}: cannot be read as CSV ({error})") from error


def _lines(stream: TextIO) -> Iterator[str]:
    while line := stream.readline(limits.LINE_LENGTH):
        if len(line) == limits.LINE_LENGTH:
            raise csv.Error(f"a line of more than {limits.LINE_LENGTH} characters")
        yield line


def _parquet_rows(file: Path) -> Rows:
    """The names as line 1, and a line per row."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
        facts = parquet.read_metadata(file)
        unpacked = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        if max(facts.num_rows * facts.num_columns, unpacked // 8) > limits.VALUES:
            raise DataError(f"{file}: {facts.num_rows} rows are more than {limits.VALUES} numbers")
        import pandas as pd

        frame = pd.read_parquet(file)
    except DataError:
        raise
    except ImportError as error:
        what = "reading parquet needs pyarrow; pip install pyarrow, or save the table as CSV"
        raise DataError(f"{file}: {what}") from error
    except Exception as error:  # Arrow has errors of its own for damaged files
        raise DataError(f"{file}: not a readable parquet file ({shown(error)[:200]})") from error
    yield 1, [str(name) for name in frame.columns]
    for line, row in enumerate(frame.itertuples(index=False, name=None), 2):
        yield line, [_cell(value) for value in row]


def _cell(value: Any) -> str:
    """The text that stands for a value: empty where it is missing, and a float with all of its digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("<NA>", "NaT"):
        return ""
    return str(value)
