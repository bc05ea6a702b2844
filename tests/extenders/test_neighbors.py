"""LVM and LLE extenders against literal transcriptions."""

import numpy as np
import pytest

from manifold_oos.extenders.lle import LLEExtender
from manifold_oos.extenders.lvm import LVMExtender


def data(n=40, D=6, n_new=7, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, D)), random.standard_normal((n, 2)), random.standard_normal((n_new, D))


def nearest(X, x, k):
    return np.argsort(np.linalg.norm(X - x, axis=1), kind="stable")[:k]


@pytest.mark.parametrize("beta", [None, 0.7])
def test_lvm_equals_the_literal_formula(beta):
    X, Y, X_new = data()
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(X) for b in X[:i]]
    width = np.mean(pairs) if beta is None else beta
    expected = []
    for x in X_new:
        i = nearest(X, x, 4)
        w = np.exp(-np.sum((X[i] - x) ** 2, axis=1) / width)
        expected.append(w @ Y[i] / w.sum())
    fitted = LVMExtender(n_neighbors=4, beta=beta).fit(X, Y)
    assert fitted.beta_ == pytest.approx(width)
    np.testing.assert_allclose(fitted.transform(X_new), expected)


def test_lvm_of_far_points_does_not_underflow():
    X, Y, _ = data()
    Z = LVMExtender(beta=1e-6).fit(X, Y).transform(np.full((1, 6), 1e3))
    np.testing.assert_allclose(Z, [Y[nearest(X, np.full(6, 1e3), 1)[0]]])


def test_lvm_stays_in_the_hull_and_one_neighbour_copies():
    X, Y, X_new = data()
    Z = LVMExtender(n_neighbors=40).fit(X, Y).transform(X_new)
    assert (Y.min(axis=0) <= Z).all() and (Y.max(axis=0) >= Z).all()
    copies = LVMExtender(n_neighbors=1).fit(X, Y).transform(X_new)
    np.testing.assert_array_equal(copies, [Y[nearest(X, x, 1)[0]] for x in X_new])


def test_lle_equals_the_literal_formula():
    X, Y, X_new = data()
    expected = []
    for x in X_new:
        i = nearest(X, x, 5)
        C = (X[i] - x) @ (X[i] - x).T
        w = np.linalg.solve(C + 1e-3 * np.trace(C) * np.eye(5), np.ones(5))
        expected.append(w @ Y[i] / w.sum())
    np.testing.assert_allclose(LLEExtender().fit(X, Y).transform(X_new), expected)


def test_lle_is_exact_for_affine_maps_with_enough_neighbours():
    X, _, X_new = data(D=3)
    A = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    Z = LLEExtender(n_neighbors=8, reg=1e-12).fit(X, X @ A + 5).transform(X_new)
    np.testing.assert_allclose(Z, X_new @ A + 5, atol=1e-6)


def test_lle_interpolates_and_averages_equal_training_points():
    X, Y, _ = data()
    np.testing.assert_array_equal(LLEExtender(reg=0.1).fit(X, Y).transform(X), Y)
    X[1] = X[0]
    np.testing.assert_allclose(LLEExtender().fit(X, Y).transform(X[:1]), [(Y[0] + Y[1]) / 2])


def test_lle_among_equal_neighbours_only():
    X, Y = np.zeros((6, 3)), np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(LLEExtender(n_neighbors=6).fit(X, Y).transform(np.ones((1, 3))), [Y.mean(axis=0)])


@pytest.mark.parametrize("extender", [LVMExtender(n_neighbors=50), LLEExtender(n_neighbors=50)])
def test_more_neighbours_than_points_takes_all(extender):
    X, Y, X_new = data(n=4)
    fewer = extender.fit(X, Y).transform(X_new)
    np.testing.assert_allclose(extender.set_params(n_neighbors=4).fit(X, Y).transform(X_new), fewer)


@pytest.mark.parametrize("extender", [LVMExtender(), LLEExtender()])
def test_a_lone_training_point(extender):
    np.testing.assert_allclose(
        extender.fit([[1.0, 2.0]], [[3.0]]).transform([[0.0, 0.0], [1.0, 2.0]]), [[3.0], [3.0]]
    )
