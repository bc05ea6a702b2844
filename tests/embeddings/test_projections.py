import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import Ridge

from manifold_oos.embeddings.projections import KLPP, LPP, KernelSpectralRegression, SpectralRegression
from manifold_oos.numerics.alignment import laplacian_alignment
from manifold_oos.numerics.kernels import kernel_matrix


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((50, 4)) * [4, 2, 1, 1]


def assert_same_up_to_sign(A, B, atol=1e-7):
    signs = np.sign((A * B).sum(axis=0))
    np.testing.assert_allclose(A * signs, B, atol=atol * np.abs(B).max())


def test_lpp_solves_its_generalized_eigenproblem(points):
    X = points - points.mean(axis=0)
    L = laplacian_alignment(points, 6, 3.0).toarray()
    values, W = linalg.eigh(X.T @ L @ X, X.T @ X)
    lpp = LPP(2, n_neighbors=6, heat_sigma=3.0).fit(points)
    np.testing.assert_allclose(lpp.eigenvalues_, values[:2], rtol=1e-9)
    assert_same_up_to_sign(lpp.coef_, W[:, :2])
    np.testing.assert_allclose(lpp.embedding_.T @ lpp.embedding_, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(lpp.transform(points), lpp.embedding_, atol=1e-10)


def test_klpp_with_a_linear_kernel_is_lpp(points):
    new = np.random.default_rng(1).standard_normal((7, 4))
    linear, kernel = LPP(2).fit(points), KLPP(2, kernel="linear", cutoff=1e-10).fit(points)
    np.testing.assert_allclose(kernel.embedding_, linear.embedding_, atol=1e-8)
    np.testing.assert_allclose(kernel.transform(new), linear.transform(new), atol=1e-8)


def test_klpp_solves_its_problem_in_an_explicit_feature_space(points):
    X = points[:, :2] / 4
    a, b = X.T
    features = np.c_[np.sqrt(2) * a, np.sqrt(2) * b, a**2, b**2, np.sqrt(2) * a * b]
    features -= features.mean(axis=0)
    L = laplacian_alignment(X, 8, 1.0).toarray()
    values, W = linalg.eigh(features.T @ L @ features, features.T @ features)
    klpp = KLPP(2, kernel="polynomial", degree=2, heat_sigma=1.0, cutoff=1e-12).fit(X)
    np.testing.assert_allclose(klpp.eigenvalues_, values[:2], rtol=1e-7)
    assert_same_up_to_sign(klpp.embedding_, features @ W[:, :2], 1e-6)
    np.testing.assert_allclose(klpp.transform(X), klpp.embedding_, atol=1e-7)


@pytest.mark.parametrize("D", [4, 80])
def test_spectral_regression_is_a_ridge_regression_onto_laplacian_coordinates(D):
    rng = np.random.default_rng(2)
    X, new = rng.standard_normal((50, D)), rng.standard_normal((5, D))
    regression = SpectralRegression(2, gamma=0.5, heat_sigma=None).fit(X)
    Y = linalg.eigh(laplacian_alignment(X, 8).toarray(), subset_by_index=(1, 2))[1]
    assert_same_up_to_sign(regression.embedding_, Y)
    ridge = Ridge(alpha=0.5).fit(X, regression.embedding_)
    np.testing.assert_allclose(regression.transform(new), ridge.predict(new), atol=1e-9)


def test_kernel_spectral_regression_is_a_centred_kernel_ridge_regression(points):
    new = np.random.default_rng(3).standard_normal((5, 4))
    regression = KernelSpectralRegression(2, gamma=0.05, sigma=3.0).fit(points)
    H = np.eye(50) - 1 / 50
    K = kernel_matrix(points, sigma=3.0)
    A = np.linalg.inv(H @ K @ H + 0.05 * np.eye(50)) @ regression.embedding_
    K_new = kernel_matrix(new, points, sigma=3.0)
    expected = (K_new - K.mean(axis=0)) @ H @ A
    np.testing.assert_allclose(regression.transform(new), expected, atol=1e-9)


def test_more_features_than_points_are_fine():
    X = np.random.default_rng(4).standard_normal((20, 100))
    lpp = LPP(3, n_neighbors=5).fit(X)
    L = laplacian_alignment(X, 5, np.sqrt(2 * X.var(axis=0, ddof=1).sum())).toarray()
    np.testing.assert_allclose(lpp.eigenvalues_, linalg.eigvalsh(L)[1:4], atol=1e-9)
    np.testing.assert_allclose(lpp.transform(X), lpp.embedding_, atol=1e-9)


@pytest.mark.parametrize("method", [LPP(3), KLPP(3, kernel="linear", cutoff=1e-10)])
def test_more_components_than_directions_are_refused(method):
    X = np.random.default_rng(5).standard_normal((30, 2)) @ np.ones((2, 5))
    with pytest.raises(ValueError, match="lower n_components"):
        method.fit(X)
