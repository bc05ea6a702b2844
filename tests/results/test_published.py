"""The one rule for printed numbers: match, compatible, too noisy, else better or worse."""

import math

import pytest
from scipy import stats

from manifold_oos.results.published import SIGNS, judge, tolerance
from manifold_oos.results.statistics import Summary, exact

RATE, RECOGNITION, DISTANCE = "misclassification_rate", "recognition_rate", "alignment_statistic"


def over(n: int, mean: float, sd: float) -> Summary:
    half = stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)
    return Summary(n, mean, sd, mean - half, mean + half)


@pytest.mark.parametrize(
    ("metric", "printed", "delta"),
    [(RATE, 1.25, 0.3), (RATE, 13.9, 1.39), (RATE, 63.5, 2.0), (RECOGNITION, 98.0, 2.0), (DISTANCE, 0.647, 0.0647)],
)
def test_tolerance(metric, printed, delta):
    assert tolerance(metric, printed) == pytest.approx(delta)


@pytest.mark.parametrize(
    ("ours", "published", "metric", "word"),
    [
        (over(20, 12.6, 1.0), 13.9, RATE, "match"),
        (over(20, 12.4, 1.0), 13.9, RATE, "better"),
        (over(20, 15.4, 1.0), 13.9, RATE, "worse"),
        (over(20, 95.0, 1.0), 98.0, RECOGNITION, "worse"),
        (over(20, 99.0, 1.0), 95.0, RECOGNITION, "better"),
        (over(5, 38.33, 15.3), 53.19, RATE, "too noisy"),  # ± 19 points matched before
        (over(5, 53.19, 15.3), 53.19, RATE, "too noisy"),  # never a match, however near
        (over(10, 0.509, 0.02), 0.647, DISTANCE, "better"),  # half the value matched before
        (over(10, 0.60, 0.02), 0.647, DISTANCE, "match"),
        (Summary(1, 5.0, math.nan, math.nan, math.nan), 5.0, RATE, "too noisy"),  # one random split has no interval
        (exact(5.0), 5.0, RATE, "match"),
    ],
)
def test_verdict(ours, published, metric, word):
    assert judge(ours, published, metric, paper_splits=10).word == word


def test_compatible_is_within_the_scatter_of_the_printed_mean_over_as_many_splits_as_the_paper():
    ours = over(40, 53.0, 5.0)  # half 1.6 ≤ 2; the mean of 10 scatters by 1.96 · 5 · √(1/40 + 1/10) = 3.46
    assert judge(ours, 50.0, RATE, paper_splits=10).word == "compatible"
    assert judge(ours, 49.5, RATE, paper_splits=10).word == "worse"
    assert judge(ours, 50.0, RATE, paper_splits=41).word == "worse"  # the paper had more splits than ours


def test_no_verdict_of_agreement_is_had_by_leaving_splits_out():
    words = [judge(over(n, 52.5, 5.0), 50.0, RATE, paper_splits=20).word for n in (40, 19, 10, 5, 2)]
    assert words == ["compatible", "too noisy", "too noisy", "too noisy", "too noisy"]


def test_too_noisy_says_how_many_splits_would_decide():
    verdict = judge(over(5, 50.0, 5.0), 50.0, RATE, paper_splits=10)
    assert over(verdict.needed, 50.0, 5.0).half_width <= 2.0 < over(verdict.needed - 1, 50.0, 5.0).half_width
    assert judge(Summary(1, 5.0, math.nan, math.nan, math.nan), 5.0, RATE, 10).needed == 0


def test_a_verdict_says_by_how_much():
    verdict = judge(over(20, 9.0, 0.5), 13.9, RATE, 20)
    assert (verdict.word, verdict.sign) == ("better", "+")
    assert verdict.difference == pytest.approx(-4.9) and verdict.tolerance == pytest.approx(1.39)
    assert len(set(SIGNS.values())) == len(SIGNS) == 5
