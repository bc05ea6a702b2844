"""Landmark extender: training points keep their coordinates, new points lie on the unrolled manifold."""

import numpy as np
import pytest

from manifold_oos.embeddings.isomap import Isomap, LandmarkIsomap
from manifold_oos.embeddings.local_alignment import LTSA
from manifold_oos.extenders.landmark import LandmarkExtender


def roll(n=400, seed=0):
    random = np.random.default_rng(seed)
    t, h = random.uniform(1.5 * np.pi, 3.5 * np.pi, n), random.uniform(0, 10, n)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), np.column_stack([length, h])


@pytest.mark.parametrize("embedding", [Isomap(n_components=2), LandmarkIsomap(n_components=2, n_landmarks=40)])
def test_training_points_keep_their_coordinates(embedding):
    X, _ = roll()
    Y = embedding.fit(X).embedding_
    Z = LandmarkExtender().fit(X, Y, embedding=embedding).transform(X)
    np.testing.assert_allclose(Z, Y, atol=1e-6 * np.abs(Y).max())


def test_equals_landmark_isomap_on_new_points():
    X, _ = roll()
    embedding = LandmarkIsomap(n_components=2, n_landmarks=40).fit(X[::2])
    Z = LandmarkExtender().fit(X[::2], embedding.embedding_, embedding=embedding).transform(X[1::2])
    np.testing.assert_allclose(Z, embedding.transform(X[1::2]), atol=1e-6 * np.abs(Z).max())


def test_new_points_lie_as_well_on_the_unrolled_manifold_as_training_points():
    X, truth = roll(800)
    embedding = Isomap(n_components=2).fit(X[::2])
    Z = LandmarkExtender().fit(X[::2], embedding.embedding_, embedding=embedding).transform(X[1::2])
    known = np.column_stack([embedding.embedding_, np.ones(400)])
    affine = np.linalg.lstsq(known, truth[::2], rcond=None)[0]
    error = np.mean((known @ affine - truth[::2]) ** 2, axis=0)
    error_new = np.mean((np.column_stack([Z, np.ones(400)]) @ affine - truth[1::2]) ** 2, axis=0)
    assert (error_new < 1.25 * error).all()


def test_without_an_embedding_it_measures_geodesics_itself():
    X, _ = roll()
    embedding = Isomap(n_components=2, n_neighbors=8).fit(X[::2])
    given = LandmarkExtender().fit(X[::2], embedding.embedding_, embedding=embedding).transform(X[1::2])
    alone = LandmarkExtender(n_neighbors=8).fit(X[::2], embedding.embedding_).transform(X[1::2])
    np.testing.assert_allclose(alone, given, atol=1e-8)


def test_supports_isomap_only():
    assert LandmarkExtender.supports(Isomap) and LandmarkExtender.supports(LandmarkIsomap())
    assert not LandmarkExtender.supports(LTSA)
    X, _ = roll(60)
    ltsa = LTSA(n_components=2).fit(X)
    with pytest.raises(ValueError, match="landmark does not extend LTSA"):
        LandmarkExtender().fit(X, ltsa.embedding_, embedding=ltsa)
    with pytest.raises(ValueError, match="the embedding has 60 training points, X has 50"):
        LandmarkExtender().fit(X[:50], X[:50], embedding=Isomap().fit(X))
