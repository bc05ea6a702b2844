"""Statistics against scipy and cases worked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manifold_oos.results.statistics import compare, holm, rank_arms, summarize, wilcoxon


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    left = rng.normal(10, 2, 12)
    return left, left + rng.normal(0.4, 0.5, 12)


def test_summary_is_the_t_interval_of_scipy(pair):
    values = pair[0]
    summary = summarize(values)
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (summary.n, summary.mean, summary.sd) == (12, values.mean(), values.std(ddof=1))
    assert summary.low == pytest.approx(low, rel=1e-12)
    assert summary.high == pytest.approx(high, rel=1e-12)


def test_summary_by_hand():
    # 1, 2, 3, 4: mean 2.5, sd sqrt(5/3), t(3) at 97.5 % = 3.1824463
    summary = summarize([1, 2, 3, 4])
    assert summary.half_width == pytest.approx(3.1824463 * math.sqrt(5 / 3) / 2, rel=1e-7)


def test_one_split_has_no_interval_and_missing_splits_do_not_count():
    one = summarize([3.0, np.nan])
    assert (one.n, one.mean) == (1, 3.0)
    assert math.isnan(one.sd) and math.isnan(one.low) and math.isnan(one.high)
    assert summarize([]).n == 0 and math.isnan(summarize([]).mean)


def test_paired_interval_and_p_are_those_of_scipy(pair):
    left, right = pair
    result = compare(left, right)
    oracle = stats.ttest_rel(left, right)
    interval = oracle.confidence_interval(0.95)
    assert result.difference.low == pytest.approx(interval.low, rel=1e-10)
    assert result.difference.high == pytest.approx(interval.high, rel=1e-10)
    assert result.p_t == pytest.approx(oracle.pvalue, rel=1e-10)
    assert result.p_wilcoxon == pytest.approx(stats.wilcoxon(left, right, zero_method="zsplit").pvalue)
    assert math.isnan(result.p_corrected)


def test_pairing_matters():
    # the same shift on every split is certain although both arms vary a lot
    left = np.array([10.0, 20.0, 30.0, 40.0])
    result = compare(left, left + np.array([1.0, 1.1, 0.9, 1.0]))
    assert result.decided and result.difference.mean == pytest.approx(-1.0)


def test_corrected_resampled_t_test_by_hand():
    # d = 1, 2, 3, 4, 5: mean 3, variance 2.5; J = 5, n_test/n_train = 1/4 -> t = 3 / sqrt(0.45 * 2.5)
    result = compare([1, 2, 3, 4, 5], np.zeros(5), test_ratio=0.25)
    t = 3 / math.sqrt(0.45 * 2.5)
    assert result.p_corrected == pytest.approx(2 * stats.t.sf(t, 4), rel=1e-12)
    assert result.p_corrected > result.p_t


def test_pairs_with_a_missing_value_are_left_out():
    result = compare([1, np.nan, 3, 5], [0, 1, np.nan, 2])
    assert result.difference.n == 2 and result.difference.mean == 2.0


def test_equal_arms_are_undecided_and_a_constant_difference_is_decided():
    same = compare([1, 2, 3], [1, 2, 3], test_ratio=0.5)
    assert not same.decided and same.p_t == same.p_corrected == 1.0
    constant = compare([2, 3, 4], [1, 2, 3])
    assert constant.decided and constant.p_t == 0.0


def test_wilcoxon_only_from_six_pairs_on():
    assert math.isnan(wilcoxon([1, 2, 3, 4, 5]))
    assert wilcoxon([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 2**6)  # one of 64 sign patterns at each end
    assert wilcoxon(np.zeros(7)) == 1.0


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.02, 0.001, 0.5, 0.011]), [0.04, 0.004, 0.5, 0.033])
    assert holm([0.9, 0.8]).max() == 1.0


def ranks_table() -> pd.DataFrame:
    base = np.array([30.0, 12, 8, 22, 5, 17, 9, 26])
    jitter = np.array([0.1, -0.2, 0.15, -0.1, 0.05, -0.15, 0.2, -0.3])
    return pd.DataFrame({"bad": base + 8, "good": base, "good2": base + jitter, "mid": base + 4})


def test_average_ranks_and_friedman_are_those_of_scipy():
    table = ranks_table()
    result = rank_arms(table, better="lower")
    expected = pd.Series(stats.rankdata(table.to_numpy(), axis=1).mean(axis=0), index=table.columns)
    assert result.ranks.to_dict() == expected.to_dict()
    assert list(result.ranks.index[-2:]) == ["mid", "bad"]
    assert result.p_friedman == pytest.approx(stats.friedmanchisquare(*table.to_numpy().T).pvalue)


def test_higher_is_better_turns_the_ranks():
    table = ranks_table()
    up = rank_arms(table, better="higher").ranks
    down = rank_arms(table, better="lower").ranks
    assert (up + down[up.index] == 5).all()


@pytest.mark.parametrize("seed", range(6))
def test_wilcoxon_with_ties_and_zeros_is_scipys(seed):
    difference = np.random.default_rng(seed).integers(-2, 4, 6 + seed).astype(float)
    assert wilcoxon(difference) == pytest.approx(stats.wilcoxon(difference, zero_method="zsplit").pvalue)


def test_groups_join_only_what_holm_wilcoxon_cannot_tell_apart():
    # 8 data sets: smallest p is 2/256; times 6 pairs = 0.047 < 0.05
    result = rank_arms(ranks_table(), better="lower")
    assert result.test == "wilcoxon-holm"
    assert result.p.loc["good", "bad"] == pytest.approx(6 * 2 / 256)
    assert [set(group) for group in result.groups] == [{"good", "good2"}]


def test_nemenyi_where_holm_wilcoxon_could_show_nothing():
    # 7 data sets: 2/128 times 6 pairs = 0.09, so that no pair could ever be told apart
    result = rank_arms(ranks_table().head(7), better="lower")
    assert result.test == "nemenyi" and result.n_datasets == 7
    # Demšar 2006, Table 5: q(0.05) = 2.569 for 4 classifiers
    critical = 2.569 * math.sqrt(4 * 5 / (6 * 7))
    for a in result.ranks.index:
        for b in result.ranks.index:
            if a != b:
                assert (result.p.loc[a, b] < 0.05) == (abs(result.ranks[a] - result.ranks[b]) > critical)
    assert result.p.loc["good", "bad"] < 0.05


def test_a_data_set_without_one_arm_is_left_out_of_the_ranks():
    table = ranks_table()
    table.loc[0, "mid"] = np.nan
    assert rank_arms(table, better="lower").n_datasets == 7
