"""NSSE against literal transcriptions of its equations and of Algorithm 1."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.embeddings import nsse
from manifold_oos.embeddings.nsse import NSSE
from manifold_oos.numerics.shared import Kept, sharing

SMALL = {"mu1": 300.0, "mu2": 1e-3, "mu3": 1.0}


def arcs(n=15, D=20, noise=0.3, seed=0):
    """Three noisy arcs in many dimensions, where Ψ is well conditioned."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n)
    t = random.uniform(0, np.pi, len(y))
    curve = np.column_stack([np.cos(t) + y, np.sin(t), np.cos(t + y)])
    return curve @ random.standard_normal((3, D)) + noise * random.standard_normal((len(y), D)), y


def laplacians(X, y, scaling):
    """L_w and L_b, entry by entry (eq. 9, 10); heat weights of mean squared distance, the whole class joined."""
    N = len(X)
    beta = np.mean(pdist(X, "sqeuclidean"))
    W_w, W_b = np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if y[i] != y[j]:
                W_b[i, j] = 1
            elif i != j:
                W_w[i, j] = np.exp(-np.sum((X[i] - X[j]) ** 2) / beta)
    L_w, L_b = np.diag(W_w.sum(axis=1)) - W_w, np.diag(W_b.sum(axis=1)) - W_b
    return (L_w / N, L_b / N**2) if scaling == "mean" else (L_w, L_b)


def inverse_kernel(X, sigma):
    return np.linalg.inv(np.exp(-squareform(pdist(X, "sqeuclidean")) / sigma**2))


def unit(X, scaling):
    return np.median(pdist(X)) if scaling == "mean" else 1.0


def literal_embedding(X, y, d, sigma, mu1, mu2, mu3, scaling="mean"):
    """Eq. 12 and 13: coordinates, and the objective of eq. 11 at them."""
    L_w, L_b = laplacians(X, y, scaling)
    inverse = inverse_kernel(X, sigma)
    A = L_w - mu1 * L_b + mu2 * inverse @ inverse
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    Y = vectors[:, :d]
    objective = np.trace(Y.T @ A @ Y) + mu3 / (sigma / unit(X, scaling)) ** 2
    return Y, objective, values


def literal_algorithm(X, y, d, grid, start, mu1, mu2, mu3, scaling="mean"):
    """Algorithm 1 with an exhaustive search of σ over a grid."""
    sigma = start
    for _ in range(100):
        Y, _, _ = literal_embedding(X, y, d, sigma, mu1, mu2, mu3, scaling)
        values = [mu2 * np.sum((inverse_kernel(X, s) @ Y) ** 2) + mu3 / (s / unit(X, scaling)) ** 2 for s in grid]
        previous, sigma = sigma, grid[int(np.argmin(values))]
        if sigma == previous:
            return sigma
    raise AssertionError("the literal algorithm does not settle")


def plain_alternation(X, y, d, start, mu1, mu2, mu3, scaling):
    """Algorithm 1 with a fine local search of σ, until σ stands still: σ and the objective of eq. 11."""
    log_sigma = np.log(start)
    for _ in range(500):
        Y, objective, _ = literal_embedding(X, y, d, np.exp(log_sigma), mu1, mu2, mu3, scaling)

        def roughness(t, Y=Y):
            return mu2 * np.sum((inverse_kernel(X, np.exp(t)) @ Y) ** 2) + mu3 / (np.exp(t) / unit(X, scaling)) ** 2

        around = (log_sigma - 0.5, log_sigma + 0.5)
        found = minimize_scalar(roughness, bounds=around, method="bounded", options={"xatol": 1e-9}).x
        if abs(found - log_sigma) < 1e-6:
            return np.exp(found), objective
        log_sigma = found
    raise AssertionError("plain alternation does not settle")


def assert_same_up_to_sign(A, B, tolerance):
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, atol=tolerance)


