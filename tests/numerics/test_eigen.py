import warnings

import numpy as np
import pytest
from scipy import linalg, sparse

from manifold_oos.numerics.alignment import ltsa_alignment
from manifold_oos.numerics.eigen import (
    AmbiguousEigenvectors,
    LessLowRank,
    fix_signs,
    largest_eigenpairs,
    smallest_eigenpairs,
)


def indefinite(n, rng, density=None):
    A = sparse.random_array((n, n), density=density or 0.01, rng=rng, data_sampler=rng.standard_normal)
    A = sparse.csr_array(A + A.T)
    return A if density is not None or n > 300 else A.toarray() + np.diag(rng.standard_normal(n))


def path_laplacian(n, weights=None):
    w = np.ones(n - 1) if weights is None else weights
    W = sparse.diags_array([w, w], offsets=[1, -1], shape=(n, n))
    return sparse.csr_array(sparse.diags_array(W.sum(axis=1)) - W), np.asarray(W.sum(axis=1))


def equal_up_to_sign(U, V, atol=1e-7):
    np.testing.assert_allclose(np.abs(np.sum(U * V, axis=0)), np.sum(V * V, axis=0), atol=atol)


def test_signs_follow_the_largest_entry_and_ties_the_first():
    V = np.array([[1.0, -2.0, 0.5, 0.0], [-3.0, 2.0, 0.1, 0.0]])
    np.testing.assert_array_equal(fix_signs(V), [[-1, 2, 0.5, 0], [3, -2, 0.1, 0]])
    np.testing.assert_array_equal(fix_signs(-V), fix_signs(V))
    nearly = np.array([[1.0], [-(1.0 + 1e-12)]])
    assert fix_signs(nearly)[0, 0] > 0


@pytest.mark.parametrize("n", [40, 700])
def test_indefinite_matrices_give_the_algebraically_smallest_pairs(n):
    A = indefinite(n, np.random.default_rng(0))
    values, V = smallest_eigenpairs(A, 5)
    dense = A.toarray() if sparse.issparse(A) else A
    expected, U = np.linalg.eigh(dense)
    assert expected[0] < 0
    np.testing.assert_allclose(values, expected[:5], atol=1e-9)
    equal_up_to_sign(V, U[:, :5])


@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("kind", ["vector", "sparse diagonal", "sparse", "dense"])
def test_generalized_problems_match_lapack_and_are_b_orthonormal(n, kind):
    rng = np.random.default_rng(1)
    A = indefinite(n, rng, density=0.05)
    b = rng.uniform(0.5, 3, n)
    R = rng.standard_normal((n, n)) / np.sqrt(n)
    dense = R @ R.T + np.eye(n) if kind in ("dense", "sparse") else np.diag(b)
    B = {
        "vector": b,
        "sparse diagonal": sparse.diags_array(b),
        "sparse": sparse.csr_array(dense),
        "dense": dense,
    }[kind]
    values, V = smallest_eigenpairs(A, 4, B)
    expected, U = linalg.eigh(A.toarray(), dense)
    np.testing.assert_allclose(values, expected[:4], atol=1e-9)
    np.testing.assert_allclose(V.T @ dense @ V, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.abs(U[:, :4].T @ dense @ V), np.eye(4), atol=1e-6)
    np.testing.assert_array_equal(V, fix_signs(V))


@pytest.mark.parametrize("n", [100, 2000])
def test_sparse_laplacian_of_a_path_has_its_closed_form(n):
    L, _ = path_laplacian(n)
    values, V = smallest_eigenpairs(L, 3, null=np.ones((n, 1)), semidefinite=True)
    modes = np.arange(1, 4)
    np.testing.assert_allclose(values, 2 - 2 * np.cos(np.pi * modes / n), rtol=1e-6)
    exact = np.sqrt(2 / n) * np.cos(np.pi * np.outer(np.arange(n) + 0.5, modes) / n)
    equal_up_to_sign(V, exact)


