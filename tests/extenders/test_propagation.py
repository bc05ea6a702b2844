"""GOM: the minimum of tr(YᵀMY) with known rows fixed, and what transductive extenders refuse."""

import pickle

import numpy as np
import pytest

from manifold_oos.embeddings.local_alignment import LLE, LTSA, LocalSplineEmbedding
from manifold_oos.extenders.cp import CoordinatePropagation
from manifold_oos.extenders.gom import GlobalOptimization
from manifold_oos.numerics.alignment import laplacian_alignment, lle_alignment, ltsa_alignment, spline_alignment

ALIGNMENTS = {
    "lle": lambda X, k: lle_alignment(X, k),
    "ltsa": lambda X, k: ltsa_alignment(X, k, 2),
    "spline": lambda X, k: spline_alignment(X, k, 2),
    "laplacian": lambda X, k: laplacian_alignment(X, k),
}


@pytest.mark.parametrize("solver", ["factorization", "cg"])
@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_gom_solves_the_normal_equations(alignment, solver, sheet):
    X, Y, X_new, _ = sheet()
    gom = GlobalOptimization(alignment, n_neighbors=9, solver=solver).fit(X, Y, X_new=X_new)
    M = ALIGNMENTS[alignment](np.vstack([X, X_new]), 9).toarray()
    expected = -np.linalg.solve(M[40:, 40:], M[40:, :40] @ Y)
    np.testing.assert_allclose(gom.new_embedding_, expected, atol=1e-6)
    assert gom.residual_ < 1e-8


@pytest.mark.parametrize(
    ("embedding", "alignment", "least"),
    [
        (LLE, "lle", 0.99),
        (LTSA, "ltsa", 0.998),
        (LocalSplineEmbedding, "spline", 0.998),
        (LocalSplineEmbedding, "lle", 0.99),
    ],
)
def test_gom_extends_half_an_s_surface(embedding, alignment, least, half_surface, similarity):
    X, X_new, truth = half_surface()
    Y = embedding(n_components=2, n_neighbors=12).fit(X).embedding_
    gom = GlobalOptimization(alignment, n_neighbors=12).fit(X, Y, X_new=X_new)
    assert similarity(np.vstack([Y, gom.new_embedding_]), truth) > least


def test_laplacian_cannot_extrapolate(half_surface):
    X, X_new, truth = half_surface()
    gom = GlobalOptimization("laplacian", n_neighbors=12).fit(X, truth[:600], X_new=X_new)
    assert (gom.new_embedding_ >= truth[:600].min(axis=0) - 1e-6).all()
    assert (gom.new_embedding_ <= truth[:600].max(axis=0) + 1e-6).all()


@pytest.mark.parametrize("cls", [GlobalOptimization, CoordinatePropagation])
def test_in_fill_is_nearly_exact(cls, sheet):
    X, Y, X_new, Y_new = sheet(300)
    fitted = cls(n_neighbors=12).fit(X, Y, X_new=X_new)
    assert np.sqrt(np.mean((fitted.new_embedding_ - Y_new) ** 2)) < 0.02


@pytest.mark.parametrize("cls", [GlobalOptimization, CoordinatePropagation])
class TestTransductive:
    def test_answers_for_points_of_fit_only(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        fitted = cls().fit(X, Y, X_new=X_new)
        np.testing.assert_array_equal(fitted.transform(X), Y)
        np.testing.assert_array_equal(fitted.transform(X_new[::-1]), fitted.new_embedding_[::-1])
        with pytest.raises(ValueError, match="1 of 3 points were seen by fit neither as X nor as X_new"):
            fitted.transform(np.vstack([X[:2], X[2:3] + 1e-9]))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X_new), fitted.new_embedding_)

    def test_without_new_points(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        fitted = cls().fit(X, Y)
        assert fitted.new_embedding_.shape == (0, 2)
        np.testing.assert_array_equal(fitted.transform(X), Y)
        with pytest.raises(ValueError, match="transductive"):
            fitted.transform(X_new)

    def test_unlabelled_rows_are_new_points(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        plain = cls().fit(X, Y, X_new=X_new)
        y = np.r_[np.zeros(40), np.full(20, -1)]
        marked = cls().fit(np.vstack([X, X_new]), np.vstack([Y, np.full((20, 2), np.nan)]), y)
        np.testing.assert_array_equal(marked.new_embedding_, plain.new_embedding_)

    def test_new_points_that_repeat_known_and_new_ones(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        plain = cls().fit(X, Y, X_new=X_new)
        repeated = cls().fit(X, Y, X_new=np.vstack([X_new, X_new[:3], X[:2]]))
        np.testing.assert_allclose(
            repeated.new_embedding_, np.vstack([plain.new_embedding_, plain.new_embedding_[:3], Y[:2]])
        )

    def test_repeated_training_points_share_the_mean(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        fitted = cls().fit(np.vstack([X, X[:1]]), np.vstack([Y, Y[:1] + 0.2]), X_new=X_new)
        np.testing.assert_allclose(fitted.transform(X[:1]), Y[:1] + 0.1)
        assert np.isfinite(fitted.new_embedding_).all()

    def test_negative_zero_is_zero(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        X[0, 0] = 0.0
        fitted = cls().fit(X, Y, X_new=X_new)
        np.testing.assert_array_equal(fitted.transform([[-0.0, *X[0, 1:]]]), Y[:1])

    def test_too_few_neighbours_and_points_are_clear_errors(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        with pytest.raises(ValueError, match="needs n_neighbors >= 3"):
            cls(alignment="ltsa", n_neighbors=2).fit(X, Y, X_new=X_new)
        with pytest.raises(ValueError, match="lower n_neighbors"):
            cls(n_neighbors=60).fit(X, Y, X_new=X_new)

    def test_two_separate_pieces_are_joined_with_a_warning(self, cls, sheet):
        X, Y, X_new, _ = sheet()
        with pytest.warns(UserWarning):
            fitted = cls(alignment="lle", n_neighbors=9).fit(X, Y, X_new=X_new + 5)
        assert np.isfinite(fitted.new_embedding_).all()


def test_new_points_that_nothing_ties_are_a_clear_error(monkeypatch, sheet):
    X, Y, X_new, _ = sheet()
    gom = GlobalOptimization("lle")
    monkeypatch.setattr(gom, "_alignment", lambda points, d: lle_alignment(points, 8) * 0)
    with pytest.raises(ValueError, match="not tied to the known ones"):
        gom.fit(X, Y, X_new=X_new)
