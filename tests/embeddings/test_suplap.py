"""Supervised Laplacian eigenmaps against literal transcriptions and the closed form of its spectrum."""

import numpy as np
import pytest
from samples import blobs, literal_weights
from scipy import linalg
from scipy.spatial.distance import pdist

from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.numerics.eigen import AmbiguousEigenvectors
from manifold_oos.numerics.graphs import laplacian, within_class_weights


def lap(W):
    return np.diag(W.sum(axis=1)) - W


def assert_same_up_to_sign(A, B, tolerance=1e-8):
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, atol=tolerance)


def without_constant(values, vectors):
    """Eigenpairs whose vector is not constant."""
    varies = np.ptp(vectors, axis=0) > 1e-6
    assert (~varies).sum() == 1
    return values[varies], vectors[:, varies]


def test_within_class_laplacian_of_a_hand_made_graph():
    # Class a at 0, 1, 3 on a line and class b at 10, 11: with one neighbour each, 0–1, 1–3 and 10–11 are joined.
    X = np.array([[0.0], [1.0], [3.0], [10.0], [11.0]])
    L, degree = laplacian(within_class_weights(X, np.array(list("aaabb")), 1))
    expected = [[1, -1, 0, 0, 0], [-1, 2, -1, 0, 0], [0, -1, 1, 0, 0], [0, 0, 0, 1, -1], [0, 0, 0, -1, 1]]
    np.testing.assert_array_equal(L.toarray(), expected)
    np.testing.assert_array_equal(degree, [1, 2, 1, 1, 1])


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("mu", [0.01, 1.0])
def test_sosi_eq_1(d, mu):
    X, y = blobs()
    W_w, W_b = literal_weights(X, y, 5, True), literal_weights(X, y, 5, False)
    D_w = np.diag(W_w.sum(axis=1))
    values, vectors = without_constant(*linalg.eigh(lap(W_w) - mu * lap(W_b), D_w))
    model = SupervisedLaplacian(d, mu=mu).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[:d], atol=1e-10)
    assert_same_up_to_sign(model.embedding_, vectors[:, :d])
    np.testing.assert_allclose(model.embedding_.T @ D_w @ model.embedding_, np.eye(d), atol=1e-9)


def test_sosi_contrasts_come_first_and_the_constant_never():
    X, y = blobs()
    model = SupervisedLaplacian(4).fit(X, y)
    assert (model.eigenvalues_[:2] < 0).all()
    assert (model.eigenvalues_[2:] > 0).all()
    contrasts = model.embedding_[:, :2]
    spread = max(np.ptp(contrasts[y == c], axis=0).max() for c in range(3))
    means = np.array([contrasts[y == c].mean(axis=0) for c in range(3)])
    assert spread < 0.3 * pdist(means).min()


def test_sosi_large_graph_takes_the_sparse_solver():
    X, y = blobs((120, 130, 100))
    W_w, W_b = literal_weights(X, y, 5, True), literal_weights(X, y, 5, False)
    values, _ = without_constant(*linalg.eigh(lap(W_w) - 0.01 * lap(W_b), np.diag(W_w.sum(axis=1))))
    np.testing.assert_allclose(SupervisedLaplacian(6).fit(X, y).eigenvalues_, values[:6], atol=1e-8)


@pytest.mark.parametrize("d", [2, 5, 12])
def test_nsse_eq_2(d):
    X, y = blobs()
    mu = 0.05
    W_b = (y[:, None] != y).astype(float)
    values, vectors = without_constant(*linalg.eigh(lap(literal_weights(X, y, 5, True)) - mu * lap(W_b)))
    model = SupervisedLaplacian(d, mu=mu, formulation="nsse").fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[:d], atol=1e-10)
    Y = model.embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(d), atol=1e-10)
    # The two contrasts share an eigenvalue: only the plane they span is determined.
    np.testing.assert_allclose(Y[:, :2] @ Y[:, :2].T, vectors[:, :2] @ vectors[:, :2].T, atol=1e-8)
    assert_same_up_to_sign(Y[:, 2:], vectors[:, 2:d], 1e-7)


@pytest.mark.parametrize("sizes", [(5, 9, 6, 7), (30,) * 20])
def test_nsse_spectrum_in_closed_form(sizes):
    """M − 1 contrasts at −μN, then λ − μ(N − n_c) for every non-zero eigenvalue λ of the class's own Laplacian."""
    X, y = blobs(sizes)
    N, M, mu = len(X), len(sizes), 0.01
    L_w = lap(literal_weights(X, y, 5, True))
    inner = [np.linalg.eigvalsh(L_w[y == c][:, y == c])[1:] - mu * (N - n) for c, n in enumerate(sizes)]
    expected = np.sort(np.concatenate([np.full(M - 1, -mu * N), *inner]))[: M + 3]
    values = SupervisedLaplacian(M + 3, mu=mu, formulation="nsse").fit(X, y).eigenvalues_
    np.testing.assert_allclose(values, expected, atol=1e-9)


def test_nsse_warns_of_an_arbitrary_rotation():
    X, y = blobs()
    with pytest.warns(AmbiguousEigenvectors, match="n_components"):
        SupervisedLaplacian(1, formulation="nsse").fit(X, y)


def test_nested_across_eigen_gaps():
    X, y = blobs()
    large = SupervisedLaplacian(8).fit(X, y)
    gaps = np.diff(large.eigenvalues_)
    cuts = np.flatnonzero(gaps > 1e-3) + 1
    assert len(cuts) >= 3
    for d in cuts:
        small = SupervisedLaplacian(int(d)).fit(X, y).embedding_
        np.testing.assert_allclose(small, large.embedding_[:, :d], atol=1e-8)


def test_a_class_of_one_has_no_solution_with_d_w():
    X, y = blobs()
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    labels[7] = "lonely"
    with pytest.raises(ValueError, match=r"sample 7 of class lonely .*formulation='nsse'"):
        SupervisedLaplacian(2).fit(X, labels)
    assert SupervisedLaplacian(3, formulation="nsse").fit(X, labels).embedding_.shape == (len(X), 3)


def test_one_sample_per_class_is_a_simplex():
    X, _ = blobs((1, 1, 1, 1))
    Y = SupervisedLaplacian(3, formulation="nsse").fit(X, np.array(list("abcd"))).embedding_
    np.testing.assert_allclose(pdist(Y), np.sqrt(2), atol=1e-10)


def test_duplicates():
    X, y = blobs()
    X[1] = X[0]
    for formulation in ("sosi", "nsse"):
        model = SupervisedLaplacian(2, formulation=formulation).fit(X, y)
        assert np.isfinite(model.embedding_).all()
    W = within_class_weights(X, y, 5, np.sqrt(np.mean(pdist(X, "sqeuclidean")))).toarray()
    assert W[0, 1] == pytest.approx(1, abs=1e-12)


def test_labels_may_be_strings():
    X, y = blobs()
    words = np.array(["cat", "dog", "eel"])[y]
    np.testing.assert_array_equal(
        SupervisedLaplacian(2).fit(X, words).embedding_, SupervisedLaplacian(2).fit(X, y).embedding_
    )


@pytest.mark.parametrize("formulation", ["sosi", "nsse"])
def test_bad_input(formulation):
    X, y = blobs()
    model = SupervisedLaplacian(2, formulation=formulation)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="identical"):
        model.fit(np.ones_like(X), y)
    with pytest.raises(ValueError, match="lower n_components"):
        SupervisedLaplacian(len(X), formulation=formulation).fit(X, y)
    with pytest.raises(ValueError, match="mu"):
        SupervisedLaplacian(mu=0).fit(X, y)
