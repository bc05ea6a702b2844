import numpy as np
import pytest
from sklearn.manifold import Isomap

from manifold_oos.numerics.components import DisconnectedGraph
from manifold_oos.numerics.geodesics import distance_graph, extend_geodesics, shortest_paths
from manifold_oos.numerics.graphs import neighbor_graph


def test_shortest_paths_match_floyd_and_warshall():
    X = np.random.default_rng(0).standard_normal((40, 2))
    D = np.full((40, 40), np.inf)
    index, distance = neighbor_graph(X, 4)
    np.put_along_axis(D, index, distance, axis=1)
    D = np.minimum(D, D.T)
    np.fill_diagonal(D, 0)
    for k in range(40):
        D = np.minimum(D, D[:, k : k + 1] + D[k])
    lengths = shortest_paths(distance_graph(X, 4))
    np.testing.assert_allclose(lengths, D)
    np.testing.assert_allclose(shortest_paths(distance_graph(X, 4), np.array([3, 7])), D[[3, 7]])


def test_duplicates_are_zero_apart():
    X = np.repeat(np.arange(6.0)[:, None], 2, axis=0)
    lengths = shortest_paths(distance_graph(X, 3))
    np.testing.assert_allclose(lengths, np.abs(X - X.T))


def test_components_are_joined_or_refused():
    X = np.r_[np.arange(5.0), np.arange(20.0, 25)][:, None]
    with pytest.warns(DisconnectedGraph):
        lengths = shortest_paths(distance_graph(X, 2))
    np.testing.assert_allclose(lengths, np.abs(X - X.T))
    with pytest.raises(ValueError, match="2 components"):
        distance_graph(X, 2, "error")


def test_new_points_go_by_way_of_their_neighbours():
    rng = np.random.default_rng(1)
    X, Z = rng.standard_normal((50, 2)), rng.standard_normal((9, 2))
    iso = Isomap(n_neighbors=5).fit(X)
    distance, index = iso.nbrs_.kneighbors(Z)
    ours = extend_geodesics(distance, index, shortest_paths(distance_graph(X, 5)))
    expected = np.array(
        [(d[:, None] + iso.dist_matrix_[i]).min(axis=0) for d, i in zip(distance, index, strict=True)]
    )
    np.testing.assert_allclose(ours, expected)
