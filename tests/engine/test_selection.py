"""Selection: chosen on the known points alone, by the protocol that the config names."""

import json

import numpy as np
import pytest

from manifold_oos.config.model import CrossValidation
from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.select import choose, make_folds
from manifold_oos.results.best import best_rows


@pytest.fixture
def tuned(small):
    """One arm whose right values are amount 0 and any scale."""
    small["arms"] = {
        "A": {
            "embedding": {"name": "fake_methods:Slice", "n_components": {"grid": [1, 2, 5]}},
            "extender": {"name": "fake_methods:Shift", "amount": {"grid": [30.0, 3.0, 0.0]}},
            "classifier": "fake_methods:NN",
        }
    }
    small["split"]["train_per_class"] = 6
    small["split"]["repetitions"] = 2
    return small


def points_of(plan, trial=0):
    split = plan.trials[trial].split
    return split.points(split.data.load())


def choice(bench, config, *overrides):
    plan = make_plan(bench.load(config, *overrides))
    return choose(plan.request(plan.lines[0], ()), points_of(plan))


def test_folds_are_made_of_known_points(bench, tuned):
    points = points_of(make_plan(bench.load(tuned)))
    halves = make_folds(points, CrossValidation(scheme="halves", repeats=4))
    assert len(halves) == 4
    for fold in halves:
        assert set(fold.known) | set(fold.new) == set(points.known)
        assert np.bincount(fold.y).tolist() == np.bincount(fold.y_new).tolist() == [3, 3, 3, 3]
    assert len({tuple(fold.new) for fold in halves}) == 4
    folds = make_folds(points, CrossValidation(scheme="kfold", folds=3, repeats=2))
    assert len(folds) == 6
    assert sorted(np.concatenate([fold.new for fold in folds[:3]])) == points.known.tolist()
    assert len(make_folds(points, CrossValidation(scheme="kfold", folds=50, repeats=1))) == 6


class _Blind:
    """Points whose new part cannot be read."""

    def __init__(self, points):
        self._points = points

    def __getattr__(self, name):
        if name in ("X_new", "y_new", "parameters", "new", "distances"):
            raise AssertionError(f"selection looked at {name} of the new points")
        return getattr(self._points, name)


@pytest.mark.parametrize("scheme", ["halves", "kfold"])
@pytest.mark.parametrize("order", ["sequential", "joint"])
def test_the_right_values_are_found_without_the_new_points(bench, tuned, scheme, order):
    plan = make_plan(bench.load(tuned, f"cv.scheme={scheme}", f"cv.order={order}"))
    found = choose(plan.request(plan.lines[0], ()), _Blind(points_of(plan)))
    assert found.tuned
    assert found.values["extender.amount"] == 0.0
    assert found.values["embedding.n_components"] in (2, 5)


def test_no_method_sees_a_test_row_during_selection(bench, tuned):
    """The spy: every fit leaves the numbers of its rows; only fits on all known points may meet new ones."""
    plan = make_plan(bench.load(tuned))
    known = {tuple(points_of(plan, i).known): set(points_of(plan, i).known) for i in range(2)}
    assert all(len(rows) == 24 for rows in known)
    bench.run(tuned)
    inner = [fit for fit in bench.fits if fit["what"] == "embedding" and fit["n"] < 24]
    assert len(inner) == 2 * 5
    for fit in inner:
        assert any(set(fit["rows"]) <= rows for rows in known.values())
    current: set[int] = set()
    for fit in bench.fits:
        if fit["what"] == "embedding":
            current = set(fit["rows"])
        elif fit["what"] == "transform":
            own = next(rows for rows in known.values() if current <= rows)
            inside = len(current) < 24
            assert set(fit["rows"]) <= own if inside else not set(fit["rows"]) & own


def test_small_classes_are_not_tuned(bench, tuned):
    tuned["arms"]["A"]["extender"]["amount"]["default"] = 3.0
    found = choice(bench, tuned, "split.train_per_class=2")
    assert not found.tuned
    assert found.values == {"extender.amount": 3.0, "embedding.n_components": 2}
    summary = bench.run(tuned, "split.train_per_class=2")
    assert not bench.rows(summary)["tuned"].any()


def test_defaults_are_the_declared_one_or_the_middle(bench, tuned):
    assert choice(bench, tuned, "split.train_per_class=2").values["extender.amount"] == 3.0


def test_sequential_runs_fewer_settings_than_joint(bench, tuned):
    counts = {}
    for order in ("sequential", "joint"):
        bench.forget()
        choice(bench, tuned, f"cv.order={order}", "cv.repeats=1", "arms.A.embedding.name=fake_methods:Whole")
        counts[order] = bench.count("transform")
    assert counts == {"sequential": 3 + 3 - 1, "joint": 9}


