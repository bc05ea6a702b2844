import numpy as np
import pytest
from sklearn import manifold

from manifold_oos.datasets.toy import swiss_roll
from manifold_oos.embeddings.isomap import Isomap, LandmarkIsomap

ROLL_POINTS = 400


def test_matches_scikit_learn(roll):
    ours = Isomap(3, n_neighbors=8).fit(roll)
    theirs = manifold.Isomap(n_components=3, n_neighbors=8).fit(roll)
    np.testing.assert_allclose(ours.geodesics_, theirs.dist_matrix_)
    signs = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.embedding_ * signs, theirs.embedding_, atol=1e-6)
    new = swiss_roll(50, np.random.default_rng(1))[0]
    nystrom = ours.extension_kernel(new) @ ours.embedding_ / ours.extension_eigenvalues_
    np.testing.assert_allclose(nystrom * signs, theirs.transform(new), atol=1e-6)


def test_nystrom_formula_returns_training_coordinates(roll):
    embedding = Isomap(2, n_neighbors=8).fit(roll)
    back = embedding.extension_kernel(roll) @ embedding.embedding_ / embedding.extension_eigenvalues_
    np.testing.assert_allclose(back, embedding.embedding_, atol=1e-8)


def test_flat_points_keep_their_distances():
    X = np.random.default_rng(2).uniform(size=(40, 2))
    Y = Isomap(2, n_neighbors=39).fit(X).embedding_
    distances = [np.linalg.norm(A[:, None] - A, axis=2) for A in (X, Y)]
    np.testing.assert_allclose(*distances, atol=1e-9)


def test_all_points_as_landmarks_are_isomap(roll):
    whole, landmarks = Isomap(2).fit(roll), LandmarkIsomap(2, n_landmarks=400).fit(roll)
    np.testing.assert_allclose(landmarks.embedding_, whole.embedding_, atol=1e-7)
    np.testing.assert_array_equal(LandmarkIsomap(2, n_landmarks=900).fit(roll).embedding_, landmarks.embedding_)
    new = swiss_roll(30, np.random.default_rng(3))[0]
    nystrom = whole.extension_kernel(new) @ whole.embedding_ / whole.extension_eigenvalues_
    np.testing.assert_allclose(landmarks.transform(new), nystrom, atol=1e-7)


def test_landmarks_place_points_by_the_formula_of_the_paper(roll):
    embedding = LandmarkIsomap(2, n_landmarks=30, random_state=5).fit(roll)
    chosen = embedding.landmarks_
    assert len(np.unique(chosen)) == 30
    squared = manifold.Isomap(n_neighbors=8).fit(roll).dist_matrix_[chosen] ** 2
    H = np.eye(30) - 1 / 30
    values, V = np.linalg.eigh(-0.5 * H @ squared[:, chosen] @ H)
    pseudo_inverse = V[:, [-1, -2]] / np.sqrt(values[[-1, -2]])
    expected = -0.5 * (squared - squared[:, chosen].mean(axis=1, keepdims=True)).T @ pseudo_inverse
    signs = np.sign((expected * embedding.embedding_).sum(axis=0))
    np.testing.assert_allclose(embedding.embedding_, expected * signs, atol=1e-7)
    np.testing.assert_allclose(embedding.transform(roll), embedding.embedding_, atol=1e-7)


def test_landmarks_depend_on_the_seed_alone(roll):
    draws = [LandmarkIsomap(n_landmarks=20, random_state=seed).fit(roll).landmarks_ for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


@pytest.mark.parametrize("method", [Isomap, LandmarkIsomap])
def test_dimensions_without_variance_are_refused(method):
    line = np.linspace(0, 1, 20)[:, None]
    with pytest.raises(ValueError, match="lower n_components=2"):
        method(2, n_neighbors=3).fit(line)
    with pytest.raises(ValueError, match="lower n_components"):
        method(40, n_neighbors=3).fit(line)
