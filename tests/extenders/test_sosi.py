"""SOSI: a literal transcription as oracle, the schedule, awkward inputs, and real data of its paper."""

import warnings

import numpy as np
import pytest
import sosi_literal as literal

from manifold_oos.datasets import load
from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI, center_counts, nearest_class


def arcs(per_class=28, seed=0):
    """Three noisy arcs in R⁸, close enough that a few labels of the first iteration are wrong."""
    random = np.random.default_rng(seed)
    y = np.repeat([3, 5, 8], per_class)
    t = random.uniform(0, np.pi, size=len(y))
    step = (y - 3) / 5
    X = np.column_stack([np.cos(t) + step, np.sin(t), np.sin(t + step), step * 0.3])
    X = X @ random.standard_normal((4, 8)) + 0.1 * random.standard_normal((len(y), 8))
    order = random.permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="module")
def small():
    X, y = arcs()
    Y = SupervisedLaplacian(n_components=3, n_neighbors=3).fit(X[:24], y[:24]).embedding_
    return X[:24], Y, y[:24], X[24:]


def test_labels_and_confidences_equal_the_literal_transcription(small):
    X, Y, y, X_new = small
    fitted = SOSI(n_iterations=6).fit(X, Y, y, X_new=X_new)
    iterations, sigma = literal.sosi(X, Y, y, X_new, R=6)
    np.testing.assert_allclose(fitted.sigma_, sigma, rtol=1e-12)
    assert len(fitted.steps_) == len(iterations) == 6
    assert any((first != last).any() for first, last in [(iterations[0][0], iterations[-1][0])])
    for step, (labels, confidence) in zip(fitted.steps_, iterations, strict=True):
        np.testing.assert_array_equal(step.labels, labels)
        np.testing.assert_allclose(1 / step.confidence, 1 / confidence, atol=1e-4)


def test_training_points_keep_their_coordinates_and_centres_get_their_projections(small):
    X, Y, y, X_new = small
    fitted = SOSI().fit(X, Y, y, X_new=X_new)
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()
    labels = fitted.steps_[-2].labels
    projected = [literal.project(x, X, Y, y, label, 5) for x, label in zip(X_new, labels, strict=True)]
    np.testing.assert_allclose(fitted.new_embedding_, projected, atol=1e-4 * np.abs(Y).max())
    np.testing.assert_allclose(fitted.transform(X_new), fitted.new_embedding_, atol=1e-7)


def test_without_new_points_it_is_the_rbf_extender(small):
    X, Y, y, X_new = small
    alone = SOSI().fit(X, Y, y)
    np.testing.assert_array_equal(
        alone.transform(X_new), RBFExtender(sigma="regularity").fit(X, Y, y).transform(X_new)
    )
    assert alone.labels_.shape == (0,)
    first = SOSI().fit(X, Y, y, X_new=X_new).steps_[0]
    np.testing.assert_allclose(first.coordinates, alone.transform(X_new), atol=1e-9)


def test_steps_follow_the_schedule(small):
    X, Y, y, X_new = small
    fitted = SOSI(n_iterations=5, stop_at=0.8).fit(X, Y, y, X_new=X_new)
    assert [int(step.taken.sum()) for step in fitted.steps_] == [0, 15, 30, 45]
    assert [step.number for step in fitted.steps_] == [1, 2, 3, 4]
    for before, after in zip(fitted.steps_, fitted.steps_[1:], strict=False):
        assert before.confidence[after.taken].min() >= before.confidence[~after.taken].max()
    last = fitted.steps_[-1]
    assert (fitted.labels_ == last.labels).all()
    assert (fitted.confidence_ == last.confidence).all()
    assert len(fitted.centers_) == 24 + 45


def test_center_counts():
    assert center_counts(10, 3, None, 1.0) == [0, 5, 10]
    assert center_counts(2, 10, None, 1.0) == [0, 1, 2]
    assert center_counts(0, 10, None, 1.0) == [0]
    assert center_counts(10, 1, None, 1.0) == [0]
    assert center_counts(10, 10, [0.2, 0.9], 0.5) == [0, 2]
    with pytest.raises(ValueError, match="must ascend"):
        center_counts(10, 10, [0.9, 0.2], 1.0)


def test_unlabelled_rows_are_new_points_before_the_others(small):
    X, Y, y, X_new = small
    rows = np.vstack([X_new[:20], X])
    mixed = SOSI().fit(rows, np.vstack([np.full((20, 3), np.nan), Y]), np.r_[np.full(20, -1), y], X_new=X_new[20:])
    plain = SOSI().fit(X, Y, y, X_new=X_new)
    np.testing.assert_array_equal(mixed.labels_, plain.labels_)
    np.testing.assert_array_equal(mixed.new_embedding_, plain.new_embedding_)


