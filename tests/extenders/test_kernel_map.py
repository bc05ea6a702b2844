"""Kernel t-SNE's map against its formula by loops and the pseudo-inverse."""

import numpy as np
import pytest

from manifold_oos.extenders.kernel_map import KernelMap


def data(n=30, D=4, n_new=7, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, D)), random.standard_normal((n, 2)), random.standard_normal((n_new, D))


def literal(X, Y, X_new, k, factor):
    sigma = [factor * sorted(np.linalg.norm(X - x, axis=1))[k] for x in X]

    def row(x):
        values = np.array([np.exp(-np.sum((x - X[j]) ** 2) / sigma[j] ** 2) for j in range(len(X))])
        return values / values.sum()

    A = np.linalg.pinv(np.array([row(x) for x in X])) @ Y
    return np.array([row(x) for x in X_new]) @ A


@pytest.mark.parametrize(("k", "factor"), [(1, 1.0), (5, 0.7), (8, 1.0)])
def test_the_formula(k, factor):
    X, Y, X_new = data()
    found = KernelMap(k, factor).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(found, literal(X, Y, X_new, k, factor), rtol=1e-6, atol=1e-8)


def test_training_points_keep_their_coordinates_where_k_is_regular():
    X, Y, _ = data()
    np.testing.assert_allclose(KernelMap().fit(X, Y).transform(X), Y, atol=1e-6)


def test_each_cluster_has_its_own_width():
    """The same cluster a thousand times smaller beside a wide one is mapped as well as the wide one."""
    random = np.random.default_rng(0)
    t, t_new = random.uniform(-1, 1, (60, 1)), random.uniform(-0.9, 0.9, (20, 1))
    X, X_new = np.vstack([t, 100 + 1e-3 * t]), np.vstack([t_new, 100 + 1e-3 * t_new])
    found = KernelMap().fit(X, np.vstack([t, t])).transform(X_new)
    assert np.abs(found - np.vstack([t_new, t_new])).max() < 0.1


def test_duplicates_far_points_and_a_lone_point():
    X, Y, X_new = data()
    double = KernelMap().fit(np.vstack([X, X[:9]]), np.vstack([Y, Y[:9]]))
    np.testing.assert_allclose(double.transform(X_new), KernelMap().fit(X, Y).transform(X_new), atol=1e-9)
    assert np.isfinite(double.transform(1e8 * X_new)).all()
    np.testing.assert_allclose(KernelMap().fit(X[:1], Y[:1]).transform(X_new), np.repeat(Y[:1], 7, axis=0))


def test_the_unit_of_the_data_does_not_matter():
    X, Y, X_new = data()
    expected = KernelMap().fit(X, Y).transform(X_new)
    for unit in (2.0**-40, 2.0**40):
        np.testing.assert_allclose(KernelMap().fit(unit * X, Y).transform(unit * X_new), expected)


def test_the_default_width_is_narrow_where_coordinates_jump_and_wide_where_they_are_smooth():
    X = np.random.default_rng(0).uniform(size=(150, 2))
    cell = np.floor(3 * X).astype(int)
    jumps = np.random.default_rng(1).standard_normal((9, 2))[cell[:, 0] + 3 * cell[:, 1]]
    X_new = np.random.default_rng(2).uniform(size=(300, 2))
    truth = np.random.default_rng(1).standard_normal((9, 2))[(np.floor(3 * X_new).astype(int) * [1, 3]).sum(axis=1)]
    narrow, wide = KernelMap().fit(X, jumps), KernelMap().fit(X, X)
    assert narrow.factor_ < 0.5 < wide.factor_
    errors = [np.abs(KernelMap(factor=f).fit(X, jumps).transform(X_new) - truth).mean() for f in (1.0, None)]
    assert errors[1] < errors[0]
    assert not KernelMap().nested and KernelMap(factor=1.0).nested
