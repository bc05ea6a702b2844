"""Gaussian fields: the harmonic property, scikit-learn's label propagation, disconnected graphs, known points."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.semi_supervised import LabelPropagation

from manifold_oos.classifiers.gaussian_fields import GaussianFields, harmonic
from manifold_oos.datasets import load
from manifold_oos.numerics.graphs import full_weights, knn_weights


def circles(n=60, seed=0):
    """Two noisy rings that a straight line cannot part."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    t = 2 * np.pi * (np.arange(n) + random.random(n) / 2) / n
    return (1 + y)[:, None] * np.column_stack([np.cos(t), np.sin(t)]) + 0.02 * random.standard_normal((n, 2)), y


def test_every_new_point_is_the_mean_of_its_neighbours():
    X, y = circles()
    fitted = GaussianFields(n_neighbors=4, sigma=0.5).fit(X[:10], y[:10], X_new=X[10:])
    W = knn_weights(X, 4, 0.5).toarray()
    f = np.vstack([np.eye(2)[y[:10]], fitted.distributions_])
    np.testing.assert_allclose((W @ f / W.sum(axis=1, keepdims=True))[10:], fitted.distributions_, atol=1e-10)
    np.testing.assert_allclose(fitted.distributions_.sum(axis=1), 1)


def test_equals_label_propagation_on_a_full_graph():
    X, y = circles()
    f = harmonic(csr_array(full_weights(X, 0.5)), np.eye(2)[y[:10]])
    theirs = LabelPropagation(gamma=4.0, max_iter=100_000, tol=1e-12).fit(X, np.r_[y[:10], np.full(50, -1)])
    assert np.mean(f.argmax(axis=1) == theirs.transduction_[10:]) > 0.95


def test_follows_the_rings():
    X, y = circles(200)
    fitted = GaussianFields(sigma={"median": 0.1}).fit(X[:8], y[:8], X_new=X[8:])
    assert np.mean(fitted.transduction_ == y[8:]) == 1


def test_new_points_are_in_order_and_predict_knows_only_them():
    X, y = circles()
    rows = GaussianFields().fit(X[:40], np.r_[y[:20], np.full(20, -1)], X_new=X[40:])
    given = GaussianFields().fit(X[:20], y[:20], X_new=X[20:])
    np.testing.assert_array_equal(rows.transduction_, given.transduction_)
    np.testing.assert_array_equal(rows.predict(X), np.r_[y[:20], rows.transduction_])
    np.testing.assert_array_equal(rows.predict(X[::-3]), np.r_[y[:20], rows.transduction_][::-3])
    with pytest.raises(ValueError, match=r"row 1 was not among them \(1 of 2 rows\)"):
        rows.predict(np.vstack([X[:1], X[:1] + 1e-9]))


def test_component_without_labels_gets_the_class_shares_and_a_warning():
    X, y = circles()
    far = X[:6] + 100
    with pytest.warns(UserWarning, match="6 new points are not connected"):
        fitted = GaussianFields(n_neighbors=3).fit(X[:9], y[:9], X_new=np.vstack([X[9:], far]))
    np.testing.assert_allclose(fitted.distributions_[-6:], np.tile(np.bincount(y[:9]) / 9, (6, 1)))
    assert np.isfinite(fitted.distributions_).all()


def test_mass_normalisation_restores_the_class_shares():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(0, 1, (60, 2)), random.normal(1.5, 1, (60, 2))])
    y = np.repeat([0, 1], 60)
    labelled = np.r_[np.arange(2), np.arange(60, 66)]
    new = np.setdiff1d(np.arange(120), labelled)
    plain, normal = (
        GaussianFields(n_neighbors=10, sigma=2.0, mass_normalization=flag).fit(
            X[labelled], y[labelled], X_new=X[new]
        )
        for flag in (False, True)
    )
    f = plain.distributions_
    expected = (f * [2, 6] / f.sum(axis=0)).argmax(axis=1)
    np.testing.assert_array_equal(normal.transduction_, expected)
    assert (normal.transduction_ != plain.transduction_).any()


def test_identical_points_one_class_one_sample_per_class_and_no_new_points():
    X, y = circles()
    same = GaussianFields().fit(X[:20], y[:20], X_new=X[:5])
    np.testing.assert_array_equal(same.transduction_, y[:5])
    one = GaussianFields().fit(X[:5], np.zeros(5), X_new=X[5:])
    assert (one.transduction_ == 0).all()
    each = GaussianFields(n_neighbors=30).fit([[0.0], [4.0]], ["a", "b"], X_new=[[1.0], [3.0]])
    assert each.transduction_.tolist() == ["a", "b"]
    assert GaussianFields().fit(X, y).transduction_.shape == (0,)
    with pytest.raises(ValueError, match="every label is −1"):
        GaussianFields().fit(X, np.full(60, -1))


@pytest.mark.real_data
def test_coil_20(data_dir):
    data = load("coil20", data_dir=data_dir, size=(32, 32), normalize="unit", per_class=71)
    known = np.tile(np.arange(71) % 10 == 0, 20)
    fitted = GaussianFields().fit(data.X[known], data.y[known], X_new=data.X[~known])
    assert np.mean(fitted.transduction_ != data.y[~known]) < 0.04
