"""CSV files that open safely in a spreadsheet, and back."""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos.errors import ConfigError

#: What a spreadsheet takes for a formula.
FORMULA = re.compile(r"^'*[=+\-@]")
#: Columns of a CSV that are words, even where one looks like a number.
WORDS = ("arm", "dataset", "selection", "metric", "protocol", "chosen", "source", "verdict", "claim", "numbers")


def guarded(cell: Any) -> Any:
    """Words that a spreadsheet would run get an apostrophe; numbers are not touched.

    Examples
    --------
    >>> guarded("=1+1"), guarded("NSSE"), guarded(-3.5)
    ("'=1+1", 'NSSE', -3.5)
    """
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def csv_text(frame: pd.DataFrame) -> str:
    """A DataFrame as CSV with fixed bytes: ten digits, plain newlines."""
    words = frame.select_dtypes(["object", "string"]).columns
    frame = frame.assign(**{name: frame[name].map(guarded) for name in words})
    return str(frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def read_csv(path: Path, what: str, needs: tuple[str, ...]) -> pd.DataFrame:
    """Read what :func:`csv_text` wrote."""
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(WORDS, str))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a table of {what} ({error})") from error
    missing = [column for column in needs if column not in frame]
    if missing:
        raise ConfigError(f"{path}: not a table of {what}: no column {', '.join(missing)}")
    words = [name for name in WORDS if name in frame]
    unguarded = {
        name: frame[name].where(~frame[name].str.match(r"^'+[=+\-@]", na=False), frame[name].str[1:])
        for name in words
    }
    return frame.assign(**unguarded)
