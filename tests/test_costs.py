"""What a method says that it will take is what it takes, and a fit that takes too much is refused before."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from manifold_oos import costs
from manifold_oos.contracts import partner
from manifold_oos.costs import NotEnoughMemory, available_memory, evaluate, needed, peak_growth, readable
from manifold_oos.embeddings.base import Embedding
from manifold_oos.embeddings.isomap import Isomap, LandmarkIsomap
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.embeddings.lgrm import LGRM
from manifold_oos.embeddings.nsse import NSSE
from manifold_oos.extenders.landmark import LandmarkExtender
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI
from manifold_oos.numerics import kernels
from manifold_oos.registry import available

METHODS = [
    pytest.param(cls, id=f"{kind}/{name}")
    for kind in ("embeddings", "extenders")
    for name, cls in available(kind).items()
    if not hasattr(cls, "package") and not getattr(cls, "needs_index", False)  # other libraries', other programs'
]
#: Bytes beside the formula: objects of Python, vectors, and work arrays inside LAPACK, which are not traced.
CONSTANT = 2**17
D, Q = 20, 100


def roll(n):
    """A Swiss roll of n points in D features, in four classes along it."""
    random = np.random.default_rng(0)
    t, height = random.uniform(1.5 * np.pi, 4.5 * np.pi, n), random.uniform(0, 20, n)
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)]) @ random.standard_normal((3, D))
    return X + 0.05 * random.standard_normal((n, D)), (t // 3).astype(int)


def fit(cls, n):
    """A callable that fits a method of either kind on n points, and the method."""
    X, y = roll(n + Q)
    if issubclass(cls, Embedding):
        method = cls(n_components=2)
        return method, lambda: method.fit(X[:n], y[:n])
    method = cls()
    embedding = partner(method).fit(X[:n], y[:n])
    X_new = X[n:] if method.transductive else None
    return method, lambda: method.fit(X[:n], embedding.embedding_, y[:n], X_new=X_new, embedding=embedding)


def peak(run):
    """Bytes that a call takes at most."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_formula_is_what_a_fit_takes(cls):
    fit(cls, 60)[1]()  # imports, compiled functions
    for n in (300, 600):
        method, run = fit(cls, n)
        stated = needed(method, N=n, D=D, d=2, Q=Q if getattr(method, "transductive", False) else 0)
        taken = peak(run)
        assert taken <= 1.5 * stated + CONSTANT, f"N = {n}: {readable(taken)} taken, {readable(stated)} stated"
        assert taken >= stated / 3 - CONSTANT, f"N = {n}: {readable(taken)} taken, {readable(stated)} stated"


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_too_much_is_refused_before_it_is_taken(cls, monkeypatch):
    method, run = fit(cls, 300)
    monkeypatch.setenv("MOOS_MEMORY", "1000")

    def refused():
        with pytest.raises(NotEnoughMemory, match=f"{method.name} needs .* and there are 0.0 MiB: take "):
            run()

    assert peak(refused) < 2**18


@pytest.mark.parametrize("cls", METHODS)
def test_a_refusal_is_one_line_with_an_alternative(cls):
    assert cls.instead
    method = cls()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "available_memory", lambda: 0.0)
        with pytest.raises(NotEnoughMemory) as caught:
            costs.check(method, N=100_000, D=50, d=2)
    assert "\n" not in str(caught.value)
    assert cls.instead in str(caught.value)
    assert "N = 100,000" in str(caught.value)


def test_centers_and_landmarks_are_counted():
    sizes = {"N": 100_000, "D": 50, "d": 2}
    assert needed(RBFExtender(), **sizes) > 2e11
    assert needed(RBFExtender(n_centers=2000), **sizes) < 3e8
    assert needed(LandmarkIsomap(), **sizes) < needed(Isomap(), **sizes) / 100
    assert needed(LandmarkExtender(), **sizes, M=100) == needed(LandmarkExtender(), **sizes) / 1000


@pytest.mark.parametrize("method", [KPCA(), LGRM(), NSSE(n_neighbors=8), NSSE(), SOSI()], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_formula_of_centers_is_what_a_fit_takes(method):
    def fit(X, y):
        if isinstance(method, Embedding):
            return {"N": len(X)}, lambda: method.fit(X, y)
        return {"N": 60, "Q": len(X) - 60}, lambda: method.fit(X[:60], X[:60, :2], y[:60], X_new=X[60:])

    for n, n_centers in ((150, 100), (500, 100), (1500, 100), (1000, 400)):
        method.set_params(n_centers=n_centers)
        sizes, run = fit(*roll(n))
        stated, taken = needed(method, **sizes, D=D, d=2), peak(run)
        if n > 150:  # the first is for imports and compiled functions
            assert taken <= 1.5 * stated + CONSTANT, f"N = {n}: {readable(taken)} taken, {readable(stated)} stated"
            assert taken >= stated / 3 - CONSTANT, f"N = {n}: {readable(taken)} taken, {readable(stated)} stated"


def test_a_method_that_states_nothing_is_not_checked(monkeypatch):
    class Silent(Isomap):
        memory = ""

    monkeypatch.setenv("MOOS_MEMORY", "1")
    assert needed(Silent(), N=10, D=2, d=2) is None
    Silent().fit(roll(40)[0])


@pytest.mark.parametrize(
    "formula", ["N.real", "__import__('os')", "N if N else 1", "unknown*N", "'a'*N", "max(N, key=N)"]
)
def test_only_arithmetic_is_evaluated(formula):
    with pytest.raises(ValueError, match="not a number"):
        evaluate(formula, {"N": 3})


def test_available_memory(monkeypatch, tmp_path):
    monkeypatch.delenv("MOOS_MEMORY", raising=False)
    assert 2**20 < available_memory() < 2**50
    monkeypatch.setattr(costs, "_container", lambda: 5.0)
    assert available_memory() == 5
    monkeypatch.setenv("MOOS_MEMORY", "2e9")
    assert available_memory() == 2e9
    monkeypatch.setenv("MOOS_MEMORY", "much")
    with pytest.raises(ValueError, match="MOOS_MEMORY=much: not a number of bytes"):
        available_memory()


def test_median_distance_of_many_points_is_that_of_some(monkeypatch):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    whole = kernels.median_distance(X)
    monkeypatch.setattr(kernels, "MEDIAN_OF", 200)
    some = kernels.median_distance(X)
    assert some == kernels.median_distance(X[::-1])
    assert whole == pytest.approx(some, rel=0.1)
    assert whole != some


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
def test_the_peak_is_what_was_held_at_once():
    def action():
        for _ in range(3):
            np.ones(4_000_000)

    assert 30 < peak_growth(action) / 2**20 < 60
    assert peak_growth(lambda: None) / 2**20 < 1
