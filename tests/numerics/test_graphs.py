import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import kneighbors_graph

from manifold_oos.numerics import graphs
from manifold_oos.numerics.components import (
    DisconnectedGraph,
    component_links,
    connect_components,
    count_components,
)
from manifold_oos.numerics.graphs import (
    ball_weights,
    between_class_weights,
    connect_weights,
    directed_graph,
    full_weights,
    knn_weights,
    l1_weights,
    laplacian,
    neighbor_graph,
    neighborhoods,
    within_class_weights,
)
from manifold_oos.numerics.shared import Kept, sharing


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((50, 3))


def test_neighbours_match_a_full_sort(points):
    index, distance = neighbor_graph(points, 4)
    D = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(index, np.argsort(D, axis=1)[:, :4])
    np.testing.assert_allclose(distance, np.sort(D, axis=1)[:, :4])


@pytest.mark.parametrize("D", [2, 40])
def test_duplicates_are_neighbours_and_the_point_itself_is_not(D):
    X = np.random.default_rng(1).standard_normal((12, D))
    X = np.vstack([X, X, X, X])
    index, distance = neighbor_graph(X, 3)
    own = np.arange(len(X))
    assert (index != own[:, None]).all()
    np.testing.assert_array_equal(np.sort(index % 12, axis=1), np.repeat(own % 12, 3).reshape(-1, 3))
    np.testing.assert_allclose(distance, 0, atol=1e-6)


@pytest.mark.parametrize("n_neighbors", [3, 4, 9])
def test_as_many_neighbours_as_points_are_refused(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors"):
        neighbor_graph(np.eye(3), n_neighbors)


def test_knn_weights_are_symmetric_heat_weights_of_either_neighbour(points):
    W = knn_weights(points, 5, sigma=1.3).toarray()
    graph = kneighbors_graph(points, 5, mode="distance").toarray()
    graph = np.maximum(graph, graph.T)
    np.testing.assert_allclose(W, np.where(graph > 0, np.exp(-(graph**2) / 1.3**2), 0))
    np.testing.assert_array_equal(knn_weights(points, 5).toarray(), graph > 0)


def test_ball_and_full_weights(points):
    D = np.linalg.norm(points[:, None] - points, axis=2)
    heat = np.exp(-(D**2) / 4)
    np.fill_diagonal(heat, 0)
    np.testing.assert_allclose(full_weights(points, 2.0), heat, atol=1e-14)
    np.testing.assert_allclose(ball_weights(points, 1.5, 2.0).toarray(), np.where(D <= 1.5, heat, 0), atol=1e-14)
    assert ball_weights(points, 1.5).toarray().sum() == (D <= 1.5).sum() - 50
    assert full_weights(points).sum() == 50 * 49


def test_class_graphs_of_hand_made_points():
    X = np.array([[0.0], [1.0], [3.0], [4.0], [10.0]])
    y = np.array(["a", "a", "a", "b", "b"])
    W_w = within_class_weights(X, y, 1, sigma=2.0).toarray()
    e = np.exp
    expected = np.zeros((5, 5))
    expected[0, 1] = expected[1, 0] = e(-1 / 4)
    expected[1, 2] = expected[2, 1] = e(-4 / 4)
    expected[3, 4] = expected[4, 3] = e(-36 / 4)
    np.testing.assert_allclose(W_w, expected)
    W_b = between_class_weights(X, y, 1, sigma=2.0).toarray()
    expected = np.zeros((5, 5))
    for i, j in [(0, 3), (1, 3), (2, 3), (4, 2)]:
        expected[i, j] = expected[j, i] = e(-((X[i, 0] - X[j, 0]) ** 2) / 4)
    np.testing.assert_allclose(W_b, expected)


def class_weights_one_by_one(X, y, n_neighbors, sigma, same):
    """Scikit-learn's distances of each class to its candidates, and the neighbours that argpartition takes."""
    W = np.zeros((len(X), len(X)))
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        others = members if same else np.flatnonzero(y != label)
        k = min(n_neighbors or len(X), len(others) - same)
        if k == 0:
            continue
        squared = euclidean_distances(X[members], None if same else X[others], squared=True)
        if same:
            np.fill_diagonal(squared, np.inf)
        nearest = np.argpartition(squared, k - 1, axis=1)[:, :k]
        for i, row, chosen in zip(members, squared, nearest, strict=True):
            W[i, others[chosen]] = 1 if sigma is None else np.exp(np.sqrt(row[chosen]) ** 2 / -(sigma**2))
    return np.maximum(W, W.T)


@pytest.mark.parametrize("n_neighbors", [1, 3, 8, None])
@pytest.mark.parametrize("sigma", [None, 2.0])
@pytest.mark.parametrize("kind", ["grid", "duplicates", "generic"])
def test_class_graphs_keep_their_neighbours_ties_included(n_neighbors, sigma, kind):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (60, 2)).astype(float) if kind == "grid" else rng.standard_normal((60, 30))
    if kind == "duplicates":
        X = X[rng.integers(0, 12, 60)]
    y = np.r_[rng.choice(["ape", "bee", "cat"], 59), ["dog"]]
    for weights, same in ((within_class_weights, True), (between_class_weights, False)):
        expected = class_weights_one_by_one(X, y, n_neighbors, sigma, same)
        np.testing.assert_array_equal(weights(X, y, n_neighbors, sigma).toarray(), expected)


