"""What the store lacks of a plan, and how long that will take."""

import hashlib
import json
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from manifold_oos.atomic import atomic, write_text
from manifold_oos.config.model import FIXED, Experiment
from manifold_oos.config.values import grids_of
from manifold_oos.datasets.cache import remove_leftovers
from manifold_oos.engine.arm_run import Request
from manifold_oos.engine.executors import FOLDER, Call, Executor, make_executor, sweep_leftovers
from manifold_oos.engine.keys import as_json
from manifold_oos.engine.plan import Line, Plan, Trial, make_plan
from manifold_oos.engine.progress import (
    Expected,
    Kind,
    Progress,
    TimeLeft,
    Underway,
    compiles,
    guess_seconds,
    kind_of,
)
from manifold_oos.engine.select import Choice, divide
from manifold_oos.engine.splits import SplitRef
from manifold_oos.engine.store import Store
from manifold_oos.engine.store_file import locked
from manifold_oos.engine.trial import Job, LineResult, failure, run_batch, run_choice, run_job
from manifold_oos.metrics import METRICS


@dataclass(frozen=True)
class Work:
    """A trial with what is missing of each of its lines."""

    trial: Trial
    lines: tuple[Line, ...]
    asked: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Estimate:
    """What a run would do: trials, lines and final rows to compute, lines that are there, seconds or a guess."""

    trials: int
    lines: int
    rows: int
    reused: int
    seconds: float | None
    unknown: int
    guess: float


def missing(
    store: Store, plan: Plan, keep_predictions: bool = False, keep_embeddings: str | None = None
) -> list[Work]:
    """The trials of a plan with what the store lacks of them."""
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
    """What a run would take, from the times of earlier ones."""
    work = missing(store, plan)
    trials = expected(store, plan, work)
    lines = [(line, item) for item in work for line in item.lines]
    rows = sum(len(it.asked[line.key]) * count_candidates(plan, line, it.trial.split) for line, it in lines)
    reused = len({line.key for line in plan.lines}) - len(lines)
    known = [cost for trial in trials for cost in trial.costs if cost is not None]
    seconds = sum(known) / workers if known or not lines else None
    guess = TimeLeft(trials, workers).seconds
    return Estimate(len(work), len(lines), rows, reused, seconds, len(lines) - len(known), guess)


def expected(store: Store, plan: Plan, work: Iterable[Work]) -> list[Expected]:
    """What each trial may take, by its size and by earlier runs; worked out once for all repetitions."""
    found: dict[Kind, Expected] = {}
    trials = []
    for item in work:
        kind = kind_of(item.lines)
        if kind not in found:
            guess = sum(_guess(plan, line, item.trial.split) for line in item.lines)
            costs = tuple(store.cost(cost_key(plan, line)) for line in item.lines)
            found[kind] = Expected(item.lines, guess, costs)
        trials.append(found[kind])
    return trials


def _guess(plan: Plan, line: Line, split: SplitRef) -> float:
    """Seconds of a line by its size; a grid that is searched is fitted again and again."""
    arm, data = plan.experiment.arms[line.arm], plan.facts[line.dataset]
    known = split.size_facts(data).n_train
    new = min(split.split.n_test or data.n, max(data.n - known, 1))
    method = arm.extender or (arm.classifier if arm.embedding is None else None)
    fits = 7 if line.selection != FIXED else 1
    return fits * guess_seconds(
        method.name if method else "", known, new, max(data.n_classes - 1, 2), data.n_features
    )


def count_candidates(plan: Plan, line: Line, split: SplitRef) -> int:
    """How many grid points of a line are stored: those left to the test average."""
    grids = grids_of(plan.settled(line, split).values)
    return int(np.prod([len(grid.values) for grid in divide(plan.protocol(line), grids).open.values()], dtype=int))


def cost_key(plan: Plan, line: Line) -> str:
    """What the time of a line is remembered under: the same for all repetitions and for changed code."""
    ref, request = plan.refs[line.dataset], plan.request(line, ())
    arm = {stage: method.model_dump() for stage, method in request.arm.methods().items()}
    rules = request.protocol.rules if request.protocol else {}
    parts = [ref.name, ref.options, line.size, line.selection, arm, rules, request.cv.model_dump()]
    return hashlib.sha256(as_json(parts).encode()).hexdigest()[:16]


class Terminated(KeyboardInterrupt):
    """SIGTERM came: a clean stop, as for Ctrl-C, with its own exit code."""

    code = 128 + signal.SIGTERM


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM stops a run as Ctrl-C does; only the main thread may ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass
class RunSummary:
    """What a run did."""

    plan: Plan
    folder: Path
    trials: int = 0
    computed: int = 0
    reused: int = 0
    failed: list[tuple[Line, str]] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: int = 0  # the signal that stopped it
    archived: Path | None = None


