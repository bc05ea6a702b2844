"""Basis pursuit against HiGHS, its own certificates and problems with a known answer."""

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.optimize import linprog

from manifold_oos.datasets import load
from manifold_oos.numerics import basis_pursuit as module
from manifold_oos.numerics.basis_pursuit import basis_pursuit, sparse_codes
from manifold_oos.numerics.compiled import l1_simplex as kernel
from manifold_oos.numerics.shared import Kept, sharing


def unit(X):
    return X / np.linalg.norm(X, axis=0)


def faces(data_dir, seed=0, n_dimensions=200):
    """ORL faces as the sparse-coding paper prepares them: random projection, unit norm; one face per column."""
    X = loadmat(data_dir / "ORL_32x32.mat")["fea"].astype(float)
    random = np.random.default_rng(seed)
    X = X[random.permutation(len(X))] @ random.standard_normal((X.shape[1], n_dimensions))
    return unit(X.T)


def primal_by_linprog(A, b, error=True):
    """The problem as printed (eq. 10 and 13), without duality."""
    K = np.hstack([A, np.eye(len(A))]) if error else A
    result = linprog(np.ones(2 * K.shape[1]), A_eq=np.hstack([K, -K]), b_eq=b, bounds=(0, None), method="highs-ds")
    plus, minus = np.split(result.x, 2)
    return (plus - minus)[: A.shape[1]], result.fun


def check_certificate(A, B, result, error=True, gap=1e-6):
    a, e, v = result.coefficients, result.errors, result.dual
    np.testing.assert_allclose(A @ a + e, B, atol=1e-12)
    if not error:
        assert np.abs(e).max() <= 1e-8
    assert np.abs(A.T @ v).max() <= 1 + 1e-12
    if error:
        assert np.abs(v).max() <= 1 + 1e-12
    primal = np.abs(a).sum(axis=0) + (np.abs(e).sum(axis=0) if error else 0)
    np.testing.assert_allclose((B * v).sum(axis=0), primal, rtol=gap, atol=1e-14)
    assert (result.gap <= gap).all()


@pytest.mark.parametrize("shape", [(12, 40), (20, 20), (30, 7), (1, 5), (5, 1)])
def test_objective_and_code_equal_those_of_the_printed_problem(shape):
    random = np.random.default_rng(0)
    A = random.standard_normal(shape)
    B = random.standard_normal((shape[0], 20))
    result = basis_pursuit(A, B)
    check_certificate(A, B, result)
    assert not result.fallback.any()
    for j in range(5):
        a, objective = primal_by_linprog(A, B[:, j])
        assert np.abs(result.coefficients[:, j]).sum() + np.abs(result.errors[:, j]).sum() == pytest.approx(
            objective
        )
        np.testing.assert_allclose(result.coefficients[:, j], a, atol=1e-8)


def test_without_error_term():
    random = np.random.default_rng(1)
    A, B = random.standard_normal((15, 40)), random.standard_normal((15, 20))
    result = basis_pursuit(A, B, error=False)
    check_certificate(A, B, result, error=False)
    for j in range(5):
        np.testing.assert_allclose(
            result.coefficients[:, j], primal_by_linprog(A, B[:, j], error=False)[0], atol=1e-8
        )


def test_without_error_term_on_redundant_rows_and_large_scale():
    random = np.random.default_rng(2)
    A = 1e4 * random.standard_normal((4, 30))
    A = np.vstack([A, A[0] + A[1]])
    B = A @ random.standard_normal((30, 18))
    result = basis_pursuit(A, B, error=False)
    assert np.abs(result.errors).max() <= 1e-8 * np.abs(B).max()
    assert (result.gap <= 1e-6).all()


def test_a_vector_outside_the_span_is_refused_without_error_term():
    with pytest.raises(ValueError, match=r"1 of 2 vectors \(first: 1\) are not in the span"):
        basis_pursuit(np.eye(3)[:, :2], np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), error=False)
    with pytest.raises(ValueError, match="not in the span"):
        basis_pursuit(np.eye(3), np.eye(3), error=False, exclude_self=True)


