"""How numbers are written, the same in every format: each value with the digits that its interval warrants."""

import math

from manifold_oos.metrics import unit_of
from manifold_oos.results.published import NOISY, SIGNS
from manifold_oos.results.tables import TableEntry


def decimals(metric: str, value: float, half: float = math.nan) -> int:
    """Digits after the point: two for percent, else two figures of half the interval or three of the value.

    Examples
    --------
    >>> decimals("fit_seconds", 0.00123), decimals("objective", 232.1, 309.4), decimals("objective", 1.0, 0.012)
    (5, 0, 3)
    """
    if unit_of(metric) == "%":
        return 2
    figures = _places(value, 3)
    if math.isfinite(half) and half > 0:
        figures = min(_places(half, 2), _places(value or half, 6))
    return min(max(figures, 0), 9)


def ours_text(entry: TableEntry, metric: str) -> str:
    """Our mean and half its interval, or why there is none."""
    if not entry.splits:
        return entry.state or "–"
    half = f" ± {half_text(entry, metric)}" if math.isfinite(entry.half_width) else ""
    return mean_text(entry, metric) + half


def mean_text(entry: TableEntry, metric: str) -> str:
    """Our mean with as many digits as its interval."""
    return f"{entry.mean:.{decimals(metric, entry.mean, entry.half_width)}f}"


def half_text(entry: TableEntry, metric: str) -> str:
    """Half the interval with as many digits as the mean."""
    return f"{entry.half_width:.{decimals(metric, entry.mean, entry.half_width)}f}"


def number_text(value: float, metric: str) -> str:
    """A number without an interval, such as a printed one."""
    return f"{value:.2f}" if unit_of(metric) == "%" else f"{value:.4g}"


def sign_text(verdict: str, needed: int = 0) -> str:
    """The sign of a verdict, with the number of splits that would decide."""
    return SIGNS.get(verdict, "") + (str(needed) if verdict == NOISY and needed else "")


def word_text(verdict: str, needed: int = 0) -> str:
    """The word of a verdict, with the number of splits that would decide."""
    return f"{verdict} {sign_text(verdict, needed)}" if verdict == NOISY and needed else verdict


def _places(value: float, figures: int) -> int:
    return figures - 1 - math.floor(math.log10(abs(value))) if value and math.isfinite(value) else figures
