"""Promises of the extenders on data that Hypothesis draws: pointwise, finite, whatever the order of new points."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manifold_oos.registry import available

#: Those that answer any point by itself, from any coordinates of the known ones.
POINTWISE = ("kernel_map", "krr", "laplacian_pyramids", "linear", "lle", "lvm", "normalized_rbf", "rbf", "sparse")
#: Unequal points are a unit apart: nearer ones make the weights of an interpolant arbitrarily large.
VALUES = st.integers(-50, 50).map(float)


@pytest.mark.parametrize("name", POINTWISE)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@pytest.mark.filterwarnings("ignore")
@given(
    known=arrays(float, st.tuples(st.integers(12, 20), st.just(3)), elements=VALUES),
    new=arrays(float, (4, 3), elements=VALUES),
    seed=st.integers(0, 99),
)
def test_points_are_placed_alone_as_together(name, known, new, seed):
    coordinates = np.random.default_rng(seed).normal(size=(len(known), 2))
    extender = available("extenders")[name]()
    try:
        extender.fit(known, coordinates)
    except ValueError as error:  # refused in words, such as a feature or a point that there is but once
        assert str(error)
        return
    together = extender.transform(new)
    assert together.shape == (4, 2) and np.isfinite(together).all()
    alone = np.vstack([extender.transform(new[i : i + 1]) for i in range(4)])
    scale = 1 + np.abs(together).max()
    np.testing.assert_allclose(alone / scale, together / scale, atol=1e-8)
    np.testing.assert_allclose(extender.transform(new[::-1])[::-1] / scale, together / scale, atol=1e-8)
