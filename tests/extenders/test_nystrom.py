"""Nyström's formula: exact on training points with the embedding's kernel, a weighted mean with a Gaussian."""

import numpy as np
import pytest

from manifold_oos.embeddings.isomap import Isomap
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.embeddings.local_alignment import LLE, LTSA
from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.nystrom import Nystrom


def arc(n=80, seed=0):
    random = np.random.default_rng(seed)
    t = np.sort(random.uniform(0, 3, n))
    return np.column_stack([np.cos(t), np.sin(t), 0.1 * random.standard_normal(n)])


@pytest.mark.parametrize(
    ("embedding", "tolerance"),
    [
        (KPCA(n_components=2), 1e-8),
        (Isomap(n_components=2), 1e-5),
        (LaplacianEigenmaps(n_components=2), 1e-8),
        (LaplacianEigenmaps(n_components=2, graph="full"), 1e-8),
        (LLE(n_components=2), 2e-2),
    ],
)
def test_bengio_keeps_the_coordinates_of_training_points(embedding, tolerance):
    X = arc()
    Y = embedding.fit(X).embedding_
    Z = Nystrom(kernel="embedding").fit(X, Y, embedding=embedding).transform(X)
    np.testing.assert_allclose(Z, Y, atol=tolerance * np.abs(Y).max())


def test_bengio_is_the_projection_of_kernel_pca():
    X = arc()
    embedding = KPCA(n_components=3).fit(X[::2])
    fitted = Nystrom().fit(X[::2], embedding.embedding_, embedding=embedding)
    np.testing.assert_allclose(fitted.transform(X[1::2]), embedding.transform(X[1::2]), atol=1e-10)
    fewer = Nystrom().fit(X[::2], embedding.embedding_[:, :1], embedding=embedding)
    np.testing.assert_allclose(fewer.transform(X[1::2]), embedding.transform(X[1::2])[:, :1], atol=1e-10)


def test_bengio_orders_new_points_along_the_arc():
    X = arc()
    embedding = Isomap(n_components=1).fit(X[::2])
    Z = Nystrom().fit(X[::2], embedding.embedding_, embedding=embedding).transform(X[1::2])[:, 0]
    assert abs(np.corrcoef(Z, np.arctan2(X[1::2, 1], X[1::2, 0]))[0, 1]) > 0.99


def test_gaussian_form_is_a_weighted_mean():
    X = arc()
    random = np.random.default_rng(1)
    Y, X_new = random.standard_normal((80, 2)), random.standard_normal((5, 3))
    K = np.exp(-np.sum((X_new[:, None] - X) ** 2, axis=2) / 0.3**2)
    expected = K @ Y / K.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Nystrom(sigma=0.3).fit(X, Y).transform(X_new), expected)


def test_gaussian_form_for_a_supervised_embedding_with_and_without_eigenvalues():
    X = arc()
    y = np.repeat([0, 1], 40)
    embedding = SupervisedLaplacian(n_components=2).fit(X, y)
    Y = embedding.embedding_
    plain = Nystrom().fit(X, Y, y, embedding=embedding)
    divided = Nystrom(divide=True).fit(X, Y, y, embedding=embedding)
    np.testing.assert_allclose(divided.transform(X), plain.transform(X) / embedding.eigenvalues_)
    with pytest.raises(ValueError, match="SupervisedLaplacian has no kernel for new points"):
        Nystrom(kernel="embedding").fit(X, Y, y, embedding=embedding)


def test_wrong_use():
    X = arc()
    embedding = KPCA(n_components=2).fit(X)
    with pytest.raises(ValueError, match="no embedding has no kernel"):
        Nystrom(kernel="embedding").fit(X, embedding.embedding_)
    with pytest.raises(ValueError, match="divide=True needs a fitted embedding"):
        Nystrom(divide=True).fit(X, embedding.embedding_)
    with pytest.raises(ValueError, match="not the coordinates of the embedding"):
        Nystrom().fit(X[::-1], embedding.embedding_[::-1], embedding=embedding)
    assert Nystrom.supports(LTSA)


def test_far_points_take_the_nearest_coordinates():
    X = arc()
    Y = np.arange(80.0)[:, None]
    far = np.array([[100.0, 0.0, 0.0]])
    i = np.argmin(np.linalg.norm(X - far, axis=1))
    np.testing.assert_allclose(Nystrom(sigma=0.05).fit(X, Y).transform(far), [[i]], atol=1e-12)
