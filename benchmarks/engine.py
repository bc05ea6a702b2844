"""What the engine costs beside its trials, by itself and with Dask, and what a second worker brings.

    python benchmarks/engine.py                                       all; --only cost, cluster or speed for one
    python benchmarks/engine.py --only speed quickstart nsse/coil20   some configs; --repetitions 5 of more splits

Wall-clock times, which need two idle cores. One worker and two are each a process of its own, so that both import
what they need; data are cached before.
"""

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time

import pandas as pd

from manifold_oos import registry
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine import runner
from manifold_oos.engine.keys import source_digest
from manifold_oos.engine.progress import Progress
from manifold_oos.engine.store import Store
from manifold_oos.reporting.write import split_rows
from manifold_oos.results.collect import collect

#: A config of each paper: long trials and short ones, few and many.
PAPERS = ["nsse/orl", "sosi/yaleb", "sparse_coding/yale", "lgrm/swiss_roll", "coordinate_propagation/s_surface"]
SHORT = {
    "dataset": {"name": "digits", "per_class": 30},
    "split": {"train_per_class": 6, "repetitions": 500},
    "arms": {
        "SVM": {"classifier": "svm"},
        "RBF": {"embedding": {"name": "suplap", "n_components": 9}, "extender": "rbf", "classifier": "nn"},
        "LLE": {"embedding": {"name": "suplap", "n_components": 9}, "extender": "lle", "classifier": "nn"},
    },
}


#: A run without its report, from the start of the interpreter on.
JOB = """
import sys
from manifold_oos.config.load import load_config
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.runner import run_experiment
config, repetitions, folder, workers = sys.argv[1:]
experiment = reduce_experiment(load_config(f"configs/{config}.yaml"), repetitions=int(repetitions))
summary = run_experiment(experiment, folder, workers=int(workers))
assert not summary.failed and not summary.interrupted
print(summary.trials)
"""


def own_cost() -> None:
    """Share of a run of a thousand short trials that is not spent in trials."""
    inside = 0.0
    real = runner.run_job

    def timed(*arguments):  # type: ignore[no-untyped-def]
        nonlocal inside
        start = time.perf_counter()
        result = real(*arguments)
        inside += time.perf_counter() - start
        return result

    warm_up = Experiment.model_validate(SHORT | {"split": {"train_per_class": 6, "repetitions": 2}})
    with tempfile.TemporaryDirectory() as folder:
        runner.run_experiment(warm_up, f"{folder}/warm", workers=1)  # imports of methods are no cost of the engine
        source_digest.cache_clear()
        runner.run_job = timed
        start = time.perf_counter()
        summary = runner.run_experiment(Experiment.model_validate(SHORT), folder, workers=1)
        total = time.perf_counter() - start
        runner.run_job = real
    print(
        f"{summary.trials} trials of {1000 * inside / summary.trials:.1f} ms in {total:.1f} s: planning, storing"
        f" and dispatch take {100 * (total - inside) / total:.2f} % (goal: below 3 %),"
        f" {1000 * (total - inside) / summary.trials:.2f} ms per trial"
    )


def cluster() -> None:
    """Dask on loopback with 1, 2 and 4 workers, and with 2 of which one is killed: the same table, and its cost."""
    experiment = Experiment.model_validate(SHORT)
    rows: dict[str, pd.DataFrame] = {}
    for name, workers in {
        "no Dask": 1,
        "1 worker": 1,
        "2 workers": 2,
        "4 workers": 4,
        "one of 2 killed": 2,
    }.items():
        scheduler = None if name == "no Dask" else "local"
        with tempfile.TemporaryDirectory() as folder:
            start, spent = time.perf_counter(), time.process_time()
            progress = Killer(experiment.metrics[0]) if "killed" in name else None
            summary = runner.run_experiment(
                experiment, folder, workers=workers, scheduler=scheduler, progress=progress
            )
            total, spent = time.perf_counter() - start, time.process_time() - spent
            with Store(folder) as store:
                found = split_rows(collect(experiment, store, plan=summary.plan))
        assert not summary.failed and not summary.interrupted
        rows[name] = found[found["metric"] != "seconds"].reset_index(drop=True)
        same = "the same table" if rows[name].equals(rows["no Dask"]) else "ANOTHER TABLE"
        cost = (
            f"; driver and scheduler {1000 * spent / summary.trials:.2f} ms of CPU per trial" if scheduler else ""
        )
        print(f"{name:16} {summary.trials} trials in {total:5.1f} s, {same}{cost}", flush=True)


class Killer(Progress):
    """Kills a worker of the local cluster when a third of the trials is done."""

    def show(self) -> None:
        """After a trial."""
        if self.done == self.total // 3:
            os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)


def speed_up(config: str, repetitions: int) -> None:
    """Two workers against one on some repetitions of a config, in turn, each a process with an empty store."""
    experiment = reduce_experiment(load_config(f"configs/{config}.yaml"), repetitions=repetitions)
    for ref in runner.make_plan(experiment).refs.values():
        ref.load()
    for arm in experiment.arms.values():
        for stage, method in arm.methods().items():  # what is compiled once is in neither time
            getattr(registry.find(registry.KINDS[stage], method.name), "warm_up", lambda: None)()
    seconds = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            command = [sys.executable, "-c", JOB, config, str(repetitions), folder, str(workers)]
            trials = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
            seconds[workers] = time.perf_counter() - start
    print(
        f"{config:32} {trials:4} trials: {seconds[1]:7.1f} s with one worker, {seconds[2]:7.1f} s with two:"
        f" {seconds[1] / seconds[2]:.2f}x (goal: at least 1.85x)",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "configs", nargs="*", default=PAPERS, help="by their path below configs/; one of each paper"
    )
    parser.add_argument("--repetitions", type=int, default=2, help="splits of each config")
    parser.add_argument("--only", choices=["cost", "cluster", "speed"], help="one of the measurements")
    options = parser.parse_args()
    if options.only in (None, "cost"):
        own_cost()
    if options.only in (None, "cluster"):
        cluster()
    if options.only in (None, "speed"):
        for name in options.configs:
            speed_up(name, options.repetitions)
