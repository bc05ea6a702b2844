"""IsoKRR against scikit-learn's Isomap and kernel ridge regression on literal dissimilarities."""

import numpy as np
import pytest
from samples import blobs
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import Isomap

from manifold_oos.embeddings.iso_krr import IsoKRR
from manifold_oos.numerics.components import DisconnectedGraph


def literal_dissimilarities(X, y, beta, alpha):
    N = len(X)
    delta = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            d2 = np.sum((X[i] - X[j]) ** 2)
            delta[i, j] = np.sqrt(1 - np.exp(-d2 / beta)) if y[i] == y[j] else np.sqrt(np.exp(d2 / beta)) - alpha
    return delta


def assert_same_up_to_sign(A, B, tolerance):
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, atol=tolerance)


@pytest.mark.parametrize(("k", "beta", "alpha"), [(None, 10, 0.5), (20, 10, 0.5), (16, 1.0, 0.2), (None, 0.5, 0.0)])
def test_coordinates_are_isomap_of_the_dissimilarities(k, beta, alpha):
    X, y = blobs(apart=1.0)
    delta = literal_dissimilarities(X, y, beta * np.mean(pdist(X, "sqeuclidean")), alpha)
    model = IsoKRR(3, n_neighbors=k, beta=beta, alpha=alpha).fit(X, y)
    oracle = Isomap(n_components=3, n_neighbors=k or len(X) - 1, metric="precomputed").fit(delta)
    assert_same_up_to_sign(model.embedding_, oracle.embedding_, 1e-8)


def test_map_is_kernel_ridge_regression():
    X, y = blobs(apart=1.0)
    new = np.random.default_rng(1).standard_normal((7, X.shape[1]))
    model = IsoKRR(2, sigma=1.7, ridge=0.02).fit(X, y)
    oracle = KernelRidge(kernel="rbf", gamma=1 / 1.7**2, alpha=0.02).fit(X, model.embedding_)
    np.testing.assert_allclose(model.transform(new), oracle.predict(new), atol=1e-10)


def test_units_do_not_matter():
    X, y = blobs(apart=1.0)
    np.testing.assert_allclose(
        IsoKRR(2).fit(100 * X, y).transform(100 * X[:5]), IsoKRR(2).fit(X, y).transform(X[:5]), atol=1e-9
    )


def test_classes_part():
    X, y = blobs(apart=1.0)
    Y = IsoKRR(2).fit(X, y).embedding_
    means = np.array([Y[y == c].mean(axis=0) for c in range(3)])
    spread = max(np.linalg.norm(Y[y == c] - means[c], axis=1).max() for c in range(3))
    assert spread < pdist(means).min() / 2


def test_disconnected_graph():
    X, y = blobs(apart=1.0)
    with pytest.raises(ValueError, match="3 components"):
        IsoKRR(2, n_neighbors=4, disconnected="error").fit(X, y)
    with pytest.warns(DisconnectedGraph, match="3 components"):
        model = IsoKRR(2, n_neighbors=4).fit(X, y)
    assert np.isfinite(model.embedding_).all()
    delta = literal_dissimilarities(X, y, 10 * np.mean(pdist(X, "sqeuclidean")), 0.5)
    graph = model._graph(delta.copy())
    between = [(i, j) for i, j in zip(*graph.nonzero(), strict=True) if y[i] != y[j]]
    assert len(between) == 2
    for i, j in between:
        assert graph[i, j] == pytest.approx(delta[np.ix_(y == y[i], y == y[j])].min())


def test_duplicates_and_one_sample_per_class():
    X, y = blobs(apart=1.0)
    X[1] = X[0]
    model = IsoKRR(2, n_neighbors=20).fit(X, y)
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[1], atol=1e-8)
    alone = IsoKRR(2).fit(X[::10], np.array(list("abcd")))
    assert np.isfinite(alone.transform(X)).all()


def test_labels_may_be_strings():
    X, y = blobs(apart=1.0)
    words = np.array(["cat", "dog", "eel"])[y]
    np.testing.assert_array_equal(IsoKRR(2).fit(X, words).embedding_, IsoKRR(2).fit(X, y).embedding_)


def test_nested_across_eigen_gaps():
    X, y = blobs(apart=1.0)
    large = IsoKRR(4).fit(X, y)
    cuts = np.flatnonzero(-np.diff(large.eigenvalues_) > 1e-3 * large.eigenvalues_[0]) + 1
    assert len(cuts) >= 2
    for d in cuts:
        small = IsoKRR(int(d)).fit(X, y)
        np.testing.assert_allclose(small.transform(X), large.transform(X)[:, :d], atol=1e-8)


def test_bad_input():
    X, y = blobs(apart=1.0)
    with pytest.raises(ValueError, match="NaN"):
        IsoKRR().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="identical"):
        IsoKRR().fit(np.ones_like(X), y)
    with pytest.raises(ValueError, match="n_neighbors=40"):
        IsoKRR(n_neighbors=40).fit(X, y)
    with pytest.raises(ValueError, match="n_components"):
        IsoKRR(len(X)).fit(X, y)
    with pytest.raises(ValueError, match="raise beta"):
        IsoKRR(beta=1e-4).fit(X, y)