def by_highs(A, B):
    """Codes by the exact solver that the simplex falls back on."""
    return module._highs(A, B, np.full(B.shape[1], -1), True)[0]


def test_real_faces_equal_highs(data_dir):
    faces_ = faces(data_dir)
    A, B = faces_[:, :280], faces_[:, 280:]
    result = basis_pursuit(A, B)
    check_certificate(A, B, result, gap=1e-10)
    assert not result.fallback.any()
    exact = by_highs(A, B[:, :10])
    np.testing.assert_allclose(result.coefficients[:, :10], exact, atol=1e-8)


@pytest.mark.parametrize("error", [True, False])
def test_leave_one_out_equals_the_printed_problem_of_the_others(error):
    A = np.random.default_rng(8).standard_normal((4, 9))
    result = basis_pursuit(A, A, error=error, exclude_self=True)
    assert np.all(np.diag(result.coefficients) == 0) and (result.gap <= 1e-10).all()
    for j in range(9):
        others = np.delete(np.arange(9), j)
        alone, _ = primal_by_linprog(A[:, others], A[:, j], error)
        np.testing.assert_allclose(result.coefficients[others, j], alone, atol=1e-8)


def test_columns_with_a_gap_above_a_millionth_are_solved_by_highs(monkeypatch):
    A = np.random.default_rng(9).standard_normal((5, 12))
    exact = basis_pursuit(A, A, exclude_self=True)
    certify, wide = module._certify, np.arange(12) % 2 == 0
    gaps = [np.where(wide, 1.1e-6, 0.9e-6)]

    def forged(*arguments):
        errors, gap = certify(*arguments)
        return errors, gaps.pop() if gaps else gap

    monkeypatch.setattr(module, "_certify", forged)
    again = basis_pursuit(A, A, exclude_self=True)
    assert not exact.fallback.any() and again.fallback.tolist() == wide.tolist()
    assert (again.gap[wide] <= 1e-9).all()
    np.testing.assert_allclose(again.coefficients, exact.coefficients, atol=1e-8)


@pytest.mark.real_data
def test_real_faces_of_a_large_dictionary_equal_the_printed_problem(data_dir):
    X = load("yaleb", variant="extended28", size=[32, 32], offline=True).X
    random = np.random.default_rng(0)
    X = unit((X[random.permutation(len(X))] @ random.standard_normal((X.shape[1], 200))).T)
    A, B = X[:, :1241], X[:, 1241:1441]
    result = basis_pursuit(A, B)
    check_certificate(A, B, result, gap=1e-10)
    assert not result.fallback.any()
    for j in range(3):
        a, objective = primal_by_linprog(A, B[:, j])
        assert np.abs(a).sum() + np.abs(B[:, j] - A @ a).sum() == pytest.approx(objective, rel=1e-9)
        np.testing.assert_allclose(result.coefficients[:, j], a, atol=1e-7)


def test_real_faces_leave_one_out(data_dir):
    A = faces(data_dir, n_dimensions=60)[:, :150]
    result = basis_pursuit(A, A, exclude_self=True)
    assert np.all(np.diag(result.coefficients) == 0)
    assert (result.gap <= 1e-10).all()
    for j in (0, 70, 149):
        others = np.delete(np.arange(150), j)
        alone = by_highs(A[:, others], A[:, j : j + 1])
        np.testing.assert_allclose(result.coefficients[others, j], alone[:, 0], atol=1e-8)


def test_leave_one_out_uses_the_twin_of_a_duplicate():
    random = np.random.default_rng(3)
    A = unit(random.standard_normal((10, 20)))
    A[:, 7] = A[:, 3]
    result = basis_pursuit(A, A, exclude_self=True)
    assert result.coefficients[7, 3] == pytest.approx(1)
    assert result.coefficients[3, 7] == pytest.approx(1)


