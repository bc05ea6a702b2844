"""A Dask array of points gives a Dask array of coordinates, and nothing is placed before it is computed."""

import numpy as np
import pytest

from manifold_oos import OutOfSample
from manifold_oos.embeddings.nsse import NSSE
from manifold_oos.extenders.gom import GlobalOptimization
from manifold_oos.extenders.lle import LLEExtender

da = pytest.importorskip("dask.array")


@pytest.fixture
def points():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    return random.standard_normal((40, 3)) + 4 * y[:, None], y, random.standard_normal((25, 3))


def fitted(X, y, X_new):
    return {
        "extender": LLEExtender().fit(X, X[:, :2]),
        "transductive": GlobalOptimization(n_neighbors=6).fit(X, X[:, :2], X_new=X_new),
        "joint": NSSE(n_components=2).fit(X, y),
        "pipeline": OutOfSample("suplap", "rbf").fit(X, y),
    }


@pytest.mark.parametrize("kind", ["extender", "transductive", "joint", "pipeline"])
@pytest.mark.parametrize("chunks", [(10, 3), (7, 2), (25, 1)])
def test_blocks_of_a_dask_array(points, kind, chunks, monkeypatch):
    method = fitted(*points)[kind]
    X_new = points[2]
    whole = method.transform(X_new)
    made = []
    real = type(method).transform
    monkeypatch.setattr(type(method), "transform", lambda self, X: made.append(X) or real(self, X))
    lazy = method.transform(da.from_array(X_new, chunks=chunks))
    assert isinstance(lazy, da.Array) and lazy.shape == whole.shape and lazy.dtype == whole.dtype
    assert lazy.chunks[0] == da.from_array(X_new, chunks=chunks).chunks[0]
    assert len(made) == 1  # the call itself: no block was placed
    np.testing.assert_allclose(lazy.compute(scheduler="sync"), whole, rtol=1e-9, atol=1e-12)
    assert len(made) == 1 + lazy.numblocks[0]


def test_float32_stays_so_in_a_pipeline(points):
    X, y, X_new = points
    model = OutOfSample("suplap", "lle").fit(X, y)
    lazy = model.transform(da.from_array(X_new.astype(np.float32), chunks=(10, 3)))
    assert lazy.dtype == lazy.compute(scheduler="sync").dtype == np.float32


def test_wrong_features_are_told(points):
    model = OutOfSample("suplap", "lle").fit(*points[:2])
    with pytest.raises(ValueError, match="features"):
        model.transform(da.ones((4, 5))).compute(scheduler="sync")
