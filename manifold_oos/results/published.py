"""The papers' printed numbers beside ours: one rule for match, compatible, too noisy, better and worse."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from manifold_oos.config.model import FIXED, Experiment, PublishedNumber
from manifold_oos.metrics import better_of, unit_of
from manifold_oos.results.statistics import Summary, splits_for

MATCH, COMPATIBLE, NOISY, BETTER, WORSE = "match", "compatible", "too noisy", "better", "worse"
SIGNS = {MATCH: "=", COMPATIBLE: "≈", NOISY: "?", BETTER: "+", WORSE: "−"}
#: Verdicts under which ours and the printed number agree.
AGREE = (MATCH, COMPATIBLE)
#: δ of a percentage: a tenth of the printed value, at least LEAST and at most MOST points.
LEAST, MOST, SHARE = 0.3, 2.0, 0.1
LEGEND = (
    "published: δ = min(2 points, max(0.3 points, a tenth of the value)), a tenth of the value where it is no"
    " percentage; = match: both the difference and half our interval are at most δ; ?n too noisy: half our interval"
    " exceeds δ, n splits would decide; ≈ compatible: beyond δ, but within the scatter of the printed mean,"
    " 1.96 s √(1/J + 1/J_p); else + better or − worse"
)


@dataclass(frozen=True)
class Verdict:
    """How our mean stands to a printed number; ``needed`` splits would decide where ours are too noisy."""

    word: str
    difference: float
    tolerance: float
    needed: int = 0

    @property
    def sign(self) -> str:
        """One character for narrow tables."""
        return SIGNS[self.word]


def tolerance(metric: str, published: float) -> float:
    """δ, what a match may differ by.

    Examples
    --------
    >>> [round(tolerance("misclassification_rate", value), 3) for value in (1.25, 13.9, 60.0)]
    [0.3, 1.39, 2.0]
    """
    tenth = SHARE * abs(published)
    return min(MOST, max(LEAST, tenth)) if unit_of(metric) == "%" else tenth


def judge(ours: Summary, published: float, metric: str, paper_splits: int) -> Verdict:
    """Compare our mean over J splits with a printed mean over J_p: the rule of docs/comparing_numbers.md."""
    delta = tolerance(metric, published)
    difference = ours.mean - published
    if not ours.half_width <= delta + 1e-9:
        return Verdict(NOISY, difference, delta, splits_for(ours.sd, delta))
    if abs(difference) <= delta + 1e-9:
        return Verdict(MATCH, difference, delta)
    scatter = 1.96 * ours.sd * math.sqrt(1 / ours.n + 1 / paper_splits)
    if ours.n >= paper_splits and abs(difference) <= scatter:
        return Verdict(COMPATIBLE, difference, delta)
    return Verdict(BETTER if (difference < 0) == (better_of(metric) == "lower") else WORSE, difference, delta)


class PrintedNumbers:
    """The printed numbers of a config by cell."""

    def __init__(self, experiment: Experiment) -> None:
        self.by_line: dict[tuple[str, str, str], list[PublishedNumber]] = {}
        for number in experiment.published_numbers():
            self.by_line.setdefault((number.metric, number.dataset, number.arm), []).append(number)
        self.rounds: Mapping[str, int] = {
            data.label: experiment.split_of(data).rounds for data in experiment.datasets
        }

    def find(self, metric: str, dataset: str, arm: str, size: float, protocol: str) -> PublishedNumber | None:
        """The first number that fits a cell."""
        for number in self.by_line.get((metric, dataset, arm), ()):
            if (number.size is None or math.isclose(number.size, size)) and (
                number.selection is None or protocol in (number.selection, FIXED)
            ):
                return number
        return None

    def splits(self, number: PublishedNumber) -> int:
        """Over how many splits the paper's mean is."""
        return number.splits or self.rounds.get(number.dataset, 1)
