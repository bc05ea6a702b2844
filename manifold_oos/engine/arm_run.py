"""Runs one arm on one split with every parameter decided, and measures what came out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from manifold_oos.config.model import Arm, CrossValidation, Method, Protocol
from manifold_oos.config.values import Facts, Grid, fill, grids_of, product, settle
from manifold_oos.engine.fits import Labelled, Placed, Workbench, is_nested
from manifold_oos.metrics import METRICS, Outcome

DIMENSION = "embedding.n_components"


@dataclass(frozen=True)
class Request:
    """One line of an experiment on one split: an arm, how its grids are decided, what to compute and to keep.

    ``protocol`` is None for an arm without grids; ``choice`` has values that were chosen once for the experiment;
    ``keep`` may have ``predictions`` and ``embedding``.
    """

    arm: Arm = field(hash=False)
    protocol: Protocol | None = field(default=None, hash=False)
    cv: CrossValidation = field(default_factory=CrossValidation, hash=False)
    score: str = "misclassification_rate"
    metrics: tuple[str, ...] = ()
    key: str = ""
    choice: Mapping[str, Any] | None = field(default=None, hash=False)
    keep: frozenset[str] = frozenset()


class Settled:
    """An arm for given points: sizes and values by data set are decided, only grids are open.

    ``dims`` are the dimensions that will be asked for, where the points are a fold of those that settled them.
    """

    def __init__(self, arm: Arm, facts: Facts, dims: Sequence[int] | None = None) -> None:
        self.facts = facts
        self.names = {stage: method.name for stage, method in arm.methods().items()}
        self.values = {stage: settle(method.parameters, facts) for stage, method in arm.methods().items()}
        if dims is None:
            asked = self.values.get("embedding", {}).get("n_components")
            dims = asked.values if isinstance(asked, Grid) else () if asked is None else (asked,)
        self.dims = sorted({d for d in dims if d < facts.n_train})

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """What is left to choose, by dotted path; dimensions that the points are too few for are left out."""
        grids = grids_of(self.values)
        if DIMENSION in grids:
            grid = grids[DIMENSION]
            if not self.dims:
                n = self.facts.n_train
                raise ValueError(f"every n_components of {list(grid.values)} is too large for {n} known points")
            values = tuple(d for d in grid.values if d in self.dims)
            default = grid.default if grid.default in values else max(values)
            grids[DIMENSION] = Grid(values, default)
        return grids

    def methods(self, assignment: Mapping[str, Any]) -> dict[str, Method]:
        """The stages with their grids decided."""
        return {stage: self._method(stage, assignment) for stage in self.values}

    def _method(self, stage: str, assignment: Mapping[str, Any]) -> Method:
        method = Method(name=self.names[stage], parameters=fill(self.values[stage], assignment, stage))
        if stage == "embedding" and self.dims and is_nested(stage, method):
            return method.with_(n_components=max(self.dims))  # one fit for all dimensions
        return method

    def dimension(self, assignment: Mapping[str, Any]) -> int | None:
        """The number of coordinates under an assignment, where the config says it."""
        value = fill(self.values.get("embedding", {}), assignment, "embedding").get("n_components")
        return None if value is None else int(value)

    def embeddings(self) -> Iterator[Method]:
        """Every embedding that the arm may fit."""
        grids = {path: grid.values for path, grid in grids_of(self.values["embedding"], "embedding").items()}
        for assignment in product(grids):
            method = self._method("embedding", assignment)
            if method.parameters.get("n_components", 0) < self.facts.n_train:
                yield method


@dataclass
class Result:
    """What one setting of an arm gave on one split."""

    n_components: int | None
    placed: Placed | None
    labelled: Labelled | None
    outcome: Outcome
    steps: list[tuple[int, Outcome]]
    fitted: dict[str, Any]
    warnings: list[str]
    times: dict[str, float]


class ArmRun:
    """An arm on the points of a workbench."""

    def __init__(self, request: Request, bench: Workbench, dims: Sequence[int] | None = None) -> None:
        self.request = request
        self.bench = bench
        self.settled = Settled(request.arm, bench.points.facts, dims)

    def run(self, assignment: Mapping[str, Any], metrics: Iterable[str]) -> Result:
        """Fit, extend, label and gather what the metrics need."""
        points, bench = self.bench.points, self.bench
        methods = self.settled.methods(assignment)
        placed = labelled = None
        if "embedding" in methods:
            d = self.settled.dimension(assignment)
            placed = bench.place(methods["embedding"], methods.get("extender"), d, self.request.arm.batch)
        if "classifier" in methods:
            labelled = bench.label(methods["classifier"], placed, self.settled.dims)
        metrics = list(metrics)
        needs = {METRICS[name].needs for name in metrics}
        batch = None
        if placed is not None and "batch" in needs:
            batch = bench.batch(methods["embedding"])[1][:, : placed.d]
        alone = bench.alone(placed) if placed is not None and "alone" in needs else None
        steps = placed.steps if placed else []
        own = labelled.labels if labelled else steps[-1].labels if steps else None  # those of the extender itself
        new, known = (placed.new, placed.known) if placed else (None, None)
        scalars = self._scalars(placed) if placed and "scalar" in needs else {}
        if "size" in needs:
            scalars |= bench.sizes(placed, lambda fresh: ArmRun(self.request, fresh).run(assignment, ()), metrics)
        foreign = bench.foreign(placed) if "foreign" in needs else None
        outcome = Outcome(
            points.y_new, own, new, batch, points.parameters, scalars, known, points.known_parameters,
            points.X, points.X_new, alone[0] if alone else None, foreign, self._once(placed),
        )  # fmt: skip
        fits = dict(placed.fits) if placed else {}
        caught = [text for fit in fits.values() for text in fit.warnings]
        caught += [*(placed.warnings if placed else ()), *(labelled.warnings if labelled else ())]
        learned = {f"{stage}.{key}": value for stage, fit in fits.items() for key, value in reported(fit.estimator)}
        times = self._times(placed, labelled) | ({"milliseconds_alone": 1000 * alone[1]} if alone else {})
        watched = self._steps(placed, methods, outcome) if placed else []
        d = placed.d if placed else None
        return Result(d, placed, labelled, outcome, watched, learned, list(dict.fromkeys(caught)), times)

    def measure(self, result: Result, metrics: Iterable[str]) -> list[dict[str, Any]]:
        """The numbers of a result, the final one of each metric first."""
        rows = []
        for name in metrics:
            watched = result.steps if METRICS[name].per_step else []
            for step, outcome in [(None, result.outcome), *watched]:
                value = compute(name, outcome)
                if value is not None:
                    rows.append({"metric": name, "step": step, "value": value})
        return rows

    def _once(self, placed: Placed | None) -> Callable[[str, Callable[[], Any]], Any]:
        """Keeps what metrics compute from coordinates for every arm that has the same ones."""
        where = None if placed is None else (placed.key, placed.d)
        return lambda name, make: self.bench.once((name, where), make)

    def _steps(self, placed: Placed, methods: Mapping[str, Method], final: Outcome) -> list[tuple[int, Outcome]]:
        if not any(METRICS[name].per_step for name in self.request.metrics):
            return []
        outcomes = []
        for step in placed.steps:
            labels = step.labels
            if step.coordinates is not None and "classifier" in methods and self.bench.points.y is not None:
                key = (*placed.key, "step", step.number)
                here = Placed(key, placed.known_key, placed.known, step.coordinates, placed.d)
                labels = self.bench.label(methods["classifier"], here).labels
            values = {key: float(value) for key, value in step.values.items()}
            outcome = Outcome(final.truth, labels, step.coordinates, None, final.parameters, values, once=_memory())
            outcomes.append((int(step.number), outcome))
        return outcomes

    def _scalars(self, placed: Placed) -> dict[str, float]:
        scalars: dict[str, float] = {}
        for step in placed.steps:
            scalars |= {key: float(value) for key, value in step.values.items()}
        for estimator in (fit.estimator for fit in placed.fits.values()):
            for name in ("objective", "sigma"):
                value = getattr(estimator, f"{name}_", None)
                if value is not None and np.size(value):
                    scalars[name] = float(np.mean(value))
            if hasattr(estimator, "n_iter_"):
                scalars["iterations"] = float(estimator.n_iter_)
            if hasattr(estimator, "scalars"):
                scalars |= estimator.scalars()
        return scalars

    def _times(self, placed: Placed | None, labelled: Labelled | None) -> dict[str, float]:
        fits = placed.fits.values() if placed else ()
        n = len(self.bench.points.X_new)
        seconds = placed.seconds if placed else labelled.seconds if labelled else 0.0
        return {
            "fit_seconds": sum(fit.seconds for fit in fits) + (labelled.fit_seconds if labelled else 0.0),
            "milliseconds_per_sample": 1000 * seconds / n,
        }


def _memory() -> Callable[[str, Callable[[], Any]], Any]:
    """Keeps what metrics compute from the coordinates of one step."""
    kept: dict[str, Any] = {}

    def once(name: str, make: Callable[[], Any]) -> Any:
        if name not in kept:
            kept[name] = make()
        return kept[name]

    return once


def compute(name: str, outcome: Outcome) -> float | None:
    """One number of an outcome, None where the outcome has nothing to compute it from."""
    metric = METRICS[name]
    missing = {
        "labels": outcome.labels is None or outcome.truth is None,
        "batch": outcome.coordinates is None or outcome.batch is None,
        "parameters": outcome.coordinates is None or not outcome.parameters,
        "known": outcome.known is None or not outcome.known_parameters,
        "scalar": name not in outcome.scalars,
        "size": name not in outcome.scalars,
        "inputs": outcome.coordinates is None or outcome.known is None or outcome.X_new is None,
        "alone": outcome.coordinates is None or outcome.alone is None,
        "foreign": outcome.foreign is None,
        "time": True,
    }[metric.needs]
    if missing:
        return None
    return metric.compute(outcome) if metric.compute else float(outcome.scalars[name])


def reported(estimator: Any) -> Iterable[tuple[str, Any]]:
    """What an estimator learned that fits in a word: ``sigma_``, ``n_iter_``, ``converged_``."""
    for key, value in sorted(vars(estimator).items()):
        if key.endswith("_") and not key.startswith("_") and np.ndim(value) == 0:
            plain = value.item() if isinstance(value, np.generic) else value
            if isinstance(plain, bool | int | float | str):
                yield key, plain