@pytest.mark.parametrize("scaling", ["mean", "raw"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_fixed_sigma_solves_eq_12(scaling, d):
    X, y = arcs()
    sigma = 1.3 * np.median(pdist(X))
    weights = SMALL if scaling == "mean" else {"mu1": 0.01, "mu2": 1e-3, "mu3": 1.0}
    model = NSSE(d, sigma=sigma, scaling=scaling, **weights).fit(X, y)
    Y, objective, values = literal_embedding(X, y, d, sigma, **weights, scaling=scaling)
    assert values[d] - values[d - 1] > 1e-6
    assert_same_up_to_sign(model.embedding_, Y, 1e-8)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    assert model.sigma_ == pytest.approx(sigma)
    assert [step.values["sigma"] for step in model.steps_] == pytest.approx([sigma])


def test_sigma_in_median_distances():
    X, y = arcs()
    assert NSSE(sigma={"median": 0.7}).fit(X, y).sigma_ == pytest.approx(0.7 * np.median(pdist(X)))


@pytest.mark.parametrize("start", ["high", "low"])
def test_sigma_is_that_of_the_literal_algorithm(start):
    X, y = arcs()
    median = np.median(pdist(X))
    model = NSSE(2, start=start, **SMALL).fit(X, y)
    first = {"high": 4, "low": 0.2}[start] * median
    expected = literal_algorithm(X, y, 2, median * np.geomspace(0.2, 5, 300), first, **SMALL)
    assert abs(np.log(model.sigma_ / expected)) < np.log(25) / 79, "more than a step of a grid of 80 points"
    assert model.steps_[0].values["sigma"] == pytest.approx(first)


def test_raw_scaling_is_the_letter_of_eq_11():
    X, y = arcs()
    N = len(X)
    mean = NSSE(2, **SMALL).fit(X, y)
    raw = NSSE(
        2,
        scaling="raw",
        mu1=SMALL["mu1"] / N,
        mu2=SMALL["mu2"] * N,
        mu3=SMALL["mu3"] * N * np.median(pdist(X)) ** 2,
    ).fit(X, y)
    assert raw.sigma_ == pytest.approx(mean.sigma_, rel=1e-6)
    assert raw.objective_ == pytest.approx(N * mean.objective_, rel=1e-9)
    np.testing.assert_allclose(raw.embedding_, mean.embedding_, atol=1e-6)


@pytest.mark.parametrize("search", ["secant", "alternation"])
@pytest.mark.parametrize(
    ("n", "d", "weights"),
    [(60, 9, (300, 1e-3, 1)), (60, 15, (300, 1e-3, 1)), (100, 5, (100, 1e-3, 1)), (100, 5, (1000, 1e-4, 1))],
)
def test_raw_scaling_settles_where_plain_alternation_does(n, d, weights, search):
    """The far start has slopes that explode: a secant from there promises a tiny step anywhere."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:n] / np.linalg.norm(X[:n], axis=1)[:, None], y[:n]
    mu = dict(zip(("mu1", "mu2", "mu3"), weights, strict=True))
    model = NSSE(d, **mu, scaling="raw", search=search).fit(X, y)
    sigma, objective = plain_alternation(X, y, d, 1.4 * np.median(pdist(X)), **mu, scaling="raw")
    assert model.sigma_ == pytest.approx(sigma, rel=2e-3)
    assert model.objective_ - objective < 1e-3 * abs(objective + weights[0] * n * d)


def test_alternation_goes_the_way_of_algorithm_1():
    X, y = arcs()
    median = np.median(pdist(X))
    model = NSSE(2, **SMALL, search="alternation", tol=1e-5).fit(X, y)
    sigma = [step.values["sigma"] for step in model.steps_]
    for before, after in pairwise(sigma[:5]):
        Y, _, _ = literal_embedding(X, y, 2, before, **SMALL)

        def roughness(t, Y=Y):
            return SMALL["mu2"] * np.sum((inverse_kernel(X, t) @ Y) ** 2) + SMALL["mu3"] / (t / median) ** 2

        best = minimize_scalar(
            roughness, bounds=(0.5 * after, 2 * after), method="bounded", options={"xatol": 1e-9}
        )
        assert after == pytest.approx(best.x, rel=1e-4)
    assert sigma[-1] == pytest.approx(NSSE(2, **SMALL, tol=1e-5).fit(X, y).sigma_, rel=1e-3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        NSSE(2, search="alternation", max_iter=2).fit(X, y)


def test_classes_of_any_size_and_order():
    X, _ = arcs()
    y = np.random.default_rng(3).permutation(np.repeat([0, 1, 2, 3, 4], [1, 20, 9, 9, 6]))
    sigma = np.median(pdist(X))
    model = NSSE(4, sigma=sigma).fit(X, y)
    Y, objective, _ = literal_embedding(X, y, 4, sigma, **SMALL)
    assert_same_up_to_sign(model.embedding_, Y, 1e-8)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def test_sharing_changes_no_number_and_makes_the_graphs_once(monkeypatch):
    X, y = arcs()
    requests = [{"n_components": d, "mu1": mu1, "mu3": mu3} for d in (2, 5) for mu1 in (100, 300) for mu3 in (1, 5)]
    alone = [NSSE(**request).fit(X, y) for request in requests]
    made = []
    real = nsse._Graphs.of
    monkeypatch.setattr(nsse._Graphs, "of", lambda *arguments: made.append(1) or real(*arguments))
    for order in (1, -1):
        with sharing(Kept()):
            together = [NSSE(**request).fit(X, y) for request in requests[::order]][::order]
            again = NSSE(**requests[0]).fit(X, y)
        for one, other in zip([*alone, alone[0]], [*together, again], strict=True):
            np.testing.assert_array_equal(one.embedding_, other.embedding_)
            np.testing.assert_array_equal(one.coefficients_, other.coefficients_)
            assert (one.sigma_, one.objective_, one.n_iter_) == (other.sigma_, other.objective_, other.n_iter_)
        again.embedding_[:], again.steps_[:] = 0, []
        assert together[0].embedding_.any() and together[0].steps_
    assert len(made) == 2


def test_warnings_come_again_from_shared_work():
    X, y = arcs()
    with sharing(Kept()):
        for _ in range(2):
            with pytest.warns(ConvergenceWarning, match="max_iter"):
                NSSE(2, max_iter=2).fit(X, y)


def test_sigma_minimises_eq_11():
    X, y = arcs()
    model = NSSE(2, **SMALL, tol=1e-6).fit(X, y)
    Y, at, _ = literal_embedding(X, y, 2, model.sigma_, **SMALL)
    np.testing.assert_allclose(model.objective_, at, rtol=1e-9)
    assert_same_up_to_sign(model.embedding_, Y, 1e-7)
    for factor in (0.3, 0.7, 0.97, 1.03, 1.4, 3):
        assert literal_embedding(X, y, 2, factor * model.sigma_, **SMALL)[1] > at


@pytest.mark.parametrize(("mu1", "indefinite"), [(300.0, True), (1e-3, False)])
@pytest.mark.parametrize("start", ["high", "low", {"median": 1.0}])
def test_objective_never_increases(mu1, indefinite, start):
    X, y = arcs(noise=0.1)
    model = NSSE(2, mu1=mu1, start=start).fit(X, y)
    objective = np.array([step.values["objective"] for step in model.steps_])
    assert len(objective) == model.n_iter_ > 3
    assert (np.diff(objective) <= 0).all()
    assert objective[-1] < objective[0] - 1e-4
    values = literal_embedding(X, y, 2, model.sigma_, mu1, model.mu2, model.mu3)[2]
    assert (values[0] < -1e-3) == indefinite


@pytest.mark.parametrize("d", [2, 9, 15])
def test_starts_of_figures_3_and_4_meet(d):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    high, low = (NSSE(d, start=start).fit(X, y) for start in ("high", "low"))
    assert high.sigma_ == pytest.approx(low.sigma_, rel=2e-3)
    assert high.objective_ == pytest.approx(low.objective_, rel=1e-6)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "n", "d"), [("coil20", 7, 7), ("orl", 2, 39)])
def test_starts_meet_on_images(data_dir, name, n, d):
    from manifold_oos.datasets import load

    data = load(name, data_dir=data_dir, size=(25, 25), normalize="unit")
    y = np.asarray(data.y)
    random = np.random.default_rng(0)
    known = np.concatenate([random.permutation(np.flatnonzero(y == c))[:n] for c in np.unique(y)])
    new = np.setdiff1d(np.arange(len(y)), known)
    high, low = (NSSE(d, start=start).fit(data.X[known], y[known]) for start in ("high", "low"))
    assert high.sigma_ == pytest.approx(low.sigma_, rel=2e-3)
    for model in (high, low):
        objective = [step.values["objective"] for step in model.steps_]
        assert (np.diff(objective) <= 0).all()
    errors = []
    for first, second in ((high.embedding_, high.transform(data.X[new])), (data.X[known], data.X[new])):
        nearest = cdist(second, first).argmin(axis=1)
        errors.append(np.mean(y[known][nearest] != y[new]))
    assert errors[0] < errors[1], "NSSE does not beat the nearest neighbour in pixels"


def test_map_interpolates_and_keeps_the_lipschitz_bound():
    X, y = arcs()
    model = NSSE(3).fit(X, y)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-10)
    L_phi = np.sqrt(2) * np.exp(-0.5) / model.sigma_
    C = inverse_kernel(X, model.sigma_) @ model.embedding_
    assert model.lipschitz_ == pytest.approx(np.sqrt(len(X)) * L_phi * np.linalg.norm(C), rel=1e-6)
    random = np.random.default_rng(1)
    u = X[random.integers(len(X), size=500)] + 0.1 * random.standard_normal((500, X.shape[1]))
    v = u + 0.01 * random.standard_normal(u.shape)
    slopes = np.linalg.norm(model.transform(u) - model.transform(v), axis=1) / np.linalg.norm(u - v, axis=1)
    assert 0 < slopes.max() <= model.lipschitz_


@pytest.mark.parametrize("labels", ["same", "different"])
def test_duplicates_share_coordinates(labels):
    X, y = arcs()
    X[1] = X[0]
    if labels == "different":
        y[1] = 2
    model = NSSE(2).fit(X, y)
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[1], atol=1e-6)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)


def test_near_singular_kernel():
    X = np.linspace(0, 1, 40)[:, None]
    y = (X.ravel() > 0.5).astype(int)
    model = NSSE(2).fit(X, y)
    objective = [step.values["objective"] for step in model.steps_]
    assert (np.diff(objective) <= 0).all()
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)


def test_one_sample_per_class():
    X, _ = arcs()
    X, y = X[::15], np.array(["a", "b", "c"])
    model = NSSE(2).fit(X, y)
    objective = literal_embedding(X, y, 2, model.sigma_, **SMALL)[1]
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def test_labels_may_be_strings():
    X, y = arcs()
    words = np.array(["cat", "dog", "eel"])[y]
    np.testing.assert_array_equal(NSSE(2).fit(X, words).embedding_, NSSE(2).fit(X, y).embedding_)


def test_neighbours_and_binary_weights():
    X, y = arcs()
    N, sigma = len(X), np.median(pdist(X))
    model = NSSE(2, sigma=sigma, n_neighbors=3, heat_sigma=None).fit(X, y)
    squared = squareform(pdist(X, "sqeuclidean"))
    W = np.zeros((N, N))
    for i in range(N):
        others = [j for j in np.argsort(squared[i]) if y[j] == y[i] and j != i]
        for j in others[:3]:
            W[i, j] = W[j, i] = 1
    Y = model.embedding_
    within = sum(W[i, j] * np.sum((Y[i] - Y[j]) ** 2) for i in range(N) for j in range(N)) / (2 * N)
    between = sum(np.sum((Y[i] - Y[j]) ** 2) for i in range(N) for j in range(N) if y[i] != y[j]) / (2 * N**2)
    smooth = np.sum((inverse_kernel(X, sigma) @ Y) ** 2)
    assert model.objective_ == pytest.approx(within - 300 * between + 1e-3 * smooth + 1, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.ones_like(X), "identical"),
        (lambda X: np.where(X > 1, np.nan, X), "NaN"),
    ],
)
def test_bad_data(change, message):
    X, y = arcs()
    with pytest.raises(ValueError, match=message):
        NSSE(2).fit(change(X), y)


def test_dimension_too_large():
    X, y = arcs()
    with pytest.raises(ValueError, match="lower n_components"):
        NSSE(len(X) + 1).fit(X, y)


@pytest.mark.parametrize("wrong", [{"mu2": 0}, {"sigma": "auto"}, {"start": "middle"}, {"scaling": "sum"}])
def test_parameters_are_validated(wrong):
    X, y = arcs()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NSSE(**wrong).fit(X, y)


def test_too_few_iterations_warn():
    X, y = arcs()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = NSSE(2, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
