"""Embeddings with a fixed number of centres: their exact forms, and transcriptions of the smaller problems."""

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits

from manifold_oos.embeddings import kernel_pca, lgrm, nsse
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.embeddings.lgrm import LGRM
from manifold_oos.embeddings.nsse import NSSE
from manifold_oos.extenders.nystrom import Nystrom
from manifold_oos.numerics.centers import farthest_points


def three_arcs(n):
    """Noisy arcs in ten dimensions, a third of them new."""
    random = np.random.default_rng(0)
    y = np.tile([0, 1, 2], n // 2)
    t = random.uniform(0, np.pi, len(y))
    curve = np.column_stack([np.cos(t) + y, np.sin(t), np.cos(t + y)])
    X = curve @ random.standard_normal((3, 10)) + 0.1 * random.standard_normal((len(y), 10))
    return X[:n], y[:n], X[n:]


@pytest.fixture
def arcs():
    return three_arcs(120)


METHODS = [
    KPCA(3),
    KPCA(2, kernel="linear"),
    KPCA(3, kernel="polynomial", degree=2),
    LGRM(2, mu=1e-3),
    LGRM(2, mu=0, local="ltsa"),
    LGRM(2, mu=0.1, local="lle", kernel="linear"),
    NSSE(4),
    NSSE(2, n_neighbors=4, scaling="raw", mu1=0.1),
    NSSE(4, sigma={"median": 1.0}),
]


def signed(Y, Z):
    """Z with the signs of Y."""
    return Z * np.sign(np.sum(Y * Z, axis=0))


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("n_centers", [120, 500])
def test_as_many_centers_as_points_are_the_exact_form(method, n_centers, arcs):
    X, y, X_new = arcs
    exact = method.set_params(n_centers=None).fit(X, y)
    expected = exact.embedding_, exact.transform(X_new)
    method.set_params(n_centers=n_centers).fit(X, y)
    np.testing.assert_array_equal(method.embedding_, expected[0])
    np.testing.assert_array_equal(method.transform(X_new), expected[1])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_form_of_few_centers_with_all_of_them_is_the_exact_form(method, arcs, monkeypatch):
    X, y, X_new = arcs
    exact = method.set_params(n_centers=None).fit(X, y)
    Y, Z = exact.embedding_, exact.transform(X_new)
    eigenvalues = getattr(exact, "eigenvalues_", None)
    shuffled = np.random.default_rng(1).permutation(len(X))
    for module in (kernel_pca, lgrm, nsse):
        monkeypatch.setattr(module, "some_centers", lambda X, n: shuffled)
    method.set_params(n_centers=119).fit(X, y)
    scale = np.abs(Y).max()
    np.testing.assert_allclose(signed(Y, method.embedding_), Y, atol=1e-6 * scale)
    np.testing.assert_allclose(signed(Z, method.transform(X_new)), Z, atol=1e-5 * np.abs(Z).max())
    if eigenvalues is not None:
        np.testing.assert_allclose(method.eigenvalues_, eigenvalues, rtol=1e-6, atol=1e-12)


def test_kpca_by_functions_of_the_centers(arcs):
    """Directions Σ a_j φ(z_j) of largest variance: K_mn H K_nm a = λ K_mm a."""
    X, _, X_new = arcs
    fitted = KPCA(3, n_centers=30, sigma=2.0).fit(X)
    Z = X[farthest_points(X, 30)]

    def kernel(A):
        return np.exp(-cdist(A, Z, "sqeuclidean") / 4)

    H = np.eye(len(X)) - 1 / len(X)
    values, A = linalg.eigh(kernel(X).T @ H @ kernel(X), kernel(Z))
    A = A[:, :-4:-1]
    np.testing.assert_allclose(fitted.eigenvalues_, values[:-4:-1], rtol=1e-9)
    np.testing.assert_allclose(signed(fitted.embedding_, H @ kernel(X) @ A), fitted.embedding_, atol=1e-8)
    expected = (kernel(X_new) - kernel(X).mean(axis=0)) @ A
    np.testing.assert_allclose(signed(fitted.transform(X_new), expected), fitted.transform(X_new), atol=1e-8)


@pytest.mark.parametrize("n", [120, 400])  # a dense eigenproblem, and one of a sparse and a low-rank matrix
def test_lgrm_by_a_regression_on_the_centers(n):
    """Eq. 15 with W = Σ φ(z_j) a_j: min over a, b of ‖K_nm a + 1b − Y‖² + γ aᵀ K_mm a, then over Y."""
    X, y, X_new = three_arcs(n)
    mu, gamma = 1e-2, 1e-3
    fitted = LGRM(2, n_centers=25, sigma=2.0, mu=mu, gamma=gamma).fit(X, y)
    Z = X[farthest_points(X, 25)]
    K, K_mm = np.exp(-cdist(X, Z, "sqeuclidean") / 4), np.exp(-cdist(Z, Z, "sqeuclidean") / 4)
    H = np.eye(n) - 1 / n
    solve = np.linalg.solve(K.T @ H @ K + gamma * K_mm, K.T @ H)
    L_g = H - H @ K @ solve
    L_loc = fitted._local_laplacian(X).toarray()
    values, vectors = np.linalg.eigh(L_loc + mu * L_g + 10 / n)
    Y = vectors[:, :2]
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-6)
    np.testing.assert_allclose(signed(fitted.embedding_, Y), fitted.embedding_, atol=1e-7)
    a = solve @ fitted.embedding_
    b = (fitted.embedding_ - K @ a).mean(axis=0)
    expected = np.exp(-cdist(X_new, Z, "sqeuclidean") / 4) @ a + b
    np.testing.assert_allclose(fitted.transform(X_new), expected, atol=1e-7)


