"""Extenders of any embedding on awkward data: duplicates, one or constant features, one coordinate, odd units."""

import numpy as np
import pytest

from manifold_oos.registry import build

NAMES = ["geometric_harmonics", "kernel_map", "laplacian_pyramids", "mlp", "random_features"]
every = pytest.mark.parametrize("name", NAMES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=120, D=2, n_new=30, seed=0):
    """A smooth map of two parameters, on points in D dimensions."""
    random = np.random.default_rng(seed)
    T = random.uniform(-1, 1, (n + n_new, D))
    Y = np.column_stack([np.sin(2 * T[:, 0]), T[:, -1] * T[:, 0]])
    return T[:n], Y[:n], 0.8 * T[n:], np.column_stack([np.sin(1.6 * T[n:, 0]), 0.64 * T[n:, -1] * T[n:, 0]])


def error(name, X, Y, X_new, truth):
    Z = build("extenders", name).fit(X, Y).transform(X_new)
    assert np.isfinite(Z).all() and Z.shape == truth.shape
    return np.abs(Z - truth).max() / np.ptp(truth)


@every
def test_plain_data_are_placed_well(name):
    assert error(name, *data()) < 0.15


@every
def test_duplicates(name):
    X, Y, X_new, truth = data()
    assert error(name, np.vstack([X, X[:40], X[:40]]), np.vstack([Y, Y[:40], Y[:40]]), X_new, truth) < 0.2


@every
def test_one_feature_and_one_coordinate(name):
    X, Y, X_new, truth = data(D=1)
    assert error(name, X, Y[:, :1], X_new, truth[:, :1]) < 0.1


@every
def test_constant_features_change_little(name):
    X, Y, X_new, truth = data()
    wide, wide_new = (np.c_[part, np.full(len(part), 3.0), np.zeros(len(part))] for part in (X, X_new))
    assert error(name, wide, Y, wide_new, truth) < 0.2


@every
@pytest.mark.parametrize("unit", [2.0**-200, 2.0**200])
def test_units_of_points_and_coordinates(name, unit):
    X, Y, X_new, _ = data()
    plain = build("extenders", name).fit(X, Y).transform(X_new)
    scaled = build("extenders", name).fit(X * unit, Y / unit).transform(X_new * unit)
    np.testing.assert_allclose(scaled * unit, plain, atol=1e-5)


@every
def test_parts_that_are_far_apart(name):
    """Two copies a thousand times their size apart: methods of local width place each by its own neighbours."""
    X, Y, X_new, truth = data()
    far = np.array([1000.0, 0.0])
    found = build("extenders", name).fit(np.vstack([X, X + far]), np.vstack([Y, Y + 5])).transform(X_new + far)
    assert np.isfinite(found).all()
    if name in ("kernel_map", "laplacian_pyramids"):
        assert np.abs(found - truth - 5).max() < 0.3


@every
def test_two_points(name):
    Z = build("extenders", name).fit([[0.0, 0.0], [1.0, 1.0]], [[0.0], [1.0]]).transform([[0.5, 0.5]])
    assert Z.shape == (1, 1) and -0.2 < Z[0, 0] < 1.2
