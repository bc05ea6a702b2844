import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import KernelCenterer

from manifold_oos.errors import ConfigError
from manifold_oos.numerics.kernels import (
    center_kernel,
    kernel_matrix,
    resolve_sigma,
    shared_distances,
    squared_distances,
    squared_norms,
)
from manifold_oos.numerics.shared import Kept, sharing


def test_squared_distances_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    X, Z = rng.standard_normal((20, 30)), rng.standard_normal((7, 30))
    X[3] = X[5]
    for other in (None, Z):
        np.testing.assert_array_equal(squared_distances(X, other), euclidean_distances(X, other, squared=True))
    np.testing.assert_array_equal(
        squared_distances(np.array([[0], [200]], dtype=np.uint8)), [[0, 40000], [40000, 0]]
    )


def test_shared_distances_are_made_once_and_cannot_be_changed():
    X = np.random.default_rng(3).standard_normal((5, 2))
    with sharing(Kept()):
        first, again, cross = shared_distances(X), shared_distances(X.copy()), shared_distances(X, X[:2])
    assert first is again and cross.shape == (5, 2)
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1


@pytest.mark.parametrize("D", [3, 40])
def test_kernels_match_scikit_learn(D):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((20, D)), rng.standard_normal((7, D))
    for other in (None, Z):
        rbf = rbf_kernel(X, other, gamma=1 / 4)
        np.testing.assert_allclose(kernel_matrix(X, other, sigma=2.0), rbf, rtol=1e-9, atol=1e-14)
        polynomial = polynomial_kernel(X, other, degree=2, gamma=1, coef0=1)
        np.testing.assert_allclose(kernel_matrix(X, other, kernel="polynomial", degree=2), polynomial)
        linear = X @ (X if other is None else other).T
        np.testing.assert_allclose(kernel_matrix(X, other, kernel="linear"), linear)


def test_centring_matches_scikit_learn():
    rng = np.random.default_rng(1)
    X, Z = rng.standard_normal((20, 3)), rng.standard_normal((7, 3))
    K, K_new = kernel_matrix(X), kernel_matrix(Z, X)
    centerer = KernelCenterer().fit(K)
    np.testing.assert_allclose(center_kernel(K, K.mean(axis=0)), centerer.transform(K), atol=1e-12)
    np.testing.assert_allclose(center_kernel(K_new, K.mean(axis=0)), centerer.transform(K_new), atol=1e-12)


def test_squared_distances_equal_scikit_learns():
    random = np.random.default_rng(0)
    X, Z = random.standard_normal((40, 7)), random.standard_normal((30, 7)).astype(np.float32)
    np.testing.assert_array_equal(squared_distances(X), euclidean_distances(X, squared=True))
    expected = euclidean_distances(X, Z.astype(float), squared=True)
    np.testing.assert_allclose(squared_distances(X, Z), expected, rtol=1e-12)
    np.testing.assert_array_equal(squared_distances(X, Z, squared_norms(Z)), squared_distances(X, Z))
    assert squared_distances(X + 1e8, X + 1e8).min() == 0


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan, {"median": 0}])
def test_a_width_is_positive_and_finite(sigma):
    with pytest.raises(ConfigError, match="it must be positive and finite"):
        resolve_sigma(sigma, np.array([[0.0], [2.0]]))