def test_best_stores_every_value_and_decides_from_the_rows(bench, tuned):
    tuned["selection"] = "best"
    rows = bench.rows(bench.run(tuned))
    assert len(rows) == 2 * 9
    assert set(rows["selection"]) == {"best"}
    assert (rows["candidate"] == rows["chosen"]).all()
    kept = best_rows(rows)
    assert kept["repetition"].tolist() == [0, 1]
    assert kept["candidate"].nunique() == 1
    means = rows.groupby("candidate")["value"].mean()
    assert kept["value"].mean() == means.min()
    assert json.loads(kept["candidate"].iloc[0])["extender.amount"] == 0.0


def test_higher_is_better_for_rates_of_success(bench, tuned):
    tuned |= {"selection": "best", "metrics": ["recognition_rate"]}
    rows = bench.rows(bench.run(tuned))
    assert best_rows(rows)["value"].mean() == rows.groupby("candidate")["value"].mean().max()
    tuned["selection"] = "train_only"
    assert choice(bench, tuned).values["extender.amount"] == 0.0


def test_paper_mixes_rules_as_the_config_says(bench, tuned):
    tuned["selection"] = [{"paper": {"n_components": "best", "*": "train_only"}}]
    rows = bench.rows(bench.run(tuned))
    assert set(rows["candidate"]) == {json.dumps({"embedding.n_components": d}) for d in (1, 2, 5)}
    assert {json.loads(text)["extender.amount"] for text in rows["chosen"]} == {0.0}
    tuned["selection"] = [{"paper": {"n_components": "default", "extender.amount": "best"}}]
    rows = bench.rows(bench.run(tuned))
    assert {json.loads(text)["embedding.n_components"] for text in rows["chosen"]} == {2}
    assert len(rows) == 2 * 3


def test_protocols_stand_side_by_side_and_share_fits(bench, tuned):
    tuned["selection"] = ["train_only", "best"]
    rows = bench.rows(bench.run(tuned))
    assert rows.groupby("selection").size().to_dict() == {"best": 18, "train_only": 2}
    merged = rows[rows["selection"] == "train_only"].merge(
        rows[rows["selection"] == "best"], on=["repetition", "chosen"], suffixes=("", "_best")
    )
    assert (merged["value"] == merged["value_best"]).all() and len(merged) == 2
    assert sum(fit["what"] == "embedding" and fit["n"] == 24 for fit in bench.fits) == 2


def test_an_arm_without_grids_is_fixed(bench, small):
    assert set(bench.rows(bench.run(small))["selection"]) == {"fixed"}


def test_choosing_once_per_experiment(bench, tuned):
    tuned["cv"] = {"per": "experiment", "repeats": 3}
    rows = bench.rows(bench.run(tuned))
    assert sum(fit["what"] == "embedding" and fit["n"] < 24 for fit in bench.fits) == 3
    assert rows["chosen"].nunique() == 1
    bench.forget()
    summary = bench.run(tuned, "split.repetitions=4")
    assert summary.reused == 2 and summary.computed == 2
    assert sum(fit["what"] == "embedding" and fit["n"] < 24 for fit in bench.fits) == 0


def test_dimensions_too_large_for_the_split_or_a_fold(bench, tuned):
    tuned["arms"]["A"]["embedding"]["n_components"] = {"grid": [2, 5, "n_train-1", 500]}
    tuned["arms"]["A"]["embedding"]["name"] = "fake_methods:Whole"
    tuned["selection"] = "best"
    plan = make_plan(bench.load(tuned, "split.train_per_class=1"))
    from manifold_oos.engine.arm_run import ArmRun
    from manifold_oos.engine.fits import Workbench

    arm = ArmRun(plan.request(plan.lines[0], ()), Workbench(points_of(plan)))
    assert arm.settled.grids["embedding.n_components"].values == (2, 3)


def test_unlabelled_points_are_chosen_by_coordinates(bench, tuned):
    tuned["metrics"] = ["parameter_r2", "embedding_error"]
    del tuned["arms"]["A"]["classifier"]
    del tuned["arms"]["A"]["embedding"]["n_components"]
    tuned["cv"] = {"metric": "embedding_error_plain"}
    tuned["arms"]["A"]["extender"] = {"name": "fake_methods:Shift", "tag": {"grid": [0, 1]}}
    rows = bench.rows(bench.run(tuned))
    assert set(rows["metric"]) == {"parameter_r2", "embedding_error"}


def test_a_value_that_fails_everywhere_is_said(bench, tuned):
    tuned["arms"]["A"]["extender"] = {"name": "fake_methods:Failing", "amount": {"grid": [0.0, 1.0]}}
    (bench.folder / "broken").touch()
    summary = bench.run(tuned)
    assert "no value of" in summary.failed[0][1] and "the file broken exists" in summary.failed[0][1]
