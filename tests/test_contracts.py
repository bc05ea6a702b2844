"""Every method in the registry keeps the promises of its kind, and a broken one is caught."""

import numpy as np
import pytest

from manifold_oos.contracts import checks_for
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.registry import KINDS, absent, available

CASES = [
    pytest.param(cls, check, id=f"{kind}/{name}-{check.__name__}")
    for kind in KINDS.values()
    for name, cls in available(kind).items()
    if not getattr(cls, "needs_index", False)  # its coordinates come from elsewhere
    for check in checks_for(cls)
]


@pytest.mark.parametrize(("cls", "check"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_contract(cls, check):
    """A check raises AssertionError where the promise is broken: test_broken_promise_is_caught."""
    if absent(cls):
        pytest.skip(absent(cls))
    method = cls(n_components=2) if issubclass(cls, Embedding) else cls()
    check(method)


class Forgetful(Extender):
    """Breaks every promise it makes: its answer depends on the block."""

    name = "forgetful"
    interpolates = True

    def _fit(self, X, Y, y, X_new, embedding):
        self.coordinates_ = Y

    def _transform(self, X):
        return X[:, : self.coordinates_.shape[1]] - X.mean()


@pytest.mark.parametrize("promise", ["extender_transform", "extender_interpolates"])
def test_broken_promise_is_caught(promise):
    check = {check.__name__: check for check in checks_for(Forgetful)}[promise]
    with pytest.raises(AssertionError):
        check(Forgetful())


class Restless(Embedding):
    """Gives other coordinates at each fit."""

    name = "restless"

    def __init__(self, n_components=2):
        self.n_components = n_components

    def _fit(self, X, y):
        return np.random.default_rng().standard_normal((len(X), self.n_components))


def test_restless_embedding_is_caught():
    check = {check.__name__: check for check in checks_for(Restless)}["embedding_deterministic"]
    with pytest.raises(AssertionError, match="two fits"):
        check(Restless())
