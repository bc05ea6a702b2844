"""A local Dask cluster: lost workers and lost data cost time and no result, and nobody else can reach it."""

import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from manifold_oos.engine import executors
from manifold_oos.engine.executors import DaskCluster, LostWorkerError

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


def total(number, given, folder):
    """A sum that kills its process where a file of its number is, once."""
    try:
        (Path(folder) / str(number)).unlink()
    except FileNotFoundError:
        return float(given["data"].sum()) + number
    os._exit(1)


def deadly(given):
    os._exit(1)


@pytest.fixture
def cluster():
    made = []

    def make(workers):
        made.append(DaskCluster("local", workers))
        return made[-1]

    before = set(multiprocessing.active_children())
    yield make
    for item in made:
        item.close()
    end = time.monotonic() + 60
    while set(multiprocessing.active_children()) - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not set(multiprocessing.active_children()) - before


def test_lost_workers_and_data_are_made_good(cluster, tmp_path):
    """Each death of a lone worker takes the scattered data along, and with them all calls that wait."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"}):  # as a busy machine is to a slow start
        here = cluster(1)
        data = here.share(np.ones((20, 3)))
        for number in (1, 9):
            (tmp_path / str(number)).touch()
        calls = [(total, (i, {"data": data}, str(tmp_path))) for i in range(16)]
        assert dict(here.map(calls)) == {i: 60.0 + i for i in range(16)}
        here.close()
        assert dask.config.get("distributed.deploy.lost-worker-timeout") == "0s"


def test_a_call_that_always_kills_is_given_up_and_the_others_are_not(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "RETRIES", 1)
    here = cluster(1)
    data = here.share(np.ones((20, 3)))
    calls = [(deadly, ({"data": data},)), *((total, (i, {"data": data}, str(tmp_path))) for i in range(3))]
    found = dict(here.map(calls))
    assert [found[i] for i in (1, 2, 3)] == [60.0, 61.0, 62.0]
    assert isinstance(found[0], Exception)


def test_a_cluster_without_workers_is_told(cluster, monkeypatch):
    monkeypatch.setattr(executors, "WORKER_SECONDS", 0.5)
    monkeypatch.setattr(executors, "LOOK_SECONDS", 0.2)
    here = cluster(1)
    here._cluster.scale(0)
    while here._client.nthreads():
        time.sleep(0.05)
    with pytest.raises(LostWorkerError, match=r"no worker for .* start some, and run the same command again"):
        list(here.map([(os.getpid, ())]))
    monkeypatch.setattr(executors, "SCATTER_TRIES", 1)
    data = here.share(np.ones(3))
    with pytest.raises(LostWorkerError, match="no worker that takes the data"):
        list(here.map([(deadly, ({"data": data},))]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at sockets through /proc")
def test_it_listens_on_loopback_alone(cluster):
    here = cluster(1)
    processes = ["self", *(str(child.pid) for child in multiprocessing.active_children())]
    sockets = set()
    for process in processes:
        for file in Path(f"/proc/{process}/fd").iterdir():
            try:
                sockets.add(str(file.readlink()))
            except OSError:
                continue
    addresses = []
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:  # it listens
                addresses.append(fields[1].split(":")[0])
    assert here.workers == 1 and len(addresses) >= 3
    assert set(addresses) == {"0100007F"}  # 127.0.0.1
