"""OutOfSample in scikit-learn's company: pipelines, grid search, and test labels that nobody sees."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos import OutOfSample
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI
from manifold_oos.novelty import NOVEL
from manifold_oos.numerics.kernels import squared_distances


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:160] / 16, y[:160]


def test_names_mappings_and_instances(digits):
    X, y = digits
    written = OutOfSample({"name": "suplap", "n_components": 3}, {"name": "rbf", "sigma": "regularity"}, "nn")
    given = OutOfSample(SupervisedLaplacian(n_components=3), RBFExtender(sigma="regularity"))
    results = [model.fit(X[:80], y[:80]).transform(X[80:]) for model in (written, given)]
    np.testing.assert_array_equal(*results)
    np.testing.assert_array_equal(written.predict(X[80:]), given.predict(X[80:]))
    assert given.score(X[80:], y[80:]) > 0.9
    by_hand = RBFExtender(sigma="regularity").fit(X[:80], given.embedding_, y[:80])
    np.testing.assert_array_equal(by_hand.transform(X[80:]), results[0])


def test_unlabelled_rows_and_new_points_reach_a_transductive_extender(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), SOSI())
    given = model.fit(X[:60], y[:60], X_new=X[60:])
    sosi = SOSI().fit(X[:60], given.embedding_, y[:60], X_new=X[60:])
    np.testing.assert_allclose(given.new_embedding_, sosi.new_embedding_, atol=1e-7)
    np.testing.assert_array_equal(given.transduction_, sosi.labels_)
    labels = given.transduction_
    rows = OutOfSample(SupervisedLaplacian(n_components=3), SOSI())
    rows.fit(X, np.r_[y[:60], np.full(100, -1)])
    np.testing.assert_array_equal(rows.transduction_, labels)
    assert rows.classes_.tolist() == [0, 1, 2, 3]


def test_labels_of_new_points_cannot_leak(digits):
    """The test fold's labels, wrong or right, change nothing that is learned."""
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), SOSI(n_iterations=3))
    folds = StratifiedKFold(2)
    truth = cross_val_predict(model, X, y, cv=folds.split(X, y))
    for train, test in folds.split(X, y):
        false = y.copy()
        false[test] = (false[test] + 1) % 4
        again = cross_val_predict(model, X, false, cv=[(train, test), (test, train)])
        np.testing.assert_array_equal(again[test], truth[test])
    assert np.mean(truth == y) > 0.9


def test_grid_search_over_components_with_unlabelled_rows(digits):
    X, y = digits
    half = np.where(np.arange(160) % 2, y, -1)
    model = OutOfSample(SupervisedLaplacian(), RBFExtender(sigma="regularity"))
    grid = {"embedding__n_components": [1, 3], "extender__n_neighbors": [3, 5]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, half)
    assert search.best_params_["embedding__n_components"] == 3
    assert search.best_score_ > 0.9
    assert search.predict(X).min() >= 0
    assert search.best_estimator_.new_embedding_.shape == (80, 3)


def test_score_ignores_rows_without_a_label(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), "rbf").fit(X[:80], y[:80])
    assert model.score(X[:80], np.where(np.arange(80) < 40, y[:80], -1)) == 1


def test_inside_a_pipeline_as_transformer_and_as_last_step(digits):
    X, y = digits
    last = make_pipeline(StandardScaler(), OutOfSample(SupervisedLaplacian(n_components=3), "lle"))
    assert last.fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.8
    middle = make_pipeline(OutOfSample(SupervisedLaplacian(n_components=3), "rbf"), LogisticRegression(C=1e4))
    assert middle.fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.8


def test_progressive_classifies_where_the_training_points_went(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), {"name": "progressive", "n_iterations": 3})
    model.fit(X[:60], y[:60], X_new=X[60:])
    np.testing.assert_array_equal(model.transduction_, model.extender_model_.labels_)


def test_joint_embedding_without_extender(digits):
    X, y = digits
    model = OutOfSample({"name": "lgrm", "n_components": 2}, None).fit(X[:80], y[:80])
    np.testing.assert_array_equal(model.transform(X[80:]), model.embedding_model_.transform(X[80:]))
    with pytest.raises(ValueError, match="give an extender"):
        OutOfSample("suplap", None).fit(X, y)


def test_unsupervised_gives_coordinates_only(digits):
    X, _ = digits
    model = OutOfSample(LaplacianEigenmaps(n_components=2), "rbf").fit(X[:80], X_new=X[80:])
    assert model.new_embedding_.shape == (80, 2)
    with pytest.raises(ValueError, match="coordinates only"):
        model.predict(X)
    with pytest.raises(ValueError, match="target y is None"):
        OutOfSample(LaplacianEigenmaps(), "rbf", "nn").fit(X)


