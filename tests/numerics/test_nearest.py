"""Approximate neighbours beside all distances: their recall, their distances, every method that uses them."""

import importlib
import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifold_oos.errors import ConfigError
from manifold_oos.numerics.nearest import nearest_points, neighbor_search
from manifold_oos.numerics.shared import Kept, sharing
from manifold_oos.registry import available

METHODS = ("laplacian_eigenmaps", "landmark_isomap", "lle", "lpp", "ltsa", "spectral_regression", "spline")


@pytest.fixture(scope="module")
def roll():
    random = np.random.default_rng(0)
    t, height = random.uniform(1.5 * np.pi, 4.5 * np.pi, 3000), random.uniform(0, 20, 3000)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]) + 1000.0, (t // 5).astype(int)


def test_exact_search_equals_all_distances(roll):
    X = roll[0][:300]
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    with neighbor_search("exact") as recall:
        found, index = nearest_points(X, 4)
    np.testing.assert_array_equal(index, distance.argsort(axis=1)[:, :4])
    np.testing.assert_allclose(found, np.sort(distance, axis=1)[:, :4])
    assert recall.sought == 0


@pytest.mark.parametrize("other", [False, True])
def test_approximate_search_tells_its_recall(other):
    pytest.importorskip("pynndescent")
    random = np.random.default_rng(0)
    X, Z = random.standard_normal((3000, 30)), random.standard_normal((1500, 30))
    with neighbor_search("approximate") as recall:
        distance, index = nearest_points(X, 5, Z if other else None)
        again = nearest_points(X, 5, Z if other else None)[1]
    np.testing.assert_array_equal(index, again)
    true = cdist(Z if other else X, X)
    np.testing.assert_allclose(distance, np.take_along_axis(true, index, axis=1))
    assert (np.diff(distance, axis=1) >= 0).all()
    if not other:
        assert not (index == np.arange(3000)[:, None]).any()
        np.fill_diagonal(true, np.inf)
    nearest = np.argsort(true, axis=1)[:, :5]
    share = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(index, nearest, strict=True)])
    assert 0.6 < share < 1  # points without structure, where the search misses some
    assert recall.found / recall.sought == pytest.approx(share, abs=0.02)
    assert recall.sought == 2 * 1000 * 5


def test_identical_points_are_neighbours_and_none_is_its_own():
    pytest.importorskip("pynndescent")
    X = np.repeat(np.random.default_rng(0).standard_normal((400, 3)), 4, axis=0)
    with neighbor_search("approximate"):
        distance, index = nearest_points(X, 3)
    assert not (index == np.arange(1600)[:, None]).any()
    assert np.mean(distance == 0) > 0.95


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_neighbour_graphs_take_approximate_neighbours(name, roll):
    pytest.importorskip("pynndescent")
    X, y = roll
    method = available("embeddings")[name]
    with sharing(Kept()):
        exact = method().fit(X, y)
        found = method(neighbors="approximate").fit(X, y)
    assert not hasattr(exact, "neighbor_recall_")
    assert found.neighbor_recall_ > 0.99
    P, Q = (np.linalg.qr(Y - Y.mean(axis=0))[0] for Y in (exact.embedding_, found.embedding_))
    assert np.linalg.norm(P.T @ Q, ord=-2) > 0.99  # the planes of coordinates agree
    assert method(neighbors="approximate").fit(X[:200], y[:200]).neighbor_recall_ == 1


def test_without_the_package_one_line_names_the_extra(monkeypatch, roll):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pynndescent: pip install 'manifold-oos\[neighbors\]'"):
        available("embeddings")["lle"](neighbors="approximate").fit(roll[0])


def test_what_is_shared_may_be_changed_by_whoever_gets_it():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with sharing(Kept()):
        distance, index = nearest_points(X, 4)
        kept = distance.copy(), index.copy()
        distance[:], index[:] = 0, 0
        again = nearest_points(X, 4)
    np.testing.assert_array_equal(again[0], kept[0])
    np.testing.assert_array_equal(again[1], kept[1])


@pytest.mark.parametrize("other", [False, True])
def test_points_that_the_descent_loses_are_searched_exactly(other, monkeypatch):
    class Losing:
        def __init__(self, X, n_neighbors, **_):
            self.X = X
            self.neighbor_graph = (self.query(X, n_neighbors)[0], None)

        def query(self, Z, k, **_):
            index = cdist(Z, self.X).argsort(axis=1)[:, :k]
            index[5] = -1
            return index, None

    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(NNDescent=Losing))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    X, Z = (np.random.default_rng(seed).standard_normal((1100, 3)) for seed in (0, 1))
    with neighbor_search("approximate") as recall:
        index = nearest_points(X, 4, Z if other else None)[1]
    np.testing.assert_array_equal(index, nearest_points(X, 4, Z if other else None)[1])
    assert recall.found == recall.sought > 0
