import numpy as np
import pytest
from scipy import linalg
from sklearn.manifold import SpectralEmbedding

from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.numerics.components import DisconnectedGraph
from manifold_oos.numerics.eigen import AmbiguousEigenvectors
from manifold_oos.numerics.graphs import knn_weights, l1_weights

# A complete graph with equal weights has a single eigenvalue: any coordinates solve it.
GRAPHS = [("knn", True), ("knn", False), ("ball", True), ("ball", False), ("full", True), ("kernel", True)]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.uniform(size=(60, 2)) @ rng.standard_normal((2, 5)) + 0.02 * rng.standard_normal((60, 5))


def literal(W, d):
    """Eq. 3–5 of the sparse-coding paper for a given weight matrix."""
    D = np.diag(W.sum(axis=1))
    values, Z = linalg.eigh(D - W, D)
    return values[1 : d + 1], Z[:, 1 : d + 1]


def assert_same_up_to_sign(A, B, atol=1e-7):
    scale = np.abs(B).max(axis=0)
    np.testing.assert_allclose(np.abs(A) / scale, np.abs(B) / scale, atol=atol)


def weights(X, graph, heat):
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    n = len(X)
    beta = squared.sum() / (n * (n - 1))
    W = np.exp(-squared / beta) if heat else np.ones((n, n))
    np.fill_diagonal(W, 0)
    if graph == "knn":
        order = np.argsort(squared + np.diag(np.full(n, np.inf)), axis=1)[:, :6]
        edges = np.zeros((n, n), dtype=bool)
        np.put_along_axis(edges, order, True, axis=1)
        W[~(edges | edges.T)] = 0
    elif graph == "ball":
        W[squared > 0.8**2] = 0
    elif graph == "kernel":
        np.fill_diagonal(W, 1)
    return W


@pytest.mark.parametrize(("graph", "heat"), GRAPHS)
def test_matches_the_equations(points, graph, heat):
    embedding = LaplacianEigenmaps(
        3, graph=graph, n_neighbors=6, radius=0.8, weights="heat" if heat else "binary"
    ).fit(points)
    W = weights(points, graph, heat)
    values, Z = literal(W, 3)
    np.testing.assert_allclose(embedding.eigenvalues_, values, atol=1e-10)
    assert_same_up_to_sign(embedding.embedding_, Z)
    D = W.sum(axis=1)
    np.testing.assert_allclose(embedding.degrees_, D)
    np.testing.assert_allclose(embedding.embedding_.T * D @ embedding.embedding_, np.eye(3), atol=1e-10)


def test_l1_graph_uses_the_absolute_codes():
    X = np.random.default_rng(1).standard_normal((30, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    embedding = LaplacianEigenmaps(2, graph="l1").fit(X)
    values, Z = literal(l1_weights(X).toarray(), 2)
    np.testing.assert_allclose(embedding.eigenvalues_, values, atol=1e-10)
    assert_same_up_to_sign(embedding.embedding_, Z)
    assert embedding.sigma_ is None
    assert embedding.extension_kernel(X[:3] + 0.01).shape == (3, 30)


def test_large_graph_matches_scikit_learn_on_the_same_weights():
    X = np.random.default_rng(2).uniform(size=(500, 2))
    ours = LaplacianEigenmaps(2, n_neighbors=8, weights="binary").fit(X)
    theirs = SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(knn_weights(X, 8).toarray())
    correlation = np.abs(np.diag(np.corrcoef(ours.embedding_.T, theirs.T)[:2, 2:]))
    np.testing.assert_allclose(correlation, 1, atol=1e-4)


@pytest.mark.parametrize(("graph", "heat"), GRAPHS)
def test_nystrom_formula_returns_training_coordinates(points, graph, heat):
    weight = "heat" if heat else "binary"
    embedding = LaplacianEigenmaps(2, graph=graph, n_neighbors=6, radius=0.8, weights=weight).fit(points)
    kernel = embedding.extension_kernel(points)
    np.testing.assert_allclose(kernel.sum(axis=1), 1)
    np.testing.assert_allclose(
        kernel @ embedding.embedding_ / embedding.extension_eigenvalues_, embedding.embedding_, atol=1e-8
    )


def test_nystrom_formula_with_the_symmetric_kernel_is_the_same(points):
    embedding = LaplacianEigenmaps(2, graph="full").fit(points[:50])
    new = points[50:]
    W = np.exp(-((new[:, None] - points[:50]) ** 2).sum(axis=2) / embedding.sigma_**2)
    S, degree = W.sum(axis=1, keepdims=True), embedding.degrees_
    v = np.sqrt(degree)[:, None] * embedding.embedding_
    bengio = (W / np.sqrt(S * degree)) @ v / embedding.extension_eigenvalues_ / np.sqrt(S)
    ours = embedding.extension_kernel(new) @ embedding.embedding_ / embedding.extension_eigenvalues_
    np.testing.assert_allclose(ours, bengio, atol=1e-12)


@pytest.mark.parametrize("graph", ["knn", "ball", "full"])
def test_far_points_still_have_a_kernel(points, graph):
    embedding = LaplacianEigenmaps(2, graph=graph, sigma=0.3, radius=1.0).fit(points)
    kernel = embedding.extension_kernel(points[:1] + 1e3)
    np.testing.assert_allclose(kernel.sum(), 1)


def test_disconnected_graphs_are_joined_or_refused(points):
    X = np.vstack([points, points + 30])
    with pytest.warns(DisconnectedGraph, match="2 components"):
        embedding = LaplacianEigenmaps(1, n_neighbors=5).fit(X)
    first, second = embedding.embedding_[:60, 0], embedding.embedding_[60:, 0]
    assert first.max() < second.min() or second.max() < first.min()
    assert embedding.eigenvalues_[0] > 0
    with pytest.raises(ValueError, match="2 components"):
        LaplacianEigenmaps(1, n_neighbors=5, disconnected="error").fit(X)
    with pytest.raises(ValueError, match="sigma"), pytest.warns(DisconnectedGraph):
        LaplacianEigenmaps(1, n_neighbors=5, sigma=0.5).fit(X)


def test_complete_graph_with_equal_weights_is_ambiguous(points):
    with pytest.warns(AmbiguousEigenvectors):
        embedding = LaplacianEigenmaps(2, graph="full", weights="binary").fit(points)
    np.testing.assert_allclose(embedding.eigenvalues_, 60 / 59)


def test_as_many_coordinates_as_points_less_one_are_the_whole_problem(points):
    embedding = LaplacianEigenmaps(59, graph="full").fit(points)
    W = weights(points, "full", True)
    np.testing.assert_allclose(embedding.eigenvalues_, literal(W, 59)[0], atol=1e-10)
    with pytest.raises(ValueError, match="n_components"):
        LaplacianEigenmaps(60, graph="full").fit(points)


def test_zero_samples_have_no_codes_but_a_joined_l1_graph():
    X = np.vstack([np.eye(6), np.zeros((2, 6))])
    with pytest.warns(DisconnectedGraph):
        embedding = LaplacianEigenmaps(1, graph="l1").fit(X)
    assert np.isfinite(embedding.embedding_).all()
