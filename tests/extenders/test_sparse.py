"""Sparse-coding extender against a literal transcription of eq. 9–13."""

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.optimize import linprog

from manifold_oos.extenders.sparse import SparseExtender


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


def test_real_faces_within_a_thousandth_of_highs(data_dir):
    raw = loadmat(data_dir / "ORL_32x32.mat")["fea"].astype(float)
    random = np.random.default_rng(0)
    X = unit_rows(raw[random.permutation(400)] @ random.standard_normal((1024, 200)))
    Y = random.standard_normal((280, 50))
    fast = SparseExtender().fit(X[:280], Y).transform(X[280:300])
    exact = SparseExtender(solver="highs").fit(X[:280], Y).transform(X[280:300])
    np.testing.assert_allclose(fast, exact, atol=1e-3 * np.abs(Y).max())


def test_equal_training_points_count_once_with_their_mean():
    X, Y, X_new = data()
    twice = SparseExtender().fit(np.vstack([X, X[:5]]), np.vstack([Y, Y[:5] + 2]))
    Y[:5] += 1
    np.testing.assert_allclose(twice.transform(X_new), SparseExtender().fit(X, Y).transform(X_new), atol=1e-9)


def test_a_point_without_a_code_goes_to_the_mean():
    X, Y, _ = data()
    np.testing.assert_allclose(SparseExtender().fit(X, Y).transform(np.zeros((1, 8))), [Y.mean(axis=0)])


def test_outside_the_span_without_error_term_is_a_clear_error():
    X, Y, X_new = data(n=5)
    with pytest.raises(ValueError, match="not in the span of the 5 atoms in 8 dimensions"):
        SparseExtender(error=False).fit(X, Y).transform(X_new)


def test_linear_in_the_coordinates():
    X, Y, X_new = data()
    plain = SparseExtender().fit(X, Y).transform(X_new)
    np.testing.assert_allclose(SparseExtender().fit(X, 2 * Y + 1).transform(X_new), 2 * plain + 1, atol=1e-9)
