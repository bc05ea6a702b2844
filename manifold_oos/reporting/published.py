"""The papers' printed numbers beside ours: matches, better or worse."""

from dataclasses import dataclass

from manifold_oos.reporting.statistics import Summary

#: A difference up to this many points (or half the printed value, if that is less) still matches.
POINTS = 2.0
SIGNS = {"matches": "=", "better": "+", "worse": "−"}


@dataclass(frozen=True)
class Verdict:
    """How our mean stands to a printed number; ``word`` is matches, better or worse."""

    word: str
    published: float
    difference: float
    tolerance: float

    @property
    def sign(self) -> str:
        """One character for narrow tables."""
        return SIGNS[self.word]


def judge(ours: Summary, published: float, *, better: str) -> Verdict:
    """Compare our mean with a printed number.

    It matches where they differ by no more than the larger of our interval's half width and
    min(2 points, half the printed value); otherwise ours is better or worse.

    Parameters
    ----------
    ours : Summary
        Our mean over splits and its interval.
    published : float
        The printed number, in the same unit.
    better : {"lower", "higher"}
        Which way is better.

    Returns
    -------
    Verdict
        Its ``difference`` is ours − published.

    Examples
    --------
    >>> from manifold_oos.reporting.statistics import summarize
    >>> judge(summarize([9.2, 9.0, 9.4]), 13.9, better="lower").word
    'better'
    """
    tolerance = min(POINTS, abs(published) / 2)
    if ours.half_width > tolerance:
        tolerance = ours.half_width
    difference = ours.mean - published
    if abs(difference) <= tolerance + 1e-9:
        word = "matches"
    elif (difference < 0) == (better == "lower"):
        word = "better"
    else:
        word = "worse"
    return Verdict(word, published, difference, tolerance)
