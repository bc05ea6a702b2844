"""Work arrays of a transform stay small, however many points arrive."""

import tracemalloc

import numpy as np
import pytest

from manifold_oos.embeddings.isomap import Isomap
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.extenders.geometric_harmonics import GeometricHarmonics
from manifold_oos.extenders.kernel_map import KernelMap
from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.landmark import LandmarkExtender
from manifold_oos.extenders.laplacian_pyramids import LaplacianPyramids
from manifold_oos.extenders.linear import LinearExtender
from manifold_oos.extenders.lle import LLEExtender
from manifold_oos.extenders.lvm import LVMExtender
from manifold_oos.extenders.mlp import MLPExtender
from manifold_oos.extenders.nystrom import Nystrom
from manifold_oos.extenders.random_features import RandomFeatures
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sparse import SparseExtender
from manifold_oos.numerics import chunks


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("extender", "embedding", "n", "share"),
    [
        (LVMExtender(n_neighbors=7), None, 20_000, 4),
        (LLEExtender(n_neighbors=12), None, 20_000, 4),
        (LinearExtender(), None, 50_000, 4),
        (KernelRidgeExtender(), None, 20_000, 4),
        (RBFExtender(), None, 20_000, 4),
        (Nystrom(), None, 20_000, 4),
        (Nystrom(), KPCA(n_components=2), 20_000, 4),
        (Nystrom(), Isomap(n_components=2), 20_000, 4),
        (LandmarkExtender(), Isomap(n_components=2), 20_000, 4),
        (SparseExtender(), None, 200, 64),
        (GeometricHarmonics(), None, 20_000, 4),
        (LaplacianPyramids(), None, 20_000, 4),
        (KernelMap(), None, 20_000, 4),
        (RandomFeatures(), None, 20_000, 4),
        (MLPExtender(max_iter=5), None, 20_000, 4),
    ],
)
def test_many_points(extender, embedding, n, share, monkeypatch):
    """With blocks of a share of their usual size, which keeps the test fast, that share of 64 MiB is the limit."""
    random = np.random.default_rng(0)
    X, X_new = random.standard_normal((300, 20)), random.standard_normal((n, 20))
    Y = random.standard_normal((300, 2)) if embedding is None else embedding.fit(X).embedding_
    extender.fit(X, Y, embedding=embedding)
    some = extender.transform(X_new[-5:])
    monkeypatch.setattr(chunks, "BLOCK_FLOATS", chunks.BLOCK_FLOATS // share)
    results = []
    used = peak(lambda: results.append(extender.transform(X_new)))
    np.testing.assert_allclose(results[0][-5:], some, rtol=1e-7, atol=1e-9)
    assert used - results[0].nbytes < 2**26 / share
