"""Claims: every form, every scope, holds, fails and undecided."""

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows

from manifold_oos.config.model import Claim
from manifold_oos.errors import ConfigError
from manifold_oos.results.claims import judge_claim, judge_claims


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
    assert result.numbers == "digits 5: A − B = -6 [-6, -6] points"


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