@pytest.mark.parametrize("semidefinite", [True, False])
def test_shift_invert_agrees_with_the_dense_solver(semidefinite):
    rng = np.random.default_rng(2)
    L, degree = path_laplacian(600, rng.uniform(0.1, 1, 599))
    values, V = smallest_eigenpairs(L, 4, degree, null=np.ones((600, 1)), semidefinite=semidefinite)
    expected, U = linalg.eigh(L.toarray(), np.diag(degree), subset_by_index=(1, 4))
    np.testing.assert_allclose(values, expected, atol=1e-11)
    equal_up_to_sign(np.sqrt(degree)[:, None] * V, np.sqrt(degree)[:, None] * U)
    dense_values, _ = smallest_eigenpairs(L.toarray(), 4, degree, null=np.ones((600, 1)), semidefinite=True)
    np.testing.assert_allclose(dense_values, expected, atol=1e-11)


@pytest.mark.parametrize("n", [80, 500])
def test_null_vectors_are_left_out_when_more_eigenvalues_vanish(n):
    X = np.random.default_rng(3).uniform(size=(n, 2))
    M = ltsa_alignment(X, 8, 2)
    values, Y = smallest_eigenpairs(M, 2, null=np.ones((n, 1)), semidefinite=True)
    np.testing.assert_allclose(values, 0, atol=1e-10)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-8)
    fit = np.linalg.lstsq(np.c_[np.ones(n), X], Y, rcond=None)[1]
    np.testing.assert_allclose(fit, 0, atol=1e-10)


def test_runs_are_bitwise_equal():
    L, degree = path_laplacian(900, np.random.default_rng(4).uniform(0.1, 1, 899))
    first = smallest_eigenpairs(L, 3, degree, semidefinite=True)
    second = smallest_eigenpairs(L.copy(), 3, degree.copy(), semidefinite=True)
    np.testing.assert_array_equal(first[1], second[1])


