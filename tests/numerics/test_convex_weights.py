"""Convex weights against the optimality conditions, OSQP and non-negative least squares."""

import numpy as np
import osqp
import pytest
import scipy.sparse as sp
from scipy.io import loadmat
from scipy.optimize import nnls
from sklearn.neighbors import NearestNeighbors

from manifold_oos.numerics.convex_weights import convex_weights


def kkt_residual(X, neighbours, targets, w):
    """Largest violation of w ≥ 0, Σw = 1, (Gw)_i ≥ wᵀGw and w_i((Gw)_i − wᵀGw) = 0, over the largest G_ii."""
    differences = X[neighbours] - targets[:, None]
    G = differences @ differences.transpose(0, 2, 1)
    g = np.einsum("nij,nj->ni", G, w)
    value = (w * g).sum(axis=1, keepdims=True)
    scale = np.einsum("nii->ni", G).max(axis=1, keepdims=True)
    scale[scale == 0] = 1
    violations = [-w, np.abs(w.sum(axis=1) - 1), (value - g) / scale, np.abs(w * (g - value)) / scale]
    return max(violation.max() for violation in violations)


def by_osqp(X, neighbours, targets):
    """One quadratic program after the other, in units of the largest G_ii."""
    K = neighbours.shape[1]
    constraints = sp.vstack([np.ones((1, K)), sp.eye(K)], format="csc")
    lower, upper = np.r_[1.0, np.zeros(K)], np.r_[1.0, np.full(K, np.inf)]
    w = []
    for near, target in zip(neighbours, targets, strict=True):
        G = (X[near] - target) @ (X[near] - target).T
        solver, accuracy = osqp.OSQP(), {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 100_000}
        P = sp.csc_matrix(np.triu(G / G.max()))
        solver.setup(P, np.zeros(K), constraints, lower, upper, polishing=True, verbose=False, **accuracy)
        w.append(solver.solve(raise_error=False).x)
    return np.array(w)


def problem(n, K, D, seed=0):
    random = np.random.default_rng(seed)
    X, targets = random.standard_normal((200, D)), random.standard_normal((n, D))
    return X, NearestNeighbors(n_neighbors=K).fit(X).kneighbors(targets, return_distance=False), targets


@pytest.mark.parametrize("D", [1, 3, 40])
@pytest.mark.parametrize("K", [1, 2, 3, 5, 12, 30])
def test_optimality(K, D):
    X, neighbours, targets = problem(500, K, D)
    assert kkt_residual(X, neighbours, targets, convex_weights(X, neighbours, targets)) <= 1e-10


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_optimality_at_any_scale_and_offset(scale):
    X, neighbours, targets = problem(100, 8, 5)
    X, targets = scale * (X + 100), scale * (targets + 100)
    assert kkt_residual(X, neighbours, targets, convex_weights(X, neighbours, targets)) <= 1e-8


@pytest.mark.parametrize("K", [3, 10, 30])
def test_equals_osqp_and_nnls_where_unique(K):
    X, neighbours, targets = problem(40, K, 50)
    w = convex_weights(X, neighbours, targets)
    np.testing.assert_allclose(w, by_osqp(X, neighbours, targets), atol=1e-7)
    for i in range(10):
        differences = (X[neighbours[i]] - targets[i]).T
        u, _ = nnls(np.vstack([differences, np.full(K, 10.0)]), np.r_[np.zeros(50), 10.0])
        np.testing.assert_allclose(w[i], u / u.sum(), atol=1e-8)


def test_target_inside_the_hull_is_reproduced():
    X, neighbours, _ = problem(300, 12, 4)
    truth = np.random.default_rng(1).dirichlet(np.ones(12), size=300)
    targets = np.einsum("nk,nkd->nd", truth, X[neighbours])
    w = convex_weights(X, neighbours, targets)
    np.testing.assert_allclose(np.einsum("nk,nkd->nd", w, X[neighbours]), targets, atol=1e-7)


def test_target_equal_to_a_neighbour():
    X, _, _ = problem(1, 1, 30)
    neighbours = np.array([[4, 7, 9], [7, 9, 4]])
    w = convex_weights(X, neighbours, X[[4, 4]])
    np.testing.assert_allclose(w, [[1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_equal_neighbours_share_their_weight():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    w = convex_weights(X, np.array([[0, 1, 2, 3]]), np.array([[0.5, 3.0]]))
    np.testing.assert_allclose(w, [[0.375, 0.125, 0.375, 0.125]], atol=1e-3)
    np.testing.assert_allclose(w @ X, [[0.5, 0.0]], atol=1e-12)


def test_everything_equal():
    w = convex_weights(np.ones((5, 3)), np.array([[0, 1, 2, 3]]), np.ones((1, 3)))
    np.testing.assert_allclose(w, 0.25)


def test_collinear_points_and_far_targets():
    X = np.arange(30.0)[:, None] * [1.0, 2.0, 3.0]
    neighbours = np.tile(np.arange(30), (4, 1))
    targets = np.array([[-5.0, -5, -5], [1e4, 0, 0], [7.5, 15, 22.5], [29, 58, 87]])
    w = convex_weights(X, neighbours, targets)
    assert kkt_residual(X, neighbours, targets, w) <= 1e-10
    assert w[0, 0] == pytest.approx(1)
    np.testing.assert_allclose(w[2] @ X, targets[2], atol=1e-5)


def test_real_faces(data_dir):
    X = loadmat(data_dir / "ORL_32x32.mat")["fea"].astype(float)
    neighbours = NearestNeighbors(n_neighbors=10).fit(X[::2]).kneighbors(X[1::2], return_distance=False)
    w = convex_weights(X[::2], neighbours, X[1::2])
    assert kkt_residual(X[::2], neighbours, X[1::2], w) <= 1e-10


def test_each_target_on_its_own():
    X, neighbours, targets = problem(50, 6, 8)
    w = convex_weights(X, neighbours, targets)
    np.testing.assert_array_equal(convex_weights(X, neighbours[7:8], targets[7:8]), w[7:8])
    np.testing.assert_array_equal(convex_weights(X, neighbours[::-1], targets[::-1]), w[::-1])
    np.testing.assert_array_equal(convex_weights(np.asfortranarray(X), neighbours.astype(np.int32), targets), w)


def test_no_targets():
    assert convex_weights(np.ones((3, 2)), np.empty((0, 2), dtype=int), np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("neighbours", "targets", "message"),
    [
        (np.zeros((2, 2), dtype=int), np.ones((1, 2)), "a row per target"),
        (np.zeros((1, 0), dtype=int), np.ones((1, 2)), "and a column"),
        (np.zeros((1, 2), dtype=int), np.ones((1, 3)), "as many columns"),
        (np.zeros((1, 2), dtype=int), np.ones((1, 2, 2)), "as many columns"),
        (np.array([[0, 3]]), np.ones((1, 2)), "rows of X: 0 to 2"),
        (np.array([[-1, 2]]), np.ones((1, 2)), "rows of X: 0 to 2"),
    ],
)
def test_wrong_arguments(neighbours, targets, message):
    with pytest.raises(ValueError, match=message):
        convex_weights(np.ones((3, 2)), neighbours, targets)