@pytest.mark.parametrize("n_neighbors", [1, 3, 8])
def test_large_classes_have_the_same_neighbours(n_neighbors, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((60, 5)), np.r_[rng.integers(0, 3, 59), 3]
    monkeypatch.setattr(graphs, "BLOCK_FLOATS", 1)
    for weights, same in ((within_class_weights, True), (between_class_weights, False)):
        expected = class_weights_one_by_one(X, y, n_neighbors, 2.0, same)
        np.testing.assert_allclose(weights(X, y, n_neighbors, 2.0).toarray(), expected, rtol=1e-12)


def test_graphs_of_large_classes_take_no_memory_of_all_pairs():
    X, y = np.random.default_rng(0).standard_normal((8000, 3)), np.arange(8000) % 2
    tracemalloc.start()
    within_class_weights(X, y, 5, 1.0)
    between_class_weights(X, y, 5, 1.0)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 8 * 4000**2 / 4  # a quarter of the distances of one class to the other


def test_class_graphs_are_made_once_per_point_set_and_cannot_be_changed():
    X, y = np.random.default_rng(6).standard_normal((20, 3)), np.arange(20) % 4
    with sharing(Kept()):
        W = within_class_weights(X, y, 3, 1.0)
        assert within_class_weights(X.copy(), y.astype(str), 3, 1.0) is W
        different = [(X, y, 2, 1.0), (X, y, 3, 2.0), (X, y[::-1], 3, 1.0), (X + 1, y, 3, 1.0)]
        assert all(within_class_weights(*other) is not W for other in different)
        assert between_class_weights(X, y, 3, 1.0) is not W
    with pytest.raises(ValueError, match="read-only"):
        W.data[0] = 1
    assert laplacian(W)[0].shape == (20, 20)


def test_class_graphs_without_limits_join_all_pairs():
    X = np.random.default_rng(2).standard_normal((9, 2))
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3])
    same = y[:, None] == y
    np.testing.assert_array_equal(between_class_weights(X, y).toarray(), ~same)
    np.testing.assert_array_equal(within_class_weights(X, y).toarray(), same & ~np.eye(9, dtype=bool))
    np.testing.assert_array_equal(within_class_weights(X, y, 50).toarray(), within_class_weights(X, y).toarray())
    assert within_class_weights(X, y).toarray()[8].sum() == 0
    assert within_class_weights(X, np.arange(9)).nnz == 0
    assert between_class_weights(X, np.zeros(9)).nnz == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_laplacian_of_a_triangle_with_a_tail(kind):
    W = np.array([[0, 1, 2, 0], [1, 0, 3, 0], [2, 3, 0, 4], [0, 0, 4, 0]], dtype=float)
    L, degree = laplacian(kind(W))
    L = L.toarray() if sparse.issparse(L) else L
    np.testing.assert_array_equal(L, [[3, -1, -2, 0], [-1, 4, -3, 0], [-2, -3, 9, -4], [0, 0, -4, 4]])
    np.testing.assert_array_equal(degree, [3, 4, 9, 4])
    assert W[0, 0] == 0


def clusters(rng, count=5, size=8):
    centres = 100 * rng.standard_normal((count, 2))
    return np.vstack([c + rng.standard_normal((size, 2)) for c in centres])


