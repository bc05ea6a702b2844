"""A pool that breaks between two submissions is started anew, and no call is lost."""

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from manifold_oos.engine.executors import LocalProcesses


class Pool:
    """Runs a call at once; breaks at a given submission, with what is in flight."""

    def __init__(self, breaks_at):
        self.breaks_at, self.flying = breaks_at, []

    def submit(self, function, *arguments):
        if len(self.flying) == self.breaks_at:
            for future in self.flying:
                future.set_exception(BrokenProcessPool())
            raise BrokenProcessPool
        future = Future()
        if self.breaks_at is None:
            future.set_result(function(*arguments))
        self.flying.append(future)
        return future


@pytest.mark.parametrize("breaks_at", [0, 1])
def test_a_pool_that_breaks_between_submissions_is_started_anew(monkeypatch, breaks_at):
    executor = LocalProcesses(1)
    pools = [Pool(breaks_at), Pool(None)]

    def start(worker):
        if worker not in executor._pools:
            executor._pools[worker] = pools.pop(0)
        return executor._pools[worker]

    monkeypatch.setattr(executor, "_start", start)
    assert sorted(executor.map([(abs, (-k,)) for k in range(5)])) == [(k, k) for k in range(5)]
    assert pools == []
