"""Normalised Gaussian interpolation: its formula, a case by hand, far and near points, leave-one-out."""

import numpy as np
import pytest

from manifold_oos.extenders import normalized_rbf
from manifold_oos.extenders.normalized_rbf import (
    FACTORS,
    NormalizedRBF,
    best_factor,
    leave_one_out,
    mistaken,
    neighbor_distance,
    solve_kernel,
)
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.numerics.kernels import squared_distances


@pytest.fixture
def cloud():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    return X, np.column_stack([X[:, 0] ** 2, np.sin(X[:, 1])]), random.standard_normal((15, 3))


def literal(X, Y, X_new, factor):
    """The docstring's formulas with loops and a dense solve."""
    n = len(X)
    distance = np.array([[np.linalg.norm(a - b) for b in X] for a in X])
    sigma = factor * np.mean([np.sort(np.delete(distance[i], i))[:10].mean() for i in range(n)])

    def phi(x):
        k = np.array([np.exp(-(np.linalg.norm(x - z) ** 2) / sigma**2) for z in X])
        return k / k.sum()

    C = np.linalg.solve(np.array([phi(x) for x in X]), Y)
    return np.array([phi(x) @ C for x in X_new]), sigma


@pytest.mark.parametrize("factor", [0.3, 0.7, 1.5])
def test_equals_its_formula_written_out(cloud, factor):
    X, Y, X_new = cloud
    expected, sigma = literal(X, Y, X_new, factor)
    fitted = NormalizedRBF(factor).fit(X, Y)
    assert fitted.sigma_ == pytest.approx(sigma) and fitted.ridge_ == 0
    np.testing.assert_allclose(fitted.transform(X_new), expected, rtol=1e-8, atol=1e-8)


def test_two_points_by_hand():
    """σ = 2, K = [[1, e⁻¹], [e⁻¹, 1]]; in the middle f is the mean of C, whose sum is that of Y by symmetry."""
    fitted = NormalizedRBF(1.0).fit([[0.0], [2.0]], [[0.0], [4.0]])
    e = np.exp(-1)
    c = np.linalg.solve([[1, e], [e, 1]], (1 + e) * np.array([0.0, 4.0]))
    np.testing.assert_allclose(fitted.coefficients_.ravel(), c)
    np.testing.assert_allclose(fitted.transform([[1.0], [0.0], [2.0], [1e3]]).ravel(), [2, 0, 4, c[1]], atol=1e-12)
    assert c[1] == pytest.approx(4 / (1 - e))


def test_a_far_point_is_finite_and_where_its_nearest_says(cloud):
    X, Y, _ = cloud
    fitted = NormalizedRBF(0.4).fit(X, Y)
    assert np.abs(RBFExtender().fit(X, Y).transform(X[:1] + 1e3)).max() == 0
    direction = np.array([[1.0, 2.0, -1.0]])
    for far in (1e2, 1e5, 1e12):
        farthest = int((X @ direction[0]).argmax())
        landed = fitted.transform(far * direction)
        np.testing.assert_allclose(landed[0], fitted.coefficients_[farthest], rtol=1e-6)


def test_units_and_an_offset_change_nothing(cloud):
    X, Y, X_new = cloud
    plain = NormalizedRBF().fit(X, Y).transform(X_new)
    for scale in (1e-6, 2550.0):
        np.testing.assert_allclose(NormalizedRBF().fit(scale * X, Y).transform(scale * X_new), plain, atol=1e-6)
    np.testing.assert_allclose(NormalizedRBF().fit(X + 1e3, Y).transform(X_new + 1e3), plain, atol=1e-5)
    moved = NormalizedRBF(0.5).fit(X, Y + 7).transform(X_new)
    np.testing.assert_allclose(moved, plain_at(cloud, 0.5) + 7, atol=1e-9)


def plain_at(cloud, factor):
    X, Y, X_new = cloud
    return NormalizedRBF(factor).fit(X, Y).transform(X_new)


