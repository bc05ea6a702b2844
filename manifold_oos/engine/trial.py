"""One trial: a split and an embedding with everything that hangs off it; what a worker runs."""

import json
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from manifold_oos import registry
from manifold_oos.arrays import Array
from manifold_oos.config.model import Method
from manifold_oos.config.values import product
from manifold_oos.datasets.base import Dataset
from manifold_oos.engine.arm_run import ArmRun, Request, Result
from manifold_oos.engine.fits import Workbench, build, fitted
from manifold_oos.engine.keys import as_json
from manifold_oos.engine.select import Choice, choose, divide
from manifold_oos.engine.splits import DataRef, Points, SplitRef, standardized
from manifold_oos.numerics.shared import Kept, sharing
from manifold_oos.registry import KINDS

#: Coordinates beyond these are not kept for the viewer.
KEPT_DIMENSIONS = 20
# Workers of a cluster may be threads; warnings and the BLAS limit belong to the process.
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Job:
    """The lines of one split and one embedding that the store does not have; ``told`` is where to write which."""

    split: SplitRef
    requests: tuple[Request, ...]
    batches: tuple[str, ...] = ()
    told: str = ""


@dataclass
class LineResult:
    """The rows, times and kept arrays of one line, or how it failed."""

    key: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    times: list[dict[str, Any]] = field(default_factory=list)
    predictions: list[dict[str, Any]] = field(default_factory=list)
    embedding: dict[str, NDArray] | None = None
    seconds: float = 0.0
    error: str = ""
    traceback: str = ""


def run_job(job: Job, shared: Mapping[str, Any]) -> list[LineResult]:
    """Run a trial with one BLAS thread, whatever the number of workers."""
    for request in job.requests:
        for stage, method in request.arm.methods().items():
            cls = registry.find(KINDS[stage], method.name)  # what it imports is there when threads are limited
            getattr(cls, "warm_up", lambda: None)()  # and what it compiles is not timed
    _kept.cache_clear()  # batches are done when trials begin
    with _alone(), sharing((split := _split(job.split)).kept):
        try:
            points = split.points(shared.get("data"))
            bench = Workbench(points, {key: _array(shared[key]) for key in job.batches})
        except Exception as error:
            return [failure(request.key, error) for request in job.requests]
        results = []
        for request in job.requests:
            _tell(job.told, request.key)
            start = time.perf_counter()
            try:
                result = run_line(request, bench)
            except Exception as error:
                result = failure(request.key, error)
            result.seconds = time.perf_counter() - start
            results.append(result)
        return results


def _tell(place: str, key: str) -> None:
    """Let the display know what is being fitted, where it is on this machine."""
    with suppress(OSError):
        Path(place).write_text(key, encoding="utf-8")


def run_choice(split: SplitRef, request: Request, shared: Mapping[str, Any]) -> Choice:
    """Choose the parameters of an arm once for all repetitions, on the known points of one split."""
    with _alone(), sharing((here := _split(split)).kept):
        return choose(request, here.points(shared.get("data")))


def run_batch(data: DataRef, embedding: Method, seed: int, shared: Mapping[str, Any]) -> Array:
    """Embed a whole data set: what alignment and embedding errors compare with."""
    with _alone(), sharing(_kept(data)):
        given: Dataset | None = shared.get("data")
        whole = loaded(data) if given is None else given
        X = standardized(whole.X, whole.X)[0] if whole.standardize else whole.X
        fit = fitted(build("embedding", embedding, seed), X, whole.y, np.arange(len(X)))
        coordinates: Array = fit.estimator.embedding_
        return coordinates


