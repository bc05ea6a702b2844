import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA

from manifold_oos.embeddings.kernel_pca import KPCA


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((350, 4)) * [3, 2, 1, 0.5]


@pytest.mark.parametrize(
    ("kernel", "options"),
    [("rbf", {"gamma": 1 / 2.5**2}), ("linear", {}), ("poly", {"degree": 2, "gamma": 1, "coef0": 1})],
)
@pytest.mark.parametrize("n", [60, 300])
def test_matches_scikit_learn(points, kernel, options, n):
    X, new = points[:n], points[300:]
    ours = KPCA(3, kernel={"poly": "polynomial"}.get(kernel, kernel), sigma=2.5, degree=2).fit(X)
    theirs = KernelPCA(3, kernel=kernel, eigen_solver="dense", **options).fit(X)
    expected = theirs.transform(X)
    signs = np.sign((ours.embedding_ * expected).sum(axis=0))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(ours.embedding_ * signs, expected, atol=1e-8 * scale)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.transform(new) * signs, theirs.transform(new), atol=1e-8 * scale)


def test_nystrom_formula_is_the_transform(points):
    kpca = KPCA(2).fit(points)
    nystrom = kpca.extension_kernel(points) @ kpca.embedding_ / kpca.extension_eigenvalues_
    np.testing.assert_allclose(nystrom, kpca.embedding_, atol=1e-10)
    np.testing.assert_allclose(kpca.transform(points), kpca.embedding_, atol=1e-10)


def test_linear_kernel_is_pca(points):
    ours = KPCA(4, kernel="linear").fit_transform(points)
    theirs = PCA(4).fit_transform(points)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_components_without_variance_are_refused():
    with pytest.raises(ValueError, match="lower n_components=3"):
        KPCA(3, kernel="linear").fit(np.random.default_rng(1).standard_normal((20, 2)))
