"""Chooses the values of grids on the known points of a split alone: their validation part plays the new points."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifold_oos.config.model import CrossValidation, Protocol
from manifold_oos.config.values import Grid, product
from manifold_oos.engine.arm_run import DIMENSION, ArmRun, Request, Settled, compute
from manifold_oos.engine.fits import Workbench
from manifold_oos.engine.splits import Points
from manifold_oos.metrics import METRICS

#: A class with fewer known points than this cannot be divided in a useful way.
SMALLEST_CLASS = 3


@dataclass(frozen=True)
class Choice:
    """The values that were chosen, whether there was something to choose from, and how long it took."""

    values: dict[str, Any]
    tuned: bool
    seconds: float


@dataclass(frozen=True)
class Rules:
    """The grids of an arm by how they are decided."""

    validated: dict[str, Grid]
    open: dict[str, Grid]
    defaults: dict[str, Any]


def divide(protocol: Protocol | None, grids: Mapping[str, Grid]) -> Rules:
    """Which grids cross-validation decides, which are left to the test average, which keep their default."""
    if protocol is None:
        return Rules({}, {}, {})
    by_rule = {path: protocol.rule(path) for path in grids}
    return Rules(
        {path: grid for path, grid in grids.items() if by_rule[path] == "train_only"},
        {path: grid for path, grid in grids.items() if by_rule[path] == "best"},
        {path: grid.default for path, grid in grids.items() if by_rule[path] == "default"},
    )


def choose(request: Request, points: Points) -> Choice:
    """Choose on the known points of a split."""
    start = time.perf_counter()
    grids = Settled(request.arm, points.facts).grids
    rules = divide(request.protocol, grids)
    start_values = {path: grid.default for path, grid in grids.items()}
    chosen = {path: start_values[path] for path in rules.validated}
    too_small = points.y is not None and np.bincount(points.y)[np.unique(points.y)].min() < SMALLEST_CLASS
    if too_small or not any(len(grid.values) > 1 for grid in rules.validated.values()):
        return Choice(chosen, not too_small, time.perf_counter() - start)
    cv = request.cv
    dims = grids[DIMENSION].values if DIMENSION in grids else None
    folds = [ArmRun(request, Workbench(fold), dims) for fold in make_folds(points, cv)]
    if cv.order == "joint":
        candidates = product({path: grid.values for path, grid in rules.validated.items()})
        chosen = _best(request, folds, candidates, start_values)
    else:
        for path, grid in rules.validated.items():
            candidates = [chosen | {path: value} for value in grid.values]
            chosen = _best(request, folds, candidates, start_values)
    return Choice(chosen, True, time.perf_counter() - start)


def _best(
    request: Request, folds: list[ArmRun], candidates: list[dict[str, Any]], start: Mapping[str, Any]
) -> dict[str, Any]:
    """The candidate with the best mean over the folds, of equal ones the first."""
    sign = -1.0 if METRICS[request.score].better == "higher" else 1.0
    scores = np.full((len(candidates), len(folds)), np.inf)
    error: Exception | None = None
    for i, candidate in enumerate(candidates):
        for j, arm in enumerate(folds):
            assignment = {**start, **candidate}
            if assignment.get(DIMENSION) is not None and assignment[DIMENSION] not in arm.settled.dims:
                continue
            try:
                value = compute(request.score, arm.run(assignment, [request.score]).outcome)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as caught:
                error = caught
                continue
            if value is None:
                raise ValueError(f"{request.score} cannot be computed in cross-validation; set cv.metric")
            scores[i, j] = sign * value
    means = scores.mean(axis=1)
    if not np.isfinite(means).any():
        raise ValueError(f"no value of {', '.join(candidates[0])} works in cross-validation: {error}") from error
    return candidates[int(np.argmin(means))]


def make_folds(points: Points, cv: CrossValidation) -> list[Points]:
    """Divide the known points of a split, class by class; once for all arms."""
    key = cv.model_dump_json(include={"scheme", "repeats", "folds"})
    if key not in points.folds:
        points.folds[key] = _cut_folds(points, cv)
    return points.folds[key]


def _cut_folds(points: Points, cv: CrossValidation) -> list[Points]:
    n = len(points.X)
    groups = [np.arange(n)] if points.y is None else [np.flatnonzero(points.y == c) for c in np.unique(points.y)]
    folds: list[Points] = []
    for repeat in range(cv.repeats):
        rng = np.random.default_rng(np.random.SeedSequence([points.seed, 1, repeat]))
        parts = 2 if cv.scheme == "halves" else min(cv.folds, *(len(group) for group in groups))
        part = np.empty(n, dtype=int)
        for group in groups:
            part[rng.permutation(group)] = np.arange(len(group)) % parts
        for i in [1] if cv.scheme == "halves" else range(parts):
            train, validation = np.flatnonzero(part != i), np.flatnonzero(part == i)
            folds.append(points.fold(train, validation, seed=points.seed + 1 + len(folds)))
    return folds