def run_experiment(
    experiment: Experiment,
    out: str | Path = "results",
    workers: int | None = 1,
    *,
    scheduler: str | None = None,
    data_dir: str | Path | None = None,
    offline: bool | None = None,
    skip_missing: bool = False,
    fresh: bool = False,
    fail_fast: bool = False,
    keep_predictions: bool = False,
    keep_embeddings: Literal["one", "all"] | None = None,
    progress: Progress | None = None,
) -> RunSummary:
    """Run an experiment: whatever the store of the results root ``out`` has is not computed again.

    ``workers`` is a number of processes, None as many as there are cores; ``scheduler`` a Dask scheduler
    (``tcp://…``) or ``local``. ``fresh`` moves what is there of this experiment to ``archive/``; coordinates are
    kept of one split for each data set and arm, or of all.
    """
    started = time.monotonic()
    sweep_leftovers()
    root = Path(out)
    progress = progress or Progress(experiment.metrics[0])
    folder = root / experiment.name
    where = None if data_dir is None else str(Path(data_dir).resolve())
    plan = make_plan(experiment, data_dir=where, offline=offline, skip_missing=skip_missing)
    summary = RunSummary(plan, folder)
    with locked(folder, experiment.name), Store(root) as store, _stoppable():
        for place in (folder, folder / "failures", folder / "embeddings"):
            remove_leftovers(place)
        if fresh:
            summary.archived = archive(store, plan, folder)
        store.remember(plan)
        work = missing(store, plan, keep_predictions, keep_embeddings)
        summary.trials = len(work)
        summary.reused = len({line.key for line in plan.lines}) - sum(len(item.lines) for item in work)
        try:
            if work:
                executor = make_executor(workers if len(work) > 1 or scheduler else 1, scheduler)
                try:
                    progress.start(expected(store, plan, work), summary.reused, executor.workers)
                    if compiles(arm.extender.name for arm in experiment.arms.values() if arm.extender):
                        progress.say("sparse and sosi are compiled when first used: half a minute more, once")
                    _Run(plan, store, executor, progress, summary, fail_fast, fresh).run(work)
                finally:
                    executor.close()
            else:
                progress.start((), summary.reused, 1)
        except KeyboardInterrupt as stop:
            summary.interrupted = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        finally:
            progress.close()
        store.check_present()
    summary.seconds = time.monotonic() - started
    return summary


