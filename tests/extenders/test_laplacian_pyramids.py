"""Laplacian pyramids against the definition by loops, with its leave-one-out property."""

import numpy as np
import pytest

from manifold_oos.extenders.laplacian_pyramids import LaplacianPyramids


def data(n=40, D=3, n_new=7, seed=0):
    random = np.random.default_rng(seed)
    X, X_new = random.standard_normal((n, D)), random.standard_normal((n_new, D))
    return X, np.column_stack([np.sin(X[:, 0]), random.standard_normal(n)]), X_new


def smoother(x, X, sigma, skip=None):
    """Row of P: normalised kernel values, without the point itself where it is one of the training points."""
    weights = np.array([0.0 if j == skip else np.exp(-np.sum((x - X[j]) ** 2) / sigma**2) for j in range(len(X))])
    return weights / weights.sum()


def literal(X, y, X_new, sigma, levels):
    """Approximation of new points and leave-one-out error for a number of levels, for one coordinate."""
    d, new = y.copy(), np.zeros(len(X_new))
    for level in range(levels):
        width = sigma / 2**level
        new += [smoother(x, X, width) @ d for x in X_new]
        d = d - np.array([smoother(X[i], X, width, skip=i) @ d for i in range(len(X))])
    return new, np.sqrt(np.mean(d**2))


def test_the_definition():
    X, Y, X_new = data()
    fitted = LaplacianPyramids(sigma=4.0).fit(X, Y)
    found = fitted.transform(X_new)
    for k in range(2):
        expected, error = literal(X, Y[:, k], X_new, 4.0, fitted.levels_[k])
        np.testing.assert_allclose(found[:, k], expected)
        assert fitted.errors_[k] == pytest.approx(error)
        others = [literal(X, Y[:, k], X_new[:0], 4.0, levels)[1] for levels in (1, 2, 3, 4)]
        assert error == pytest.approx(min(others))


def test_noise_gets_fewer_levels_than_a_smooth_coordinate():
    X = np.linspace(0, 1, 200)[:, None]
    Y = np.column_stack([np.sin(9 * X[:, 0]), np.random.default_rng(0).standard_normal(200)])
    levels = LaplacianPyramids().fit(X, Y).levels_
    assert levels[1] < levels[0]


def test_the_error_on_new_points_falls_with_more_known_ones():
    X_new = np.linspace(0.05, 0.95, 99)[:, None]
    errors = []
    for n in (20, 80, 320):
        X = np.random.default_rng(0).uniform(size=(n, 1))
        errors.append(np.abs(LaplacianPyramids().fit(X, np.sin(4 * X)).transform(X_new) - np.sin(4 * X_new)).mean())
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_two_scales_in_one_coordinate():
    """A single width smooths the fine part away or does not fill the gaps of the coarse one."""
    X = np.sort(np.random.default_rng(0).uniform(0, 1, 400))[:, None]
    f = lambda t: np.sin(3 * t) + 0.3 * np.sin(60 * t)  # noqa: E731
    X_new = np.linspace(0.05, 0.95, 200)[:, None]
    assert np.abs(LaplacianPyramids().fit(X, f(X)).transform(X_new) - f(X_new)).mean() < 0.03


def test_constant_coordinates_and_a_lone_point_stay():
    X, _, X_new = data()
    np.testing.assert_allclose(LaplacianPyramids().fit(X, np.full((40, 1), 3.0)).transform(X_new), 3)
    np.testing.assert_array_equal(LaplacianPyramids().fit(X[:1], [[5.0, 6.0]]).transform(X_new), [[5, 6]] * 7)


def test_duplicates_and_far_points():
    X, Y, X_new = data()
    X, Y = np.vstack([X, X[:10]]), np.vstack([Y, Y[:10]])
    fitted = LaplacianPyramids().fit(X, Y)
    assert np.isfinite(fitted.transform(X_new)).all()
    far = fitted.transform(X_new[:1] + 1e6)
    assert np.isfinite(far).all() and np.abs(far).max() <= 4 * np.abs(Y).max()


def test_the_default_starts_narrow_where_a_coordinate_jumps():
    """Two dimensions of many classes, what a first picture has: a wide start smears them into each other."""
    random = np.random.default_rng(0)
    y, y_new = np.repeat(np.arange(12), 20), np.repeat(np.arange(12), 10)
    centers, places = 4 * random.standard_normal((12, 10)), random.standard_normal((12, 2))
    X, X_new = (centers[labels] + random.standard_normal((len(labels), 10)) for labels in (y, y_new))

    def mistakes(**options):
        placed = LaplacianPyramids(**options).fit(X, places[y], y).transform(X_new)
        nearest = np.linalg.norm(placed[:, None] - places, axis=2).argmin(axis=1)
        return np.mean(nearest != y_new)

    assert mistakes() == 0 < mistakes(sigma={"median": 1.0})
    assert LaplacianPyramids().fit(X, places[y]).sigma_ < LaplacianPyramids(sigma={"median": 1}).fit(X, X).sigma_
    assert not LaplacianPyramids().nested and LaplacianPyramids(sigma=1.0).nested
