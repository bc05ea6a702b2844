import numpy as np
import pytest
from scipy import linalg

from manifold_oos.datasets.toy import s_surface, swiss_roll
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.embeddings.lgrm import LGRM, regression_inverse
from manifold_oos.embeddings.projections import KLPP, LPP, KernelSpectralRegression, SpectralRegression
from manifold_oos.numerics.alignment import laplacian_alignment, lgrm_alignment, lle_alignment, spline_alignment
from manifold_oos.numerics.kernels import kernel_matrix


def assert_same_up_to_sign(A, B, atol):
    signs = np.sign((A * B).sum(axis=0))
    np.testing.assert_allclose(A * signs, B, atol=atol * np.abs(B).max())


def literal(X, new, L_loc, K, K_new, mu, gamma, m):
    """Eq. 18, 19 and 22 with explicit inverses."""
    n = len(X)
    H = np.eye(n) - np.ones((n, n)) / n
    inverse = np.linalg.inv(H @ K @ H + gamma * np.eye(n))
    L_g = gamma * H @ inverse @ H
    values, V = np.linalg.eigh(L_loc + mu * L_g)
    Y = V[:, 1 : m + 1]
    one = np.ones((n, 1))
    b = Y.T @ one / n - Y.T @ inverse @ H @ K @ one / n
    return values[1 : m + 1], Y, (Y.T @ inverse @ H @ K_new.T + b).T, L_g


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
@pytest.mark.parametrize("mu", [1e-3, 10.0])
def test_matches_the_equations(roll, kernel, mu):
    new = swiss_roll(15, np.random.default_rng(1))[0]
    X, new, gamma = roll / 10, new / 10, 1e-2
    lgrm = LGRM(2, n_neighbors=6, mu=mu, gamma=gamma, kernel=kernel, sigma=0.7, degree=2).fit(X)
    K, K_new = (kernel_matrix(Z, X, kernel=kernel, sigma=0.7, degree=2) for Z in (X, new))
    L_l = lgrm_alignment(X, 6, 2, gamma).toarray()
    values, Y, mapped, L_g = literal(X, new, L_l, K, K_new, mu, gamma, 2)
    np.testing.assert_allclose(lgrm.eigenvalues_, values, rtol=1e-6)
    assert_same_up_to_sign(lgrm.embedding_, Y, 1e-6)
    assert_same_up_to_sign(lgrm.transform(new), mapped, 1e-6)
    np.testing.assert_allclose(lgrm.transform(X), lgrm.embedding_ - L_g @ lgrm.embedding_, atol=1e-7)


def test_objective_of_the_global_term_is_the_error_of_its_regression(roll):
    """Eq. 13–18: with a linear kernel L_g is the residual of an explicit ridge regression with intercept."""
    n, gamma = 60, 0.3
    centred = roll - roll.mean(axis=0)
    explicit = np.eye(n) - 1 / n - centred @ np.linalg.inv(centred.T @ centred + gamma * np.eye(3)) @ centred.T
    L_g = gamma * regression_inverse(roll @ roll.T, gamma) - 1 / n
    np.testing.assert_allclose(L_g, explicit, atol=1e-9)
    Y = np.random.default_rng(2).standard_normal((n, 2))
    W = np.linalg.solve(centred.T @ centred + gamma * np.eye(3), centred.T @ Y)
    error = ((centred @ W + Y.mean(axis=0) - Y) ** 2).sum() + gamma * (W**2).sum()
    np.testing.assert_allclose(np.trace(Y.T @ L_g @ Y), error, rtol=1e-9)


@pytest.mark.parametrize("surface", [swiss_roll, s_surface])
def test_unrolls_surfaces_and_maps_unseen_points(surface):
    rng = np.random.default_rng(3)
    X, P = surface(1000, rng)
    new, Q = surface(500, rng)
    P, Q = (np.column_stack(list(p.values())) for p in (P, Q))
    lgrm = LGRM(n_neighbors=8).fit(X)
    for Y, true in ((lgrm.embedding_, P), (lgrm.transform(new), Q)):
        A = np.c_[np.ones(len(Y)), Y]
        rest = true - A @ np.linalg.lstsq(A, true, rcond=None)[0]
        assert (1 - rest.var(axis=0) / true.var(axis=0)).min() > 0.99