@pytest.mark.parametrize("sigma", ["regularity", "ratio"])
def test_scales_can_be_searched_in_every_iteration(small, sigma):
    X, Y, y, X_new = small
    again = SOSI(sigma=sigma, reoptimize=True).fit(X, Y, y, X_new=X_new)
    assert len({step.values["sigma"] for step in again.steps_}) > 1
    if sigma == "regularity":
        assert np.mean(SOSI().fit(X, Y, y, X_new=X_new).labels_ == again.labels_) > 0.9
    assert np.abs(again.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()


def test_new_points_identical_to_training_points_and_to_each_other(small):
    X, Y, y, X_new = small
    repeated = np.vstack([X[:6], X_new, X_new[:9]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = SOSI().fit(X, Y, y, X_new=repeated)
    np.testing.assert_array_equal(fitted.labels_[:6], y[:6])
    assert (fitted.confidence_[:6] > 1e5).all()
    np.testing.assert_array_equal(fitted.labels_[6:15], fitted.labels_[-9:])
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()


def test_duplicated_training_points(small):
    X, Y, y, X_new = small
    twice = SOSI().fit(np.vstack([X, X]), np.vstack([Y, Y]), np.r_[y, y], X_new=X_new)
    assert np.isfinite(twice.new_embedding_).all()
    assert np.abs(twice.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()


def test_dense_sampling_shrinks_the_scale_instead_of_breaking(small):
    X, Y, y, _ = small
    near = np.vstack([X + 1e-3 * np.random.default_rng(seed).standard_normal(X.shape) for seed in range(8)])
    fitted = SOSI().fit(X, Y, y, X_new=near)
    assert (fitted.sigma_ < SOSI().fit(X, Y, y).sigma_).all()
    np.testing.assert_array_equal(fitted.labels_, np.tile(y, 8))
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()


@pytest.mark.parametrize("rows", [[0, 1, 2], [0], [0, 1]])
def test_one_sample_per_class_and_one_class(rows):
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    Y, y = np.eye(3)[:, :2] - 0.3, np.array(["a", "b", "c"])
    new = np.vstack([X[rows] + 0.1, X[rows] - 0.1])
    fitted = SOSI(n_iterations=3).fit(X[rows], Y[rows], y[rows], X_new=new)
    np.testing.assert_array_equal(fitted.labels_, np.tile(y[rows], 2))
    assert np.isfinite(fitted.new_embedding_).all()


def test_a_class_that_is_nobodys_neighbour():
    X, y = arcs()
    X, y = np.vstack([X[:24], np.full((2, 8), 1e3)]), np.r_[y[:24], 9, 9]
    Y = np.column_stack([y == label for label in (3, 5, 9)]).astype(float)
    fitted = SOSI().fit(X, Y, y, X_new=arcs(seed=1)[0])
    assert np.isfinite(fitted.new_embedding_).all()
    assert set(fitted.labels_) <= {3, 5, 8}


def test_confidence_by_hand():
    Y, y = np.array([[0.0], [4.0], [6.0]]), np.array([0, 1, 2])
    labels, confidence = nearest_class(np.array([[1.0], [5.0], [6.0]]), Y, y)
    np.testing.assert_array_equal(labels, [0, 1, 2])
    np.testing.assert_allclose(confidence, [3, 1, np.inf])
    assert np.isinf(nearest_class(np.array([[1.0]]), Y[:1], y[:1])[1]).all()
    assert nearest_class(np.array([[2.0]]), np.array([[2.0], [2.0]]), np.array([0, 1]))[1] == 1


def test_labels_are_needed(small):
    X, Y, _, _ = small
    with pytest.raises(ValueError, match="needs the class labels"):
        SOSI().fit(X, Y)


def split(y, per_class, seed):
    random = np.random.default_rng(seed)
    known = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        known[random.choice(np.flatnonzero(y == label), per_class, replace=False)] = True
    return known


def errors(data, known, d):
    """Share of wrong labels after each iteration, with the defaults of everything."""
    X, y = data.X[known], data.y[known]
    Y = SupervisedLaplacian(n_components=d).fit(X, y).embedding_
    fitted = SOSI().fit(X, Y, y, X_new=data.X[~known])
    assert np.abs(fitted.transform(X) - Y).max() <= 1e-6 * np.abs(Y).max()
    return np.array([np.mean(step.labels != data.y[~known]) for step in fitted.steps_])


@pytest.mark.real_data
def test_extended_yale_b_ends_below_four_percent(data_dir):
    data = load("yaleb", data_dir=data_dir, size=(17, 20), normalize="unit", classes=12, per_class=58)
    mean = np.mean([errors(data, split(data.y, 10, seed), 20) for seed in range(3)], axis=0)
    assert mean[-1] < 0.04
    assert 0.06 < mean[0] < 0.12
    assert (np.diff(mean[3:]) <= 0).all()


@pytest.mark.real_data
def test_coil_20_ends_below_eight_percent(data_dir):
    data = load("coil20", data_dir=data_dir, size=(32, 32), normalize="unit", per_class=71)
    wrong = errors(data, split(data.y, 7, 0), 25)
    assert wrong[-1] < 0.08
    assert 0.10 < wrong[0] < 0.16
    assert (np.diff(wrong[3:]) <= 0).all()
