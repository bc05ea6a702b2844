"""A fixed number of centres, and half a kernel matrix for many: the exact form and least squares as oracles."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.extenders import sosi as module
from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI
from manifold_oos.numerics import rbf
from manifold_oos.numerics.centers import farthest_points, spectral_whitening
from manifold_oos.numerics.kernels import gaussian_kernel, squared_distances
from manifold_oos.numerics.rbf import solve, solve_packed


@pytest.fixture
def classes():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = random.standard_normal((60, 5)) + 2 * y[:, None]
    return X, np.column_stack([y + 0.1 * X[:, 0], X[:, 1]]), y, random.standard_normal((45, 5)) + 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 100, 101])
def test_half_a_matrix_solves_as_the_whole_does(n, monkeypatch):
    monkeypatch.setattr(rbf, "BLOCK_FLOATS", 300)
    random = np.random.default_rng(n)
    X, Y = random.standard_normal((n, 4)), random.standard_normal((n, 3))
    expected = solve(gaussian_kernel(squared_distances(X), 0.9), Y)
    np.testing.assert_allclose(solve_packed(X, 0.9, Y), expected, rtol=1e-9)
    assert solve_packed(np.vstack([X, X]), 0.9, np.vstack([Y, Y])) is None


def test_half_a_matrix_takes_half_the_memory():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    tracemalloc.start()
    solve_packed(X, 0.01, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 3000**2 * 8 + 2**25


def test_farthest_points_by_their_definition():
    X = np.random.default_rng(0).standard_normal((40, 3))
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    for given in (0, 4):
        chosen = list(range(given)) or [int(np.argmax(np.linalg.norm(X - X.mean(axis=0), axis=1)))]
        while len(chosen) < 15:
            chosen.append(int(np.argmax(distance[:, chosen].min(axis=1))))
        assert farthest_points(X, 15, given).tolist() == sorted(chosen)


def test_farthest_points_of_identical_ones_are_all_different():
    X = np.repeat(np.arange(5.0), 3)[:, None]
    for given in (0, 2):
        assert len(set(farthest_points(X, 12, given))) == 12


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_whitening_of_a_singular_matrix_at_any_scale(scale):
    A = np.random.default_rng(0).standard_normal((8, 3))
    W = spectral_whitening(scale * A @ A.T)
    np.testing.assert_allclose(W @ W.T, np.linalg.pinv(A @ A.T) / scale, rtol=1e-8, atol=1e-8 / scale)


@pytest.mark.parametrize(
    "extender",
    [
        RBFExtender(sigma=1.5),
        RBFExtender(),
        RBFExtender(sigma="regularity"),
        KernelRidgeExtender(),
        KernelRidgeExtender(alpha=0.0, kernel="linear"),
        SOSI(n_iterations=4),
    ],
)
def test_as_many_centres_as_points_are_the_exact_form(extender, classes):
    X, Y, y, X_new = classes
    arguments = {"X_new": X_new} if extender.transductive else {}
    exact = extender.fit(X, Y, y, **arguments).transform(X_new)
    for n_centers in (105, 1000):
        extender.set_params(n_centers=n_centers)
        np.testing.assert_array_equal(extender.fit(X, Y, y, **arguments).transform(X_new), exact)


def test_fewer_centres_are_a_least_squares_fit(classes):
    X, Y, y, X_new = classes
    fitted = RBFExtender(sigma=1.5, n_centers=25).fit(X, Y)
    A = X[farthest_points(X, 25)]
    K, K_new = (gaussian_kernel(squared_distances(Z, A), 1.5) for Z in (X, X_new))
    expected = K_new @ np.linalg.lstsq(K, Y, rcond=None)[0]
    np.testing.assert_allclose(fitted.transform(X_new), expected, atol=1e-9)
    np.testing.assert_allclose(fitted.centers_ + fitted.offset_, A)
    assert not fitted.interpolates
    assert RBFExtender(sigma="regularity", n_centers=25).fit(X, Y, y).sigma_.shape == (2,)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_fewer_centres_keep_the_penalty_of_kernel_ridge(kernel, classes):
    X, Y, _, X_new = classes
    fitted = KernelRidgeExtender(alpha=0.1, kernel=kernel, sigma=1.5, n_centers=25).fit(X, Y)
    A = X[farthest_points(X, 25)]
    if kernel == "gaussian":
        K, K_m, K_new = (gaussian_kernel(squared_distances(Z, A), 1.5) for Z in (X, A, X_new))
    else:  # singular: 25 points in 5 dimensions
        K, K_m, K_new = (Z @ A.T for Z in (X, A, X_new))
    expected = K_new @ np.linalg.lstsq(K.T @ K + 0.1 * K_m, K.T @ Y, rcond=None)[0]
    np.testing.assert_allclose(fitted.transform(X_new), expected, atol=1e-8)


def test_singular_centres_are_fitted_without_what_they_do_not_resolve(classes):
    X, Y, _, X_new = classes
    fitted = RBFExtender(sigma=1e4, n_centers=25).fit(X, Y)
    assert np.abs(fitted.transform(X) - Y).max() < 2 * np.abs(Y).max()
    assert np.isfinite(fitted.transform(X_new)).all()


def test_singular_matrix_of_many_centres_is_damped_in_half_its_memory(classes, monkeypatch):
    X, Y, _, _ = classes
    monkeypatch.setattr(rbf, "PACKED_FROM", 10)
    monkeypatch.setattr(rbf, "least_squares", None)
    with pytest.warns(ConvergenceWarning, match="singular"):
        fitted = RBFExtender(sigma=1e4).fit(X, Y)
    values, V = np.linalg.eigh(gaussian_kernel(squared_distances(X), 1e4))
    damped = V @ ((V.T @ Y) * (values / (values + 60 * 60 * np.finfo(float).eps))[:, None])
    np.testing.assert_allclose(fitted.transform(X), damped, atol=1e-3 * np.abs(Y).max())


def test_sosi_keeps_the_training_points_among_few_centres(classes):
    X, Y, y, X_new = classes
    fitted = SOSI(n_iterations=4, n_centers=80).fit(X, Y, y, X_new=X_new)
    assert [step.values["centers"] for step in fitted.steps_] == [60, 75, 80, 80]
    np.testing.assert_array_equal(fitted.centers_[:60], SOSI().fit(X, Y, y).centers_)
    np.testing.assert_allclose(fitted.transform(X_new), fitted.new_embedding_, atol=1e-9)
    exact = SOSI(n_iterations=4).fit(X, Y, y, X_new=X_new)
    assert np.mean(fitted.labels_ == exact.labels_) > 0.95
    with pytest.raises(ValueError, match="60 training points are always centres"):
        SOSI(n_centers=59).fit(X, Y, y, X_new=X_new)


@pytest.mark.parametrize("n_centers", [None, 80])
def test_sosi_of_many_points_equals_sosi_of_few(n_centers, classes, monkeypatch):
    X, Y, y, X_new = classes
    few = SOSI(n_iterations=4, n_centers=n_centers).fit(X, Y, y, X_new=X_new)
    monkeypatch.setattr(rbf, "PACKED_FROM", 10)
    monkeypatch.setattr(module, "PACKED_FROM", 10)
    many = SOSI(n_iterations=4, n_centers=n_centers).fit(X, Y, y, X_new=X_new)
    for one, other in zip(few.steps_, many.steps_, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_allclose(one.coordinates, other.coordinates, atol=1e-8)