@pytest.mark.parametrize(
    ("local", "build"),
    [
        ("laplacian", lambda X: laplacian_alignment(X, 8, 5.0)),
        ("lle", lambda X: lle_alignment(X, 8)),
        ("ltsa", lambda X: lgrm_alignment(X, 8, 2, 0.0)),
        ("spline", lambda X: spline_alignment(X, 8, 2)),
    ],
)
def test_any_local_laplacian_may_take_its_place(roll, local, build):
    lgrm = LGRM(2, local=local, heat_sigma=5.0, mu=1e-3, gamma=1e-2, sigma=10.0).fit(roll)
    K = kernel_matrix(roll, sigma=10.0)
    values, Y, mapped, _ = literal(roll, roll, build(roll).toarray(), K, K, 1e-3, 1e-2, 2)
    np.testing.assert_allclose(lgrm.eigenvalues_, values, rtol=1e-5)
    assert_same_up_to_sign(lgrm.embedding_, Y, 1e-5)
    assert_same_up_to_sign(lgrm.transform(roll), mapped, 1e-5)


def test_without_the_global_term_it_is_the_local_method(roll):
    lgrm = LGRM(2, local="laplacian", heat_sigma=None, mu=0.0).fit(roll)
    values, V = linalg.eigh(laplacian_alignment(roll, 8).toarray(), subset_by_index=(1, 2))
    np.testing.assert_allclose(lgrm.eigenvalues_, values, atol=1e-10)
    assert_same_up_to_sign(lgrm.embedding_, V, 1e-8)


def test_proposition_1_and_2_large_mu_is_locality_preserving_projection(roll):
    X = roll / 10
    for kernel, lpp in (("linear", LPP()), ("polynomial", KLPP(kernel="polynomial", degree=2, cutoff=1e-13))):
        expected = lpp.fit(X)
        gaps = []
        for mu in (1e2, 1e4, 1e6):
            lgrm = LGRM(2, local="laplacian", mu=mu, gamma=1e-3 / mu, kernel=kernel, degree=2).fit(X)
            angles = linalg.subspace_angles(lgrm.embedding_, expected.embedding_)
            gaps.append(angles.max())
        assert gaps[-1] < 1e-3
        assert gaps[-1] < gaps[0]
        assert_same_up_to_sign(lgrm.embedding_, expected.embedding_, 1e-3)
        assert_same_up_to_sign(lgrm.transform(X), expected.transform(X), 1e-3)


def test_proposition_3_and_4_small_mu_is_spectral_regression(roll):
    for kernel, regression in (
        ("linear", SpectralRegression(gamma=0.1)),
        ("rbf", KernelSpectralRegression(gamma=0.1, sigma=10.0)),
    ):
        expected = regression.fit(roll)
        lgrm = LGRM(2, local="laplacian", mu=1e-9, gamma=0.1, kernel=kernel, sigma=10.0).fit(roll)
        assert_same_up_to_sign(lgrm.embedding_, expected.embedding_, 1e-6)
        assert_same_up_to_sign(lgrm.transform(roll), expected.transform(roll), 1e-6)


def test_laplacian_without_the_global_term_has_other_scaling_than_eigenmaps(roll):
    """Eq. 25 has YᵀY = I; Laplacian eigenmaps have ZᵀDZ = I."""
    lgrm = LGRM(2, local="laplacian", mu=0.0).fit(roll)
    eigenmaps = LaplacianEigenmaps(2).fit(roll)
    np.testing.assert_allclose(lgrm.embedding_.T @ lgrm.embedding_, np.eye(2), atol=1e-9)
    assert np.abs(eigenmaps.embedding_.T @ eigenmaps.embedding_ - np.eye(2)).max() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 1}, "raise p"),
        ({"p": 4}, "n_features = 3"),
        ({"p": 3, "n_neighbors": 3}, "n_neighbors >= 4"),
        ({"kernel": "linear", "gamma": 1e-30}, "raise gamma"),
    ],
)
def test_impossible_settings_say_what_to_change(roll, options, message):
    with pytest.raises(ValueError, match=message):
        LGRM(2, **options).fit(roll)
