"""Sharing: what arms, dimensions and classifiers have in common is computed once; here fits are counted."""

import numpy as np
import pytest

from manifold_oos import metrics
from manifold_oos.classifiers.svm import SVM
from manifold_oos.config.model import Method, Split
from manifold_oos.engine.fits import Workbench, build, nearest_by_dimension
from manifold_oos.engine.splits import DataRef, SplitRef
from manifold_oos.numerics import nearest


def test_an_embedding_is_fitted_once_for_all_its_extenders(bench, small):
    bench.run(small)
    splits = 2 * 3
    assert bench.count("embedding") == splits
    assert bench.count("extender") == 2 * splits
    assert bench.count("classifier") == 2 * splits  # one on the coordinates, one on the points themselves


def test_all_dimensions_come_from_one_fit_where_nested(bench, small):
    small["arms"] = {
        name: {
            "embedding": {"name": f"fake_methods:{method}", "n_components": {"grid": [1, 2, 3, 4]}},
            "extender": "fake_methods:Shift",
            "classifier": "fake_methods:NN",
        }
        for name, method in [("nested", "Slice"), ("other", "Whole")]
    }
    small["selection"] = "best"
    rows = bench.rows(bench.run(small))
    splits = 2 * 3
    dims = [fit["d"] for fit in bench.fits if fit["what"] == "embedding"]
    assert sorted(dims) == sorted([4] * splits + [1, 2, 3, 4] * splits)
    assert bench.count("extender") == splits + 4 * splits
    nested, other = (rows[rows["arm"] == name]["value"].to_numpy() for name in ("nested", "other"))
    assert np.array_equal(nested, other)


def test_an_extender_that_is_not_nested_is_fitted_for_each_dimension(bench, small):
    small["arms"] = {
        "A": {
            "embedding": {"name": "fake_methods:Slice", "n_components": {"grid": [1, 3]}},
            "extender": "fake_methods:Knowing",
            "classifier": "fake_methods:NN",
        }
    }
    small["selection"] = "best"
    bench.run(small)
    assert bench.count("embedding") == 6
    assert sorted({fit["d"] for fit in bench.fits if fit["what"] == "extender"}) == [1, 3]
    assert bench.count("extender") == 12


def test_batch_embedding_once_per_data_set(bench, small):
    small["metrics"] = ["alignment_error", "embedding_error", "misclassification_rate"]
    rows = bench.rows(bench.run(small))
    whole = [fit for fit in bench.fits if fit["what"] == "embedding" and fit["n"] == 48]
    assert len(whole) == 1
    exact = rows[(rows["arm"] == "A") & (rows["metric"] == "alignment_error")]["value"]
    assert len(exact) == 6 and np.allclose(exact, 0, atol=1e-12)


def test_batch_arm_embeds_known_and_new_points_together(bench, small):
    small["arms"] = {"batch": {"embedding": "fake_methods:Slice", "batch": True}}
    small["metrics"] = ["parameter_r2", "parameter_r2_similarity_worst"]
    rows = bench.rows(bench.run(small))
    assert [fit["n"] for fit in bench.fits] == [48]
    assert len(rows) == 2 * 6


def test_batch_of_drawn_points_is_made_in_the_trial(bench, small):
    small["split"] = {"draws": {"train": 20, "test": 10}, "repetitions": 2}
    small["metrics"] = ["embedding_error"]
    rows = bench.rows(bench.run(small))
    assert sorted(fit["n"] for fit in bench.fits if fit["what"] == "embedding") == [20, 20, 30, 30]
    assert set(rows["n_test"]) == {10} and set(rows["n_train"]) == {20}


def test_distances_of_a_split_are_computed_once(bench, monkeypatch):
    from manifold_oos.engine import splits

    calls = []
    real = splits.squared_distances
    monkeypatch.setattr(splits, "squared_distances", lambda *arguments: calls.append(1) or real(*arguments))
    ref = DataRef("blobs", "fake_methods:Blobs", {})
    points = SplitRef(ref, Split(train_per_class=3), 3, 0).points(ref.load())
    nn = Method(name="nn", parameters={})
    first, second = Workbench(points).label(nn, None).labels, Workbench(points).label(nn, None).labels
    brute = [points.y[((points.X - x) ** 2).sum(axis=1).argmin()] for x in points.X_new]
    assert first.tolist() == second.tolist() == brute
    assert len(calls) == 1


