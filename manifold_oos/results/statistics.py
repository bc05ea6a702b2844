"""Means, intervals and comparisons over repeated random splits."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

CONFIDENCE = 0.95
ALPHA = 0.05
#: With fewer pairs the smallest two-sided p of Wilcoxon's test is above 0.05: it could never show anything.
WILCOXON_PAIRS = 6
#: Up to so many pairs all sign patterns are enumerated.
ENUMERATED = 13


@dataclass(frozen=True)
class Summary:
    """Mean of n splits, their standard deviation and the 95 % t interval of the mean (NaN for one split)."""

    n: int
    mean: float
    sd: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Comparison:
    """What the splits that two arms share say of left − right."""

    difference: Summary
    p_t: float
    p_corrected: float
    p_wilcoxon: float

    @property
    def decided(self) -> bool:
        """Whether the 95 % interval of the mean difference excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0


@dataclass(frozen=True)
class Ranking:
    """Average ranks of arms over data sets (1 is best) and the groups that cannot be told apart.

    ``p`` has the adjusted p-value of each pair by the test named in ``test`` ("wilcoxon-holm" or "nemenyi").
    """

    ranks: pd.Series
    n_datasets: int
    p_friedman: float
    test: str
    p: pd.DataFrame
    groups: list[list[str]]


def summarize(values: ArrayLike, overlap: float = 0.0) -> Summary:
    """Mean, standard deviation and 95 % t interval.

    ``overlap`` is n_test / n_train where the values are differences on random splits of one data set, for the
    corrected interval of Nadeau & Bengio (see :func:`compare`).

    Examples
    --------
    >>> s = summarize([1.0, 2.0, 3.0])
    >>> f"{s.mean:.2f} ± {s.half_width:.2f}"
    '2.00 ± 2.48'
    """
    kept = np.asarray(values, dtype=float)
    kept = kept[~np.isnan(kept)]
    n = len(kept)
    if n == 0:
        return Summary(0, math.nan, math.nan, math.nan, math.nan)
    mean = float(kept.mean())
    if n == 1:
        return Summary(1, mean, math.nan, math.nan, math.nan)
    sd = float(kept.std(ddof=1))
    half = t_quantile(n - 1) * sd * math.sqrt(1 / n + overlap)
    return Summary(n, mean, sd, mean - half, mean + half)


def exact(value: float) -> Summary:
    """The one value of a split without chance."""
    return Summary(1, value, 0.0, value, value)


@cache
def t_quantile(freedom: int) -> float:
    """How many standard errors half a 95 % interval has."""
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def splits_for(sd: float, half: float) -> int:
    """How many splits of this spread make half the interval so short; 0 where the spread is not known.

    Examples
    --------
    >>> splits_for(3.0, 2.0)
    12
    """
    if not (math.isfinite(sd) and half > 0):
        return 0
    n = max(2, math.ceil((1.96 * sd / half) ** 2))
    while t_quantile(n - 1) * sd / math.sqrt(n) > half:
        n += 1
    return n


def compare(left: ArrayLike, right: ArrayLike, *, test_ratio: float | None = None) -> Comparison:
    r"""Compare two arms on the splits they share.

    The interval is the t interval of the paired differences. Random splits overlap, so that this interval is
    too short as a statement about new data; the corrected resampled t-test [1]_ widens the variance,

    .. math:: t = \bar d \big/ \sqrt{(1/J + n_\mathrm{test}/n_\mathrm{train})\, s_d^2},

    with J − 1 degrees of freedom. Wilcoxon's signed-rank test is given from 6 pairs on.

    References
    ----------
    .. [1] Nadeau & Bengio, Inference for the generalization error, Machine Learning 52, 2003.
    """
    difference = np.asarray(left, dtype=float) - np.asarray(right, dtype=float)
    difference = difference[~np.isnan(difference)]
    summary = summarize(difference)
    if summary.n < 2:
        return Comparison(summary, math.nan, math.nan, math.nan)
    p_t = t_test(summary, 1 / summary.n)
    p_corrected = math.nan if test_ratio is None else t_test(summary, 1 / summary.n + test_ratio)
    return Comparison(summary, p_t, p_corrected, wilcoxon(difference))


