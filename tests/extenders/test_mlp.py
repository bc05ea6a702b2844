"""The perceptron extender against scikit-learn's own pipeline, and where it should do well."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifold_oos.extenders.mlp import MLPExtender

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=80, n_new=20, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n + n_new, 4)) * [1, 10, 0.1, 1] + 5
    Y = np.column_stack([100 * np.tanh(X[:, 0] - 5), X[:, 1] * X[:, 3] * 1e-3])
    return X[:n], Y[:n], X[n:], Y[n:]


def test_it_is_scikit_learns_regressor_on_standardised_data():
    X, Y, X_new, _ = data()
    order = np.lexsort(np.hstack([X, Y]).T)
    settings = {"solver": "lbfgs", "alpha": 0.1, "max_iter": 60, "random_state": 3}
    network = MLPRegressor(hidden_layer_sizes=(30,), **settings)
    theirs = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
    expected = theirs.fit(X[order], Y[order]).predict(X_new)
    found = MLPExtender([30], alpha=0.1, max_iter=60, random_state=3).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_order_of_points_and_their_units_do_not_matter():
    X, Y, X_new, _ = data()
    plain = MLPExtender().fit(X, Y).transform(X_new)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(MLPExtender().fit(X[order], Y[order]).transform(X_new), plain)
    scaled = MLPExtender(max_iter=20).fit(X * 2**40, Y * 2**-40).transform(X_new * 2**40)
    np.testing.assert_array_equal(scaled, MLPExtender(max_iter=20).fit(X, Y).transform(X_new) * 2**-40)


def test_a_smooth_map_is_learned():
    X, Y, X_new, Y_new = data(n=600)
    found = MLPExtender(alpha=1e-2).fit(X, Y).transform(X_new)
    assert (1 - ((found - Y_new) ** 2).sum(axis=0) / Y_new.var(axis=0) / len(Y_new) > 0.95).all()


def test_the_seed_counts():
    X, Y, X_new, _ = data()
    first, again, other = (MLPExtender(random_state=seed).fit(X, Y).transform(X_new) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_constant_features_and_coordinates_and_one_column():
    X, Y, X_new, _ = data()
    X[:, 1], Y[:, 1] = 7.0, 2.0
    found = MLPExtender().fit(X, Y).transform(X_new)
    assert np.isfinite(found).all() and np.abs(found[:, 1] - 2).max() < 1e-2
    assert MLPExtender().fit(X, Y[:, 0]).transform(X_new).shape == (20, 1)
