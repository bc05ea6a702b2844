"""Coordinates from elsewhere reach the right points, from a file and from an array."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from manifold_oos import datasets
from manifold_oos.config.load import load_config
from manifold_oos.embeddings.precomputed import Precomputed, read_coordinates
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.pipeline import OutOfSample
from manifold_oos.results.collect import collect

OPTIONS = {"classes": 4, "per_class": 20}
EMBEDDING = {"name": "precomputed", "coordinates": "coordinates.npy"}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data set with coordinates that are a linear function of it, which `linear` extends without an error."""
    monkeypatch.chdir(tmp_path)
    found = datasets.load("digits", **OPTIONS)
    Y = found.X @ np.random.default_rng(0).standard_normal((found.X.shape[1], 3))
    np.save("coordinates.npy", Y)
    return found, Y


def run(arms, metrics=("embedding_error_plain", "misclassification_rate"), selection=("train_only",)):
    config = {
        "title": "elsewhere",
        "dataset": {"name": "digits", **OPTIONS},
        "split": {"train_per_class": 17, "repetitions": 2},
        "arms": arms,
        "metrics": list(metrics),
        "selection": list(selection),
    }
    Path("own.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    experiment = load_config("own.yaml")
    summary = run_experiment(experiment, "results", 1)
    with Store("results") as store:
        collected = collect(experiment, store, plan=summary.plan)
    return summary, collected


def test_known_points_get_their_rows_and_new_ones_are_compared_with_theirs(data):
    arm = {"embedding": EMBEDDING, "extender": "linear", "classifier": "nn"}
    summary, collected = run({"linear": arm, "rbf": arm | {"extender": "rbf"}})
    assert not summary.failed
    cells = collected.cells.set_index(["arm", "metric"])["mean"]
    # 68 points of 64 features: the linear map is found again, so that new points land on their own rows.
    assert cells["linear", "embedding_error_plain"] < 1e-12 < cells["rbf", "embedding_error_plain"]


def test_folds_of_a_selection_and_fewer_columns(data):
    grid = {"grid": [1, 2, 3]}
    arm = {"embedding": EMBEDDING | {"n_components": grid}, "extender": "lle", "classifier": "nn"}
    summary, collected = run({"lle": arm})
    assert not summary.failed
    assert set(collected.rows["n_components"]) <= {1, 2, 3}


def test_another_content_of_the_file_is_computed_anew(data):
    arm = {"linear": {"embedding": EMBEDDING, "extender": "lle"}}
    assert run(arm)[0].computed == 2
    assert run(arm)[0].computed == 0
    np.save("coordinates.npy", 2 * np.load("coordinates.npy"))
    assert run(arm)[0].computed == 2


def test_a_missing_file_is_one_line_before_anything_is_run(data):
    with pytest.raises(ConfigError, match=r"none\.npy: cannot be read"):
        run({"a": {"embedding": EMBEDDING | {"coordinates": "none.npy"}, "extender": "rbf"}})
    with pytest.raises(ConfigError, match="precomputed needs coordinates"):
        run({"a": {"embedding": "precomputed", "extender": "rbf"}})
    with pytest.raises(ConfigError, match="add an extender"):
        run({"a": {"embedding": EMBEDDING}})


def test_too_few_rows_fail_with_the_reason(data):
    np.save("coordinates.npy", np.zeros((50, 2)))
    (error, *_) = run({"a": {"embedding": EMBEDDING, "extender": "lle"}})[0].failed
    assert "50 rows where the data set has at least" in str(error)


@pytest.mark.parametrize("header", ["", "y1,y2\n"])
def test_text_files(tmp_path, header):
    path = tmp_path / "Y.csv"
    path.write_text(header + "1,2\n3,4.5\n")
    assert read_coordinates(str(path)).tolist() == [[1, 2], [3, 4.5]]


@pytest.mark.parametrize(("text", "words"), [("1,2\n3\n", "not a table"), ("a,b\nc,d\n", "not a table")])
def test_bad_files(tmp_path, text, words):
    path = tmp_path / "Y.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_coordinates(str(path))


def test_bad_rows():
    Y = np.array([[0.0], [np.nan], [2.0]])
    assert Precomputed(Y).fit(np.ones((2, 1)), index=[2, 0]).embedding_.tolist() == [[2], [0]]
    with pytest.raises(DataError, match="row 1"):
        Precomputed(Y).fit(np.ones((2, 1)), index=[1, 0])
    with pytest.raises(DataError, match="n_components=2"):
        Precomputed(Y, 2).fit(np.ones((2, 1)), index=[2, 0])
    with pytest.raises(ValueError, match="index"):
        Precomputed(Y).fit(np.ones((3, 1)))


def test_an_array_as_the_embedding_of_a_pipeline(data):
    found, Y = data
    model = OutOfSample(Y[:60], "rbf").fit(found.X[:60])
    expected = RBFExtender().fit(found.X[:60], Y[:60]).transform(found.X[60:])
    np.testing.assert_allclose(model.transform(found.X[60:]), expected)
    labels = np.where(np.arange(80) % 4 == 0, -1, found.y)
    half = OutOfSample(Y.tolist(), "rbf").fit(found.X, labels)
    np.testing.assert_array_equal(half.embedding_, Y[labels != -1])
    assert half.new_embedding_.shape == (20, 3) and half.score(found.X, found.y) > 0.8
    with pytest.raises(ValueError, match="coordinates of 60 points and X has 80"):
        OutOfSample(Y[:60], "rbf").fit(found.X)
