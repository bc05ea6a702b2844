"""LDA against scikit-learn, LFDA and LDE against literal transcriptions, all of them for D > N too."""

import numpy as np
import pytest
from scipy import linalg
from scipy.spatial.distance import pdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from manifold_oos.embeddings import discriminant
from manifold_oos.embeddings.discriminant import LDA, LDE, LFDA
from manifold_oos.numerics.shared import Kept, sharing

METHODS = [LDA, LFDA, LDE]


def blobs(sizes=(14, 11, 15, 10), D=6, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    scale = random.uniform(0.5, 2, D)
    return (1.5 * random.standard_normal((len(sizes), D))[y] + random.standard_normal((len(y), D))) * scale, y


def scatter(X, W):
    """½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ, pair by pair."""
    S = np.zeros((X.shape[1],) * 2)
    for i in range(len(X)):
        for j in range(len(X)):
            S += W[i, j] / 2 * np.outer(X[i] - X[j], X[i] - X[j])
    return S


def literal_scatters(method, X, y):
    """S_b and S_w in the space of the features."""
    N = len(X)
    W_b, W_w = np.zeros((N, N)), np.zeros((N, N))
    if method is LDA:
        for i in range(N):
            for j in range(N):
                n_c = np.sum(y == y[i])
                W_w[i, j] = (y[i] == y[j]) / n_c / N
                W_b[i, j] = (1 / N - (y[i] == y[j]) / n_c) / N
    elif method is LFDA:
        scale = np.zeros(N)
        for i in range(N):
            distances = np.sort([np.linalg.norm(X[i] - X[j]) for j in range(N) if y[j] == y[i] and j != i])
            scale[i] = distances[min(7, len(distances)) - 1] if len(distances) else 0
        for i in range(N):
            for j in range(N):
                if y[i] == y[j]:
                    local = scale[i] * scale[j]
                    A = np.exp(-np.sum((X[i] - X[j]) ** 2) / local) if local > 0 else 0
                    n_c = np.sum(y == y[i])
                    W_w[i, j], W_b[i, j] = A / n_c, A * (1 / N - 1 / n_c)
                else:
                    W_b[i, j] = 1 / N
    else:
        beta = np.mean(pdist(X, "sqeuclidean"))
        for W, same, k in ((W_w, True, 5), (W_b, False, 20)):
            for i in range(N):
                others = [j for j in range(N) if j != i and (y[j] == y[i]) == same]
                others.sort(key=lambda j: np.sum((X[i] - X[j]) ** 2))
                for j in others[:k]:
                    W[i, j] = W[j, i] = np.exp(-np.sum((X[i] - X[j]) ** 2) / beta)
    return scatter(X, W_b), scatter(X, W_w)


def metric(method, values):
    return np.sqrt(values) if method is LFDA else np.ones_like(values)


def assert_same_up_to_sign(A, B, tolerance):
    scale = np.abs(B).max(axis=0)
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)) / scale, B / scale, atol=tolerance)


def test_lda_is_that_of_scikit_learn():
    X, y = blobs()
    oracle = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    for d in (1, 2, 3):
        model = LDA(d, regularization="pinv", rcond=0).fit(X, y)
        assert_same_up_to_sign(model.coef_, oracle.scalings_[:, :d], 1e-9)
        shifted = oracle.transform(X)[:, :d]
        assert_same_up_to_sign(model.transform(X), shifted - shifted.mean(axis=0), 1e-9)
    assert LDA().fit(X, y).embedding_.shape == (len(X), 3)