def archive(store: Store, plan: Plan, folder: Path) -> Path:
    """Move the rows and files of an experiment out of the way."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = store.root / "archive" / f"{plan.experiment.name.replace('/', '-')}-{stamp}"
    target.mkdir(parents=True)
    store.archive(plan, target)
    for item in sorted(folder.iterdir()):
        if item.name != ".lock":
            item.rename(target / item.name)
    return target


@dataclass
class _Run:
    """The state of a run between trials."""

    plan: Plan
    store: Store
    executor: Executor
    progress: Progress
    summary: RunSummary
    fail_fast: bool
    fresh: bool
    shared: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, Mapping[str, Any] | Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        firsts = {line.kind: line for line in reversed(self.plan.lines)}
        self.firsts = {kind: line.key for kind, line in firsts.items()}
        self.costs = {kind: cost_key(self.plan, line) for kind, line in firsts.items()}

    def run(self, work: list[Work]) -> None:
        """Everything that is missing."""
        for item in work:
            ref = item.trial.split.data
            if not item.trial.split.drawn and f"data {ref.label}" not in self.shared:
                self.shared[f"data {ref.label}"] = self.executor.share(ref)
        self._choose_once(work)
        self._embed_batches(work)
        with tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
            self.underway = Underway(Path(folder), self.plan.lines)
            self.progress.underway = self.underway.now
            ready, calls = [], []
            for item in sorted(work, key=self._turn):
                job, problem = self._job(item)
                if problem is not None:
                    self._finish(item, [failure(line.key, problem) for line in item.lines])
                else:
                    ready.append(item)
                    calls.append((run_job, (job, self._given(item.trial.split, job.batches))))
            for i, result in self.executor.map(calls, [item.trial.split for item in ready]):
                if isinstance(result, Exception):
                    result = [failure(line.key, result) for line in ready[i].lines]
                self._finish(ready[i], result)
                if self.fail_fast and self.summary.failed:
                    return

    def _turn(self, item: Work) -> tuple[int, int, str, float, int]:
        """Repetition by repetition, the largest data first; trials of a split, which share work, in a row.

        Of those the largest comes first, so that workers finish together.
        """
        split = item.trial.split
        size = self.plan.facts[split.data.label].n
        return split.repetition, -size, split.data.label, -split.size, -len(item.lines)

    def _job(self, item: Work) -> tuple[Job, Exception | None]:
        requests = []
        for line in item.lines:
            choice = self.choices.get(self._choice_key(line))
            if isinstance(choice, Exception):
                return Job(item.trial.split, ()), choice
            requests.append(self._request(line, item.asked[line.key], choice))
        batches = tuple(self.plan.batches(Trial(item.trial.split, item.lines)))
        for key in batches:
            if isinstance(self.shared[self._batch_key(item.trial.split, key)], Exception):
                return Job(item.trial.split, ()), self.shared[self._batch_key(item.trial.split, key)]
        return Job(item.trial.split, tuple(requests), batches, self.underway.place(item.lines)), None

    def _request(self, line: Line, asked: Iterable[str], choice: Mapping[str, Any] | None = None) -> Request:
        metrics = [what for what in asked if what in METRICS]
        return self.plan.request(line, metrics, choice, set(asked) - set(metrics))

    def _given(self, split: SplitRef, batches: Iterable[str] = ()) -> dict[str, Any]:
        data = {"data": self.shared.get(f"data {split.data.label}")}
        return data | {key: self.shared[self._batch_key(split, key)] for key in batches}

    def _batch_key(self, split: SplitRef, key: str) -> str:
        return f"batch {split.data.label} {split.split.seed} {key}"

    def _choice_key(self, line: Line) -> str:
        """The same for all repetitions of a line: the key of the first."""
        return self.firsts[line.kind]

    def _choose_once(self, work: list[Work]) -> None:
        """Choose, on the first repetition, what the config wants chosen once per experiment."""
        calls: dict[str, Call] = {}
        firsts = {(t.split.data.label, t.split.size): t.split for t in reversed(self.plan.trials)}
        for item in work:
            for line in item.lines:
                protocol = self.plan.protocol(line)
                arm = self.plan.experiment.arms[line.arm]
                if protocol is None or self.plan.experiment.cv_of(protocol, arm).per != "experiment":
                    continue
                key = self._choice_key(line)
                stored = None if self.fresh else self.store.choice(key)
                if stored is not None:
                    self.choices[key] = json.loads(stored)
                elif protocol.name != "best" and key not in calls:
                    split = firsts[line.dataset, line.size]
                    calls[key] = (run_choice, (split, self._request(line, ()), self._given(split)))
        if calls:
            self.progress.say(f"choosing parameters of {len(calls)} lines once for all repetitions")
        keys = list(calls)
        for i, result in self.executor.map(*_grouped(calls)):
            if isinstance(result, Choice):
                value = {"values": result.values, "tuned": result.tuned}
                self.choices[keys[i]] = value
                self.store.put_choice(keys[i], as_json(value))
            else:
                self.choices[keys[i]] = result

    def _embed_batches(self, work: list[Work]) -> None:
        """Embed each data set as a whole, once for each embedding that a metric compares with."""
        calls: dict[str, Call] = {}
        for item in work:
            split = item.trial.split
            for key, embedding in self.plan.batches(Trial(split, item.lines)).items():
                seed = int(np.random.SeedSequence([split.split.seed, 2]).generate_state(1)[0])
                name = self._batch_key(split, key)
                calls[name] = (run_batch, (split.data, embedding, seed, self._given(split)))
        if calls:
            self.progress.say(f"embedding {len(calls)} whole data sets to compare with")
        names = list(calls)
        for i, result in self.executor.map(*_grouped(calls)):
            failed = isinstance(result, Exception)
            self.shared[names[i]] = result if failed else self.executor.share(result)

    def _finish(self, item: Work, results: list[LineResult]) -> None:
        """Store a trial and tell of it."""
        self.underway.finish(item.lines)
        lines = {line.key: line for line in item.lines}
        files = {}
        for result in results:
            line = lines[result.key]
            if result.error:
                path = self.summary.folder / "failures" / f"{_slug(line)}.txt"
                write_text(path, result.traceback or result.error)
                files[result.key] = str(path)
                self.summary.failed.append((line, result.error))
                where = f"{line.arm}, {line.dataset}, size {line.size:g}, repetition {line.repetition}"
                self.progress.say(f"failed: {where}: {result.error}")
            elif result.embedding is not None:
                _save(self.summary.folder / "embeddings" / f"{_slug(line)}.npz", line, result.embedding)
        self.summary.computed += sum(not result.error for result in results)
        costs = {key: self.costs[line.kind] for key, line in lines.items()}
        self.store.add(results, item.asked, costs, files)
        self.progress.advance(list(item.lines), results)


def _grouped(calls: Mapping[str, Call]) -> tuple[list[Call], list[Any]]:
    """Calls and the split or data set that each is about, its first argument."""
    return list(calls.values()), [arguments[0] for _, arguments in calls.values()]


def _save(path: Path, line: Line, arrays: Mapping[str, Any]) -> None:
    """Coordinates of a line with what they are of, in a file that needs no pickle."""
    named = {name: np.array(value) for name, value in line.place.items()}
    with atomic(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **named)


def _slug(line: Line) -> str:
    parts = [line.dataset, line.arm, f"{line.size:g}", str(line.repetition), line.selection, line.key]
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", part) for part in parts)
