"""CSV files that open safely in a spreadsheet, and back."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from manifold_oos.errors import ConfigError
from manifold_oos.spreadsheet import guarded

#: Columns of single splits that :func:`packed` makes lists of.
LISTS = ("repetition", "value")
#: Columns of a CSV that are words, even where one looks like a number.
WORDS = ("arm", "dataset", "selection", "metric", "protocol", "chosen", "source", "verdict", "claim", "numbers")


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


def packed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of single splits, one for all that differ in repetition and value alone: these become lists of words.

    Examples
    --------
    >>> rows = pd.DataFrame({"arm": ["NN", "NN", "SVM"], "repetition": [0, 1, 0], "value": [2.5, 3.0, 1.0]})
    >>> packed(rows).to_dict("list")
    {'arm': ['NN', 'SVM'], 'repetition': ['0..1', '0'], 'value': ['2.5 3', '1']}
    >>> unpacked(packed(rows)).to_dict("list") == rows.to_dict("list")
    True
    """
    same = [name for name in rows.columns if name not in LISTS]
    texts = rows.assign(value=rows["value"].map(lambda x: f"{x:.10g}"))
    groups = texts.groupby(same, sort=False, dropna=False, as_index=False)
    return groups.agg({"repetition": _ranges, "value": " ".join})[list(rows.columns)]


def unpacked(frame: pd.DataFrame) -> pd.DataFrame:
    """Back to a row for each split."""
    lists = frame.assign(**{name: frame[name].astype(str).str.lstrip("'").str.split() for name in LISTS})
    lists["repetition"] = lists["repetition"].map(_numbers)
    rows = lists.explode(list(LISTS), ignore_index=True)
    return rows.astype({"repetition": int, "value": float})


def _ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in their order, runs as 0..9, which no spreadsheet takes for a date, as it may 0-9."""
    runs: list[list[int]] = []
    for number in map(int, numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}..{last}" for first, last in runs)


def _numbers(words: Iterable[str]) -> list[int]:
    """What :func:`_ranges` wrote."""
    ends = (word.split("..") for word in words)
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]