def test_cut_inside_equal_eigenvalues_warns():
    n = 30
    cycle, _ = path_laplacian(n)
    cycle = cycle.tolil()
    cycle[0, n - 1] = cycle[n - 1, 0] = -1
    cycle[0, 0] = cycle[n - 1, n - 1] = 2
    with pytest.warns(AmbiguousEigenvectors, match="n_components"):
        smallest_eigenpairs(cycle.tocsr(), 1, null=np.ones((n, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        smallest_eigenpairs(cycle.tocsr(), 2, null=np.ones((n, 1)))
        smallest_eigenpairs(cycle.tocsr(), 1, null=np.ones((n, 1)), ambiguous="ignore")


@pytest.mark.parametrize("dense", [False, True])
def test_wrong_promise_of_semidefiniteness_is_an_error(dense):
    A = indefinite(500, np.random.default_rng(5))
    with pytest.raises(ValueError, match="semi-definite"):
        smallest_eigenpairs(A.toarray() if dense else A, 2, semidefinite=True)


def test_asymmetric_matrix_leaves_a_residual_and_fails():
    A = np.diag(np.arange(50.0))
    A[40, 0] = 100
    with pytest.raises(ValueError, match="residual"):
        smallest_eigenpairs(A, 3)


def test_too_many_pairs_and_empty_degrees_are_refused():
    L, degree = path_laplacian(10)
    with pytest.raises(ValueError, match="n_components"):
        smallest_eigenpairs(L, 10, null=np.ones((10, 1)))
    degree[3] = 0
    with pytest.raises(ValueError, match="no neighbour"):
        smallest_eigenpairs(L, 2, degree)
    with pytest.raises(ValueError, match="ridge"):
        smallest_eigenpairs(np.eye(5), 2, np.ones((5, 5)))
    with pytest.raises(ValueError, match="n_components"):
        largest_eigenpairs(np.eye(3), 4)


@pytest.mark.parametrize("n", [50, 400])
def test_largest_pairs_match_lapack(n):
    rng = np.random.default_rng(6)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    spectrum = np.linspace(-5, 3, n)
    A = (Q * spectrum) @ Q.T
    values, V = largest_eigenpairs((A + A.T) / 2, 3)
    np.testing.assert_allclose(values, spectrum[:-4:-1], atol=1e-10)
    equal_up_to_sign(V, Q[:, :-4:-1])


def test_flat_spectrum_is_solved_all_the_same():
    rng = np.random.default_rng(7)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    spectrum = 1 + 1e-7 * np.arange(300)
    A = (Q * spectrum) @ Q.T
    values, V = largest_eigenpairs((A + A.T) / 2, 2)
    np.testing.assert_allclose(values, spectrum[:-3:-1], rtol=1e-12)
    equal_up_to_sign(V, Q[:, :-3:-1], atol=1e-6)


@pytest.mark.parametrize("n", [300, 1000])
def test_double_eigenvalues_of_a_large_ring_are_all_found(n):
    ring, _ = path_laplacian(n)
    ring = ring.tolil()
    ring[0, n - 1] = ring[n - 1, 0] = -1
    ring[0, 0] = ring[n - 1, n - 1] = 2
    values, _ = smallest_eigenpairs(ring.tocsr(), 6, null=np.ones((n, 1)), semidefinite=True)
    np.testing.assert_allclose(values, np.repeat(2 - 2 * np.cos(2 * np.pi * np.arange(1, 4) / n), 2), rtol=1e-8)


@pytest.mark.parametrize("k", [1, 5, 12, 13, 40, 100])
def test_few_and_many_largest_pairs_of_repeated_eigenvalues_are_orthonormal(k):
    random = np.random.default_rng(0)
    Q, _ = np.linalg.qr(random.standard_normal((100, 100)))
    exact = np.sort(np.r_[np.full(20, 3.0), random.uniform(0, 2, 80)])[::-1]
    A = (Q * exact) @ Q.T
    values, vectors = largest_eigenpairs((A + A.T) / 2, k, multiple=True, ambiguous="ignore")
    np.testing.assert_allclose(values, exact[:k], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-11)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_largest_pairs_of_tiny_matrices(n):
    A = np.random.default_rng(n).standard_normal((n, n))
    A = A + A.T
    before = A.copy()
    values, vectors = largest_eigenpairs(A, 1, multiple=True)
    np.testing.assert_allclose(values[0], np.linalg.eigvalsh(A)[-1])
    np.testing.assert_allclose(A @ vectors, values * vectors, atol=1e-12)
    np.testing.assert_array_equal(A, before)


def less_low_rank(n):
    """A path's Laplacian plus 0.3 I, less most of that along seven waves that are free of the constant."""
    waves = np.cos(np.arange(n)[:, None] * np.arange(1.3, 8) / n)
    U = np.linalg.qr(waves - waves.mean(axis=0))[0] * np.sqrt(np.linspace(0.05, 0.29, 7))
    return LessLowRank(sparse.csr_array(path_laplacian(n)[0] + 0.3 * sparse.eye_array(n)), U)


@pytest.mark.parametrize("n", [100, 600])
def test_a_sparse_matrix_less_a_low_rank_one(n):
    A = less_low_rank(n)
    dense = A.A.toarray() - A.U @ A.U.T
    constant = np.full((n, 1), n**-0.5)
    values, vectors = smallest_eigenpairs(A, 5, null=np.ones((n, 1)), semidefinite=True)
    expected, basis = linalg.eigh(dense + 10 * constant @ constant.T)
    np.testing.assert_allclose(values, expected[:5], rtol=1e-8)
    equal_up_to_sign(vectors, basis[:, :5])
    x = np.random.default_rng(1).standard_normal((n, 3))
    np.testing.assert_allclose(A @ x, dense @ x, atol=1e-12)
    np.testing.assert_allclose(A.inverse(-0.01)(x), linalg.solve(dense + 0.01 * np.eye(n), x), atol=1e-8)


def test_too_much_taken_away_is_told():
    A = less_low_rank(600)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        smallest_eigenpairs(LessLowRank(A.A, 3 * A.U), 2, null=np.ones((600, 1)), semidefinite=True)


@pytest.mark.parametrize("n", [100, 400])
def test_all_of_a_repeated_largest_eigenvalue_are_found(n):
    values, vectors = largest_eigenpairs(np.diag(np.r_[np.full(6, 5.0), np.ones(n - 6)]), 6, multiple=True)
    np.testing.assert_allclose(values, 5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_equal_eigenvalues_that_are_zero_up_to_rounding_are_no_ambiguity(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        largest_eigenpairs(scale * np.diag([3.0, 1e-15, 1e-15]), 2)
    with pytest.warns(AmbiguousEigenvectors):
        largest_eigenpairs(scale * np.diag([3.0, 1e-3, 1e-3]), 2)
