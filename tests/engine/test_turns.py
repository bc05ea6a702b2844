"""Which worker takes which call: those that share work go to the same process, and nobody stays idle."""

import os
import time

from manifold_oos.engine.executors import LocalProcesses, _Turns


def test_a_worker_stays_with_its_group_and_helps_when_none_is_free():
    turns = _Turns(["a", "a", "a", "b", "b", "c"])
    assert [turns.take(0), turns.take(1), turns.take(0), turns.take(1)] == [0, 3, 1, 4]
    assert [turns.take(1), turns.take(1)] == [5, 2]  # the last group that is free, then the other's
    assert turns.left == 0


def test_help_goes_where_most_is_left():
    turns = _Turns([*"aaa", *"bbbbb", *"c"])
    for worker in (0, 1, 2):
        turns.take(worker)
    assert turns.take(2) == 4  # of b, with four left, not of a, with two


def test_what_is_given_back_comes_next():
    turns = _Turns(["a", "a", "b"])
    assert turns.take(0) == 0
    turns.give_back(0)
    assert turns.left == 3 and [turns.take(0) for _ in range(3)] == [0, 1, 2]


def test_calls_of_a_group_run_in_one_process():
    executor = LocalProcesses(2)
    groups = [number // 8 for number in range(32)]
    calls = [(_where, (0.005,)) for _ in groups]
    try:
        found = dict(executor.map(calls, groups))
    finally:
        executor.close()
    assert sorted(found) == list(range(32)) and len(set(found.values())) == 2
    homes = [{found[i] for i in range(32) if groups[i] == group} for group in range(4)]
    assert sum(len(home) == 1 for home in homes) >= 2  # all but those that the others helped with at the end


def test_one_group_is_no_reason_to_leave_a_worker_idle():
    executor = LocalProcesses(2)
    try:
        found = dict(executor.map([(_where, (0.05,)) for _ in range(30)], ["one"] * 30))
    finally:
        executor.close()
    assert len(set(found.values())) == 2


def _where(seconds):
    time.sleep(seconds)
    return os.getpid()
