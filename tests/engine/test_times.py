"""Times: what is done for the new points counts per new point, whichever call does it."""

import time

import numpy as np
from sklearn.datasets import load_digits

from manifold_oos.config.model import Method
from manifold_oos.config.values import Facts
from manifold_oos.engine.fits import Workbench, timed
from manifold_oos.engine.splits import Points
from manifold_oos.numerics.shared import Kept, shared, sharing
from manifold_oos.registry import find


def test_a_transductive_extender_works_for_the_new_points_in_fit(monkeypatch):
    X = np.arange(24.0)[:, None] * np.ones(2)
    known, new = np.arange(16), np.arange(16, 24)
    points = Points(X[known], None, X[new], None, {}, known, new, Facts("line", 16, 0, 2), 0)
    bench = Workbench(points)
    embedding = Method(name="ltsa", parameters={"n_components": 1, "n_neighbors": 3})
    for name, per_point in (("gom", True), ("lle", False)):
        extender = Method(name=name, parameters={"n_neighbors": 3})
        cls = find("extenders", name)
        fit = cls.fit
        monkeypatch.setattr(cls, "fit", lambda *a, _fit=fit, **k: (time.sleep(0.05), _fit(*a, **k))[1])
        placed = bench.place(embedding, extender, 1)
        assert (placed.seconds >= 0.05) == per_point
        assert (placed.fits["extender"].seconds >= 0.05) != per_point


def test_shared_work_counts_for_everyone_who_uses_it():
    def work():
        return shared("slow", [], lambda: time.sleep(0.05))

    with sharing(Kept()):
        first, second = timed(work)[1], timed(work)[1]
    assert first >= 0.05 and abs(first - second) < 0.02


def test_nothing_is_compiled_in_what_is_timed():
    from manifold_oos.numerics.compiled import active_set, l1_simplex

    X, y = load_digits(return_X_y=True)
    X, y, X_new = X[:60] / 16.0, y[:60], X[60:75] / 16.0
    X.flags.writeable = X_new.flags.writeable = False  # as those of a split
    compiled = [l1_simplex.simplex, l1_simplex.codes, active_set.weights]
    for name in ("sparse", "sosi"):
        find("extenders", name).warm_up()
    before = [part.signatures for part in compiled]
    find("extenders", "sparse")().fit(X, X[:, :2]).transform(X_new)
    find("extenders", "sosi")(n_iterations=2).fit(X, X[:, 20:22], y, X_new=X_new)
    assert [part.signatures for part in compiled] == before and all(before)
