"""Where trials run: in this process, in local processes, or on a Dask cluster."""

import atexit
import multiprocessing
import multiprocessing.resource_tracker
import os
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from manifold_oos.engine.splits import DataRef
from manifold_oos.errors import ConfigError, MoosError

Call = tuple[Callable[..., Any], tuple[Any, ...]]
#: How often a call is tried again when the process that ran it dies.
RETRIES = 2
#: Calls in flight per worker: the next one waits beside it. More would only make an interrupt slower.
AHEAD = 2
#: How long a Dask scheduler may take to answer.
CONNECT_SECONDS = 15
#: How long it may have no worker, how often that is looked at, how often to send what a dying one did not take.
WORKER_SECONDS = 120.0
LOOK_SECONDS = 10.0
SCATTER_TRIES = 5
#: How long a finished call may take to hand over its result, or to be computed again if that died with its worker.
ANSWER_SECONDS = 600
#: After so long without work a worker ends; how often it looks whether its driver is still there.
IDLE_SECONDS = 300
WATCH_SECONDS = 0.5
#: Temporary folders are named after this and the number of the process.
FOLDER = "moos-"


class LostWorkerError(MoosError):
    """The process that ran a call died, again and again (out of memory?)."""


class Executor(Protocol):
    """Runs calls and gives their results as they come."""

    workers: int

    def share(self, value: Any) -> Any:
        """Make a data set or an array available to all calls, once; give what to pass to them."""

    def map(self, calls: list[Call], groups: Sequence[Hashable] | None = None) -> Iterator[tuple[int, Any]]:
        """Index and result of each call, as they finish; an exception is given as the result.

        Calls of one group share work where the same process runs them.
        """

    def close(self) -> None:
        """Stop the workers, now."""


class InProcess:
    """One call after the other, here."""

    workers = 1

    def share(self, value: Any) -> Any:
        """Everything is at hand; a data set is loaded where it is used."""
        return None if isinstance(value, DataRef) else value

    def map(self, calls: list[Call], groups: Sequence[Hashable] | None = None) -> Iterator[tuple[int, Any]]:
        """Run them in order."""
        for i, (function, arguments) in enumerate(calls):
            try:
                result: Any = function(*arguments)
            except Exception as error:
                result = error
            yield i, result

    def close(self) -> None:
        """Nothing to stop."""


