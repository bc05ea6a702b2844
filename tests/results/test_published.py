"""Verdicts on printed numbers: matches within max(interval, min(2 points, half the value)), else better, worse."""

import math

import pytest

from manifold_oos.results.published import judge


@pytest.mark.parametrize(
    ("mean", "half_width", "published", "better", "word"),
    [
        (11.9, 0.1, 13.9, "lower", "matches"),  # 2 points, exactly at the edge
        (11.8, 0.1, 13.9, "lower", "better"),
        (16.0, 0.1, 13.9, "lower", "worse"),
        (16.0, 2.2, 13.9, "lower", "matches"),  # our interval is wider than 2 points
        (1.6, 0.1, 1.0, "lower", "worse"),  # half the value is less than 2 points
        (1.5, 0.1, 1.0, "lower", "matches"),
        (95.0, 0.1, 98.0, "higher", "worse"),
        (99.0, 0.1, 95.0, "higher", "better"),
        (0.40, 0.01, 0.25, "lower", "worse"),
        (0.37, 0.01, 0.25, "lower", "matches"),
        (5.0, math.nan, 6.5, "lower", "matches"),  # one split: no interval, the fixed tolerance counts
        (0.0, math.nan, 0.0, "lower", "matches"),
    ],
)
def test_verdict(mean, half_width, published, better, word):
    assert judge(mean, half_width, published, better=better).word == word


def test_verdict_is_two_sided_and_says_by_how_much():
    verdict = judge(9.0, 0.5, 13.9, better="lower")
    assert (verdict.word, verdict.sign) == ("better", "+")
    assert verdict.difference == pytest.approx(-4.9) and verdict.tolerance == 2.0
