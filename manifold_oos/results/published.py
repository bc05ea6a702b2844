"""The papers' printed numbers beside ours: matches, better or worse."""

from dataclasses import dataclass

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


def judge(mean: float, half_width: float, published: float, *, better: str) -> Verdict:
    """Compare our mean with a printed number.

    It matches where they differ by no more than the larger of our interval's half width and
    min(2 points, half the printed value); otherwise ours is better or worse.

    Examples
    --------
    >>> judge(9.2, 0.5, 13.9, better="lower").word
    'better'
    """
    tolerance = min(POINTS, abs(published) / 2)
    if half_width > tolerance:
        tolerance = half_width
    difference = mean - published
    if abs(difference) <= tolerance + 1e-9:
        word = "matches"
    elif (difference < 0) == (better == "lower"):
        word = "better"
    else:
        word = "worse"
    return Verdict(word, published, difference, tolerance)
