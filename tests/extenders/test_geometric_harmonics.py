"""Geometric harmonics against the sum of the paper by loops, and against interpolation where nothing is cut."""

import numpy as np
import pytest

from manifold_oos.extenders.geometric_harmonics import GeometricHarmonics
from manifold_oos.extenders.krr import KernelRidgeExtender


def data(n=40, D=3, n_new=7, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, D)), random.standard_normal((n, 2)), random.standard_normal((n_new, D))


def literal(X, Y, x, sigma, delta):
    """f(x) = Σ_l ⟨y, ψ_l⟩ ψ̄_l(x) over the eigenvalues above the cut."""

    def kernel(a, b):
        return np.exp(-np.sum((a - b) ** 2) / sigma**2)

    K = np.array([[kernel(a, b) for b in X] for a in X])
    values, vectors = np.linalg.eigh(K)
    total = np.zeros(Y.shape[1])
    for value, psi in zip(values, vectors.T, strict=True):
        if value > delta * values[-1]:
            extended = sum(kernel(x, X[i]) * psi[i] for i in range(len(X))) / value
            total += (psi @ Y) * extended
    return total


@pytest.mark.parametrize("delta", [1e-1, 1e-2, 1e-4])
def test_the_sum_of_the_paper(delta):
    X, Y, X_new = data()
    found = GeometricHarmonics(delta, sigma=2.0).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(found, [literal(X, Y, x, 2.0, delta) for x in X_new], atol=1e-9)


def test_without_a_cut_it_interpolates_as_kernel_regression():
    X, Y, X_new = data()
    fitted = GeometricHarmonics(0, sigma=0.7).fit(X, Y)
    np.testing.assert_allclose(fitted.transform(X), Y, atol=1e-9)
    expected = KernelRidgeExtender(0, sigma=0.7).fit(X, Y).transform(X_new)
    np.testing.assert_allclose(fitted.transform(X_new), expected, atol=1e-9)


def test_a_higher_cut_keeps_less_of_the_known_coordinates():
    X, Y, _ = data()
    fits = [GeometricHarmonics(delta, sigma=2.0).fit(X, Y) for delta in (1e-5, 1e-3, 1e-1)]
    counts = [fit.n_harmonics_ for fit in fits]
    residuals = [np.linalg.norm(fit.transform(X) - Y) for fit in fits]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 3
    assert residuals == sorted(residuals) and residuals[0] < residuals[-1]


def test_noise_is_left_out_where_interpolation_keeps_it():
    random = np.random.default_rng(1)
    X, X_new = random.uniform(-1, 1, (300, 2)), random.uniform(-0.9, 0.9, (100, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * random.standard_normal((300, 1))
    truth = np.sin(2 * X_new[:, :1])
    smooth, wild = (GeometricHarmonics(delta).fit(X, Y).transform(X_new) for delta in (1e-3, 0))
    assert np.abs(smooth - truth).mean() < 0.5 * np.abs(wild - truth).mean()


def test_far_points_go_to_zero():
    X, Y, _ = data()
    np.testing.assert_array_equal(GeometricHarmonics().fit(X, Y).transform(X + 1e6), 0)
