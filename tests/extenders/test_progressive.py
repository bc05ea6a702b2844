"""The progressive scheme: against its own loop written out, around several extenders, and awkward inputs."""

import numpy as np
import pytest
from sklearn.base import clone

from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.lle import LLEExtender
from manifold_oos.extenders.progressive import Progressive
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import nearest_class
from manifold_oos.registry import build


@pytest.fixture(scope="module")
def small():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    t = random.uniform(0, np.pi, size=60)
    X = np.column_stack([np.cos(t) + y, np.sin(t), 0.3 * t, np.cos(t + y)]) + 0.1 * random.standard_normal((60, 4))
    order = random.permutation(60)
    X, y = X[order], y[order]
    return X[:24], y[:24], X[24:], y[24:]


@pytest.mark.parametrize("extender", [RBFExtender(sigma="regularity"), LLEExtender(n_neighbors=4)])
def test_equals_the_loop_written_out(small, extender):
    X, y, X_new, _ = small
    embedding = SupervisedLaplacian(n_components=2).fit(X, y)
    fitted = Progressive(extender, n_iterations=4).fit(X, embedding.embedding_, y, X_new=X_new, embedding=embedding)
    points, labels, Y = X, y, embedding.embedding_
    for step, size in zip(fitted.steps_, (12, 24, 36, None), strict=True):
        F = clone(extender).fit(points, Y, labels).transform(X_new)
        guess, confidence = nearest_class(F, Y[:24], y)
        np.testing.assert_array_equal(step.labels, guess)
        np.testing.assert_array_equal(step.confidence, confidence)
        if size is not None:
            surest = np.sort(np.argsort(-confidence, kind="stable")[:size])
            points, labels = np.vstack([X, X_new[surest]]), np.r_[y, guess[surest]]
            Y = SupervisedLaplacian(n_components=2).fit(points, labels).embedding_
    np.testing.assert_array_equal(fitted.new_embedding_, F)
    np.testing.assert_array_equal(fitted.training_embedding_, Y[:24])
    np.testing.assert_allclose(fitted.transform(X_new), F)
    assert [int(step.taken.sum()) for step in fitted.steps_] == [0, 12, 24, 36]


def test_names_and_mappings_mean_the_same_as_instances(small):
    X, y, X_new, _ = small
    Y = SupervisedLaplacian(n_components=2, mu=0.1).fit(X, y).embedding_
    written = Progressive({"name": "lle", "n_neighbors": 4}, {"name": "suplap", "mu": 0.1}, n_iterations=3)
    given = Progressive(LLEExtender(n_neighbors=4), SupervisedLaplacian(mu=0.1), n_iterations=3)
    results = [method.fit(X, Y, y, X_new=X_new).new_embedding_ for method in (written, given)]
    assert results[0].shape == (36, 2)
    np.testing.assert_array_equal(*results)
    assert given.get_params()["extender__n_neighbors"] == 4


def test_without_new_points_and_with_one_iteration_it_is_the_extender(small):
    X, y, X_new, _ = small
    Y = SupervisedLaplacian(n_components=2).fit(X, y).embedding_
    plain = RBFExtender().fit(X, Y, y).transform(X_new)
    np.testing.assert_allclose(Progressive().fit(X, Y, y).transform(X_new), plain)
    once = Progressive(n_iterations=1).fit(X, Y, y, X_new=X_new)
    np.testing.assert_allclose(once.new_embedding_, plain)
    assert len(once.steps_) == 1


def test_labels_rows_and_kinds_are_checked(small):
    X, y, X_new, _ = small
    Y = SupervisedLaplacian(n_components=2).fit(X, y).embedding_
    with pytest.raises(ValueError, match="needs the class labels"):
        Progressive().fit(X, Y)
    with pytest.raises(ValueError, match="sosi is transductive"):
        Progressive("sosi").fit(X, Y, y)
    with pytest.raises(ValueError, match='did you mean "rbf'):
        Progressive("rbff").fit(X, Y, y)
    with pytest.raises(ValueError, match="add its name"):
        build("extenders", {"sigma": 1})
    with pytest.raises(ValueError, match=r"sigmma.*moos describe rbf"):
        build("extenders", {"name": "rbf", "sigmma": 1})
    mixed = Progressive().fit(np.vstack([X_new, X]), np.vstack([X_new[:, :2], Y]), np.r_[np.full(36, -1), y])
    np.testing.assert_array_equal(mixed.labels_, Progressive().fit(X, Y, y, X_new=X_new).labels_)


def test_learns(small):
    X, y, X_new, truth = small
    Y = SupervisedLaplacian(n_components=2).fit(X, y).embedding_
    fitted = Progressive("lle").fit(X, Y, y, X_new=X_new)
    assert np.mean(fitted.labels_ == truth) > 0.8