@contextmanager
def _alone() -> Iterator[None]:
    """One trial at a time in a process, with one thread of each BLAS and OpenMP library."""
    import sklearn.base  # noqa: F401  brings them: the limit is set on those that are there

    with _LOCK, _controller(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """The libraries that are loaded; looking for them takes milliseconds, so only after new imports."""
    return ThreadpoolController()


def run_line(request: Request, bench: Workbench) -> LineResult:
    """One arm on one split: choose on the known points, then run and measure every candidate that is left."""
    arm = ArmRun(request, bench)
    rules = divide(request.protocol, arm.settled.grids)
    choice = Choice({}, True, 0.0)
    if rules.validated:
        if request.choice is not None:
            choice = Choice(dict(request.choice["values"]), bool(request.choice["tuned"]), 0.0)
        else:
            choice = choose(request, bench.points)
    result = LineResult(request.key)
    for candidate in product({path: grid.values for path, grid in rules.open.items()}):
        assignment = {**rules.defaults, **choice.values, **candidate}
        outcome = arm.run(assignment, request.metrics)
        shown = {"n_components": outcome.n_components, "candidate": as_json(candidate)}
        common = shown | {
            "n_train": len(bench.points.X),
            "n_test": len(bench.points.X_new),
            "chosen": as_json(assignment),
            "tuned": choice.tuned,
            "fitted": as_json(outcome.fitted),
            "warnings": as_json(outcome.warnings),
        }
        result.rows += [common | row for row in arm.measure(outcome, request.metrics)]
        times = outcome.times | ({"select_seconds": choice.seconds} if rules.validated else {})
        result.times += [common | {"metric": name, "step": None, "value": value} for name, value in times.items()]
        if "predictions" in request.keep and outcome.outcome.labels is not None:
            truth = bench.points.y_new
            kept = {"sample": bench.points.new, "truth": truth, "predicted": outcome.outcome.labels}
            result.predictions.append(shown | kept)
        if "embedding" in request.keep and outcome.placed is not None:
            defaults = {path: grid.default for path, grid in rules.open.items()}
            if result.embedding is None or candidate == defaults:
                result.embedding = coordinates(outcome, bench.points, assignment)
    return result


def coordinates(result: Result, points: Points, assignment: Mapping[str, Any]) -> dict[str, NDArray]:
    """What a viewer shows of one split: plain arrays that need no pickle."""
    assert result.placed is not None
    arrays: dict[str, Any] = {
        "known": result.placed.known[:, :KEPT_DIMENSIONS].astype(np.float32),
        "new": result.placed.new[:, :KEPT_DIMENSIONS].astype(np.float32),
        "known_index": points.known,
        "new_index": points.new,
        "known_labels": points.y,
        "new_labels": points.y_new,
        "predicted": result.outcome.labels,
        "chosen": np.array(json.dumps(dict(assignment), default=float)),
    }
    steps = result.placed.steps
    if steps:
        arrays["step_numbers"] = np.array([step.number for step in steps])
        for name in ("coordinates", "labels", "confidence", "taken"):
            values = [getattr(step, name) for step in steps]
            if all(value is not None for value in values):
                stacked = np.stack(values)
                if name == "coordinates":
                    stacked = stacked[:, :, :KEPT_DIMENSIONS].astype(np.float32)
                arrays[f"step_{name}"] = stacked
    return {name: np.asarray(value) for name, value in arrays.items() if value is not None}


def failure(key: str, error: Exception) -> LineResult:
    """The result of a line that failed."""
    text = "".join(traceback.format_exception(error))
    return LineResult(key, error=f"{type(error).__name__}: {error}".splitlines()[0], traceback=text)


def loaded(ref: DataRef) -> Dataset:
    """A data set, which stays in memory for the next trials, under whatever label."""
    return _load(replace(ref, label=""))


_load = lru_cache(maxsize=3)(DataRef.load)


class _Split:
    """The points of a split, cut once, and what the methods share on them."""

    def __init__(self, ref: SplitRef) -> None:
        self.ref, self.kept = ref, Kept()
        self._points: Points | None = None

    def points(self, given: Dataset | None) -> Points:
        if self._points is None:
            if given is None and not self.ref.drawn:
                given = loaded(self.ref.data)
            self._points = self.ref.points(given)
        return self._points


#: Trials of one split follow each other.
_split = lru_cache(maxsize=1)(_Split)


@lru_cache(maxsize=1)
def _kept(data: DataRef) -> Kept:
    """What embeddings of a whole data set share."""
    return Kept()


def _array(value: Any) -> Array:
    array: Array = np.load(value, mmap_mode="r", allow_pickle=False) if isinstance(value, str) else value
    return array
