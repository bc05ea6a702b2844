import numpy as np
import pytest
from scipy import linalg
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

from manifold_oos.datasets.toy import swiss_roll
from manifold_oos.numerics.alignment import (
    assemble,
    barycenter_weights,
    laplacian_alignment,
    lgrm_alignment,
    lle_alignment,
    lle_weights,
    ltsa_alignment,
    regression_blocks,
    spline_alignment,
)
from manifold_oos.numerics.graphs import neighbor_graph, neighborhoods
from manifold_oos.numerics.splines import tangent_coordinates


def assert_alignment(M, n):
    """Symmetric, positive semi-definite, zero on constants."""
    M = M.toarray()
    scale = np.abs(M).max()
    np.testing.assert_allclose(M, M.T, atol=1e-12 * scale)
    np.testing.assert_allclose(M @ np.ones(n), 0, atol=1e-9 * scale)
    assert np.linalg.eigvalsh(M)[0] > -1e-9 * scale


ALL = {
    "lle": lambda X, k, d: lle_alignment(X, k),
    "ltsa": ltsa_alignment,
    "spline": spline_alignment,
    "laplacian": lambda X, k, d: laplacian_alignment(X, k, 2.0),
    "lgrm": lambda X, k, d: lgrm_alignment(X, k, d, 1e-3),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_alignment_matrices_are_semidefinite_and_vanish_on_constants(name, d):
    X = np.random.default_rng(d).standard_normal((50, 5))
    assert_alignment(ALL[name](X, 9, d), 50)


@pytest.mark.parametrize("name", ["lle", "ltsa", "spline", "lgrm"])
def test_flat_points_are_in_the_null_space(name):
    rng = np.random.default_rng(1)
    flat = rng.uniform(size=(80, 2))
    X = flat @ np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    M = {"lle": lambda X: lle_alignment(X, 8, reg=1e-12), "lgrm": lambda X: lgrm_alignment(X, 8, 2, 1e-12)}.get(
        name, lambda X: ALL[name](X, 8, 2)
    )(X)
    np.testing.assert_allclose(M @ flat, 0, atol=1e-6 * np.abs(M).max())


def test_one_neighbor_has_all_the_weight():
    W = lle_weights(np.arange(6.0).reshape(3, 2), np.array([[0, 1], [1, 0], [2, 1]]))
    assert W.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


def test_weights_are_regularised_by_a_thousandth_of_the_trace_unless_told_otherwise():
    x, Z = np.zeros((1, 2)), np.array([[[1.0, 0.0], [0.0, 2.0]]])
    w = np.array([1 / (1 + 0.005), 1 / (4 + 0.005)])  # the Gram matrix has 1 and 4 on its diagonal
    np.testing.assert_allclose(barycenter_weights(x, Z)[0], w / w.sum(), rtol=1e-12)


def test_lle_matrix_matches_scikit_learns_weights(roll):
    W = barycenter_kneighbors_graph(roll, 7, reg=1e-3).toarray()
    R = np.eye(60) - W
    np.testing.assert_allclose(lle_alignment(roll, 7, 1e-3).toarray(), R.T @ R, atol=1e-9)


def test_barycenter_weights_solve_their_problem():
    rng = np.random.default_rng(2)
    x, Z = rng.standard_normal((1, 6)), rng.standard_normal((1, 4, 6))
    w = barycenter_weights(x, Z, reg=1e-9)[0]
    basis = linalg.null_space(np.ones((1, 4)))
    free = np.linalg.lstsq(Z[0].T @ basis, x[0] - Z[0].mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(w, 0.25 + basis @ free, atol=1e-6)


def test_ltsa_matrix_is_the_sum_of_projections_of_its_definition(roll):
    index, n, k, d = neighborhoods(roll, 7), 60, 8, 2
    M = np.zeros((n, n))
    for hood in index:
        centred = roll[hood] - roll[hood].mean(axis=0)
        G = np.c_[np.ones(k) / np.sqrt(k), np.linalg.svd(centred)[0][:, :d]]
        M[np.ix_(hood, hood)] += np.eye(k) - G @ G.T
    np.testing.assert_allclose(ltsa_alignment(roll, 7, d).toarray(), M, atol=1e-10)


def test_ltsa_blocks_without_the_point_itself_give_scikit_learns_embedding():
    X = swiss_roll(300, np.random.default_rng(3))[0]
    hoods = neighbor_graph(X, 10)[0]
    M = assemble(hoods, regression_blocks(tangent_coordinates(X, hoods, 2), 0.0), 300).toarray()
    ours = linalg.eigh(M, subset_by_index=(1, 2))[1]
    theirs = LocallyLinearEmbedding(
        n_neighbors=10, n_components=2, method="ltsa", eigen_solver="dense"
    ).fit_transform(X)
    np.testing.assert_allclose(linalg.subspace_angles(ours, theirs), 0, atol=1e-5)


def lgrm_literal(X, index, p, gamma):
    """Eq. 8–12 with explicit matrices, clique by clique."""
    n, k = index.shape
    H = np.eye(k) - np.ones((k, k)) / k
    L = np.zeros((n, n))
    for hood in index:
        local = X[hood]
        axes = np.linalg.svd(local - local.mean(axis=0))[2][:p]
        X_i = axes @ local.T
        A = H - H @ X_i.T @ np.linalg.inv(X_i @ H @ X_i.T + gamma * np.eye(p)) @ X_i @ H
        S = np.zeros((n, k))
        S[hood, np.arange(k)] = 1
        L += S @ A @ S.T
    return L


@pytest.mark.parametrize(("p", "gamma"), [(2, 1e-4), (3, 0.5), (1, 10.0)])
def test_lgrm_matrix_matches_its_equations(roll, p, gamma):
    expected = lgrm_literal(roll, neighborhoods(roll, 6), p, gamma)
    np.testing.assert_allclose(lgrm_alignment(roll, 6, p, gamma).toarray(), expected, atol=1e-9)


def test_lgrm_matrix_tends_to_that_of_ltsa(roll):
    ltsa = ltsa_alignment(roll, 8, 2).toarray()
    difference = [np.abs(lgrm_alignment(roll, 8, 2, gamma).toarray() - ltsa).max() for gamma in (1e-1, 1e-4, 1e-10)]
    assert difference[0] > 1e-4
    assert difference[1] < difference[0] / 100
    assert difference[2] < 1e-9


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_spline_matrix_matches_the_inverse_of_its_system(d):
    X = np.random.default_rng(4).standard_normal((40, 5))
    index = neighborhoods(X, 9)
    M = np.zeros((40, 40))
    for hood in index:
        centred = X[hood] - X[hood].mean(axis=0)
        t = centred @ np.linalg.svd(centred)[2][:d].T
        r = np.linalg.norm(t[:, None] - t, axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            Phi = {1: r**3, 2: np.nan_to_num(r**2 * np.log(r))}.get(d, -r)
        P = np.c_[np.ones(10), t]
        system = np.block([[Phi, P], [P.T, np.zeros((d + 1, d + 1))]])
        M[np.ix_(hood, hood)] += np.linalg.inv(system)[:10, :10]
    ours = spline_alignment(X, 9, d).toarray()
    np.testing.assert_allclose(ours, M, atol=1e-7 * np.abs(M).max())


def test_laplacian_alignment_is_degree_minus_weights():
    X = np.array([[0.0], [1.0], [3.0], [6.0]])
    M = laplacian_alignment(X, 1).toarray()
    np.testing.assert_array_equal(M, [[1, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])


def test_duplicates_and_deficient_neighbourhoods_keep_matrices_finite():
    X = np.repeat(np.random.default_rng(5).standard_normal((20, 3)), 2, axis=0)
    X[:, 2] = 0
    for name, build in ALL.items():
        M = build(X, 8, 2)
        assert np.isfinite(M.data).all(), name
        assert_alignment(M, 40)


@pytest.mark.parametrize("D", [3, 50])
def test_points_that_all_coincide_are_refused(D):
    with pytest.raises(ValueError, match="coincide"):
        ltsa_alignment(np.full((20, D), 0.1), 5, 2)


@pytest.mark.parametrize("build", [ltsa_alignment, spline_alignment])
def test_too_few_neighbours_for_the_dimension_are_refused(roll, build):
    with pytest.raises(ValueError, match="n_neighbors >= 4"):
        build(roll, 3, 3)


def test_weights_do_not_depend_on_the_scale_of_the_points(roll):
    """The ridge is a share of the trace, of small traces too."""
    index = neighborhoods(roll, 7)
    weights = [barycenter_weights(s * roll[index[:, 0]], s * roll[index[:, 1:]], 1e-3) for s in (1, 1e-4)]
    np.testing.assert_allclose(*weights, rtol=1e-6)


def test_the_default_ridge_is_scikit_learns(roll):
    np.testing.assert_array_equal(lle_alignment(roll, 7).toarray(), lle_alignment(roll, 7, 1e-3).toarray())
    assert LocallyLinearEmbedding().reg == 1e-3


@pytest.mark.parametrize("alignment", [ltsa_alignment, spline_alignment])
def test_one_neighbour_more_than_dimensions_is_enough(alignment, roll):
    assert_alignment(alignment(roll, 3, 2), len(roll))
    with pytest.raises(ValueError, match=r"needs n_neighbors >= 3, got 2"):
        alignment(roll, 2, 2)


def test_neighbourhoods_of_one_place_are_centred_only():
    np.testing.assert_array_equal(regression_blocks(np.zeros((2, 4, 2)), 0.0), [np.eye(4) - 1 / 4] * 2)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_directions_without_variance_are_left_out_at_any_scale(scale):
    """What rounding leaves of a direction is no direction, a thin one is."""
    T = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0]
    T = np.linalg.qr(T - T.mean(axis=0))[0]
    expected = np.eye(6) - 1 / 6 - T[:, :2] @ T[:, :2].T
    np.testing.assert_allclose(regression_blocks(scale * T[None] * [1, 1e-3, 1e-9], 0.0), [expected], atol=1e-12)