def test_neighbours_are_searched_once_for_all_embeddings_of_a_split(bench, small, monkeypatch):
    searches = []
    real = nearest.NearestNeighbors

    class Counting(real):
        def kneighbors(self, *arguments, **options):
            searches.append(len(self._fit_X))
            return super().kneighbors(*arguments, **options)

    monkeypatch.setattr(nearest, "NearestNeighbors", Counting)
    names = ("lle", "ltsa", "laplacian_eigenmaps", "isomap", "spline")
    small["arms"] = {
        name: {"embedding": {"name": name, "n_components": 1, "n_neighbors": 4}, "extender": "krr"}
        for name in names
    }
    small["metrics"] = ["embedding_error"]
    rows = bench.rows(bench.run(small))
    known = rows.drop_duplicates(["size", "repetition"])["n_train"].tolist()
    assert sorted(searches) == sorted([48, *known])  # 48: all points, for the batch embeddings


def test_nearest_neighbours_for_all_dimensions(monkeypatch):
    from manifold_oos.engine import fits as workbench

    rng = np.random.default_rng(1)
    known, new = rng.normal(size=(40, 9)), rng.normal(size=(25, 9))
    expected = {d: [((known[:, :d] - x[:d]) ** 2).sum(axis=1).argmin() for x in new] for d in (1, 4, 9)}
    for block in (2**24, 70):
        monkeypatch.setattr(workbench, "BLOCK_FLOATS", block)
        found = nearest_by_dimension(known, new, [1, 4, 9])
        assert {d: index.tolist() for d, index in found.items()} == expected


def test_the_shared_1nn_is_the_classifier_nn(bench):
    ref = DataRef("blobs", "fake_methods:Blobs", {})
    points = SplitRef(ref, Split(train_per_class=3), 3, 0).points(ref.load())
    bench_ = Workbench(points)
    placed = bench_.place(Method(name="fake_methods:Slice", parameters={"n_components": 4}), None_shift(), 3)
    shared = bench_.label(Method(name="nn", parameters={}), placed, [1, 3])
    estimator = build("classifier", Method(name="nn", parameters={}), 0).fit(placed.known, points.y)
    assert shared.labels.tolist() == estimator.predict(placed.new).tolist()


def test_a_classifier_is_fitted_once_for_all_extenders_of_its_known_points(bench, monkeypatch):
    fits = []
    real = SVM.fit
    monkeypatch.setattr(SVM, "fit", lambda self, X, y: fits.append(X.shape) or real(self, X, y))
    ref = DataRef("blobs", "fake_methods:Blobs", {})
    points = SplitRef(ref, Split(train_per_class=3), 3, 0).points(ref.load())
    svm, shared = Method(name="svm", parameters={"kernel": "rbf"}), Workbench(points)
    embedding = Method(name="fake_methods:Slice", parameters={"n_components": 4})
    moving = Method(name="fake_methods:Anew", parameters={"amount": 0.0})
    extenders = [None_shift(), Method(name="fake_methods:Shift", parameters={"amount": 2.0}), moving]
    for d in (2, 4):
        for extender in extenders:
            placed = shared.place(embedding, extender, d)
            alone = build("classifier", svm, points.seed)
            real(alone, placed.known, points.y)
            assert shared.label(svm, placed).labels.tolist() == alone.predict(placed.new).tolist()
    assert len(fits) == 2 * 2  # by dimension; once for the embedding's own points, once for those that moved


