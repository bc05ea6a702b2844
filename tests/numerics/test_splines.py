import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from manifold_oos.numerics import splines
from manifold_oos.numerics.splines import green_function, spline_blocks, spline_weights, tangent_coordinates


@pytest.mark.parametrize("D", [3, 40])
def test_tangent_coordinates_are_local_principal_components(D):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, D))
    index = np.array([rng.permutation(30)[:8] for _ in range(5)])
    T = tangent_coordinates(X, index, 2)
    for hood, t in zip(index, T, strict=True):
        centred = X[hood] - X[hood].mean(axis=0)
        U, s, _ = np.linalg.svd(centred, full_matrices=False)
        np.testing.assert_allclose(np.abs(t), np.abs(U[:, :2] * s[:2]), atol=1e-9)


def test_tangent_coordinates_do_not_depend_on_blocks(monkeypatch):
    X = np.random.default_rng(1).standard_normal((40, 6))
    index = np.arange(40).reshape(8, 5)
    whole = tangent_coordinates(X, index, 3)
    monkeypatch.setattr(splines, "BLOCK_FLOATS", 60)
    np.testing.assert_array_equal(tangent_coordinates(X, index, 3), whole)


def test_missing_directions_are_zero():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    T = tangent_coordinates(X, np.array([[0, 1, 2, 3]]), 3)
    np.testing.assert_allclose(np.abs(T[0, :, 0]), np.abs(X[:, 0] - 1.75))
    np.testing.assert_array_equal(T[0, :, 1:], 0)


KERNELS = {1: "cubic", 2: "thin_plate_spline", 3: "linear", 4: "linear"}


@pytest.mark.parametrize("d", KERNELS)
def test_spline_values_match_scipy(d):
    rng = np.random.default_rng(d)
    T, F, t = rng.standard_normal((6, 12, d)), rng.standard_normal((6, 12, 2)), rng.standard_normal((6, d))
    ours = np.einsum("mr,mrc->mc", spline_weights(T, t), F)
    for i in range(6):
        theirs = RBFInterpolator(T[i], F[i], kernel=KERNELS[d], degree=1)(t[i : i + 1])
        np.testing.assert_allclose(ours[i], theirs[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_splines_interpolate_and_reproduce_linear_functions(d):
    rng = np.random.default_rng(10 + d)
    T = 1e-3 * rng.standard_normal((4, 9, d)) + 5
    np.testing.assert_allclose(spline_weights(T, T[:, 4]), np.tile(np.eye(9)[4], (4, 1)), atol=1e-6)
    t = T.mean(axis=1) + 2e-3
    slope = rng.standard_normal(d)
    np.testing.assert_allclose(np.einsum("mr,mr->m", spline_weights(T, t), T @ slope), t @ slope, atol=1e-8)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_few_points_give_a_flat_or_linear_function(r):
    rng = np.random.default_rng(r)
    T, t = rng.standard_normal((5, r, 2)), rng.standard_normal((5, 2))
    w = spline_weights(T, t)
    np.testing.assert_allclose(w.sum(axis=1), 1)
    np.testing.assert_allclose(spline_weights(T, T[:, 0]), np.tile(np.eye(r)[0], (5, 1)), atol=1e-9)
    if r == 3:
        np.testing.assert_allclose(np.einsum("mr,mrd->md", w, T), t, atol=1e-9)


def test_duplicate_points_do_not_break_a_spline():
    rng = np.random.default_rng(3)
    T = rng.standard_normal((1, 8, 2))
    T[0, 7] = T[0, 0]
    F = T @ [2.0, -1.0]
    t = np.array([[0.3, 0.4]])
    np.testing.assert_allclose((spline_weights(T, t) * F).sum(), t @ [2.0, -1.0], atol=1e-6)
    assert np.isfinite(spline_blocks(T)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_bending_energy_is_semidefinite_and_scales_by_its_power(d):
    T = np.random.default_rng(d).standard_normal((3, 12, d))
    B = spline_blocks(T)
    assert np.linalg.eigvalsh(B).min() > -1e-9 * np.abs(B).max()
    np.testing.assert_allclose(B @ T, 0, atol=1e-8 * np.abs(B).max())
    np.testing.assert_allclose(spline_blocks(10 * T), B * 10.0 ** -{1: 3, 2: 2}.get(d, 1), rtol=1e-6, atol=1e-12)


def test_green_function_is_zero_at_zero():
    assert green_function(np.zeros(1), 2)[0] == 0