class LocalProcesses:
    """Worker processes on this machine, each a pool of one."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pools: dict[int, Any] = {}
        # It stays to the end of the process: what loky leaves in memory when that is killed is found by it.
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self._files = 0

    def share(self, value: Any) -> Any:
        """An array goes through a file that workers map; a data set is loaded by each worker from its cache."""
        if isinstance(value, DataRef):
            return None
        self._files += 1
        path = self._folder / f"{self._files}.npy"
        np.save(path, value, allow_pickle=False)
        return str(path)

    def map(self, calls: list[Call], groups: Sequence[Hashable] | None = None) -> Iterator[tuple[int, Any]]:
        """Keep every worker busy; calls of a worker that dies are tried again in a new process."""
        turns = _Turns(range(len(calls)) if groups is None else groups)
        tries = [0] * len(calls)
        running: dict[Future[Any], tuple[int, int]] = {}
        while turns.left or running:
            self._feed(calls, turns, running)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            lost: dict[int, list[int]] = {}
            for future in sorted(finished, key=lambda item: running[item]):
                i, worker = running.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    lost.setdefault(worker, []).append(i)
                else:
                    yield i, future.result() if error is None else error
            for worker, dead in lost.items():
                # Which of its calls broke the worker is not known: all in flight count.
                for future, (i, other) in list(running.items()):
                    if other == worker:
                        del running[future]
                        dead.append(i)
                self._pools.pop(worker, None)
                for i in sorted(dead, reverse=True):
                    tries[i] += 1
                    if tries[i] <= RETRIES:
                        turns.give_back(i)
                for i in sorted(i for i in dead if tries[i] > RETRIES):
                    yield i, LostWorkerError(f"its process died {tries[i]} times (out of memory?)")

    def _feed(self, calls: list[Call], turns: "_Turns", running: dict[Future[Any], tuple[int, int]]) -> None:
        """Give every worker a call and, while there are enough for all, the next one to wait beside it."""
        load = Counter(worker for _, worker in running.values())
        for depth in range(AHEAD):
            for worker in range(self.workers):
                if load[worker] > depth or turns.left <= depth * self.workers:
                    continue
                i = turns.take(worker)
                function, arguments = calls[i]
                try:
                    with _deaf():
                        running[self._start(worker).submit(function, *arguments)] = i, worker
                    load[worker] += 1
                except BrokenProcessPool:  # it broke since the last one; what is in flight tells so
                    turns.give_back(i)
                    if not load[worker]:
                        del self._pools[worker]

    def _start(self, worker: int) -> Any:
        if worker not in self._pools:
            from joblib.externals.loky import ProcessPoolExecutor

            environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._pools[worker] = ProcessPoolExecutor(
                1,
                timeout=IDLE_SECONDS,
                env=environment,
                initializer=_begin_worker,
                initargs=(os.getpid(),),
            )
        return self._pools[worker]

    def close(self) -> None:
        """Kill the workers: what they were computing is not stored and will be computed again."""
        for pool in self._pools.values():
            # kill_workers drops the work behind the waiting numbers, and loky's thread stumbles over those left.
            with suppress(queue.Empty):
                while True:
                    pool._work_ids.get_nowait()
            pool.shutdown(wait=False, kill_workers=True)
        self._pools.clear()
        for file in self._folder.iterdir():
            file.unlink()


class _Turns:
    """Which call a worker takes next: of its group, of one that nobody is at, or to help with the longest."""

    def __init__(self, groups: Sequence[Hashable]) -> None:
        self._groups, self._at = groups, dict[int, Hashable]()
        self._waiting: dict[Hashable, deque[int]] = {}
        for i, group in enumerate(groups):
            self._waiting.setdefault(group, deque()).append(i)
        self.left = len(groups)

    def take(self, worker: int) -> int:
        group = self._at.get(worker)
        if group not in self._waiting:
            others = {group for other, group in self._at.items() if other != worker}
            free = (group for group in self._waiting if group not in others)
            group = next(free, None)
            if group is None:
                group = max(self._waiting, key=lambda name: len(self._waiting[name]))
            self._at[worker] = group
        i = self._waiting[group].popleft()
        if not self._waiting[group]:
            del self._waiting[group]
        self.left -= 1
        return i

    def give_back(self, i: int) -> None:
        self._waiting.setdefault(self._groups[i], deque()).appendleft(i)
        self.left += 1


@dataclass(frozen=True)
class _Scattered:
    """A value that was shared with a cluster, by its number."""

    number: int


class DaskCluster:
    """Workers of a Dask cluster, which retries the trials of lost ones."""

    def __init__(self, address: str, workers: int) -> None:
        try:
            import dask.config
            import distributed
        except ImportError as error:
            raise ConfigError("--scheduler needs Dask: pip install 'manifold-oos[distributed]'") from error
        self._distributed = distributed
        self._cluster: Any = None
        self._settings: Any = nullcontext()
        if address == "local":
            self._others = set(multiprocessing.active_children())
            # On a busy machine a worker takes longer to start again than the 15 s after which Dask gives it up, and
            # one after the other is gone for good.
            self._settings = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
            self._cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},  # any free port
            )
            address = self._cluster.scheduler_address
        try:
            self._client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConfigError(f"--scheduler {address}: no Dask scheduler answers there ({error})") from error
        self.workers = max(1, len(self._client.scheduler_info().get("workers", {})))
        self._values: list[Any] = []
        self._scattered: dict[int, Any] = {}

    def share(self, value: Any) -> Any:
        """Scattered once, to every worker: they need neither files nor a common disk."""
        self._values.append(value.load() if isinstance(value, DataRef) else value)
        return _Scattered(len(self._values) - 1)

    def map(self, calls: list[Call], groups: Sequence[Hashable] | None = None) -> Iterator[tuple[int, Any]]:
        """Submit all, give results as they come; what is lost with a worker's data is submitted again.

        When the last worker that holds the data dies, all that wait for them are lost, whoever killed it: after a
        round in which nothing finished, the next call is tried alone.
        """
        waiting = dict(enumerate(calls))
        alone, tries = False, 0
        while waiting:
            numbers = {self._submit(waiting[i]): i for i in list(waiting)[: 1 if alone else None]}
            count, lost = len(numbers), {}
            for future in self._finished(set(numbers)):
                answer, how = self._answer(future)
                i = numbers.pop(future)
                future.release()
                if how:
                    lost[i] = how
                else:
                    del waiting[i]
                    yield i, answer
            if lost:
                self._scattered.clear()
            tries = tries + 1 if alone and lost else 0
            alone = len(lost) == count
            if tries > RETRIES:
                ((i, how),) = lost.items()
                del waiting[i]
                yield i, LostWorkerError(f"the cluster lost it {tries} times ({how})")
                alone, tries = False, 0

    def _finished(self, futures: set[Any]) -> Iterator[Any]:
        """Futures as they finish, as long as there is somebody who may compute them."""
        absent = 0.0
        while futures:
            with suppress(TimeoutError):
                for future in self._distributed.as_completed(
                    list(futures), loop=self._client.loop, timeout=LOOK_SECONDS
                ):
                    futures.remove(future)
                    yield future
            absent = 0.0 if not futures or self._client.nthreads() else absent + LOOK_SECONDS
            if absent > WORKER_SECONDS:
                raise LostWorkerError(
                    f"the cluster has had no worker for {absent:.0f} s; what is stored is safe: start some, and"
                    " run the same command again"
                )

    def _answer(self, future: Any) -> tuple[Any, str]:
        """What a call gave, or how it was lost: a finished one may be gone with its worker before it is fetched."""
        import asyncio

        try:
            if future.status == "error":
                return future.exception(timeout=ANSWER_SECONDS), ""
            if future.status == "finished":
                return future.result(timeout=ANSWER_SECONDS), ""
            return None, future.status
        except (OSError, Cancelled, asyncio.CancelledError) as error:
            return None, f"{type(error).__name__}: {error}"

    def _submit(self, call: Call) -> Any:
        function, arguments = call
        given = [
            {key: self._future(item) for key, item in argument.items()} if isinstance(argument, dict) else argument
            for argument in arguments
        ]
        return self._client.submit(function, *given, pure=False, retries=RETRIES)

    def _future(self, item: Any) -> Any:
        """The future of a shared value; a scatter that meets a dying worker is tried again."""
        if not isinstance(item, _Scattered):
            return item
        if item.number not in self._scattered:
            value = self._values[item.number]
            for attempt in range(SCATTER_TRIES):
                try:
                    self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
                    self._scattered[item.number] = self._client.scatter(value, hash=False, broadcast=True)
                    break
                except (OSError, KeyError) as error:
                    if attempt == SCATTER_TRIES - 1:
                        raise LostWorkerError(f"the cluster has no worker that takes the data ({error})") from error
                    time.sleep(1)
        return self._scattered[item.number]

    def close(self) -> None:
        """Give up what is still running; a cluster that was started here is stopped."""
        with suppress(Exception):
            self._client.close(timeout=2)
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.close(timeout=5)
            # One that was being started again in the place of a lost one outlives its cluster.
            for process in set(multiprocessing.active_children()) - self._others:
                process.kill()
        with self._settings:  # as they were before
            pass


@contextmanager
def _deaf() -> Iterator[None]:
    """Whoever is started now does not hear Ctrl-C, from before its first import on."""
    if sys.platform == "win32":
        yield
        return
    multiprocessing.resource_tracker.ensure_running()  # its start would end the deafness
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(driver: int) -> None:
    """Only the driver answers Ctrl-C, which reaches the whole group; a worker ends when its driver does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(driver: int) -> None:
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x00100000, False, driver)  # SYNCHRONIZE
        ctypes.windll.kernel32.WaitForSingleObject(handle, -1)
    else:
        while os.getppid() == driver:  # an orphan has another parent
            time.sleep(WATCH_SECONDS)
    os._exit(1)


def sweep_leftovers() -> None:
    """Remove the temporary folders and semaphores of drivers that were killed and could not do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        number = folder.name.removeprefix(FOLDER).split("-")[0]
        if number.isdigit() and not _alive(int(number)):
            for semaphore in Path("/dev/shm").glob(f"sem.loky-{number}-*"):  # there is no such folder but on Linux
                with suppress(OSError):
                    semaphore.unlink()
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    """Whether a process is there; on Windows, where asking may end it, it is taken to be."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_executor(workers: int | None, scheduler: str | None) -> Executor:
    """The executor that the options of a command ask for."""
    workers = cores() if workers is None else workers
    if workers < 1:
        raise ConfigError(f"--workers {workers}: at least one is needed")
    if scheduler:
        return DaskCluster(scheduler, workers)
    return InProcess() if workers == 1 else LocalProcesses(workers)