def nsse_of_centers(X, y, Z, d, sigma, mu1=300.0, mu2=1e-3, mu3=1.0):
    """Eq. 11 for Y = ΨC, in the units of ``scaling="mean"``: objective and Y."""
    N = len(X)
    same = y[:, None] == y
    W_w = np.exp(-cdist(X, X, "sqeuclidean") / np.mean(pdist(X, "sqeuclidean"))) * same
    np.fill_diagonal(W_w, 0)
    B = (np.diag(W_w.sum(axis=1)) - W_w) / N - mu1 * (np.diag((~same).sum(axis=1)) - ~same) / N**2
    Psi = np.exp(-cdist(X, Z, "sqeuclidean") / sigma**2)
    values, C = linalg.eigh(Psi.T @ B @ Psi + mu2 * np.eye(len(Z)), Psi.T @ Psi)
    return values[:d].sum() + mu3 * (np.median(pdist(X)) / sigma) ** 2, Psi @ C[:, :d], C[:, :d]


def test_nsse_by_a_map_of_the_centers(arcs):
    X, y, _ = arcs
    fitted = NSSE(3, n_centers=20, tol=1e-6).fit(X, y)
    Z = X[farthest_points(X, 20)]
    start = np.log(4 * np.median(pdist(X)))
    found = minimize_scalar(
        lambda t: nsse_of_centers(X, y, Z, 3, np.exp(t))[0], bounds=(start - 2, start), options={"xatol": 1e-8}
    )
    assert np.log(fitted.sigma_) == pytest.approx(found.x, abs=1e-4)
    objective, Y, C = nsse_of_centers(X, y, Z, 3, fitted.sigma_)
    assert fitted.objective_ == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(signed(fitted.embedding_, Y), fitted.embedding_, atol=1e-6)
    np.testing.assert_allclose(fitted.embedding_.T @ fitted.embedding_, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-9)
    assert fitted.coefficients_.shape == C.shape


def test_few_centers_classify_digits_nearly_as_all_do():
    X, y = load_digits(return_X_y=True)
    known = np.arange(len(X)) % 3 == 0
    for method in (NSSE(9), KPCA(20)):
        wrong = []
        for n_centers in (None, 300):
            fitted = method.set_params(n_centers=n_centers).fit(X[known], y[known])
            nearest = cdist(fitted.transform(X[~known]), fitted.transform(X[known])).argmin(axis=1)
            wrong.append(np.mean(y[known][nearest] != y[~known]))
        assert wrong[1] <= wrong[0] + 0.02


def test_what_a_form_of_centers_does_not_have(arcs):
    X, y, _ = arcs
    with pytest.raises(ValueError, match="needs search='secant'"):
        NSSE(2, n_centers=10, search="alternation").fit(X, y)
    with pytest.raises(ValueError, match="lower n_components"):
        NSSE(5, n_centers=4).fit(X, y)
    with pytest.raises(ValueError, match="lower n_components"):
        KPCA(5, n_centers=4).fit(X, y)
    with pytest.raises(ValueError, match="KPCA has no kernel for new points"):
        few = KPCA(2, n_centers=10).fit(X)
        Nystrom(kernel="embedding").fit(X, few.embedding_, embedding=few)


@pytest.mark.parametrize("method", [KPCA(2), LGRM(2), NSSE(2)], ids=str)
def test_duplicates_and_constant_features(method, arcs):
    X, y, X_new = arcs
    twice = np.hstack([np.vstack([X, X[:30]]), np.ones((150, 1))])
    fitted = method.set_params(n_centers=40).fit(twice, np.concatenate([y, y[:30]]))
    coordinates = fitted.transform(np.hstack([X_new, np.ones((len(X_new), 1))]))
    assert np.isfinite(coordinates).all() and np.ptp(coordinates, axis=0).min() > 0
