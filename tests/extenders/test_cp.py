"""Coordinate propagation against a literal transcription, its fixed point and GOM."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.embeddings.local_alignment import LLE, LTSA
from manifold_oos.extenders.cp import MAX_STEPS, CoordinatePropagation, prediction_order, sweep
from manifold_oos.extenders.gom import GlobalOptimization
from manifold_oos.numerics.alignment import lle_alignment
from manifold_oos.numerics.graphs import neighborhoods
from manifold_oos.numerics.shared import Kept, sharing


def tangent(points):
    centred = points - points.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


def spline_at(T, f, t):
    """Eq. 12–14 for d = 2: Φα + Pβ = f, Pᵀα = 0, evaluated at t."""

    def phi(r):
        return r**2 * np.log(np.where(r > 0, r, 1))

    r = len(T)
    P = np.column_stack([np.ones(r), T])
    K = np.block([[phi(np.linalg.norm(T[:, None] - T, axis=2)), P], [P.T, np.zeros((3, 3))]])
    solution = np.linalg.solve(K, np.vstack([f, np.zeros((3, f.shape[1]))]))
    return np.r_[phi(np.linalg.norm(T - t, axis=1)), 1, t] @ solution


def literal(X, Y, X_new, k, iterations, update):
    """Section 2.3 and 3, point by point, with LLE's matrix; without an update g stays the first one."""
    points = np.vstack([X, X_new])
    n, m = len(points), len(X)
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distance, np.inf)
    neighbors = np.argsort(distance, axis=1)[:, :k]
    y = np.vstack([Y, np.zeros((n - m, 2))])
    known, order = np.arange(n) < m, []
    while not known.all():
        counts = np.where(known, -1, known[neighbors].sum(axis=1))
        # Of equals the first in the order of the coordinates, as the extender sorts its points.
        i = min(np.flatnonzero(counts == counts.max()), key=lambda j: tuple(points[j]))
        T = tangent(points[np.r_[i, neighbors[i]]])
        ready = known[neighbors[i]]
        y[i] = spline_at(T[1:][ready], y[neighbors[i][ready]], T[0])
        known[i] = True
        order.append(i)
    g = y[m:].copy()
    M = lle_alignment(points, k).toarray()
    S = np.eye(n - m) - M[m:, m:]
    alpha = 1 / (np.abs(S).sum(axis=0).max() + 1)
    for _ in range(iterations):
        y[m:] = alpha * S @ y[m:] - alpha * M[m:, :m] @ Y + (1 - alpha) * g
        if update:
            v = y.copy()
            for i in order:
                T = tangent(points[np.r_[i, neighbors[i]]])
                v[i] = spline_at(T[1:], (v if update == "sequential" else y)[neighbors[i]], T[0])
            g = v[m:]
    return y[m:]


@pytest.mark.parametrize("update", [None, "sequential", "simultaneous"])
def test_equals_the_literal_transcription(update, sheet):
    X, Y, X_new, _ = sheet()
    expected = literal(X, Y, X_new, 9, 3, update)
    parameters = {"prediction": "printed", "update": update} if update else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cp = CoordinatePropagation("lle", 9, **parameters, max_iter=3, tol=0).fit(X, Y, X_new=X_new)
    np.testing.assert_allclose(cp.steps_[-1].coordinates, expected, atol=1e-9)


