"""Linear and kernel ridge extenders against scikit-learn and the normal equations."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge

from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.linear import LinearExtender
from manifold_oos.extenders.rbf import RBFExtender


def data(n=40, D=6, n_new=7, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, D)), random.standard_normal((n, 3)), random.standard_normal((n_new, D))


def test_linear_with_more_points_than_features_solves_the_normal_equations():
    X, Y, X_new = data()
    A = np.linalg.solve(X.T @ X, X.T @ Y)
    np.testing.assert_allclose(LinearExtender().fit(X, Y).transform(X_new), X_new @ A)


def test_linear_with_fewer_points_than_features_is_the_smallest_that_interpolates():
    X, Y, _ = data(n=5, D=12)
    fitted = LinearExtender().fit(X, Y)
    np.testing.assert_allclose(fitted.transform(X), Y)
    np.testing.assert_allclose(fitted.matrix_, X.T @ np.linalg.solve(X @ X.T, Y))


def test_linear_with_a_cut_off_is_the_pseudo_inverse_without_small_singular_values():
    X, Y, X_new = data(n=8, D=8)
    U, _, Vt = linalg.svd(X)
    X = U * [1, 0.8, 0.5, 0.3, 0.2, 0.05, 1e-3, 1e-9] @ Vt
    found = LinearExtender(rcond=0.1).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(found, X_new @ linalg.pinv(X, rtol=0.1) @ Y)
    assert np.abs(found).max() < 1e-2 * np.abs(LinearExtender().fit(X, Y).transform(X_new)).max()


def test_linear_with_equal_and_constant_features():
    X, Y, X_new = data(D=2)
    wide, wide_new = np.hstack([X, X, np.zeros((40, 1))]), np.hstack([X_new, X_new, np.ones((7, 1))])
    np.testing.assert_allclose(
        LinearExtender().fit(wide, Y).transform(wide_new), LinearExtender().fit(X, Y).transform(X_new)
    )


@pytest.mark.parametrize(("kernel", "theirs"), [("gaussian", "rbf"), ("linear", "linear")])
def test_kernel_ridge_equals_scikit_learn(kernel, theirs):
    X, Y, X_new = data()
    ours = KernelRidgeExtender(alpha=0.1, kernel=kernel, sigma=2.0).fit(X, Y)
    expected = KernelRidge(alpha=0.1, kernel=theirs, gamma=1 / 4).fit(X, Y).predict(X_new)
    np.testing.assert_allclose(ours.transform(X_new), expected)


def test_kernel_ridge_without_ridge_is_the_rbf_extender():
    X, Y, X_new = data()
    expected = RBFExtender(sigma=1.5).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(KernelRidgeExtender(alpha=0, sigma=1.5).fit(X, Y).transform(X_new), expected)


def test_linear_kernel_without_ridge_is_the_linear_extender():
    X, Y, X_new = data()
    expected = LinearExtender().fit(X, Y).transform(X_new)
    np.testing.assert_allclose(KernelRidgeExtender(0, kernel="linear").fit(X, Y).transform(X_new), expected)


@pytest.mark.parametrize("alpha", [0, 1e-18, 1e-3])
def test_kernel_ridge_with_equal_points_and_a_flat_kernel_stays_finite(alpha):
    X, Y, X_new = data()
    X[1] = X[0]
    Z = KernelRidgeExtender(alpha, sigma=1e4).fit(X, Y).transform(X_new)
    assert np.abs(Z).max() < 1e3 * np.abs(Y).max()


def test_kernel_width_rules():
    X, Y, _ = data()
    assert KernelRidgeExtender(sigma={"median": 2}).fit(X, Y).sigma_ == pytest.approx(
        2 * KernelRidgeExtender().fit(X, Y).sigma_
    )
    with pytest.raises(ValueError, match="the only rule of this form"):
        KernelRidgeExtender(sigma={"mean": 2}).fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_new_points_are_checked_whatever_their_type(bad):
    X, Y = np.random.default_rng(0).standard_normal((20, 3)), np.ones((20, 1))
    fitted = KernelRidgeExtender().fit(X, Y)
    for wrong, message in (
        (np.where(np.arange(3) == 1, bad, X), "NaN|infinity"),
        (X[:0], "0 sample"),
        (X[:, :2], "2 features"),
        (X[0], "1D array"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.transform(wrong)
    np.testing.assert_array_equal(fitted.transform(X), fitted.transform(X.tolist()))