def test_duplicated_columns_leave_the_objective_alone():
    random = np.random.default_rng(4)
    A, B = unit(random.standard_normal((10, 20))), random.standard_normal((10, 20))
    once, twice = basis_pursuit(A, B), basis_pursuit(np.hstack([A, A]), B)
    check_certificate(np.hstack([A, A]), B, twice)
    np.testing.assert_allclose(np.abs(twice.coefficients).sum(axis=0), np.abs(once.coefficients).sum(axis=0))
    np.testing.assert_allclose(twice.coefficients[:20] + twice.coefficients[20:], once.coefficients, atol=1e-9)


def test_zero_vector_and_zero_atoms():
    A = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    result = basis_pursuit(A, np.array([[0.0, 2.0], [0.0, 0.0]]))
    assert result.gap[0] == 0
    assert not result.coefficients[:, 0].any()
    assert np.abs(result.coefficients[:, 1]).sum() + np.abs(result.errors[:, 1]).sum() == pytest.approx(2)
    assert np.isfinite(result.dual).all()


def test_scale_of_b_and_order_of_columns_do_not_matter():
    random = np.random.default_rng(6)
    A, B = unit(random.standard_normal((30, 60))), random.standard_normal((30, 20))
    a = basis_pursuit(A, B).coefficients
    np.testing.assert_allclose(basis_pursuit(A, 1e-6 * B).coefficients, 1e-6 * a, atol=1e-13)
    np.testing.assert_allclose(basis_pursuit(A, 1e6 * B).coefficients, 1e6 * a, atol=1e-3)
    order = random.permutation(60)
    np.testing.assert_allclose(basis_pursuit(A[:, order], B[:, ::-1]).coefficients[:, ::-1], a[order], atol=1e-9)
    np.testing.assert_allclose(basis_pursuit(A, B[:, 3:4]).coefficients[:, 0], a[:, 3], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_extreme_scales_of_b(scale):
    random = np.random.default_rng(9)
    A, B = unit(random.standard_normal((20, 50))), random.standard_normal((20, 5))
    a, result = basis_pursuit(A, B).coefficients, basis_pursuit(A, scale * B)
    assert not result.fallback.any()
    assert (result.gap <= 1e-12).all()
    np.testing.assert_allclose(result.coefficients / scale, a, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e2, 1e6])
def test_scales_of_the_atoms_equal_highs(scale):
    random = np.random.default_rng(10)
    A, B = scale * unit(random.standard_normal((20, 50))), random.standard_normal((20, 30))
    result = basis_pursuit(A, B)
    assert not result.fallback.any()
    assert (result.gap <= 1e-8).all()  # at 1e6 the rounding of e is 1e-9 of the objective
    if scale < 0.1:
        assert not result.coefficients.any()  # ‖Aᵀv‖∞ ≤ 1 for every sign vector v: all error
    exact = by_highs(A, B[:, :5])
    np.testing.assert_allclose(scale * result.coefficients[:, :5], scale * exact, atol=1e-7)


def test_a_mixture_of_scales_and_zero_columns_is_coded_column_by_column():
    random = np.random.default_rng(11)
    A, B = unit(random.standard_normal((20, 50))), random.standard_normal((20, 70))
    a = basis_pursuit(A, B).coefficients
    factors = 10.0 ** random.integers(-9, 9, 70)
    factors[::7] = 0
    result = basis_pursuit(A, factors * B)
    np.testing.assert_allclose(result.coefficients, factors * a, rtol=1e-6, atol=0)
    assert not result.dual[:, ::7].any()


def test_the_same_call_gives_the_same_bits():
    random = np.random.default_rng(12)
    A, B = unit(random.standard_normal((40, 90))), random.standard_normal((40, 100))
    first, second = basis_pursuit(A, B), basis_pursuit(A.copy(), np.asfortranarray(B))
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    np.testing.assert_array_equal(first.dual, second.dual)


