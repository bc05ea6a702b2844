import warnings

import numpy as np
import pytest
from scipy import sparse

from manifold_oos.numerics import shared as module
from manifold_oos.numerics.shared import Kept, saved_seconds, shared, sharing


def test_without_sharing_everything_is_made_each_time():
    made = []
    for _ in range(2):
        shared("a", [np.zeros(3)], lambda: made.append(1))
    assert len(made) == 2 and saved_seconds() == 0


def test_equal_arrays_of_other_shape_type_or_name_are_told_apart():
    made = []
    with sharing(Kept()):
        for name, array in [
            ("a", np.zeros(4)),
            ("a", np.zeros((2, 2))),
            ("a", np.zeros(4, dtype=np.float32)),
            ("b", np.zeros(4)),
            ("a", np.zeros(8)[::2]),
        ]:
            shared(name, [array], lambda: made.append(1))
    assert len(made) == 4


def test_a_missing_array_is_not_an_empty_one():
    made = []
    with sharing(Kept()):
        shared("a", [None], lambda: made.append(1))
        shared("a", [np.zeros(0)], lambda: made.append(1))
    assert len(made) == 2


def test_the_oldest_go_when_memory_is_full():
    kept = Kept(limit=1000)
    with sharing(kept):
        for i in range(5):
            shared(i, [], lambda: np.zeros(50))
        again = []
        shared(0, [], lambda: again.append(0))
        shared(4, [], lambda: again.append(4))
    assert again == [0]


@pytest.mark.parametrize(("count", "made"), [(125, 1), (126, 2)])
def test_what_fills_the_memory_alone_is_kept_and_no_more(count, made):
    calls = []
    with sharing(Kept(limit=1000)):
        for _ in range(2):
            shared("a", [], lambda: calls.append(1) or np.zeros(count))
    assert len(calls) == made


def test_sparse_arrays_count_by_their_entries():
    calls = []
    with sharing(Kept(limit=1000)):
        for entries in (50, 100):
            for _ in range(2):
                shared(entries, [], lambda n=entries: calls.append(n) or sparse.eye_array(n, format="csr"))
    assert calls == [50, 100, 100]


def test_saved_seconds_count_what_was_inside(monkeypatch):
    clock = iter([0.0, 1.0, 4.0, 9.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    with sharing(Kept()):
        shared("outer", [], lambda: shared("inner", [], lambda: 1))  # inner 3 s of the outer 9
        shared("inner", [], lambda: 1)
        assert saved_seconds() == 3.0
        shared("outer", [], lambda: 1)
        assert saved_seconds() == 12.0


def test_a_failure_is_not_kept():
    with sharing(Kept()):
        with pytest.raises(ValueError, match="once"):
            shared("a", [], lambda: (_ for _ in ()).throw(ValueError("once")))
        assert shared("a", [], lambda: 2) == 2


def test_warnings_of_the_making_are_said_to_everyone():
    def make():
        warnings.warn("the graph has two parts", RuntimeWarning, stacklevel=1)
        return 1

    with sharing(Kept()):
        for _ in range(2):
            with pytest.warns(RuntimeWarning, match="two parts"):
                assert shared("a", [], make) == 1


def test_an_array_that_nobody_can_write_to_is_read_once(monkeypatch):
    read = []
    real = module._digest
    monkeypatch.setattr(module, "_digest", lambda array: read.append(array.shape) or real(array))
    X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    with sharing(Kept()):
        for _ in range(2):
            shared("a", [X], lambda: 0)
        assert read == [(3, 2)] * 2  # it may have changed
        X.flags.writeable = False
        for rows in (3, 3, 2, 2):
            shared("a", [X[:rows]], lambda: 0)
        assert read[2:] == [(3, 2), (2, 2)]


def test_another_array_at_the_same_address_is_told_apart():
    kept, seen = Kept(), set()
    for i in range(20):
        X = np.full(1000, float(i))
        X.flags.writeable = False
        seen.add(kept.digest(X))
        del X
    assert len(seen) == 20