def test_a_ridge_only_where_points_all_but_coincide(cloud):
    X, Y, X_new = cloud
    close = NormalizedRBF(0.5).fit(np.vstack([X, X[:4] + 1e-10]), np.vstack([Y, Y[:4]]))
    assert 0 < close.ridge_ < 1e-12
    np.testing.assert_allclose(close.transform(X), Y, atol=1e-6)
    np.testing.assert_allclose(close.transform(X_new), plain_at(cloud, 0.5), atol=0.2)
    assert NormalizedRBF(0.5).fit(X, Y).ridge_ == 0


def test_duplicates_are_one_centre(cloud):
    X, Y, X_new = cloud
    twice = NormalizedRBF(0.5).fit(np.vstack([X, X[:4]]), np.vstack([Y, Y[:4]]))
    np.testing.assert_allclose(twice.transform(X_new), plain_at(cloud, 0.5), atol=1e-10)


def test_nested_with_a_given_factor_and_not_in_a_search(cloud):
    X, Y, X_new = cloud
    np.testing.assert_allclose(
        NormalizedRBF(0.5).fit(X, Y[:, :1]).transform(X_new), plain_at(cloud, 0.5)[:, :1], atol=1e-12
    )
    assert NormalizedRBF(0.5).nested and not NormalizedRBF().nested


@pytest.mark.parametrize("factor", [0.2, 0.5, 1.0])
def test_leave_one_out_equals_refits(cloud, factor):
    X, Y, _ = cloud
    squared = squared_distances(X)
    sigma = factor * neighbor_distance(squared)
    refits = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        scale = neighbor_distance(squared[np.ix_(rest, rest)])
        refits.append(NormalizedRBF(sigma / scale).fit(X[rest], Y[rest]).transform(X[i : i + 1])[0])
    np.testing.assert_allclose(leave_one_out(squared, Y, sigma), refits, atol=1e-5)


def test_leave_one_out_chooses_narrow_for_steps_and_wide_for_smooth_coordinates():
    X = np.sort(np.random.default_rng(1).uniform(0, 10, 80))[:, None]
    assert NormalizedRBF().fit(X, X > 5).factor_ <= 0.3
    assert NormalizedRBF().fit(X, np.sin(X)).factor_ >= 1


def test_labels_decide_before_coordinates():
    """Three noisy classes in two dimensions: the factor is the one with the fewest mistakes."""
    random = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 30)
    X = random.standard_normal((90, 10)) + 2 * np.eye(10)[y]
    Y = np.column_stack([y == 1, y == 2]) + 0.01 * random.standard_normal((90, 2))
    squared = squared_distances(X)
    mistakes = [mistaken(leave_one_out(squared, Y, f * neighbor_distance(squared)), Y, y) for f in FACTORS]
    chosen = best_factor(X, squared, Y, y)
    assert mistakes[FACTORS.index(chosen)] == min(mistakes) < max(mistakes)
    assert chosen != best_factor(X, squared, Y)


def test_of_many_points_some_are_judged_whatever_their_order(cloud, monkeypatch):
    X, Y, _ = cloud
    monkeypatch.setattr(normalized_rbf, "JUDGED", 20)
    sizes = []
    plain = leave_one_out
    monkeypatch.setattr(normalized_rbf, "leave_one_out", lambda s, *rest: sizes.append(len(s)) or plain(s, *rest))
    order = np.random.default_rng(3).permutation(40)
    assert NormalizedRBF().fit(X, Y).factor_ == NormalizedRBF().fit(X[order], Y[order]).factor_
    assert set(sizes) == {20}


def test_one_and_two_points():
    assert NormalizedRBF().fit([[3.0]], [[1.0, 2.0]]).transform([[9.0]]).tolist() == [[1.0, 2.0]]
    np.testing.assert_allclose(NormalizedRBF().fit([[0.0], [1.0]], [[1.0], [2.0]]).transform([[0.0]]), [[1.0]])


def test_solve_kernel_of_a_singular_matrix_is_the_smallest_solution():
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    C, r = solve_kernel(K, np.array([[2.0], [2.0], [3.0]]))
    assert r > 0
    np.testing.assert_allclose(C.ravel(), [1, 1, 3], atol=1e-9)
