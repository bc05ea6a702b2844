"""What the store lacks of a plan, and how long that will take."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from manifold_oos.experiment.arms import as_json
from manifold_oos.experiment.grids import Facts, grids_of, settle
from manifold_oos.experiment.plan import Line, Plan, Trial
from manifold_oos.experiment.selection import divide
from manifold_oos.experiment.splits import SplitRef, count_known
from manifold_oos.experiment.store import Store


@dataclass(frozen=True)
class Work:
    """A trial with what is missing of each of its lines."""

    trial: Trial
    lines: tuple[Line, ...]
    asked: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Estimate:
    """What a run would do: trials, lines and final rows to compute, lines that are there, seconds if known."""

    trials: int
    lines: int
    rows: int
    reused: int
    seconds: float | None
    unknown: int


def missing(
    store: Store, plan: Plan, keep_predictions: bool = False, keep_embeddings: str | None = None
) -> list[Work]:
    """The trials of a plan with what the store lacks of them.

    Parameters
    ----------
    store : Store
        What is there.
    plan : Plan
        What is wanted.
    keep_predictions : bool, default=False
        Whether labels of new points are wanted.
    keep_embeddings : {"one", "all"}, optional
        Whether coordinates are wanted, of one split or of all.

    Returns
    -------
    list of Work
        In the order of the plan; trials that are complete are left out.
    """
    there = store.done(plan.lines)
    taken: set[str] = set()
    work = []
    for trial in plan.trials:
        lines, asked = [], {}
        for line in trial.lines:
            wanted = list(plan.metrics)
            if keep_predictions:
                wanted.append("predictions")
            first = line.repetition == 0 and line.size == trial.split.split.sizes[0]
            if keep_embeddings == "all" or (keep_embeddings == "one" and first):
                wanted.append("embedding")
            lacking = tuple(what for what in wanted if what not in there.get(line.key, set()))
            if lacking and line.key not in taken:
                taken.add(line.key)
                lines.append(line)
                asked[line.key] = lacking
        if lines:
            work.append(Work(trial, tuple(lines), asked))
    return work


def estimate(store: Store, plan: Plan, workers: int) -> Estimate:
    """What a run would take, from the times of earlier ones.

    Parameters
    ----------
    store : Store
        What is there.
    plan : Plan
        What is wanted.
    workers : int
        How many trials run at once.

    Returns
    -------
    Estimate
        ``unknown`` lines were never run before and are not in ``seconds``, which is None if that is all of them.
    """
    work = missing(store, plan)
    seconds, unknown, rows = 0.0, 0, 0
    costs: dict[str, float | None] = {}
    for item in work:
        for line in item.lines:
            what = cost_key(plan, line)
            if what not in costs:
                costs[what] = store.cost(what)
            cost = costs[what]
            unknown += cost is None
            seconds += cost or 0.0
            rows += len(item.asked[line.key]) * candidates(plan, line, item.trial.split)
    lines = sum(len(item.lines) for item in work)
    reused = len({line.key for line in plan.lines}) - lines
    known = None if lines and unknown == lines else seconds / workers
    return Estimate(len(work), lines, rows, reused, known, unknown)


def candidates(plan: Plan, line: Line, split: SplitRef) -> int:
    """How many grid points of a line are stored: those left to the test average."""
    facts = plan.facts[line.dataset]
    counts = np.array(facts.class_counts) if facts.class_counts else None
    n_train = count_known(split.split, split.size, facts.n, counts)
    here = Facts(line.dataset, n_train, facts.n_classes, facts.n_features)
    request = plan.request(line, ())
    grids = grids_of({stage: settle(method["parameters"], here) for stage, method in request.stages.items()})
    return int(np.prod([len(grid.values) for grid in divide(request, grids).open.values()], dtype=int))


def cost_key(plan: Plan, line: Line) -> str:
    """What the time of a line is remembered under: the same for all repetitions and for changed code."""
    ref = plan.refs[line.dataset]
    request = plan.request(line, ())
    parts = [ref.name, ref.options, line.size, line.selection, request.stages, request.rules, request.cv]
    return hashlib.sha256(as_json(parts).encode()).hexdigest()[:16]
