"""Nearest neighbours, the scaled SVM and manifold regularisation against independent oracles."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from manifold_oos.classifiers.mreg import ManifoldRegularization
from manifold_oos.classifiers.nn import NearestNeighbor
from manifold_oos.classifiers.svm import SVM
from manifold_oos.numerics.graphs import knn_weights


def blobs(n=60, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = random.standard_normal((n, 4)) + 1.5 * np.eye(classes, 4)[y]
    return X, np.array(["a", "b", "c"])[y]


def test_nearest_neighbours():
    X, y = blobs()
    X_new = blobs(seed=1)[0]
    expected = y[cdist(X_new, X).argmin(axis=1)]
    np.testing.assert_array_equal(NearestNeighbor().fit(X, y).predict(X_new), expected)
    theirs = KNeighborsClassifier(5).fit(X, y).predict(X_new)
    np.testing.assert_array_equal(NearestNeighbor(n_neighbors=5).fit(X, y).predict(X_new), theirs)
    with pytest.raises(ValueError, match="lower n_neighbors"):
        NearestNeighbor(n_neighbors=61).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_svm_does_not_mind_scale_and_offset(kernel):
    X, y = blobs()
    X_new = blobs(seed=1)[0]
    labels = SVM(kernel=kernel, C=1.0).fit(X, y).predict(X_new)
    tiny = SVM(kernel=kernel, C=1.0).fit(1e-6 * X + 3e-5, y).predict(1e-6 * X_new + 3e-5)
    assert np.mean(labels == tiny) > 0.98
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    gamma = spread**2 / np.mean(pdist(X) ** 2)
    theirs = SVC(kernel=kernel, C=1.0, gamma=gamma).fit(X / spread, y).predict(X_new / spread)
    assert np.mean(labels == theirs) > 0.98


def test_svm_sigma_is_the_width_of_the_projects_kernel():
    X, y = blobs()
    fitted = SVM(kernel="rbf", sigma=2.0, C=10.0).fit(X, y)
    spread = fitted.scale_
    theirs = SVC(kernel="rbf", C=10.0, gamma=1 / 4).fit(X, y)
    assert fitted.sigma_ == 2.0
    np.testing.assert_allclose(fitted._machine.gamma / spread**2, 1 / 4)
    np.testing.assert_array_equal(fitted.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3, 9])
def test_svm_labels_as_libsvm_does(kernel, classes, monkeypatch):
    random = np.random.default_rng(classes)
    y = np.sort(random.integers(0, classes, 150))
    X = random.normal(size=(150, 5)) + 1.5 * random.normal(size=(classes, 5))[y]
    X_new = 2 * random.normal(size=(400, 5))
    machine = SVM(kernel=kernel, C=10.0).fit(X, y)
    expected = machine._machine.predict((X_new - machine.offset_) / machine.scale_)
    assert len(set(expected)) == classes
    np.testing.assert_array_equal(machine.predict(X_new), expected)
    monkeypatch.setattr("manifold_oos.numerics.chunks.BLOCK_FLOATS", 1000)
    np.testing.assert_array_equal(machine.predict(X_new), expected)


@pytest.mark.parametrize("method", [SVM(), ManifoldRegularization()])
def test_one_class_is_an_error(method):
    with pytest.raises(ValueError, match="one class"):
        method.fit([[0.0], [1.0]], ["a", "a"])


@pytest.mark.parametrize("method", [SVM(), SVM(kernel="rbf"), NearestNeighbor(), ManifoldRegularization()])
def test_one_sample_per_class_duplicates_and_constant_features(method):
    X = np.array([[0.0, 7.0], [1.0, 7.0], [5.0, 7.0]])
    np.testing.assert_array_equal(method.fit(X, [1, 2, 3]).predict(X), [1, 2, 3])
    np.testing.assert_array_equal(method.fit(np.vstack([X, X]), [1, 2, 3] * 2).predict(X), [1, 2, 3])


def problem(n_new, seed=0):
    X, y = blobs(seed=seed)
    two = np.flatnonzero(y != "c")
    X, y = X[two], y[two]
    points = np.vstack([X, blobs(n_new, seed=5)[0]]) if n_new else X
    sigma = 1.7
    K = np.exp(-(cdist(points, points) ** 2) / sigma**2)
    W = knn_weights(points, 4, sigma).toarray()
    return X, y, points, sigma, K, np.diag(W.sum(axis=1)) - W


@pytest.mark.parametrize("n_new", [0, 21])
def test_least_squares_form_minimises_its_objective(n_new):
    X, y, points, sigma, K, L = problem(n_new)
    gamma_A, gamma_I, t = 1e-2, 3.0, np.where(y == "b", 1.0, -1.0)
    fitted = ManifoldRegularization("squared", gamma_A, gamma_I, sigma, 4).fit(
        X, y, X_new=points[len(X) :] if n_new else None
    )

    def gradient(alpha):
        f = K @ alpha
        loss = np.zeros(len(K))
        loss[: len(X)] = 2 / len(X) * (f[: len(X)] - t)
        return K @ loss + 2 * gamma_A * f + 2 * gamma_I / len(K) ** 2 * K @ (L @ f)

    assert np.abs(gradient(np.zeros(len(K)))).max() > 0.1
    np.testing.assert_allclose(gradient(fitted.coefficients_[:, 0]), 0, atol=1e-9)


@pytest.mark.parametrize("n_new", [0, 21])
def test_hinge_form_minimises_its_objective(n_new):
    X, y, points, sigma, K, L = problem(n_new)
    gamma_A, gamma_I, t = 1e-2, 3.0, np.where(y == "b", 1.0, -1.0)
    fitted = ManifoldRegularization("hinge", gamma_A, gamma_I, sigma, 4).fit(
        X, y, X_new=points[len(X) :] if n_new else None
    )

    def objective(parameters, smoothing=0.0):
        alpha, b = parameters[:-1], parameters[-1]
        f = K @ alpha
        margin = 1 - t * (f[: len(X)] + b)
        hinge = np.maximum(margin, 0) if smoothing == 0 else smoothing * np.logaddexp(0, margin / smoothing)
        return hinge.mean() + gamma_A * alpha @ f + gamma_I / len(K) ** 2 * f @ L @ f

    ours = objective(np.r_[fitted.coefficients_[:, 0], fitted.intercept_])
    start = np.r_[fitted.coefficients_[:, 0], fitted.intercept_]
    better = minimize(objective, start, args=(1e-3,), method="L-BFGS-B", options={"maxiter": 500, "maxfun": 200000})
    assert ours <= objective(better.x) + 1e-4
    assert ours < objective(np.zeros(len(K) + 1)) - 0.1


def test_manifold_regularisation_takes_unlabelled_rows_as_new_points():
    X, y = blobs()
    codes = np.searchsorted(["a", "b", "c"], y)
    X_new = blobs(21, seed=5)[0]
    rows = ManifoldRegularization().fit(np.vstack([X_new, X]), np.r_[np.full(21, -1), codes])
    given = ManifoldRegularization().fit(X, codes, X_new=X_new)
    np.testing.assert_array_equal(rows.transduction_, given.transduction_)
    np.testing.assert_array_equal(given.transduction_, given.predict(X_new))
    assert rows.classes_.tolist() == [0, 1, 2]