def test_links_are_the_minimum_spanning_tree_between_components():
    X = clusters(np.random.default_rng(3))
    index, distance = neighbor_graph(X, 3)
    graph = directed_graph(index, distance)
    assert count_components(graph) == 5
    with pytest.warns(DisconnectedGraph, match="5 components"):
        start, end, length = component_links(graph, X)
    part = np.repeat(np.arange(5), 8)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    between = np.array([[D[part == a][:, part == b].min() for b in range(5)] for a in range(5)])
    np.testing.assert_allclose(length.sum(), minimum_spanning_tree(between).sum())
    np.testing.assert_allclose(length, D[start, end])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraph)
        assert count_components(connect_components(graph, X)) == 1
        assert count_components(connect_weights(knn_weights(X, 3), X)) == 1
        hoods = neighborhoods(X, 3)
    assert hoods.shape == (40, 4)
    np.testing.assert_array_equal(hoods[:, 0], np.arange(40))
    assert count_components(directed_graph(hoods[:, 1:], np.ones((40, 3)))) == 1
    for connect in (component_links, connect_components):
        with pytest.raises(ValueError, match="n_neighbors"):
            connect(graph, X, "error")


def test_a_point_joined_with_all_others_but_one_leaves_that_one_out():
    W = np.zeros((5, 5))
    W[0, 1:4] = W[1:4, 0] = 1
    assert count_components(W) == 2
    W[0, 4] = 1
    assert count_components(W) == 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pairs_are_joined_before_pairs_of_pairs(kind):
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    with pytest.warns(DisconnectedGraph, match="4 components"):
        start, end, _ = component_links(kind(np.zeros((4, 4))), X)
    assert sorted(zip(start.tolist(), end.tolist(), strict=True)) == [(0, 1), (1, 2), (2, 3)]


def test_identical_points_need_no_link():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    graph = sparse.csr_array((np.zeros(4), ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(4, 4))
    with pytest.warns(DisconnectedGraph, match="2 components"):
        assert component_links(graph, X)[2].tolist() == [5.0]


def test_a_single_neighbour():
    X = np.array([[0.0], [1.0], [3.0]])
    assert directed_graph(*neighbor_graph(X, 1)).toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 2, 0]]


def test_nearest_of_a_large_class_are_the_nearest():
    X, y = np.random.default_rng(0).standard_normal((400, 3)), np.arange(400) % 2
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    distance[y[:, None] != y] = np.inf
    np.fill_diagonal(distance, np.inf)
    expected = np.zeros((400, 400))
    np.put_along_axis(expected, distance.argsort(axis=1)[:, :6], 1.0, axis=1)
    np.testing.assert_array_equal(within_class_weights(X, y, 6).toarray(), np.maximum(expected, expected.T))


def test_connected_graph_is_left_alone(points):
    W = knn_weights(points, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert connect_weights(W, points) is W


def test_duplicate_groups_keep_their_zero_distances():
    X = np.repeat(np.array([[0.0, 0], [1, 0], [5, 0]]), 4, axis=0)
    index, distance = neighbor_graph(X, 2)
    graph = directed_graph(index, distance)
    assert count_components(graph) == 3
    with pytest.warns(DisconnectedGraph):
        joined = connect_components(graph, X)
    assert count_components(joined) == 1
    assert sorted(joined.data[joined.data > 0].tolist()) == [1, 1, 4, 4]


def test_links_too_long_for_their_heat_weights_are_an_error():
    X = clusters(np.random.default_rng(4))
    with pytest.warns(DisconnectedGraph), pytest.raises(ValueError, match="sigma"):
        connect_weights(knn_weights(X, 3, 1.0), X, 1.0)


def test_l1_graph_has_the_codes_of_hand_made_points():
    u, v, w = np.kron(np.eye(3), [1.0, 1.0])
    W = l1_weights(np.array([u, v, (u + v) / 2, w, w])).toarray()
    expected = np.zeros((5, 5))
    # The mixture is half of u and v (cost 1, in the error 2); u = 2·mixture − v costs 3 and stays an error.
    expected[2, 0] = expected[0, 2] = expected[2, 1] = expected[1, 2] = 0.25
    expected[3, 4] = expected[4, 3] = 1
    np.testing.assert_allclose(W, expected, atol=1e-8)
