"""Random features approach kernel ridge regression at the rate that they promise."""

import tracemalloc

import numpy as np
import pytest

from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.random_features import RandomFeatures


def data(n=80, D=5, n_new=40, seed=0):
    random = np.random.default_rng(seed)
    X, X_new = random.standard_normal((n, D)), random.standard_normal((n_new, D))
    return X, np.sin(X[:, :2]), X_new


def distance(waves, seeds=6, alpha=0.1, sigma=3.0):
    """Root mean squared difference from kernel ridge regression over some seeds."""
    X, Y, X_new = data()
    exact = KernelRidgeExtender(alpha, sigma=sigma).fit(X, Y).transform(X_new)
    found = [RandomFeatures(waves, alpha, sigma, seed).fit(X, Y).transform(X_new) for seed in range(seeds)]
    return np.sqrt(np.mean([(Z - exact) ** 2 for Z in found]))


def test_the_difference_from_kernel_ridge_falls_with_the_root_of_the_waves():
    errors = np.array([distance(waves) for waves in (50, 200, 800, 3200)])
    ratios = errors[:-1] / errors[1:]
    assert (ratios > 1.5).all() and (ratios < 2.8).all(), errors  # 2 is expected


def test_products_of_features_are_the_kernel():
    X, Y, X_new = data()
    fitted = RandomFeatures(20_000, sigma=2.0).fit(X[:10], Y[:10])
    K = fitted._features(X_new) @ fitted._features(X_new).T
    squared = ((X_new[:, None] - X_new) ** 2).sum(axis=2)
    assert np.abs(K - np.exp(-squared / 4)).max() < 0.03
    np.testing.assert_allclose(np.diag(K), 1)


@pytest.mark.parametrize("waves", [30, 50])
def test_the_ridge_solution_is_the_normal_equations(waves):
    """With fewer features than points and with more, where the smaller matrix is solved."""
    X, Y, X_new = data()
    fitted = RandomFeatures(waves, 0.5, 2.0).fit(X, Y)
    Z, Z_new = fitted._features(X), fitted._features(X_new)
    expected = Z_new @ np.linalg.solve(Z.T @ Z + 0.5 * np.eye(2 * waves), Z.T @ Y)
    np.testing.assert_allclose(fitted.transform(X_new), expected)


def test_blocks_give_the_same_sums(monkeypatch):
    X, Y, X_new = data()
    whole = RandomFeatures(20).fit(X, Y).transform(X_new)
    monkeypatch.setattr("manifold_oos.extenders.random_features.BLOCK_FLOATS", 7 * 4 * 20)
    np.testing.assert_allclose(RandomFeatures(20).fit(X, Y).transform(X_new), whole, rtol=1e-9, atol=1e-12)


def test_memory_does_not_grow_with_the_square_of_the_points():
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((30_000, 3)), random.standard_normal((30_000, 1))
    tracemalloc.start()
    try:
        RandomFeatures(50).fit(X, Y)
        assert tracemalloc.get_traced_memory()[1] < 150e6  # a kernel matrix would be 7.2 GB
    finally:
        tracemalloc.stop()


def test_where_the_origin_is_does_not_matter():
    X, Y, X_new = data()
    shift = 1e7
    expected = RandomFeatures(sigma=2.0).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(
        RandomFeatures(sigma=2.0).fit(X + shift, Y).transform(X_new + shift), expected, atol=1e-4
    )
