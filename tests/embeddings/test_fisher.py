"""The Fisher embedding against a literal transcription of its ratio."""

import numpy as np
import pytest
from samples import blobs, literal_laplacian
from scipy import linalg

from manifold_oos.embeddings.fisher import FisherEmbedding


def regularised(L_w, ridge):
    return L_w + ridge * np.trace(L_w) / len(L_w) * np.eye(len(L_w))


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("ridge", [1e-3, 1e-1])
def test_sosi_eq_2(d, ridge):
    X, y = blobs()
    L_w, L_b = literal_laplacian(X, y, 5, True), literal_laplacian(X, y, 5, False)
    values, vectors = linalg.eigh(L_b, regularised(L_w, ridge))
    values, vectors = values[::-1][:d], vectors[:, ::-1][:, :d]
    model = FisherEmbedding(d, ridge=ridge).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    Y = model.embedding_
    np.testing.assert_allclose(Y * np.sign(np.sum(Y * vectors, axis=0)), vectors, atol=1e-7 * np.abs(Y).max())


def test_no_direction_has_a_larger_ratio():
    X, y = blobs()
    L_w, L_b = literal_laplacian(X, y, 5, True), literal_laplacian(X, y, 5, False)
    B = regularised(L_w, 1e-3)
    best = FisherEmbedding(1).fit(X, y)
    z = best.embedding_[:, 0]
    top = z @ L_b @ z / (z @ B @ z)
    assert top == pytest.approx(best.eigenvalues_[0], rel=1e-9)
    random = np.random.default_rng(0)
    trials = z[:, None] + 0.1 * random.standard_normal((len(z), 200))
    ratios = np.sum(trials * (L_b @ trials), axis=0) / np.sum(trials * (B @ trials), axis=0)
    assert ratios.max() < top


def test_first_coordinates_are_constant_on_classes():
    X, y = blobs()
    Y = FisherEmbedding(3, ridge=1e-6).fit(X, y).embedding_
    spread = np.array([max(np.ptp(Y[y == c, k]) for c in range(3)) for k in range(3)])
    size = np.linalg.norm(Y, axis=0)
    assert (spread[:2] < 1e-3 * size[:2]).all()
    assert spread[2] > 0.1 * size[2]
    assert size[2] < 0.01 * size[1]


def test_nested_across_eigen_gaps():
    X, y = blobs()
    large = FisherEmbedding(6).fit(X, y)
    cuts = np.flatnonzero(-np.diff(large.eigenvalues_) > 1e-3 * large.eigenvalues_[0]) + 1
    assert len(cuts) >= 2
    for d in cuts:
        np.testing.assert_allclose(FisherEmbedding(int(d)).fit(X, y).embedding_, large.embedding_[:, :d], atol=1e-8)


def test_a_class_of_one_is_fine_but_not_all_of_them():
    X, y = blobs()
    y[3] = 7
    assert np.isfinite(FisherEmbedding(3).fit(X, y).embedding_).all()
    with pytest.raises(ValueError, match="single sample"):
        FisherEmbedding(1).fit(X[:4], np.array(list("abcd")))


def test_duplicates_and_strings():
    X, y = blobs()
    X[1] = X[0]
    words = np.array(["cat", "dog", "eel"])[y]
    np.testing.assert_array_equal(
        FisherEmbedding(2).fit(X, words).embedding_, FisherEmbedding(2).fit(X, y).embedding_
    )


def test_bad_input():
    X, y = blobs()
    with pytest.raises(ValueError, match="NaN"):
        FisherEmbedding().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="identical"):
        FisherEmbedding().fit(np.ones_like(X), y)
    with pytest.raises(ValueError, match="lower n_components"):
        FisherEmbedding(len(X)).fit(X, y)
    with pytest.raises(ValueError, match="ridge"):
        FisherEmbedding(ridge=0).fit(X, y)
