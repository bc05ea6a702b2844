"""The errors that a person caused and can mend: the command prints them as one line and exits with code 2."""

from collections.abc import Iterable
from difflib import get_close_matches

#: A hint names no more than these, so that an error stays a line.
MOST_NAMED = 20


class MoosError(ValueError):
    """One line that says what is wrong, where, and what to do."""


class ConfigError(MoosError):
    """A config, an option or an argument is wrong."""


class DataError(MoosError):
    """A data file is missing, damaged or not what its loader expects."""


class ContinuousLabelError(DataError):
    """The only fault of a table is that its label, in ``column``, is a measurement and no class."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


def nearest(word: object, known: Iterable[object]) -> str:
    """A hint for a word that is not known: the nearest names, or those that there are.

    Examples
    --------
    >>> nearest("lamda", ["sigma", "lambda_"])
    'did you mean "lambda_"?'
    """
    names = [str(name) for name in known]
    near = get_close_matches(str(word), names, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(f'"{name}"' for name in near) + "?"
    names, more = names[:MOST_NAMED], len(names) - MOST_NAMED
    return f"known: {', '.join(names)}" + (f" and {more} more" if more > 0 else "") if names else "there are none"


def shortened(value: object, most: int = 60) -> str:
    """A value as an error repeats it: in quotes where it is text, and never longer than a line.

    Examples
    --------
    >>> shortened("a" * 100, most=5)
    "'aaaa…"
    """
    text = repr(value) if not isinstance(value, str) else repr(value[: most + 1])
    return text if len(text) <= most else text[:most] + "…"
