"""Sparse-coding extender against a literal transcription of eq. 9–13."""

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.optimize import linprog

from manifold_oos.extenders.sparse import SparseExtender
from manifold_oos.numerics import basis_pursuit as module
from manifold_oos.numerics import chunks
from manifold_oos.numerics.basis_pursuit import basis_pursuit
from manifold_oos.numerics.shared import Kept, sharing


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def data(n=30, D=8, n_new=6, seed=0):
    random = np.random.default_rng(seed)
    return (
        unit_rows(random.standard_normal((n, D))),
        random.standard_normal((n, 3)),
        random.standard_normal((n_new, D)),
    )


def literal(X, Y, x, error=True):
    """min ‖a'‖₁ s.t. [X I] a' = x, W_i = |a_i|, y = Σ W_i y_i / Σ W_i."""
    K = np.hstack([X.T, np.eye(X.shape[1])]) if error else X.T
    size = K.shape[1]
    result = linprog(np.ones(2 * size), A_eq=np.hstack([K, -K]), b_eq=x, bounds=(0, None), method="highs")
    W = np.abs(result.x[:size] - result.x[size:])[: len(X)]
    return W @ Y / W.sum()


@pytest.mark.parametrize("error", [True, False])
def test_equals_the_literal_formula(error):
    X, Y, X_new = data()
    expected = [literal(X, Y, x, error) for x in X_new]
    np.testing.assert_allclose(SparseExtender(error=error).fit(X, Y).transform(X_new), expected, atol=1e-7)


def test_training_points_of_unit_norm_keep_their_coordinates():
    X, Y, _ = data()
    np.testing.assert_allclose(SparseExtender().fit(X, Y).transform(X), Y, atol=1e-6)
    assert not SparseExtender.interpolates  # not for rows of other norms


def test_real_faces_within_a_thousandth_of_highs(data_dir, monkeypatch):
    raw = loadmat(data_dir / "ORL_32x32.mat")["fea"].astype(float)
    random = np.random.default_rng(0)
    X = unit_rows(raw[random.permutation(400)] @ random.standard_normal((1024, 200)))
    Y = random.standard_normal((280, 50))
    fast = SparseExtender().fit(X[:280], Y).transform(X[280:300])
    monkeypatch.setattr(module, "_simplex", module._highs)
    exact = SparseExtender().fit(X[:280], Y).transform(X[280:300])
    np.testing.assert_allclose(fast, exact, atol=1e-3 * np.abs(Y).max())


def test_equal_training_points_count_once_with_their_mean():
    X, Y, X_new = data()
    twice = SparseExtender().fit(np.vstack([X, X[:5]]), np.vstack([Y, Y[:5] + 2]))
    Y[:5] += 1
    np.testing.assert_allclose(twice.transform(X_new), SparseExtender().fit(X, Y).transform(X_new), atol=1e-9)


def test_a_point_without_a_code_goes_to_the_mean():
    X, Y, _ = data()
    np.testing.assert_allclose(SparseExtender().fit(X, Y).transform(np.zeros((1, 8))), [Y.mean(axis=0)])


@pytest.mark.parametrize("error", [True, False])
@pytest.mark.parametrize("factor", [1e-6, 1e-3, 0.1, 7.0, 255.0, 2550.0, 1e6])
def test_a_common_factor_of_the_data_changes_nothing(factor, error):
    random = np.random.default_rng(3)
    X, Y, X_new = random.standard_normal((40, 8)), random.standard_normal((40, 3)), random.standard_normal((20, 8))
    plain = SparseExtender(error=error).fit(X, Y).transform(X_new)
    scaled = SparseExtender(error=error).fit(factor * X, Y).transform(factor * X_new)
    np.testing.assert_allclose(scaled, plain, atol=1e-9)
    assert np.ptp(plain, axis=0).min() > 0.1  # not one constant


def test_points_of_unit_norm_are_coded_as_printed():
    X, Y, X_new = data(n=60)
    X_new = unit_rows(X_new)
    W = np.abs(basis_pursuit(X.T, X_new.T).coefficients.T)
    expected = W @ Y / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(SparseExtender().fit(X, Y).transform(X_new), expected, rtol=0, atol=1e-12)


def test_a_training_row_of_zeros_has_no_part():
    X, Y, X_new = data()
    X_more, Y_more = np.vstack([X, np.zeros((1, 8))]), np.vstack([Y, [[1e6, 1e6, 1e6]]])
    plain = SparseExtender(error=False).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(SparseExtender(error=False).fit(X_more, Y_more).transform(X_new), plain, atol=1e-7)
    # With the error term it only lowers the mean norm, in which the error is measured: still not its 1e6.
    assert np.abs(SparseExtender().fit(X_more, Y_more).transform(X_new)).max() < 100
    nothing = SparseExtender().fit(np.zeros((4, 8)), Y[:4]).transform(X_new)
    np.testing.assert_allclose(nothing, np.tile(Y[:4].mean(axis=0), (len(X_new), 1)))


def test_new_points_come_in_blocks_and_are_coded_once_in_a_trial(monkeypatch):
    X, Y, X_new = data(n_new=50)
    whole = SparseExtender().fit(X, Y).transform(X_new)
    sizes = []

    def counted(A, B, **options):
        sizes.append(B.shape[1])
        return basis_pursuit(A, B, **options)

    monkeypatch.setattr(module, "basis_pursuit", counted)
    monkeypatch.setattr(chunks, "BLOCK_FLOATS", 12 * 6 * (30 + 8))
    with sharing(Kept()):
        np.testing.assert_allclose(SparseExtender().fit(X, Y).transform(X_new), whole, atol=1e-12)
        np.testing.assert_allclose(SparseExtender().fit(X, 2 * Y).transform(X_new), 2 * whole, atol=1e-12)
    assert sizes == [12, 12, 12, 12, 2]


def test_outside_the_span_without_error_term_is_a_clear_error():
    X, Y, X_new = data(n=5)
    with pytest.raises(ValueError, match="not in the span of the 5 atoms in 8 dimensions"):
        SparseExtender(error=False).fit(X, Y).transform(X_new)


def test_linear_in_the_coordinates():
    X, Y, X_new = data()
    plain = SparseExtender().fit(X, Y).transform(X_new)
    np.testing.assert_allclose(SparseExtender().fit(X, 2 * Y + 1).transform(X_new), 2 * plain + 1, atol=1e-9)