@pytest.mark.parametrize("method", METHODS)
def test_more_samples_than_features(method):
    X, y = blobs()
    S_b, S_w = literal_scatters(method, X, y)
    values, vectors = linalg.eigh(S_b, S_w)
    values, vectors = values[::-1][:3], vectors[:, ::-1][:, :3]
    model = method(3, regularization="pinv", rcond=0).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert_same_up_to_sign(model.coef_, vectors * metric(method, values), 1e-7)
    np.testing.assert_allclose(model.embedding_, (X - X.mean(axis=0)) @ model.coef_, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_pseudo_inverse_with_more_features_than_samples(method):
    X, y = blobs((6, 5, 7), D=40)
    rcond = 0.05
    S_b, S_w = literal_scatters(method, X, y)
    values, vectors = np.linalg.eig(np.linalg.pinv(S_w, rcond=rcond, hermitian=True) @ S_b)
    order = np.argsort(-values.real)[:2]
    values, vectors = values.real[order], vectors.real[:, order]
    vectors /= np.sqrt(np.sum(vectors * (S_w @ vectors), axis=0))
    model = method(2, regularization="pinv", rcond=rcond).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-7)
    assert_same_up_to_sign(model.coef_, vectors * metric(method, values), 1e-6)
    larger = method(2, regularization="pinv", rcond=0.3).fit(X, y)
    assert larger.eigenvalues_[0] < model.eigenvalues_[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_ridge_with_more_features_than_samples(method, ridge):
    X, y = blobs((6, 5, 7), D=40)
    S_b, S_w = literal_scatters(method, X, y)
    span = len(X) - 1
    values, vectors = linalg.eigh(S_b, S_w + ridge * np.trace(S_w) / span * np.eye(40))
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    model = method(2, ridge=ridge).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert_same_up_to_sign(model.coef_, vectors * metric(method, values), 1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("regularization", ["ridge", "pinv"])
def test_units_do_not_matter(method, regularization):
    X, y = blobs((6, 5, 7), D=40)
    first = method(2, regularization=regularization, rcond=1e-3).fit(X, y)
    second = method(2, regularization=regularization, rcond=1e-3).fit(1000 * X + 5, y)
    scale = np.linalg.norm(second.embedding_) / np.linalg.norm(first.embedding_)
    np.testing.assert_allclose(second.embedding_ / scale, first.embedding_, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_nested_across_eigen_gaps(method):
    X, y = blobs()
    large = method(3).fit(X, y)
    assert (-np.diff(large.eigenvalues_) > 1e-3 * large.eigenvalues_[0]).all()
    for d in (1, 2):
        np.testing.assert_allclose(method(d).fit(X, y).embedding_, large.embedding_[:, :d], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_duplicates_constant_features_and_strings(method):
    X, y = blobs()
    X[:, 2] = 4.0
    X[1] = X[0]
    X[3] = X[0]
    words = np.array(["ape", "bee", "cat", "dog"])[y]
    model = method(2).fit(X, words)
    np.testing.assert_array_equal(model.embedding_, method(2).fit(X, y).embedding_)
    np.testing.assert_allclose(model.coef_[2], 0, atol=1e-12)
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[1], atol=1e-12)


def test_lfda_of_a_class_of_duplicates():
    X, y = blobs()
    X[y == 0] = X[0]
    S_b, S_w = literal_scatters(LFDA, X, y)
    values = linalg.eigh(S_b, S_w, eigvals_only=True)[::-1]
    model = LFDA(2, regularization="pinv", rcond=0).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("regularization", ["ridge", "pinv"])
def test_classes_of_duplicates_alone(regularization, seed):
    """Neighbours within a class are identical: S_w is zero up to rounding, of either sign."""
    X = np.repeat(np.random.default_rng(seed).standard_normal((6, 5)), 12, axis=0)
    y = np.repeat([0, 1, 2, 0, 1, 2], 12)
    for model in (LDE(2, n_neighbors=5), LFDA(2, n_neighbors=5)):
        with pytest.raises(ValueError, match="within-class scatter is zero"):
            model.set_params(regularization=regularization).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("regularization", ["ridge", "pinv"])
def test_impossible_problems(method, regularization):
    X, y = blobs()
    model = method(2, regularization=regularization)
    with pytest.raises(ValueError, match="one sample per class"):
        model.fit(X[:4], np.array(list("abcd")))
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="identical"):
        model.fit(np.ones_like(X), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match=r"leave \d: lower n_components"):
        method(7, regularization=regularization).fit(X, y)


def test_lda_has_one_dimension_fewer_than_classes():
    X, y = blobs()
    with pytest.raises(ValueError, match="4 classes leave 3"):
        LDA(4).fit(X, y)


def test_sharing_changes_no_number_and_makes_scatters_once_per_method(monkeypatch):
    X, y = blobs((6, 5, 7), D=40)
    settings = [{"regularization": "pinv", "rcond": rcond} for rcond in (1e-15, 1e-6, 0.3)]
    settings += [{"ridge": ridge} for ridge in (0.01, 1.0)]
    requests = [(method, setting) for method in METHODS for setting in settings]
    alone = [method(**setting).fit(X, y) for method, setting in requests]
    made = []
    real = discriminant._Spectrum
    monkeypatch.setattr(discriminant, "_Spectrum", lambda *arguments: made.append(1) or real(*arguments))
    for order in (1, -1):
        with sharing(Kept()):
            together = [method(**setting).fit(X, y) for method, setting in requests[::order]][::order]
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one.embedding_, other.embedding_)
            np.testing.assert_array_equal(one.eigenvalues_, other.eigenvalues_)
            other.mean_[:], other.coef_[:], other.eigenvalues_[:] = 0, 0, 0
    assert len(made) == 2 * len(METHODS)