def test_alignment_is_measured_once_for_all_classifiers(bench, small, monkeypatch):
    calls = []
    real = metrics.alignment
    monkeypatch.setattr(metrics, "alignment", lambda Y, batch: calls.append(1) or real(Y, batch))
    small["arms"]["A svm"] = small["arms"]["A"] | {"classifier": "svm"}
    small["metrics"] = ["alignment_error", "alignment_statistic"]
    rows = bench.rows(bench.run(small))
    assert len(calls) == 2 * 6
    values = {arm: rows[rows["arm"] == arm]["value"].tolist() for arm in ("A", "A svm")}
    assert len(values["A"]) == 2 * 6 and values["A"] == values["A svm"]


def test_dimensions_of_a_nested_embedding_are_one_trial(bench, small):
    small["arms"] = {
        name: {
            "embedding": {"name": "fake_methods:Slice", "n_components": n},
            "extender": "fake_methods:Shift",
            "classifier": "fake_methods:NN",
        }
        for name, n in [("grid", {"grid": [1, 2, 4]}), ("top", 4)]
    }
    small["selection"] = "best"
    assert bench.run(small).trials == 6
    assert bench.count("embedding") == bench.count("extender") == 6


def None_shift():
    return Method(name="fake_methods:Shift", parameters={})


def test_random_methods_get_the_seed_of_the_split(bench, small):
    small["arms"] = {"J": {"embedding": "fake_methods:Joint", "classifier": "fake_methods:NN"}}
    first = bench.rows(bench.run(small))
    second = bench.rows(bench.run(small, out="other"), out="other")
    assert first.equals(second)
    spec = Method(name="fake_methods:Joint", parameters={})
    assert build("embedding", spec, 7).random_state == 7
    assert build("embedding", spec.with_(random_state=3), 7).random_state == 3


def test_parameters_of_one_fit_do_not_leak_into_another(bench):
    given = {"amount": 1.0, "tag": {"a": [1]}}
    estimator = build("extender", Method(name="fake_methods:Shift", parameters=given), 0)
    estimator.tag["a"].append(2)
    assert given["tag"] == {"a": [1]}


def test_steps_become_rows(bench, small):
    small["arms"] = {
        "K": {
            "embedding": "fake_methods:Slice",
            "extender": "fake_methods:Knowing",
            "classifier": "fake_methods:NN",
        },
        "own": {"embedding": "fake_methods:Slice", "extender": "fake_methods:Knowing"},
        "J": {"embedding": "fake_methods:Joint", "classifier": "fake_methods:NN"},
    }
    small["metrics"] = ["misclassification_rate", "sigma", "objective"]
    small["split"]["repetitions"] = 1
    rows = bench.rows(bench.run(small, "split.train_per_class=5"))
    rates = rows[rows["metric"] == "misclassification_rate"]
    k = rates[rates["arm"] == "K"]
    assert k["step"].isna().tolist() == [True, False, False]
    assert k["step"].dropna().tolist() == [1, 2]
    final, first, last = k["value"]
    assert last == final < first
    own = rates[rates["arm"] == "own"]["value"].tolist()
    assert own[1] == 75.0 and own[0] == own[2] < 75
    sigma = rows[(rows["metric"] == "sigma") & (rows["arm"] == "K")]
    assert sigma["value"].tolist() == [1.0, 2.0, 1.0]
    objective = rows[(rows["metric"] == "objective") & (rows["arm"] == "J")]
    assert objective["value"].tolist() == [0.5, 1.0, 0.5]
    assert rows[(rows["arm"] == "J") & (rows["metric"] == "sigma")]["value"].tolist() == [2.5]


def test_what_methods_report_and_warn_of_is_kept(bench, small):
    import json

    small["arms"] = {"J": {"embedding": "fake_methods:Joint", "classifier": "fake_methods:NN"}}
    rows = bench.rows(bench.run(small))
    assert json.loads(rows["fitted"].iloc[0])["embedding.sigma_"] == 2.5
    assert rows["warnings"].iloc[0] == "[]"


@pytest.mark.parametrize("value, expected", [(3, 3), ({"by_dataset": {"blobs": 2, "default": 4}}, 2)])
def test_values_by_data_set(bench, small, value, expected):
    small["arms"] = {"A": small["arms"]["A"]}
    small["arms"]["A"]["embedding"]["n_components"] = value
    assert set(bench.rows(bench.run(small))["n_components"]) == {expected}