def test_wrong_use_is_one_clear_line(digits):
    X, y = digits
    with pytest.raises(ValueError, match="gaussian_fields is transductive"):
        OutOfSample("suplap", "rbf", "gaussian_fields").fit(X, y)
    with pytest.raises(ValueError, match='did you mean "suplap'):
        OutOfSample("suplapp").fit(X, y)
    with pytest.raises(ValueError, match="only 1 of the points"):
        OutOfSample().fit(X, np.r_[1, np.full(159, -1)])


@parametrize_with_checks(
    [OutOfSample()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "−1 means unlabelled, and the check has a class −1"
    },
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)


def test_names_of_the_coordinates_and_pandas(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), "lle").fit(X[:80], y[:80])
    assert model.get_feature_names_out().tolist() == ["outofsample0", "outofsample1", "outofsample2"]
    plain = model.transform(X[80:])
    frame = model.set_output(transform="pandas").transform(X[80:])
    assert list(frame.columns) == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    assert model.predict(X[80:]).shape == (80,)


def test_float32_stays_float32(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3)).fit(X[:80].astype(np.float32), y[:80])
    assert model.transform(X[80:].astype(np.float32)).dtype == np.float32
    assert model.transform(X[80:]).dtype == np.float64


def test_probabilities_are_calibrated_on_held_out_known_points():
    """Overlapping classes: of the labels said to be right in p of all cases, about p are."""
    random = np.random.default_rng(0)
    y = np.tile([0, 1, 2], 500)
    X = random.standard_normal((1500, 5)) + 1.6 * np.eye(5)[y]
    model = OutOfSample(SupervisedLaplacian(n_components=2), "lle").fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    right = model.predict(X[600:]) == y[600:]
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X[600:]))
    surest = p.max(axis=1)
    assert 0.5 < right.mean() < 0.9
    assert abs(surest.mean() - right.mean()) < 0.06
    sure = surest > np.median(surest)
    assert right[sure].mean() > right[~sure].mean() + 0.05


def test_probabilities_of_classes_too_small_to_calibrate():
    model = OutOfSample(np.array([[0.0], [1.0], [4.0], [5.0]])).fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[1.0], [4.0]]), [[1, 0], [0, 1]], atol=1e-9)


def test_novelty_finds_far_points_and_lets_usual_ones_pass(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3)).fit(X[:120], y[:120])
    usual, far = model.novelty(X[120:]), model.novelty(10 * X[120:])
    assert (usual > NOVEL).mean() < 0.2 < 0.99 < (far > NOVEL).mean()
    assert (model.novelty(X[:120]) == 0).all()
    order = np.argsort(far)
    distance = np.sqrt(squared_distances(10 * X[120:], X[:120]).min(axis=1))
    assert (np.diff(distance[order]) >= 0).all(), "novelty does not rise with the distance"


def test_one_percent_of_usual_points_are_novel():
    X = np.random.default_rng(0).standard_normal((4000, 3))
    novelty = OutOfSample(X[:2000, :2]).fit(X[:2000]).novelty(X[2000:])
    assert 0.005 < (novelty > NOVEL).mean() < 0.02
    assert abs((novelty > 50).mean() - 0.5) < 0.05


def test_parameters_of_a_name_ask_for_an_instance(digits):
    X, y = digits
    search = GridSearchCV(OutOfSample(extender="rbf"), {"extender__sigma": [1.0]}, error_score="raise")
    with pytest.raises(ValueError, match=r"pass an instance, extender=RBFExtender\(sigma=...\) from manifold_oos"):
        search.fit(X, y)
    with pytest.raises(ValueError, match="pass an instance"):
        OutOfSample().set_params(classifier__C=1.0)
    assert OutOfSample().set_params(extender=RBFExtender(), extender__sigma=2.0).extender.sigma == 2


def test_a_transductive_extender_without_new_points_warns(digits):
    X, y = digits
    model = OutOfSample(SupervisedLaplacian(n_components=3), SOSI(n_iterations=2))
    with pytest.warns(UserWarning, match="sosi learns from new points and has none"):
        cross_val_score(model, X, y, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[:80], y[:80], X_new=X[80:])


def test_given_coordinates(digits):
    X, y = digits
    Y = SupervisedLaplacian(n_components=3).fit(X[:80], y[:80]).embedding_
    fitted = OutOfSample(SupervisedLaplacian(n_components=3), "lle").fit(X[:80], y[:80])
    given = OutOfSample(Y, "lle").fit(X[:80], y[:80])
    np.testing.assert_array_equal(given.transform(X[80:]), fitted.transform(X[80:]))
    rows = OutOfSample(np.vstack([Y, np.zeros((80, 3))]), "lle").fit(X, np.r_[y[:80], np.full(80, -1)])
    np.testing.assert_array_equal(rows.new_embedding_, fitted.transform(X[80:]))
    np.testing.assert_allclose(given.predict_proba(X[80:]).sum(axis=1), 1)
    with pytest.raises(ValueError, match="80 points and X has 160"):
        OutOfSample(Y, "lle").fit(X, y)
    with pytest.raises(ValueError, match="an array cannot map new points"):
        OutOfSample(Y, None).fit(X[:80], y[:80])
