import numpy as np
import pytest
from scipy import linalg
from sklearn.manifold import LocallyLinearEmbedding

from manifold_oos.datasets.toy import s_surface, swiss_roll
from manifold_oos.embeddings.local_alignment import LLE, LTSA, LocalSplineEmbedding
from manifold_oos.numerics.alignment import spline_alignment


def worse_coordinate(Y, P):
    """R² of the worse true coordinate, fitted by an affine map of the embedding."""
    A = np.c_[np.ones(len(Y)), Y]
    rest = P - A @ np.linalg.lstsq(A, P, rcond=None)[0]
    return (1 - rest.var(axis=0) / P.var(axis=0)).min()


def parameters(drawn):
    return drawn[0], np.column_stack(list(drawn[1].values()))


@pytest.mark.parametrize("n", [150, 600])
def test_lle_matches_scikit_learn(n):
    X = swiss_roll(n, np.random.default_rng(0))[0]
    ours = LLE(2, n_neighbors=10).fit(X)
    theirs = LocallyLinearEmbedding(n_neighbors=10, n_components=2, eigen_solver="dense").fit(X)
    cosine = np.abs((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(cosine, 1, atol=1e-5)
    np.testing.assert_allclose(ours.eigenvalues_.sum(), theirs.reconstruction_error_, rtol=1e-4)


def test_lle_extension_kernel_reconstructs():
    X = swiss_roll(300, np.random.default_rng(1))[0]
    lle = LLE(2, n_neighbors=8).fit(X)
    back = lle.extension_kernel(X) @ lle.embedding_ / lle.extension_eigenvalues_
    assert np.abs(back - lle.embedding_).max() < 1e-2 * np.abs(lle.embedding_).max()
    new = X[:20] + 0.05
    sklearn = LocallyLinearEmbedding(n_neighbors=8, n_components=2).fit(X)
    weights = lle.extension_kernel(new)
    np.testing.assert_allclose(weights @ sklearn.embedding_, sklearn.transform(new), atol=1e-8)


@pytest.mark.parametrize("method", [LTSA(n_neighbors=10), LocalSplineEmbedding(n_neighbors=10)])
@pytest.mark.parametrize("surface", [swiss_roll, s_surface])
def test_unrolls_curved_surfaces(method, surface):
    X, P = parameters(surface(1000, np.random.default_rng(2)))
    assert worse_coordinate(method.fit(X).embedding_, P) > 0.99


@pytest.mark.parametrize("method", [LLE(reg=1e-10), LTSA(), LocalSplineEmbedding()])
@pytest.mark.parametrize("n", [60, 400])
def test_flat_points_come_back_up_to_an_affine_map(method, n):
    rng = np.random.default_rng(3)
    flat = rng.uniform(size=(n, 2)) * [3, 1]
    Y = method.fit(flat @ np.linalg.qr(rng.standard_normal((6, 2)))[0].T).embedding_
    assert worse_coordinate(Y, flat) > 1 - 1e-5
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-7)


def test_spline_embedding_solves_the_eigenproblem_of_its_matrix():
    X = swiss_roll(60, np.random.default_rng(4))[0]
    embedding = LocalSplineEmbedding(2, n_neighbors=8).fit(X)
    values, V = linalg.eigh(spline_alignment(X, 8, 2).toarray())
    np.testing.assert_allclose(embedding.eigenvalues_, values[1:3], rtol=1e-5)
    np.testing.assert_allclose(np.abs((embedding.embedding_ * V[:, 1:3]).sum(axis=0)), 1, atol=1e-6)


@pytest.mark.parametrize("method", [LTSA, LocalSplineEmbedding])
def test_tangent_space_larger_than_the_data_is_refused(method):
    with pytest.raises(ValueError, match="n_features = 2"):
        method(3).fit(np.random.default_rng(5).standard_normal((30, 2)))