def test_a_sweep_equals_its_loop(sheet):
    random = np.random.default_rng(0)
    known = random.random(50) < 0.4
    order = random.permutation(np.flatnonzero(~known))
    W = sparse.random_array((len(order), 50), density=0.2, rng=random).toarray()
    W[np.arange(len(order)), np.flatnonzero(~known)] = 0
    y = random.standard_normal((50, 2))
    expected = y.copy()
    for i in order:
        expected[i] = W[np.sum(~known[:i])] @ expected
    result = sweep(sparse.csr_array(W), order, known)(y)
    np.testing.assert_allclose(result, expected[~known], rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def blocks(X, X_new, k):
    M = lle_alignment(np.vstack([X, X_new]), k).toarray()
    return M[len(X) :, len(X) :], M[len(X) :, : len(X)]


def first_g(X, Y, X_new, k):
    """With an overwhelming weight the result is the prediction."""
    return CoordinatePropagation("lle", k, mu2=1e14).fit(X, Y, X_new=X_new).new_embedding_


@pytest.mark.parametrize("mu2", [None, 3.0, 10.0])
def test_frozen_iteration_ends_at_its_fixed_point(mu2, sheet):
    X, Y, X_new, _ = sheet()
    cp = CoordinatePropagation("lle", 9, mu2=mu2, max_iter=5000, tol=1e-13).fit(X, Y, X_new=X_new)
    M_uu, M_ul = blocks(X, X_new, 9)
    S = np.eye(20) - M_uu
    assert np.linalg.norm(S, 2) / (1 + cp.mu2_) < 1  # where the paper promises convergence
    if mu2 is None:
        assert cp.mu2_ == pytest.approx(np.abs(S).sum(axis=0).max())
    expected = np.linalg.solve(M_uu + cp.mu2_ * np.eye(20), cp.mu2_ * first_g(X, Y, X_new, 9) - M_ul @ Y)
    np.testing.assert_allclose(cp.new_embedding_, expected, atol=1e-8)
    assert cp.residual_ < 1e-9


def test_fixed_point_tends_to_gom(sheet):
    X, Y, X_new, _ = sheet()
    gom = GlobalOptimization("lle", 9).fit(X, Y, X_new=X_new).new_embedding_
    M_uu, M_ul = blocks(X, X_new, 9)
    g = first_g(X, Y, X_new, 9) + 0.1  # a wrong prediction loses its influence
    distance = [
        np.linalg.norm(np.linalg.solve(M_uu + mu2 * np.eye(20), mu2 * g - M_ul @ Y) - gom)
        for mu2 in (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    ]
    assert (np.diff(distance) < 0).all() and distance[-1] < 1e-4


def test_iteration_with_a_small_weight_comes_close_to_gom_where_it_contracts(sheet):
    X, Y, X_new, _ = sheet()
    M_uu, _ = blocks(X, X_new, 9)
    mu2 = max(np.linalg.norm(np.eye(20) - M_uu, 2) - 1, 0) + 1e-3
    gom = GlobalOptimization("lle", 9).fit(X, Y, X_new=X_new).new_embedding_
    distances = [
        np.linalg.norm(
            CoordinatePropagation("lle", 9, mu2=m, max_iter=20000, tol=1e-7).fit(X, Y, X_new=X_new).new_embedding_
            - gom
        )
        for m in (100 * mu2 + 100, mu2)
    ]
    assert distances[1] < distances[0]


@pytest.mark.parametrize(("embedding", "alignment"), [(LLE, "lle"), (LTSA, "ltsa")])
@pytest.mark.parametrize("prediction", ["frozen", "damped", "printed"])
def test_half_an_s_surface(embedding, alignment, prediction, half_surface, similarity):
    X, X_new, truth = half_surface()
    Y = embedding(n_components=2, n_neighbors=12).fit(X).embedding_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        cp = CoordinatePropagation(alignment, 12, prediction=prediction).fit(X, Y, X_new=X_new)
    assert similarity(np.vstack([Y, cp.new_embedding_]), truth) > 0.98
    assert cp.residual_ < 1e-4


def test_all_at_once_it_diverges_and_says_so(half_surface, similarity):
    X, X_new, truth = half_surface()
    Y = LTSA(n_components=2, n_neighbors=12).fit(X).embedding_
    with pytest.warns(ConvergenceWarning, match=r"diverges with prediction='printed'"):
        cp = CoordinatePropagation("ltsa", 12, prediction="printed", update="simultaneous").fit(X, Y, X_new=X_new)
    assert similarity(np.vstack([Y, cp.new_embedding_]), truth) > 0.98
    assert cp.n_iter_ < 100
    np.testing.assert_array_equal(cp.steps_[-1].coordinates, cp.new_embedding_)


def test_all_at_once_and_unguarded_it_runs_away(half_surface, similarity):
    X, X_new, truth = half_surface()
    Y = LTSA(n_components=2, n_neighbors=12).fit(X).embedding_
    with pytest.warns(ConvergenceWarning, match="still changes"):
        cp = CoordinatePropagation("ltsa", 12, prediction="printed", update="simultaneous", guard=False)
        cp.fit(X, Y, X_new=X_new)
    assert cp.n_iter_ == 100 and similarity(np.vstack([Y, cp.new_embedding_]), truth) < 0.5
    np.testing.assert_array_equal(cp.steps_[-1].coordinates, cp.new_embedding_)


def test_a_weight_too_small_to_contract_diverges_with_a_warning(sheet):
    X, Y, X_new, _ = sheet()
    with pytest.warns(ConvergenceWarning, match="diverges"):
        cp = CoordinatePropagation("ltsa", 9, mu2=0.1, tol=1e-12).fit(X, Y, X_new=X_new)
    assert np.abs(cp.new_embedding_).max() < 10 * np.abs(Y).max()


def test_no_tolerance_at_all_stops_at_rounding(sheet):
    X, Y, X_new, _ = sheet()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp = CoordinatePropagation("lle", 9, max_iter=1000, tol=0).fit(X, Y, X_new=X_new)
    assert cp.residual_ < 1e-12


def test_too_few_iterations_are_told(sheet):
    X, Y, X_new, _ = sheet()
    with pytest.warns(ConvergenceWarning, match="still changes by .* after 2 iterations"):
        CoordinatePropagation(max_iter=2, tol=0).fit(X, Y, X_new=X_new)


def test_steps_are_thinned_and_end_with_the_result(sheet):
    X, Y, X_new, _ = sheet()
    with pytest.warns(ConvergenceWarning):
        cp = CoordinatePropagation("lle", 9, mu2=1.5, max_iter=60, tol=0).fit(X, Y, X_new=X_new)
    assert 25 <= len(cp.steps_) <= MAX_STEPS
    assert cp.steps_[-1].number == 60
    assert all(step.coordinates.shape == (20, 2) for step in cp.steps_)
    changes = [step.values["change"] for step in cp.steps_]
    assert changes[-1] < 1e-3 * changes[0]


def test_order_takes_the_most_known_neighbours_first(sheet):
    X, _, X_new, _ = sheet(90)
    points = np.vstack([X, X_new])
    index = neighborhoods(points, 6)
    known = np.arange(90) < 60
    order, ready = prediction_order(index, known)
    assert sorted(order) == list(range(60, 90))
    for i in order:
        counts = np.where(known, -1, known[index[:, 1:]].sum(axis=1))
        assert i == np.argmax(counts)
        np.testing.assert_array_equal(ready[i], known[index[i, 1:]])
        known[i] = True


@pytest.mark.parametrize("r", [1, 2])
def test_fewer_known_neighbours_than_a_plane_needs(r):
    """A strip that is entered from r known points: no spline has d + 1 = 3 of them at first."""
    random = np.random.default_rng(0)
    X_new = np.column_stack([np.linspace(1, 3, 30), 0.1 * random.standard_normal((30, 2))])
    X = np.array([[0.8, 0.0, 0.0], [0.85, 0.05, 0.0]])[:r]
    cp = CoordinatePropagation("lle", 5).fit(X, X[:, :2], X_new=X_new)
    assert np.isfinite(cp.new_embedding_).all()
    assert np.abs(cp.new_embedding_).max() < 10


def test_new_points_that_no_known_one_is_near_are_a_clear_error():
    index = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    with pytest.raises(ValueError, match="2 new points have no known point among their 1 neighbours"):
        prediction_order(index, np.array([True, True, False, False]))


def test_what_arms_share_changes_no_coordinate():
    X, X_new = half_of_a_surface()
    Y = X[:, :2]
    arms = [
        extender(alignment=alignment, **options)
        for alignment in ("lle", "spline")
        for extender, options in [
            (GlobalOptimization, {}),
            (CoordinatePropagation, {}),
            (CoordinatePropagation, {"prediction": "printed"}),
            (CoordinatePropagation, {"prediction": "printed", "update": "simultaneous", "max_iter": 3}),
        ]
    ]
    for arm in arms:
        arm.set_params(n_neighbors=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone = [arm.fit(X, Y, X_new=X_new).new_embedding_.copy() for arm in arms]
        with sharing(Kept()) as kept:
            together = [arm.fit(X, Y, X_new=X_new).new_embedding_ for arm in arms]
    assert kept.saved > 0
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(alone[1], alone[2])


def half_of_a_surface():
    random = np.random.default_rng(3)
    t, height = random.uniform(0, 3, 120), random.uniform(0, 2, 120)
    X = np.column_stack([np.sin(t), height, np.cos(t)])
    return X[t < 1.8], X[t >= 1.8]
