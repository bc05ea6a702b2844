"""Rows summarised over splits, compared with the best arm and with the paper."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows
from scipy import stats

from manifold_oos.config.model import Claim
from manifold_oos.results.best import final_rows, parameter_values
from manifold_oos.results.cells import make_cells, protocols
from manifold_oos.results.claims import judge_claim


def cell(cells: pd.DataFrame, arm: str, size: float, protocol: str | None = None) -> pd.Series:
    found = cells[(cells["arm"] == arm) & (cells["size"] == size)]
    if protocol is not None:
        found = found[found["protocol"] == protocol]
    assert len(found) == 1
    return found.iloc[0]


def test_mean_interval_and_order_of_the_config(rows, experiment):
    cells = make_cells(rows.sample(frac=1, random_state=0), experiment)
    assert list(cells["arm"]) == ["A", "B", "C"] * 2 and list(cells["size"]) == [5.0] * 3 + [10.0] * 3
    b = cell(cells, "B", 5)
    values = np.array([10.0, 11.0, 10.5, 10.5])
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (b["splits"], b["mean"]) == (4, 10.5)
    assert (b["low"], b["high"]) == (pytest.approx(low), pytest.approx(high))


def test_the_best_is_marked_and_the_others_are_compared_with_it_on_shared_splits(rows, experiment):
    cells = make_cells(rows, experiment)
    assert list(cells["best"]) == [True, False, False] * 2
    b = cell(cells, "B", 5)
    assert (b["to_best"], b["to_best_low"], b["to_best_high"]) == (6.0, 6.0, 6.0)  # 6 points on every split
    c = cell(cells, "C", 5)
    d = np.array([7.0, 5.0, 5.5, 6.5])
    t = d.mean() / math.sqrt((1 / 4 + 100 / 50) * d.var(ddof=1))
    assert c["p_corrected"] == pytest.approx(2 * stats.t.sf(t, 3))
    assert math.isnan(c["p_wilcoxon"])  # 4 pairs are too few
    assert math.isnan(cell(cells, "A", 5)["to_best"])


def test_higher_is_better_for_recognition(rows, experiment):
    cells = make_cells(rows.assign(metric="recognition_rate"), experiment)
    assert cell(cells, "A", 5)["best"] == False and cell(cells, "C", 5)["best"] == True  # noqa: E712


def test_published_number_and_verdict_stand_in_the_cell(rows):
    values = {"A": {5: 4.5, 10: 9.0}, "B": 10.0}
    published = [{"source": "Table 2", "splits": 7, "values": {"misclassification_rate": {"digits": values}}}]
    cells = make_cells(rows, make_experiment(published=published))
    a = cell(cells, "A", 5)  # 4.5 ± 0.65 where δ is 0.45
    assert (a["verdict"], a["source"], a["paper_splits"], a["needed"]) == ("too noisy", "Table 2", 7, 6)
    assert cell(cells, "A", 10)["verdict"] == "better"
    assert list(cells[cells["arm"] == "B"]["verdict"]) == ["match", "better"]  # one number for all sizes
    assert cell(cells, "C", 5)["verdict"] == "" and math.isnan(cell(cells, "C", 5)["published"])


def test_a_published_number_with_a_protocol_counts_only_there():
    rows = pd.concat(
        [
            fake_rows({("A", "digits", 5): [4.0, 5.0]}, selection="train_only"),
            fake_rows({("A", "digits", 5): [3.0, 4.0]}, selection="paper"),
        ]
    )
    published = [{"selection": "paper", "values": {"misclassification_rate": {"digits": {"A": {5: 3.5}}}}}]
    selection = ["train_only", {"paper": {"*": "best"}}]
    cells = make_cells(rows, make_experiment(published=published, selection=selection))
    assert cell(cells, "A", 5, "paper")["verdict"] == "too noisy"
    assert cell(cells, "A", 5, "train_only")["verdict"] == ""


def test_protocols_are_never_mixed_and_fixed_arms_stand_in_each():
    rows = pd.concat(
        [
            fake_rows({("A", "digits", 5): [5.0, 5.5]}),
            fake_rows({("B", "digits", 5): [6.0, 6.5]}, selection="train_only"),
            fake_rows({("B", "digits", 5): [4.0, 4.5]}, selection="best"),
        ]
    )
    experiment = make_experiment(selection=["train_only", "best"])
    assert protocols(rows, experiment) == ["train_only", "best"]
    cells = make_cells(rows, experiment)
    assert list(zip(cells["protocol"], cells["arm"], cells["best"], strict=True)) == [
        ("train_only", "A", True),
        ("train_only", "B", False),
        ("best", "A", False),
        ("best", "B", True),
    ]


def test_best_selection_takes_the_candidate_with_the_best_test_average_and_says_so():
    grid = {1.0: [5.0, 9.0], 2.0: [6.0, 6.0], 4.0: [7.0, 8.0]}
    rows = swept_rows("A", "digits", 5, grid, "extender.sigma")
    final = final_rows(rows)
    assert list(final["value"]) == [6.0, 6.0]
    cells = make_cells(rows, make_experiment(selection="best"))
    a = cell(cells, "A", 5)
    assert (a["selection"], a["protocol"], json.loads(a["chosen"])) == ("best", "best", {"extender.sigma": 2.0})


def test_times_and_scalars_are_those_of_the_chosen_candidate():
    grid = {1.0: [5.0, 9.0], 2.0: [6.0, 6.0], 4.0: [7.0, 8.0]}
    times = {1.0: [1.0, 1.0], 2.0: [30.0, 31.0], 4.0: [2.0, 2.0]}
    rows = pd.concat(
        [
            swept_rows("A", "digits", 5, grid, "extender.sigma"),
            swept_rows("A", "digits", 5, times, "extender.sigma", metric="fit_seconds"),
            swept_rows("A", "digits", 5, {s: [-s, -s] for s in grid}, "extender.sigma", metric="objective"),
            fake_rows({("B", "digits", 5): [1.0, 2.0]}, metric="fit_seconds"),
        ]
    )
    cells = make_cells(rows, make_experiment(selection="best", metrics=["misclassification_rate", "objective"]))
    means = {(item["metric"], item["arm"]): item["mean"] for item in cells.to_dict("records")}
    assert means["misclassification_rate", "A"] == 6.0
    assert means["fit_seconds", "A"] == 30.5 and means["objective", "A"] == -2.0
    assert means["fit_seconds", "B"] == 1.5
    claim = Claim(source="", metric="fit_seconds", left=["A"], op=">", right=["B"])
    assert judge_claim(claim, rows, make_experiment(selection="best")).verdict == "holds"


def test_iterations_do_not_count_as_results(rows, experiment):
    steps = rows.assign(step=1, value=99.0).astype({"step": "Int64"})
    pd.testing.assert_frame_equal(make_cells(pd.concat([rows, steps]), experiment), make_cells(rows, experiment))


def test_missing_splits_and_arms_without_a_value(experiment):
    rows = fake_rows({("A", "digits", 5): [4.0, math.nan, 5.0], ("B", "digits", 5): [math.nan] * 3})
    cells = make_cells(rows, experiment)
    assert cell(cells, "A", 5)["splits"] == 2 and cell(cells, "A", 5)["best"]
    assert cell(cells, "B", 5)["splits"] == 0 and not cell(cells, "B", 5)["best"]
    assert make_cells(rows.head(0), experiment).empty


def test_parameter_of_a_row_by_full_path_short_name_or_report():
    chosen = json.dumps({"extender.sigma.median": 1.5, "embedding.mu1": 300})
    rows = fake_rows({("A", "digits", 5): [1.0]}, chosen=chosen, fitted=json.dumps({"extender.sigma_": 7.25}))
    for name, value in {
        "extender.sigma.median": 1.5, "sigma": 1.5, "median": 1.5, "mu1": 300, "sigma_": 7.25, "size": 5.0,
    }.items():  # fmt: skip
        assert parameter_values(rows, name).iloc[0] == value
    assert pd.isna(parameter_values(rows, "beta").iloc[0])
    assert pd.isna(parameter_values(rows, "n_components").iloc[0])