def t_test(summary: Summary, factor: float) -> float:
    """Two-sided p of mean / sqrt(factor · variance)."""
    if summary.sd == 0:
        return 1.0 if summary.mean == 0 else 0.0
    t = summary.mean / (summary.sd * math.sqrt(factor))
    return float(2 * special.stdtr(summary.n - 1, -abs(t)))


def wilcoxon(difference: ArrayLike) -> float:
    """Two-sided p of Wilcoxon's signed-rank test; NaN below 6 pairs, 1 where all differences are 0."""
    difference = np.asarray(difference, dtype=float)
    if len(difference) < WILCOXON_PAIRS:
        return math.nan
    if not difference.any():
        return 1.0
    if len(difference) <= ENUMERATED:
        return _exact_wilcoxon(difference)
    return float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)


def _exact_wilcoxon(difference: NDArray[np.floating]) -> float:
    """The same p from all sign patterns, also with ties or zeros: SciPy's own takes up to half a second."""
    ranks = stats.rankdata(np.abs(difference))
    ranks, positive = ranks[difference != 0], difference[difference != 0] > 0
    patterns = _sign_patterns(len(ranks))
    sums, own = patterns @ ranks, ranks[positive].sum()
    ends = np.mean(sums <= own + 1e-9), np.mean(sums >= own - 1e-9)
    return float(min(1.0, 2 * min(ends)))


@cache
def _sign_patterns(n: int) -> NDArray[np.floating]:
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)


def holm(p_values: ArrayLike) -> NDArray[np.floating]:
    """Holm's step-down adjustment of p-values.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def rank_arms(means: pd.DataFrame, *, better: str) -> Ranking:
    r"""Average ranks over data sets, Friedman's test, and a test of every pair.

    Pairs are compared by Wilcoxon's test over data sets with Holm's correction [1]_. With n data sets its smallest
    adjusted p is :math:`2^{1-n}` times the number of pairs; where that exceeds 5 %, so that it could not tell any
    two arms apart, Nemenyi's test of the rank difference, in units of :math:`\sqrt{k(k+1)/6n}`, takes its place
    [2]_. A group is a run of neighbouring ranks within which no two arms have p < 0.05.

    References
    ----------
    .. [1] Benavoli, Corani & Mangili, Should we really use post-hoc tests based on mean-ranks?, JMLR 17, 2016.
    .. [2] Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
    """
    complete = means.dropna()
    arms = list(complete.columns)
    n, k = complete.shape
    ranks = complete.rank(axis=1, ascending=better == "lower").mean().sort_values(kind="stable")
    p_friedman = math.nan
    if n >= 2 and k >= 3:
        p_friedman = float(stats.friedmanchisquare(*complete.to_numpy().T).pvalue)
    pairs = [(a, b) for i, a in enumerate(arms) for b in arms[i + 1 :]]
    if n >= WILCOXON_PAIRS and 2.0 ** (1 - n) * len(pairs) <= ALPHA:
        test = "wilcoxon-holm"
        p_pairs = holm([wilcoxon(complete[a] - complete[b]) for a, b in pairs])
    else:
        test = "nemenyi"
        unit = math.sqrt(k * (k + 1) / (12 * n)) if n else math.nan
        p_pairs = np.array(
            [stats.studentized_range.sf(abs(ranks[a] - ranks[b]) / unit, k, np.inf) for a, b in pairs]
        )
    p = pd.DataFrame(np.nan, index=arms, columns=arms)
    for (a, b), value in zip(pairs, p_pairs, strict=True):
        p.loc[a, b] = p.loc[b, a] = value
    return Ranking(ranks, n, p_friedman, test, p, _groups(list(ranks.index), p))


def _groups(ordered: list[str], p: pd.DataFrame) -> list[list[str]]:
    """Maximal runs of the ordered arms within which every pair has p ≥ 0.05 (or no test)."""
    runs: list[tuple[int, int]] = []
    for start in range(len(ordered)):
        stop = start + 1
        while stop < len(ordered) and not (p.loc[ordered[start:stop], ordered[stop]] < ALPHA).any():
            stop += 1
        if stop - start > 1 and (not runs or runs[-1][1] < stop):
            runs.append((start, stop))
    return [ordered[start:stop] for start, stop in runs]
