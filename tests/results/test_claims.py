"""Claims: every form, every scope, holds, fails and undecided."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows
from scipy import stats

from manifold_oos.config.model import Claim
from manifold_oos.errors import ConfigError
from manifold_oos.results.claims import correct, judge_claim, judge_claims
from manifold_oos.results.collect import Results


def verdict(rows: pd.DataFrame, claim: dict, **config) -> str:
    return judge_claim(Claim(source="§1", **claim), rows, make_experiment(**config)).verdict


def test_left_below_right_in_every_cell(rows):
    assert verdict(rows, {"left": "A", "op": "<", "right": "B"}) == "holds"
    assert verdict(rows, {"left": "A", "op": ">", "right": "B"}) == "fails"
    assert verdict(rows, {"left": "B", "op": "<", "right": "C"}) == "undecided"


def test_several_arms_on_both_sides(rows):
    assert verdict(rows, {"left": "A", "op": "<", "right": ["B", "C"]}) == "holds"
    assert verdict(rows, {"left": ["A", "B"], "op": "<", "right": "C"}) == "undecided"
    assert verdict(rows, {"left": ["A", "B"], "op": ">", "right": "C"}) == "fails"


def test_the_difference_is_paired(experiment):
    # both arms vary by tens of points, yet A is 1 point below on every split
    rows = fake_rows({("A", "digits", 5): [10.0, 30.0, 50.0], ("B", "digits", 5): [11.0, 31.1, 50.9]})
    assert verdict(rows, {"left": "A", "op": "<", "right": "B"}) == "holds"


def test_the_numbers_count_the_splits_that_agree():
    rows = fake_rows({("A", "digits", 5): [1.0, 2.0, 9.0], ("B", "digits", 5): [8.0, 9.0, 8.5]})
    result = judge_claim(Claim(source="", left=["A"], op="<", right=["B"]), rows, make_experiment())
    assert result.verdict == "undecided" and result.numbers.endswith("points, so signed on 2 of 3 splits")


def test_right_may_be_a_number(rows):
    assert verdict(rows, {"left": "A", "op": "<", "right": 8.0}) == "holds"
    assert verdict(rows, {"left": "A", "op": ">=", "right": 8.0}) == "fails"
    assert verdict(rows, {"left": "B", "op": "<", "right": 10.4}, **{}) == "undecided"


def test_equality_on_every_split_meets_at_most_but_not_below():
    rows = fake_rows({("A", "digits", 5): [3.0, 4.0], ("B", "digits", 5): [3.0, 4.0]})
    assert verdict(rows, {"left": "A", "op": "<=", "right": "B"}) == "holds"
    assert verdict(rows, {"left": "A", "op": "<", "right": "B"}) == "fails"


def test_one_split_decides_nothing():
    rows = fake_rows({("A", "digits", 5): [3.0], ("B", "digits", 5): [30.0]})
    result = judge_claim(Claim(source="", left=["A"], op="<", right=["B"]), rows, make_experiment())
    assert result.verdict == "undecided" and "one split" in result.numbers


def test_a_split_without_chance_decides_by_its_one_value_and_a_stated_margin():
    rows = fake_rows({("A", "digits", 0.5): [0.995], ("B", "digits", 0.5): [0.91]}, metric="parameter_r2")
    config = {
        "datasets": [{"name": "digits", "split": {"half_space": {"parameter": 0}}}],
        "metrics": ["parameter_r2"],
    }
    assert verdict(rows, {"left": "A", "op": ">=", "right": 0.99}, **config) == "holds"
    assert verdict(rows, {"left": "B", "op": ">=", "right": 0.93}, **config) == "fails"
    assert verdict(rows, {"best": "A"}, **config) == "undecided"  # 0.085 may be anything without a margin
    assert verdict(rows, {"best": "A", "margin": 0.01}, **config) == "holds"
    assert verdict(rows, {"best": "B", "margin": 0.01}, **config) == "fails"
    assert verdict(rows, {"best": "A", "margin": 0.1}, **config) == "undecided"


@pytest.fixture
def mixed() -> pd.DataFrame:
    """A below B by 5 at two sizes, above by 3 at the third."""
    return fake_rows(
        {
            ("A", "digits", 5): [5.0, 6.0, 5.5],
            ("B", "digits", 5): [10.0, 11.1, 10.4],
            ("A", "digits", 10): [3.0, 4.0, 3.5],
            ("B", "digits", 10): [8.0, 9.1, 8.4],
            ("A", "digits", 20): [5.0, 6.0, 5.5],
            ("B", "digits", 20): [2.0, 3.1, 2.4],
        }
    )


def test_every_most_mean_and_at(mixed):
    claim = {"left": "A", "op": "<", "right": "B"}
    assert verdict(mixed, claim) == "fails"
    assert verdict(mixed, claim | {"over": "most"}) == "holds"
    assert verdict(mixed, claim | {"over": "mean"}) == "holds"  # (−5 −5 +3) / 3
    assert verdict(mixed, claim | {"at": [5, 10]}) == "holds"
    assert verdict(mixed, claim | {"at": 20}) == "fails"
    assert verdict(mixed, claim | {"op": ">", "over": "most"}) == "fails"


def test_mean_averages_over_cells_before_the_interval(mixed):
    claim = Claim(source="", left=["A"], op="<", right=["B"], over="mean")
    (finding,) = judge_claim(claim, mixed, make_experiment()).findings
    assert finding.difference.n == 3
    assert finding.difference.mean == pytest.approx((-5 - 5 + 3) / 3)


def test_most_is_undecided_while_undecided_cells_could_turn_it():
    rows = fake_rows(
        {
            ("A", "digits", 5): [5.0, 6.0], ("B", "digits", 5): [10.0, 11.1],
            ("A", "digits", 10): [5.0, 9.0], ("B", "digits", 10): [6.0, 7.0],
            ("A", "digits", 20): [9.0, 5.0], ("B", "digits", 20): [6.0, 7.0],
        }
    )  # fmt: skip
    assert verdict(rows, {"left": "A", "op": "<", "right": "B", "over": "most"}) == "undecided"


def test_share_of_splits():
    rows = fake_rows({("A", "digits", 5): [0.995] * 8 + [0.9] * 2}, metric="parameter_r2_worst")
    claim = {"metric": "parameter_r2_worst", "left": "A", "op": ">=", "right": 0.99, "over": "share"}
    assert verdict(rows, claim | {"share": 0.8}) == "holds"
    assert verdict(rows, claim | {"share": 0.9}) == "fails"
    result = judge_claim(Claim(source="", share=0.8, **claim), rows, make_experiment())
    assert result.numbers == "true on 8 of 10 splits"


def test_best_arm(rows):
    assert verdict(rows, {"best": "A"}) == "holds"
    assert verdict(rows, {"best": "B"}) == "fails"
    assert verdict(rows, {"best": "B", "among": ["B", "C"]}) == "undecided"
    upside = rows.assign(metric="recognition_rate")
    assert verdict(upside, {"best": "A", "metric": "recognition_rate"}) == "fails"


def test_monotone_along_size(rows):
    claim = {"monotone": "falling", "along": "size", "arm": "A"}
    assert verdict(rows, claim) == "holds"
    assert verdict(rows, claim | {"monotone": "rising"}) == "fails"


def trace(values: list[list[float]], metric: str = "misclassification_rate") -> pd.DataFrame:
    """Iterations of arm A: one list per split."""
    parts = []
    for repetition, curve in enumerate(values):
        for step, value in enumerate(curve, start=1):
            row = fake_rows({("A", "digits", 5): [value]}, step=step, metric=metric)
            parts.append(row.assign(repetition=repetition))
    return pd.concat(parts, ignore_index=True)


def test_monotone_along_step():
    claim = {"monotone": "falling", "along": "step", "arm": "A"}
    assert verdict(trace([[9, 7, 5, 5], [8, 6.5, 4, 4]]), claim) == "holds"
    assert verdict(trace([[9, 5, 7, 4], [8, 4, 6.1, 3.5]]), claim) == "fails"  # rises by 2 on every split
    assert verdict(trace([[9, 5, 6.0, 3], [8, 5, 4.5, 2]]), claim) == "undecided"  # rises on one split only
    assert verdict(trace([[5, 5, 5], [5, 5, 5]]), claim) == "fails"  # it does not fall at all


def test_monotone_on_a_share_of_splits_counts_whole_curves():
    rows = trace([[9, 7, 5], [8, 6, 7], [7, 6, 1], [5, 4, 3]], metric="objective")
    claim = {"monotone": "falling", "along": "step", "arm": "A", "metric": "objective", "over": "share"}
    assert verdict(rows, claim | {"share": 0.75}) == "holds"
    assert verdict(rows, claim | {"share": 0.9}) == "fails"


def test_splits_that_stop_at_different_iterations():
    rows = trace([[9, 7, 5], [8, 6.5, 4, 3.9], [9, 6, 5]])
    assert verdict(rows, {"monotone": "falling", "along": "step", "arm": "A"}) == "holds"


def test_argbest_of_a_swept_parameter():
    grid = {2: [9.0, 9.5, 9.2], 5: [4.0, 4.4, 4.3], 15: [8.0, 8.3, 8.1]}
    rows = swept_rows("A", "digits", 5, grid, "embedding.n_components")
    claim = {"argbest": "n_components", "arm": "A", "op": "<"}
    assert verdict(rows, claim | {"value": 10}, selection="best") == "holds"
    assert verdict(rows, claim | {"value": 5}, selection="best") == "fails"
    assert verdict(rows, claim | {"value": 2}, selection="best") == "fails"
    near = swept_rows("A", "digits", 5, {5: [4.0, 4.4, 4.3], 15: [4.5, 4.0, 4.4]}, "embedding.n_components")
    assert verdict(near, claim | {"value": 10}, selection="best") == "undecided"


def test_argbest_looks_at_the_protocol_that_kept_every_value():
    # train_only chose another dimension on each split: that is no curve over the dimension
    chosen = [
        fake_rows({("A", "digits", 5): [9.0]}, selection="train_only", n_components=d).assign(repetition=i)
        for i, d in enumerate([2, 15, 15])
    ]
    open_rows = swept_rows("A", "digits", 5, {2: [3.0, 3.2, 3.1], 15: [8.0, 8.3, 8.4]}, "embedding.n_components")
    claim = {"argbest": "n_components", "arm": "A", "op": "<", "value": 10}
    rows = pd.concat([*chosen, open_rows])
    assert verdict(rows, claim, selection=["train_only", "best"]) == "holds"
    assert verdict(rows, claim | {"selection": "train_only"}, selection=["train_only", "best"]) != "holds"


def test_argbest_against_the_number_of_classes():
    rows = swept_rows("A", "digits", 5, {5: [4.0, 4.4], 15: [8.0, 8.3]}, "embedding.n_components")
    claim = Claim(source="", argbest="n_components", arm="A", op="<", value="n_classes")
    experiment = make_experiment(selection="best")
    assert judge_claim(claim, rows, experiment, facts=lambda dataset, size: {"n_classes": 10}).verdict == "holds"
    assert judge_claim(claim, rows, experiment, facts=lambda dataset, size: {"n_classes": 3}).verdict == "fails"
    with pytest.raises(ConfigError, match="n_classes is not known"):
        judge_claim(claim, rows, experiment)


def test_a_data_set_of_several_words(rows):
    grid = {5: [4.0, 4.4], 15: [8.0, 8.3]}
    rows = swept_rows("A", "Yale B frontal", 5, grid, "embedding.n_components")
    claim = Claim(source="", argbest="n_components", arm="A", op="<", value="n_classes")
    seen = []
    judge_claim(claim, rows, make_experiment(selection="best"), facts=lambda *k: seen.append(k) or {"n_classes": 9})
    assert seen == [("Yale B frontal", 5.0)]


def test_claims_without_rows_have_no_verdict_of_their_own(rows):
    assert verdict(rows, {"left": "A", "op": "<", "right": "D"}) == "no data"
    assert verdict(rows, {"left": "A", "op": "<", "right": "B", "dataset": "orl"}) == "no data"


def test_numbers_and_words_come_with_the_verdict(rows):
    claims = [{"source": "§5.3", "left": "A", "op": "<", "right": "B", "at": [5]}]
    (result,) = judge_claims(rows, make_experiment(claims=claims))
    assert result.claim.source == "§5.3"
    assert result.text == "misclassification rate: A < B (at 5)"
    assert result.numbers == "digits 5: A − B = -6 [-6, -6] points, so signed on 4 of 4 splits"


@pytest.mark.parametrize(
    "claim",
    [
        {"left": "A", "op": "<", "right": "B", "at": 10},
        {"argbest": "n_components", "op": "<", "value": 5, "arm": "A", "at": 10},
        {"monotone": "falling", "along": "n_components", "arm": "A", "at": 10},
    ],
)
def test_a_claim_on_absent_data_has_no_data(rows, claim):
    assert verdict(rows[:0], {**claim, "selection": "train_only"}) == "no data"


PAIR = {"left": "A", "op": "<", "right": "B"}
NOISY = {("A", "digits", 5): [1.0] * 6, ("B", "digits", 5): [5.0, 6.0, 9.0, 3.0, 7.0, 6.0]}


def judged(rows, *claims, **config):
    experiment = make_experiment(claims=[{"source": "§1", **claim} for claim in claims], **config)
    return judge_claims(rows, experiment)


def test_the_interval_is_corrected_for_the_overlap_of_splits():
    rows = fake_rows(NOISY, n_train=50, n_test=100)
    (result,) = judged(rows, PAIR)
    d = 1.0 - np.array(NOISY["B", "digits", 5])
    half = stats.t.ppf(0.975, 5) * d.std(ddof=1) * math.sqrt(1 / 6 + 2)
    (finding,) = result.findings
    assert finding.difference.half_width == pytest.approx(half) and result.verdict == "undecided"
    assert stats.ttest_1samp(d, 0).pvalue < 0.01  # the uncorrected test would have said that it holds
    few = fake_rows(NOISY, n_train=100, n_test=10)
    (result,) = judged(few, PAIR)
    t = d.mean() / (d.std(ddof=1) * math.sqrt(1 / 6 + 0.1))
    assert result.verdict == "holds" and result.p == pytest.approx(2 * stats.t.sf(abs(t), 5))


def test_fresh_draws_do_not_overlap():
    rows = fake_rows(NOISY, n_train=50, n_test=100)
    drawn = [{"name": "s_surface", "label": "digits", "split": {"draws": {"train": 5, "test": 100}}}]
    (result,) = judged(rows, PAIR, datasets=drawn)
    assert result.verdict == "holds" and result.p < 0.01


def test_holm_over_the_claims_takes_back_what_chance_may_have_given():
    rows = fake_rows(NOISY, n_train=100, n_test=60)  # p about 0.04
    both = [PAIR, {"left": "A", "op": "<", "right": 5.9}]
    alone, other = judged(rows, *both)
    assert alone.verdict == "holds" and 0.025 < alone.p < 0.05
    assert other.p < 1e-9  # A is 1 on every split
    assert [result.verdict for result in correct([alone])] == ["holds"]
    assert [result.verdict for result in correct([alone, other])] == ["holds", "holds"]  # Holm: the smaller p first
    again = judged(rows, PAIR, {"left": "B", "op": ">", "right": "A"})
    assert [result.verdict for result in correct(again)] == ["undecided", "undecided"]
    assert [result.adjusted for result in correct(again)] == pytest.approx([2 * alone.p] * 2)
    clock = replace(alone, timed=True)
    assert [result.adjusted for result in correct([alone, clock, clock])] == pytest.approx(
        [alone.p, 2 * alone.p, 2 * alone.p]
    )


def test_claims_on_times_are_told_from_the_others(rows):
    told = rows.assign(metric="fit_seconds")
    both = pd.concat([rows, told])
    claims = [{"left": "A", "op": "<", "right": "B", "metric": metric} for metric in (None, "fit_seconds")]
    assert [result.timed for result in judged(both, *claims)] == [False, True]


def test_every_takes_the_largest_p_and_a_failure_among_many_cells_bonferroni_s(mixed):
    holds, fails = judged(mixed, PAIR | {"at": [5, 10]}, PAIR)
    assert holds.verdict == "holds" and holds.p == max(finding.p for finding in holds.findings)
    assert fails.verdict == "fails" and fails.p == pytest.approx(3 * fails.findings[-1].p)
    (most,) = judged(mixed, PAIR | {"over": "most"})
    assert most.p == pytest.approx(2 * sorted(finding.p for finding in most.findings)[1])


def test_what_cannot_fail_is_no_claim(rows):
    (result,) = judged(rows, PAIR | {"by_construction": "it is recorded only where it fell"})
    assert result.verdict == "no claim" and result.numbers.startswith("it is recorded only") and not result.counted
    swept = swept_rows("A", "digits", 5, {2: [9.0, 9.5], 5: [4.0, 4.4]}, "embedding.n_components")
    claim = {"argbest": "n_components", "arm": "A", "op": "<", "value": 10}
    assert verdict(swept, claim, selection="best") == "no claim"  # every dimension that was tried is below 10


def test_alike_within_a_margin():
    near = fake_rows({("A", "digits", 5): [10.0, 10.2, 10.1, 9.9], ("B", "digits", 5): [10.1, 10.1, 10.0, 10.0]})
    claim = {"left": "A", "op": "~", "right": "B"}
    assert verdict(near, claim | {"margin": 2}) == "holds"
    assert verdict(near, claim | {"margin": 0.1}) == "undecided"  # no larger than the interval
    far = near.assign(value=near["value"].where(near["arm"] == "A", near["value"] + 5))
    assert verdict(far, claim | {"margin": 2}) == "fails"
    (held,) = judged(near, claim | {"margin": 2})
    d = held.findings[0].difference
    t = (2 - abs(d.mean)) / (d.sd * math.sqrt(1 / 4 + 2))  # n_test / n_train is 2
    assert held.p == pytest.approx(2 * stats.t.sf(t, 3))
    with pytest.raises(ValueError, match="needs a margin"):
        Claim(source="", **claim)


def test_a_claim_that_stand_ins_alone_speak_of_is_not_counted(rows):
    known = {"name": "digits", "split": {"train_per_class": [5, 10]}}
    other = known | {"label": "other", "stand_in": "a set that is not at hand"}
    both = pd.concat([rows, rows.assign(dataset="other")])
    sets = {"datasets": [known, other]}
    named, whole = judged(both, PAIR | {"dataset": "other"}, PAIR, **sets)
    assert named.stand_in and not named.counted and not whole.stand_in and whole.counted
    (alone,) = judged(rows.assign(dataset="other"), PAIR, **sets)  # the paper's own set is absent
    assert alone.stand_in


def test_the_step_that_speaks_against_a_trend_is_told():
    down = {5: [9.0, 9.1, 9.2], 10: [5.0, 5.1, 5.3], 20: [5.1, 5.0, 5.5], 40: [1.0, 1.1, 1.2]}
    rows = fake_rows({("A", "digits", size): values for size, values in down.items()})
    (result,) = judged(rows, {"monotone": "falling", "along": "size", "arm": "A"})
    assert result.verdict == "undecided" and "size to 20 = 0.0667" in result.numbers


def test_a_part_of_another_claim_is_not_counted_twice(rows):
    part, whole, other, twin = judged(
        rows, PAIR | {"at": 5, "text": "at 5"}, PAIR | {"text": "always"}, {"best": "A"}, PAIR | {"text": "again"}
    )
    assert (part.part_of, whole.part_of, twin.part_of) == ("always", "misclassification rate: A is best", "always")
    assert other.part_of == "" and other.counted and not part.counted
    opposite, _ = judged(rows, PAIR | {"op": ">"}, PAIR)
    assert opposite.part_of == ""


def test_results_correct_over_the_config():
    rows = fake_rows(NOISY, n_train=100, n_test=60)
    claims = [{"source": "§1", **PAIR}, {"source": "§2", "left": "B", "op": ">", "right": "A"}]
    results = Results(make_experiment(claims=claims), rows)
    assert [claim.verdict for claim in results.claims_alone] == ["holds", "holds"]
    assert [claim.verdict for claim in results.claims] == ["undecided", "undecided"]


def test_a_verdict_without_a_p_stays_as_it_is():
    share = {"left": "A", "op": ">=", "right": 0.99, "over": "share", "share": 0.8, "metric": "parameter_r2_worst"}
    rows = fake_rows({("A", "digits", 5): [0.995] * 8 + [0.9] * 2}, metric="parameter_r2_worst")
    (result,) = correct(judged(rows, share))
    assert result.verdict == "holds" and math.isnan(result.adjusted)
    certain = [{"name": "digits", "split": {"half_space": {"parameter": 0}}}]
    rows = fake_rows({("A", "digits", 0.5): [0.995], ("B", "digits", 0.5): [0.91]}, metric="parameter_r2")
    one = {"left": "A", "op": ">", "right": "B", "metric": "parameter_r2"}
    verdicts = [result.verdict for result in correct(judged(rows, one | {"margin": 0.05}, one, datasets=certain))]
    assert verdicts == ["holds", "undecided"]


def curves(**arms):
    """Values by dimension of arms with a grid of dimensions, on three splits each."""
    parts = [swept_rows(arm, "digits", 5, grid, "embedding.n_components") for arm, grid in arms.items()]
    return pd.concat(parts, ignore_index=True)


def test_a_comparison_along_a_parameter_is_made_at_each_value_that_arms_share():
    rows = curves(
        A={2: [3.0, 3.2, 3.1], 5: [4.0, 4.1, 4.2], 15: [9.0, 9.1, 9.3]},
        B={2: [8.0, 8.3, 8.0], 5: [8.0, 8.1, 8.4], 15: [5.0, 5.1, 5.1], 20: [1.0, 1.1, 1.2]},
    )
    claim = {"left": "A", "op": "<", "right": "B", "along": "n_components"}
    config = {"selection": "best"}
    assert verdict(rows, claim | {"over": "most"}, **config) == "holds"
    assert verdict(rows, claim, **config) == "fails"
    assert verdict(rows, claim | {"op": ">", "beyond": 15}, **config) == "holds"
    assert verdict(rows, {"best": "A", "among": ["A", "B"], "along": "n_components"}, **config) == "fails"
    result = judge_claim(Claim(source="", **claim), rows, make_experiment(**config))
    assert [finding.where for finding in result.findings] == [f"digits 5 n_components {d}" for d in (2, 5, 15)]
    assert result.text == "misclassification rate: A < B at each n_components"


def test_excess_is_what_an_arm_has_above_its_own_best():
    rows = curves(
        A={2: [13.0, 13.2, 13.1], 5: [12.0, 12.2, 12.1]},
        B={2: [9.0, 9.3, 9.0], 5: [2.0, 2.2, 2.1]},
    )
    claim = {"left": "A", "op": "<", "right": "B", "along": "n_components", "over": "mean"}
    assert verdict(rows, claim, selection="best") == "fails"
    assert verdict(rows, claim | {"excess": True}, selection="best") == "holds"


def test_an_arm_without_the_parameter_stands_beside_every_value():
    fixed = fake_rows({("B", "digits", 5): [5.0, 5.1, 5.2]})
    rows = pd.concat([curves(A={2: [3.0, 3.2, 3.1], 5: [9.0, 9.2, 9.1]}), fixed], ignore_index=True)
    rows.loc[rows["arm"] == "B", "n_components"] = np.nan
    claim = Claim(source="", left=["B"], op="<", right=["A"], along="n_components")
    found = judge_claim(claim, rows, make_experiment(selection="best")).findings
    assert [finding.verdict for finding in found] == ["fails", "holds"]


def test_beyond_and_excess_need_a_comparison_along_something():
    with pytest.raises(ValueError, match="belong to a comparison"):
        Claim(source="", left=["A"], op="<", right=["B"], excess=True)


def test_a_projection_that_is_drawn_anew_leaves_splits_that_overlap(rows):
    data = [{"name": "digits", "random_projection": 20, "split": {"train_per_class": [5, 10], "redraw": True}}]
    claim = {"left": "A", "op": "<", "right": "B"}
    plain = judge_claim(Claim(source="", **claim), rows, make_experiment())
    projected = judge_claim(Claim(source="", **claim), rows, make_experiment(datasets=data))
    assert [f.difference for f in projected.findings] == [f.difference for f in plain.findings]


def test_a_limit_by_the_number_of_classes_is_that_of_the_data_whatever_the_arm_is_called():
    rows = swept_rows("A ridge", "digits", 5, {5: [9.0, 9.4, 9.3], 15: [2.1, 2.3, 2.2]}, "embedding.n_components")
    claim = Claim(source="", arm="A ridge", argbest="n_components", op=">", value="n_classes")
    asked = []

    def facts(dataset, size):
        asked.append((dataset, size))
        return {"n_classes": 10.0}

    arms = {"A ridge": {"classifier": "nn"}}
    result = judge_claim(claim, rows, make_experiment(arms=arms, selection="best"), facts=facts)
    assert result.verdict == "holds" and asked == [("digits", 5.0)]


CURVE = {1: [8.0, 8.5, 7.9], 2: [5.0, 5.2, 4.9], 4: [4.0, 4.1, 3.9], 8: [3.8, 4.0, 3.7]}


def test_a_curve_that_levels_off_changes_less_in_its_second_half():
    claim = {"arm": "A", "monotone": "levelling", "along": "sigma"}
    assert verdict(swept_rows("A", "digits", 5, CURVE, "extender.sigma"), claim, selection=["best"]) == "holds"
    late = {1: [9.2, 9.1, 9.0], 2: [8.9, 9.0, 9.0], 4: [5.0, 5.1, 5.2], 8: [1.0, 1.1, 0.9]}
    assert verdict(swept_rows("A", "digits", 5, late, "extender.sigma"), claim, selection=["best"]) == "fails"


def test_two_metrics_vary_alike_where_their_ranks_go_together():
    claim = {"arm": "A", "alike": "regularity", "along": "sigma"}
    error = swept_rows("A", "digits", 5, CURVE, "extender.sigma")

    def beside(values):
        other = swept_rows("A", "digits", 5, values, "extender.sigma", metric="regularity")
        return pd.concat([error, other], ignore_index=True)

    open_grids = {"selection": ["best"]}
    cubes = {x: [v**3 for v in values] for x, values in CURVE.items()}
    assert verdict(beside(cubes), claim, **open_grids) == "holds"
    assert verdict(beside({x: [-v for v in values] for x, values in CURVE.items()}), claim, **open_grids) == "fails"
    mixed = {1: [1.0, 9.0, 2.0], 2: [2.0, 3.0, 9.0], 4: [3.0, 4.0, 1.0], 8: [9.0, 1.0, 4.0]}
    result = judge_claim(Claim(source="", **claim), beside(mixed), make_experiment(**open_grids))
    curves = [([CURVE[x][k] for x in CURVE], [mixed[x][k] for x in CURVE]) for k in range(3)]
    assert result.verdict == "undecided"
    expected = np.mean([stats.spearmanr(*pair).statistic for pair in curves])
    assert result.findings[0].difference.mean == pytest.approx(expected)


def test_the_trend_of_a_difference():
    rows = fake_rows(
        {
            ("A", "digits", 5): [10.0, 11.0, 10.5],
            ("A", "digits", 10): [8.0, 9.1, 8.4],
            ("B", "digits", 5): [20.0, 21.2, 20.5],
            ("B", "digits", 10): [10.0, 11.0, 10.5],
        }
    )
    claim = {"arm": "A", "minus": "B", "along": "size"}
    assert verdict(rows, claim | {"monotone": "rising"}) == "holds"
    assert verdict(rows, claim | {"monotone": "falling"}) == "fails"


def test_a_trend_between_two_ends_by_a_share():
    values = {("A", "digits", size): [t, t * 1.01, t * 0.99] for size, t in ((5, 60.0), (10, 100.0))}
    rows = fake_rows(values, metric="milliseconds_per_sample", n_test=0)
    claim = {
        "metric": "milliseconds_per_sample",
        "arm": "A",
        "monotone": "rising",
        "along": "size",
        "ends": [5, 10],
    }
    assert verdict(rows, claim | {"by": 0.3}) == "holds"
    assert verdict(rows, claim | {"by": 0.5}) == "fails"


def test_a_trend_from_set_to_set():
    values = {("A", f"D={d}", 5): [t, t + 0.1, t - 0.1] for d, t in ((80, 1.0), (100, 2.0), (200, 3.0))}
    rows = fake_rows(values, n_test=0)
    experiment = make_experiment(datasets=[{"name": "digits", "label": f"D={d}"} for d in (80, 100, 200)])

    def facts(label, size):
        return {"n_features": float(label.removeprefix("D="))}

    claim = Claim(source="", arm="A", monotone="rising", along="n_features")
    result = judge_claim(claim, rows, experiment, facts=facts)
    assert result.verdict == "holds" and "n_features 80 to 200" in result.numbers


@pytest.mark.parametrize(
    "claim",
    [
        {"left": "A", "op": "<", "right": "B", "minus": "C"},
        {"best": "A", "by": 0.5},
        {"monotone": "levelling", "along": "size", "by": 0.5},
        {"alike": "regularity"},
    ],
)
def test_keys_that_would_do_nothing_are_refused(claim):
    with pytest.raises(ValueError, match=r"belong|needs along"):
        Claim(source="", **claim)
