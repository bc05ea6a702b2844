"""What every unsupervised embedding promises: nested coordinates, fixed signs, and plain words for awkward data."""

import warnings

import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone

from manifold_oos.embeddings.diffusion_maps import DiffusionMaps
from manifold_oos.embeddings.isomap import Isomap, LandmarkIsomap
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.embeddings.lgrm import LGRM
from manifold_oos.embeddings.local_alignment import LLE, LTSA, LocalSplineEmbedding
from manifold_oos.embeddings.projections import KLPP, LPP, KernelSpectralRegression, SpectralRegression
from manifold_oos.numerics.components import DisconnectedGraph
from manifold_oos.numerics.eigen import AmbiguousEigenvectors, fix_signs

METHODS = [
    LaplacianEigenmaps(),
    LaplacianEigenmaps(graph="full"),
    DiffusionMaps(),
    LLE(),
    LTSA(),
    LocalSplineEmbedding(),
    Isomap(),
    LandmarkIsomap(n_landmarks=40),
    KPCA(),
    LGRM(),
    LPP(),
    KLPP(),
    SpectralRegression(),
    KernelSpectralRegression(),
]
LOCAL = [m for m in METHODS if hasattr(m, "n_neighbors") and getattr(m, "graph", "knn") == "knn"]
every = pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
local = pytest.mark.parametrize("method", LOCAL, ids=lambda m: type(m).__name__)


ROLL_POINTS = 300


@every
def test_nested_methods_extend_their_first_columns(method, roll):
    small, large = (clone(method).set_params(n_components=d).fit(roll) for d in (1, 3))
    if method.nested:
        np.testing.assert_allclose(
            large.embedding_[:, :1], small.embedding_, atol=1e-6 * np.abs(small.embedding_).max()
        )
    else:
        assert linalg.subspace_angles(large.embedding_[:, :1], small.embedding_)[0] > 1e-6


@every
def test_signs_and_repeated_fits_are_the_same(method, roll):
    first, second = clone(method).fit(roll).embedding_, clone(method).fit(roll.copy()).embedding_
    np.testing.assert_array_equal(first, second)
    if not isinstance(method, LandmarkIsomap):  # its signs are those of the landmarks
        np.testing.assert_array_equal(first, fix_signs(first))


@every
def test_coordinates_do_not_depend_on_the_order_of_points(method, roll):
    if isinstance(method, LandmarkIsomap):
        method = clone(method).set_params(n_landmarks=300)
    order = np.random.default_rng(1).permutation(300)
    straight, mixed = clone(method).fit(roll).embedding_, clone(method).fit(roll[order]).embedding_
    signs = np.sign((straight[order] * mixed).sum(axis=0))
    np.testing.assert_allclose(mixed * signs, straight[order], atol=1e-6 * np.abs(straight).max())


@every
def test_points_in_space_may_be_moved_and_turned(method, roll):
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    straight, moved = clone(method).fit(roll).embedding_, clone(method).fit(roll @ turn + 7).embedding_
    signs = np.sign((straight * moved).sum(axis=0))
    np.testing.assert_allclose(moved * signs, straight, atol=1e-5 * np.abs(straight).max())


@every
def test_nan_is_refused(method, roll):
    X = roll.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clone(method).fit(X)


@every
def test_more_components_than_points_are_refused(method):
    X = np.random.default_rng(3).standard_normal((30, 40))
    with pytest.raises(ValueError, match="n_components"):
        clone(method).set_params(n_components=31).fit(X)


@local
def test_as_many_neighbours_as_points_are_refused(method, roll):
    with pytest.raises(ValueError, match="n_neighbors"):
        clone(method).set_params(n_neighbors=20).fit(roll[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AmbiguousEigenvectors)
        clone(method).set_params(n_neighbors=19).fit(roll[:20])


@every
def test_identical_points_are_refused(method):
    with pytest.raises(ValueError, match=r"coincide|sigma|n_components"):
        clone(method).fit(np.full((30, 4), 3.0))


@every
def test_duplicates_and_constant_features_give_finite_coordinates(method, roll):
    X = np.c_[np.vstack([roll[:100], roll[:30]]), np.full(130, 5.0)]
    embedding = clone(method).fit(X).embedding_
    assert np.isfinite(embedding).all()
    distance = np.linalg.norm(embedding[:30] - embedding[100:], axis=1)
    spread = np.linalg.norm(embedding - embedding.mean(axis=0), axis=1).max()
    assert distance.max() < 0.5 * spread


@local
def test_disconnected_points_are_joined_or_refused(method, roll):
    X = np.vstack([roll[:60], roll[:60] + 60])
    with pytest.warns(DisconnectedGraph, match="2 components"):
        embedding = clone(method).fit(X).embedding_
    assert np.isfinite(embedding).all()
    with pytest.raises(ValueError, match="2 components"):
        clone(method).set_params(disconnected="error").fit(X)


@pytest.mark.parametrize("method", [m for m in METHODS if hasattr(m, "transform")], ids=lambda m: type(m).__name__)
def test_new_points_are_mapped_each_on_its_own(method, roll):
    fitted = clone(method).fit(roll[:250])
    whole = fitted.transform(roll[250:])
    alone = np.vstack([fitted.transform(x[None]) for x in roll[250:]])
    np.testing.assert_allclose(alone, whole, atol=1e-9 * np.abs(fitted.embedding_).max())