def test_large_tableaux_come_one_by_one(monkeypatch):
    random = np.random.default_rng(16)
    A, B = unit(random.standard_normal((20, 50))), random.standard_normal((20, 9))
    a = basis_pursuit(A, B).coefficients
    monkeypatch.setattr(kernel, "FLOATS", 1)
    np.testing.assert_allclose(basis_pursuit(A, B).coefficients, a, atol=1e-12)


def test_atoms_coded_by_all_and_by_the_others():
    random = np.random.default_rng(13)
    A = unit(random.standard_normal((12, 30)))
    np.testing.assert_allclose(basis_pursuit(A, A).coefficients, np.eye(30), atol=1e-9)
    result = basis_pursuit(A, A, exclude_self=True)
    assert not result.fallback.any()
    for j in range(30):
        a, objective = primal_by_linprog(np.delete(A, j, axis=1), A[:, j])
        np.testing.assert_allclose(np.delete(result.coefficients[:, j], j), a, atol=1e-8)
        assert result.coefficients[j, j] == 0
        P = np.abs(result.coefficients[:, j]).sum() + np.abs(result.errors[:, j]).sum()
        assert pytest.approx(objective, rel=1e-9) == P


def test_many_duplicates_and_opposites_end():
    random = np.random.default_rng(14)
    A = unit(random.standard_normal((15, 12)))
    A = np.hstack([A, A, -A, A[:, :5], np.zeros((15, 3))])
    B = np.hstack([A, A[:, :6] + A[:, 6:12], random.standard_normal((15, 20))])
    result = basis_pursuit(A, B)
    assert not result.fallback.any()
    check_certificate(A, B, result, gap=1e-10)


def test_codes_do_not_depend_on_the_unit_and_are_made_once(monkeypatch):
    random = np.random.default_rng(15)
    X, X_new = 5 * random.standard_normal((30, 8)), 5 * random.standard_normal((9, 8))
    plain, graph = sparse_codes(X, X_new).toarray(), sparse_codes(X).toarray()
    assert (plain != 0).any(axis=1).all()
    assert not np.diag(graph).any()
    for factor in (1e-6, 1e-3, 2550.0, 1e6):
        np.testing.assert_allclose(sparse_codes(factor * X, factor * X_new).toarray(), plain, atol=1e-12)
        np.testing.assert_allclose(sparse_codes(factor * X).toarray(), graph, atol=1e-12)
    calls = []
    monkeypatch.setattr(
        module, "basis_pursuit", lambda *args, **options: calls.append(1) or basis_pursuit(*args, **options)
    )
    with sharing(Kept()):
        for _ in range(2):
            sparse_codes(X, X_new)
            sparse_codes(X.copy())
            sparse_codes(X, X_new, error=False)
        assert len(calls) == 3


def test_codes_by_zeros_are_zero():
    assert sparse_codes(np.zeros((3, 2)), np.ones((2, 2))).nnz == 0


def test_integer_data_full_of_ties():
    random = np.random.default_rng(7)
    A, B = random.integers(-1, 2, (12, 40)).astype(float), random.integers(-1, 2, (12, 40)).astype(float)
    check_certificate(A, B, basis_pursuit(A, B))


def test_a_failed_simplex_falls_back_to_highs_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "_MAX_ROUNDS", 1)
    random = np.random.default_rng(8)
    A, B = unit(random.standard_normal((10, 60))), random.standard_normal((10, 3))
    result = basis_pursuit(A, B)
    assert result.fallback.all()
    check_certificate(A, B, result)


@pytest.mark.parametrize(
    ("A", "B", "options", "message"),
    [
        (np.ones((2, 3)), np.ones((3, 1)), {}, "as many rows"),
        (np.ones((2, 3)), np.ones((2, 1)), {"exclude_self": True}, "must be A"),
        (np.full((2, 3), np.nan), np.ones((2, 1)), {}, "NaN"),
    ],
)
def test_wrong_arguments(A, B, options, message):
    with pytest.raises(ValueError, match=message):
        basis_pursuit(A, B, **options)
