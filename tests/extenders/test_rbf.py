"""The RBF extender: SciPy as oracle, derivatives by finite differences, duplicates, singular kernels, scales."""

import warnings

import numpy as np
import pytest
import sosi_literal as literal
from scipy.interpolate import RBFInterpolator
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.extenders import rbf as module
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI
from manifold_oos.numerics import rbf_scales as terms
from manifold_oos.numerics.kernels import gaussian_kernel, mean_squared_distance, median_distance, squared_distances
from manifold_oos.numerics.rbf import (
    Gaussians,
    coefficients,
    evaluate,
    least_squares,
    solve,
    trusted,
    trusted_coefficients,
)
from manifold_oos.numerics.rbf_scales import (
    ScaleCurves,
    balanced_scales,
    bound_scales,
    ratio_scales,
    scale_curves,
    scale_grid,
)
from manifold_oos.numerics.shared import Kept, sharing


@pytest.fixture
def classes():
    """Three noisy arcs in R⁴ with coordinates that separate some of the class pairs in each dimension."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 9)
    t = random.uniform(0, 2, size=27)
    X = np.column_stack([np.cos(t) + y, np.sin(t), 0.3 * t * y, 0.2 * y]) + 0.1 * random.standard_normal((27, 4))
    Y = np.column_stack([y + 0.1 * t, (y == 1) + 0.1 * t, np.sin(3 * t)])
    return X, Y, y


def test_values_equal_scipy(classes):
    X, Y, _ = classes
    X_new = np.random.default_rng(1).standard_normal((30, 4))
    oracle = RBFInterpolator(X, Y, kernel="gaussian", epsilon=1 / 0.8, degree=-1)
    np.testing.assert_allclose(RBFExtender(sigma=0.8).fit(X, Y).transform(X_new), oracle(X_new), atol=1e-9)


@pytest.mark.parametrize("sigma", [None, 0.5, {"median": 0.5}, "mean_squared", "regularity", "ratio"])
def test_interpolates_and_reports_its_scale(classes, sigma):
    X, Y, y = classes
    fitted = RBFExtender(sigma=sigma).fit(X, Y, y)
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()
    assert fitted.sigma_.shape == (3,)
    expected = {0.5: 0.5, "mean_squared": np.sqrt(mean_squared_distance(X))}
    if not isinstance(sigma, dict) and sigma in expected:
        np.testing.assert_allclose(fitted.sigma_, expected[sigma])
    if isinstance(sigma, dict):
        np.testing.assert_allclose(fitted.sigma_, 0.5 * median_distance(X))


def test_gradients_equal_finite_differences(classes):
    X, Y, _ = classes
    sigma, step = 0.9, 1e-6
    fitted = RBFExtender(sigma=sigma).fit(X, Y)
    Phi = gaussian_kernel(squared_distances(X), sigma)
    gradient = terms.gradients(Phi, solve(Phi, Y), X, sigma)
    for axis, e in enumerate(np.eye(4) * step):
        difference = (fitted.transform(X + e) - fitted.transform(X - e)) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, axis].T, difference, atol=1e-6)


def test_gradients_at_some_of_the_centres(classes):
    X, Y, _ = classes
    sigma, step = 0.9, 1e-6
    fitted = RBFExtender(sigma=sigma).fit(X, Y)
    Phi = gaussian_kernel(squared_distances(X), sigma)
    gradient = terms.gradients(Phi[:10], solve(Phi, Y), X, sigma)
    u = np.array([0.1, -0.5, 0.3, 0.8]) * step
    difference = (fitted.transform(X[:10] + u) - fitted.transform(X[:10] - u)) / (2 * step)
    np.testing.assert_allclose((gradient @ u).T / step, difference, atol=1e-6)


def test_regularity_equals_its_definition_by_finite_differences(classes):
    X, Y, y = classes
    sigma, step, K = 0.9, 1e-6, 3
    fitted = RBFExtender(sigma=sigma, n_neighbors=K).fit(X, Y, y)
    G, D = fitted.regularity(sigma)

    def slope(i, u):
        return np.abs(fitted.transform([X[i] + step * u]) - fitted.transform([X[i] - step * u]))[0] / (2 * step)

    distance = np.sqrt(squared_distances(X))
    G_expected, D_expected = np.zeros(3), np.zeros(3)
    for i in range(len(X)):
        towards = {}
        for p in range(3):
            members = [j for j in np.flatnonzero(y == p) if j != i]
            near = sorted(members, key=lambda j, i=i: distance[i, j])[:K]
            towards[p] = np.array([slope(i, (X[i] - X[j]) / distance[i, j]) for j in near])
        mean = np.concatenate(list(towards.values())).mean(axis=0)
        gradient = np.array([slope(i, e) for e in np.eye(4)])
        G_expected += np.linalg.norm(gradient, axis=0) / mean
        for p in set(range(3)) - {y[i]}:
            own, other = Y[y == y[i]], Y[y == p]
            apart = (own.max(axis=0) < other.min(axis=0)) | (other.max(axis=0) < own.min(axis=0))
            D_expected += apart * towards[p].mean(axis=0) / mean
    assert D_expected[:2].min() > 0
    np.testing.assert_allclose(G, G_expected, rtol=1e-5)
    np.testing.assert_allclose(D, D_expected, rtol=1e-5, atol=1e-9)


def test_regularity_does_not_depend_on_more_features_than_points(classes):
    X, Y, y = classes
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((60, 60)))[0][:4]
    narrow, wide = (RBFExtender(sigma=0.9).fit(Z, Y, y).regularity(0.9) for Z in (X, X @ rotation))
    np.testing.assert_allclose(wide, narrow, rtol=1e-8)


def test_regularity_of_points_far_apart_for_the_scale_equals_the_literal_formula(classes):
    """The centre at a point outweighs all others by 1e10 there, and its gradient is zero."""
    X, Y, y = classes
    X = np.column_stack([X, np.random.default_rng(3).standard_normal((27, 3))])
    sigma = 0.2 * scale_grid(squared_distances(X))[0]
    Phi = gaussian_kernel(squared_distances(X), sigma)
    assert np.median(np.sort(Phi, axis=1)[:, -2]) < 1e-10
    C = solve(Phi, Y)
    at = terms.boundaries(X, Y, np.unique(y, return_inverse=True)[1], 3)
    towards = literal.directions(X, y, 3)
    expected = [literal.terms(X, Y[:, k], y, C[:, k], sigma, towards) for k in range(3)]
    for features in (7, 20, 47):  # more points than features, not twice as many, fewer
        A = np.hstack([X, np.zeros((27, features - 7))])
        np.testing.assert_allclose(
            np.transpose(terms.regularity(Phi, C, terms.compress(A), sigma, at)), expected, rtol=1e-9
        )


@pytest.mark.parametrize("features", [4, 20, 40])
def test_gradients_at_the_first_centres_do_not_depend_on_the_basis(classes, features):
    X, Y, _ = classes
    turned = (
        np.hstack([X, np.zeros((27, features - 4))])
        @ np.linalg.qr(np.random.default_rng(2).standard_normal((features, features)))[0]
    )
    Phi = gaussian_kernel(squared_distances(X), 0.9)
    C = solve(Phi, Y)
    lengths = [
        np.linalg.norm(terms.gradients(Phi[:10], C, A, 0.9), axis=2) for A in (X, turned, terms.compress(turned))
    ]
    np.testing.assert_allclose(lengths[1:], [lengths[0]] * 2, rtol=1e-9)


def test_stopped_sosi_shares_its_iterations_with_the_full_one(classes, monkeypatch):
    X, Y, y = classes
    alone = SOSI(n_iterations=5, stop_at=0.5).fit(X, Y, y, X_new=X + 0.1)
    calls = []
    fit = module.trusted_coefficients
    monkeypatch.setattr(module, "trusted_coefficients", lambda *args: calls.append(1) or fit(*args))
    with sharing(Kept()):
        SOSI(n_iterations=5).fit(X, Y, y, X_new=X + 0.1)
        stopped = SOSI(n_iterations=5, stop_at=0.5).fit(X, Y, y, X_new=X + 0.1)
        assert len(calls) == 5
    np.testing.assert_array_equal(stopped.new_embedding_, alone.new_embedding_)


def test_one_search_serves_all_who_search_the_same_scales(classes, monkeypatch):
    X, Y, y = classes
    calls = []
    monkeypatch.setattr(module, "scale_curves", lambda *args: calls.append(1) or scale_curves(*args))
    alone = [RBFExtender(sigma=rule).fit(X, Y, y) for rule in ("regularity", "ratio")]
    assert len(calls) == 2
    with sharing(Kept()):
        others = [RBFExtender(sigma=rule).fit(X, Y, y) for rule in ("regularity", "ratio")]
        sosi = SOSI().fit(X, Y, y, X_new=X + 0.1)
        assert len(calls) == 3
        for other in ((X, 2 * Y, y), (X, Y, y[::-1]), (X + np.arange(4) * X, Y, y)):
            RBFExtender(sigma="regularity").fit(*other)
        RBFExtender(sigma="regularity", n_neighbors=2).fit(X, Y, y)
        assert len(calls) == 7
    for first, second in zip(alone, others, strict=True):
        np.testing.assert_array_equal(first.coefficients_, second.coefficients_)
    np.testing.assert_array_equal(sosi.lambdas_, alone[0].lambdas_)


def test_balance_gives_an_inner_minimum_and_a_given_lambda_is_used(classes):
    X, Y, y = classes
    fitted = RBFExtender(sigma="regularity").fit(X, Y[:, :2], y)
    grid = scale_grid(squared_distances(X))
    for k, sigma in enumerate(fitted.sigma_):
        at, low = (
            np.subtract(
                *(
                    term[k] * weight
                    for term, weight in zip(fitted.regularity(s), (1, fitted.lambdas_[k]), strict=True)
                )
            )
            for s in (sigma, grid[0])
        )
        assert at < low
        assert grid[0] < sigma < grid[-1]
    np.testing.assert_array_equal(RBFExtender(sigma="regularity", lambda_=0.0).fit(X, Y, y).lambdas_, 0)


def test_scales_from_curves_by_hand():
    grid = np.array([1.0, 2.0, 4.0])
    pairs = np.ones((2, 2, 2), dtype=bool)
    G = np.array([[1.0, 1.0], [2.0, 2.0], [9.0, np.nan]])
    D = np.array([[0.0, 0.0], [3.0, 1.0], [4.0, np.nan]])
    sigma, weight = balanced_scales(ScaleCurves(grid, G, D), pairs, None)
    np.testing.assert_allclose(weight, [2, 1])
    np.testing.assert_allclose(sigma, [2, 1])
    np.testing.assert_allclose(ratio_scales(ScaleCurves(grid, G, D), pairs, 0.25), [4, 2])
    np.testing.assert_allclose(ratio_scales(ScaleCurves(grid, G, D), pairs, 0.5), [2, 2])


def test_a_threshold_of_one_is_the_scale_of_the_largest_ratio():
    grid, pairs = np.array([1.0, 2.0, 4.0]), np.ones((1, 2, 2), dtype=bool)
    curves = ScaleCurves(grid, np.ones((3, 1)), np.array([[1.0], [3.0], [2.0]]))
    assert ratio_scales(curves, pairs, 1.0) == [2.0]


def test_curves_end_where_interpolants_are_no_longer_trusted():
    X = np.linspace(0, 1, 12)[:, None]
    Y, y = np.column_stack([np.cos(20 * X), X]), np.arange(12) % 2
    squared = squared_distances(X)
    grid = np.geomspace(0.02, 0.5, 30)
    curves = scale_curves(squared, Y, X, terms.boundaries(X, Y, y, 3), grid)
    solved = [solve(gaussian_kernel(squared, scale), Y) for scale in grid]
    fine = np.array([trusted(C, Y) for C in solved])
    np.testing.assert_array_equal(np.isfinite(curves.G), fine)
    assert any(C is not None and not good.all() for C, good in zip(solved, fine, strict=True))


def test_scales_do_not_shrink_below_the_smallest():
    X = np.linspace(0, 1, 30)[:, None]
    Y = np.column_stack([np.cos(20 * X), X])
    at, sigma = Gaussians(X), np.array([50.0, 40.0])
    with pytest.warns(ConvergenceWarning, match="singular at this scale"):
        C, used = trusted_coefficients(at, Y, sigma, 30.0)
    assert (used < 30).all() and (used > 0.8 * 30).all()
    with pytest.warns(ConvergenceWarning, match="singular at this scale"):
        np.testing.assert_array_equal(C, coefficients(at, Y, used))


@pytest.mark.parametrize("n", [5, 7])
@pytest.mark.parametrize("above", [0, 1, 2])
def test_products_with_and_without_a_triangle(n, above):
    random = np.random.default_rng(0)
    A = np.tril(random.standard_normal((n, 5)), above)
    B = random.standard_normal((2, 3, n))
    np.testing.assert_allclose(terms._times(B.copy(), A, transposed=False), B @ A)
    np.testing.assert_allclose(terms._times(B[:, :, :5].copy(), A, transposed=True), B[:, :, :5] @ A.T)


def test_one_scale_that_diverges_is_bounded():
    pairs = np.ones((20, 2, 2), dtype=bool)
    sigma = np.r_[np.ones(19), 50.0]
    bounded = bound_scales(sigma, pairs)
    assert bounded[-1] == pytest.approx(sigma.mean() + 2 * sigma.std())
    np.testing.assert_array_equal(bounded[:-1], 1)


def test_searched_scales_need_labels(classes):
    X, Y, _ = classes
    with pytest.raises(ValueError, match="needs the class labels"):
        RBFExtender(sigma="regularity").fit(X, Y)
    with pytest.raises(ValueError, match="without class labels"):
        RBFExtender(sigma=1.0).fit(X, Y).regularity(1.0)


def test_equal_duplicates_change_nothing(classes):
    X, Y, y = classes
    twice = [np.concatenate([part, part[:5]]) for part in (X, Y, y)]
    X_new = X + 0.1
    for sigma in (0.9, "regularity", None):
        plain = RBFExtender(sigma=sigma).fit(X, Y, y).transform(X_new)
        np.testing.assert_allclose(RBFExtender(sigma=sigma).fit(*twice).transform(X_new), plain, atol=1e-9)


def test_contradicting_duplicates_get_their_mean_and_a_warning(classes):
    X, Y, _ = classes
    with pytest.warns(UserWarning, match="2 identical training points have different coordinates"):
        fitted = RBFExtender(sigma=0.9).fit(np.vstack([X, X[:1]]), np.vstack([Y, Y[:1] + 1]))
    np.testing.assert_allclose(fitted.transform(X), np.vstack([Y[:1] + 0.5, Y[1:]]), atol=1e-8)


def test_huge_scale_warns_and_a_searched_one_does_not(classes):
    X, Y, _ = classes
    with pytest.warns(ConvergenceWarning, match="choose a smaller sigma"):
        assert np.isfinite(RBFExtender(sigma=1e6).fit(X, Y).transform(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close = np.vstack([X, X[:3] + 1e-4])
        fitted = RBFExtender().fit(close, np.vstack([Y, Y[:3]]))
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()


@pytest.mark.parametrize("sigma", [None, "regularity", "ratio"])
def test_one_sample_per_class_one_class_one_point(classes, sigma):
    X, Y, y = classes
    first = [0, 9, 18]
    for rows, labels in ((first, y[first]), ([0, 1, 2], [0, 0, 0]), ([0], [0])):
        fitted = RBFExtender(sigma=sigma).fit(X[rows], Y[rows], labels)
        np.testing.assert_allclose(fitted.transform(X[rows]), Y[rows], atol=1e-6)


def test_constant_features_large_offset_and_zero_coordinates(classes):
    X, Y, y = classes
    moved = np.column_stack([X + 1e4, np.full(27, 7.0)])
    Y = np.column_stack([Y, np.zeros(27)])
    fitted = RBFExtender(sigma="regularity").fit(moved, Y, y)
    assert np.abs(fitted.transform(moved) - Y).max() <= 1e-6 * np.abs(Y).max()
    assert np.isfinite(fitted.sigma_).all()


def test_bad_sigma_is_one_clear_line(classes):
    X, Y, _ = classes
    for sigma, message in ((-1, "sigma"), ("typo", "sigma"), ({"mean": 2}, "the only rule")):
        with pytest.raises(ValueError, match=message):
            RBFExtender(sigma=sigma).fit(X, Y)


def test_nested_only_with_a_given_scale():
    assert RBFExtender(sigma=1.0).nested
    assert not RBFExtender(sigma="regularity").nested


def test_one_point_of_each_of_two_classes_has_one_direction():
    fitted = RBFExtender(sigma=1.0).fit([[0.0], [1.0]], [[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(fitted.regularity(1.0), [[2.0], [2.0]])  # on a line ‖∇f‖ is the slope to the other


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_missed_interpolation_is_told_in_every_unit_of_the_values(unit):
    X = np.linspace(0, 1, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="singular"):
        RBFExtender(sigma=3.0).fit(X, unit * np.sign(np.sin(40 * X)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RBFExtender(sigma=0.02).fit(X, unit * np.sign(np.sin(40 * X)))


@pytest.mark.parametrize("seed", range(6))
def test_a_factor_of_rounding_does_no_worse_than_least_squares(seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((80, 200))
    X = np.vstack([X, X[:1] + 2e-6 * random.standard_normal((1, 200))]) / 14
    Y = random.standard_normal((81, 3))
    with pytest.warns(ConvergenceWarning, match="singular"):
        fitted = RBFExtender(sigma={"median": 100}).fit(X, Y)
    squares = least_squares(gaussian_kernel(squared_distances(fitted.centers_), fitted.sigma_[0]), Y)
    best = np.abs(evaluate(squared_distances(fitted.centers_), squares, fitted.sigma_) - Y).max()
    assert np.abs(fitted.transform(X) - Y).max() < 1.01 * best
