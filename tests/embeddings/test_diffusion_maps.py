"""Diffusion maps against the definitions of Coifman and Lafon, worked out with loops and plain matrix powers."""

import numpy as np
import pytest
from scipy import linalg

from manifold_oos.datasets.toy import s_surface, swiss_roll
from manifold_oos.embeddings.diffusion_maps import DiffusionMaps
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.extenders.nystrom import Nystrom
from manifold_oos.metrics import parameter_r2


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.uniform(size=(40, 2)) @ rng.standard_normal((2, 5)) + 0.02 * rng.standard_normal((40, 5))


def transitions(X, alpha, sigma):
    """P and the stationary distribution."""
    n = len(X)
    k = np.array([[np.exp(-np.sum((X[i] - X[j]) ** 2) / sigma**2) for j in range(n)] for i in range(n)])
    q = k.sum(axis=1)
    weighed = np.array([[k[i, j] / (q[i] ** alpha * q[j] ** alpha) for j in range(n)] for i in range(n)])
    d = weighed.sum(axis=1)
    return weighed / d[:, None], d / d.sum()


@pytest.mark.parametrize(("alpha", "t"), [(0, 1), (0.5, 2), (1, 1), (1, 3)])
def test_all_coordinates_together_have_the_distances_of_the_walk(points, alpha, t):
    """‖Ψ_t(x) − Ψ_t(z)‖² = Σ_u (p_t(x, u) − p_t(z, u))² / π(u)."""
    P, stationary = transitions(points, alpha, 1.0)
    Pt = np.linalg.matrix_power(P, t)
    Y = DiffusionMaps(39, alpha=alpha, t=t, sigma=1.0).fit(points).embedding_
    for i, j in [(0, 1), (3, 17), (20, 39)]:
        expected = np.sum((Pt[i] - Pt[j]) ** 2 / stationary)
        assert np.sum((Y[i] - Y[j]) ** 2) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_columns_are_eigenvectors_of_unit_norm_under_the_stationary_distribution(points, alpha):
    P, stationary = transitions(points, alpha, 0.8)
    fitted = DiffusionMaps(4, alpha=alpha, t=0, sigma=0.8).fit(points)
    psi = fitted.embedding_
    np.testing.assert_allclose(P @ psi, psi * fitted.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(psi.T * stationary @ psi, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(stationary @ psi, 0, atol=1e-9)
    expected = np.sort(linalg.eigvals(P).real)[::-1][1:5]
    np.testing.assert_allclose(fitted.eigenvalues_, expected, atol=1e-9)


def test_without_alpha_and_time_it_is_laplacian_eigenmaps_of_the_kernel(points):
    ours = DiffusionMaps(3, alpha=0, t=0, sigma=1.0).fit(points)
    theirs = LaplacianEigenmaps(3, graph="kernel", sigma=1.0).fit(points)
    np.testing.assert_allclose(ours.eigenvalues_, 1 - theirs.eigenvalues_, atol=1e-10)
    scale = np.sqrt(theirs.degrees_.sum())
    np.testing.assert_allclose(ours.embedding_, scale * theirs.embedding_, atol=1e-8)


def test_alpha_one_does_not_see_the_density():
    """A circle with half of the points on a quarter of it: only α = 1 gives cosine and sine of the angle."""
    rng = np.random.default_rng(0)
    angle = np.r_[rng.uniform(0, np.pi / 2, 400), rng.uniform(np.pi / 2, 2 * np.pi, 400)]
    X = np.column_stack([np.cos(angle), np.sin(angle)])

    def roundness(alpha):
        Y = DiffusionMaps(2, alpha=alpha, t=0, sigma=0.3).fit(X).embedding_
        return np.std(np.linalg.norm(Y, axis=1)) / np.mean(np.linalg.norm(Y, axis=1))

    assert roundness(1) < 0.08 < 0.3 < roundness(0)


def test_nystrom_gives_known_points_their_own_coordinates_and_new_ones_good_ones(points):
    fitted = DiffusionMaps(3, sigma=1.0, t=2).fit(points)
    extender = Nystrom().fit(points, fitted.embedding_, embedding=fitted)
    np.testing.assert_allclose(extender.transform(points), fitted.embedding_, atol=1e-8)
    X, parameters = s_surface(900, np.random.default_rng(0))
    known, new = np.split(np.random.default_rng(1).permutation(900), [600])
    fitted = DiffusionMaps(5).fit(X[known])
    Z = Nystrom().fit(X[known], fitted.embedding_, embedding=fitted).transform(X[new])
    assert parameter_r2(Z, {key: values[new] for key, values in parameters.items()}) > 0.95
    assert np.isfinite(fitted.extension_kernel(1e6 + X[:3])).all()


def test_the_default_width_unrolls():
    X, parameters = swiss_roll(1000, np.random.default_rng(0))
    Y = DiffusionMaps(1).fit(X).embedding_
    assert parameter_r2(Y, {"arc_length": parameters["arc_length"]}) > 0.9


def test_the_unit_of_the_data_does_not_matter(points):
    plain = DiffusionMaps().fit(points).embedding_
    for unit in (2.0**-60, 2.0**60):
        np.testing.assert_allclose(DiffusionMaps().fit(unit * points).embedding_, plain, atol=1e-9)


def test_parts_too_far_for_the_kernel_are_named(points):
    with pytest.raises(ValueError, match="apart"), pytest.warns(UserWarning, match="components"):
        DiffusionMaps(sigma=0.5).fit(np.vstack([points, points + 1e3]))


def test_one_feature():
    Y = DiffusionMaps(1).fit(np.sort(np.random.default_rng(0).uniform(size=(50, 1)), axis=0)).embedding_
    assert (np.diff(Y[:, 0]) * np.sign(Y[-1, 0] - Y[0, 0]) > -1e-9).all()
