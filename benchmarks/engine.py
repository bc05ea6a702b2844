"""What the engine costs beside its trials, and what a second worker brings: python benchmarks/engine.py."""

import argparse
import tempfile
import time

from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.engine import runner
from manifold_oos.engine.keys import source_digest

SHORT = {
    "dataset": {"name": "digits", "per_class": 30},
    "split": {"train_per_class": 6, "repetitions": 500},
    "arms": {
        "SVM": {"classifier": "svm"},
        "RBF": {"embedding": {"name": "suplap", "n_components": 9}, "extender": "rbf", "classifier": "nn"},
        "LLE": {"embedding": {"name": "suplap", "n_components": 9}, "extender": "lle", "classifier": "nn"},
    },
}


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


def speed_up(repeats: int) -> None:
    """Two workers against one on the quick start, data sets cached, best of some runs."""
    experiment = load_config("configs/quickstart.yaml")
    for data in experiment.datasets:
        runner.make_plan(experiment).refs[data.label].load()
    best = {}
    for workers in (1, 2) * repeats:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            summary = runner.run_experiment(experiment, folder, workers=workers)
            seconds = time.perf_counter() - start
        assert not summary.failed
        best[workers] = min(best.get(workers, seconds), seconds)
    print(
        f"quick start, {summary.trials} trials: {best[1]:.1f} s with one worker, {best[2]:.1f} s with two:"
        f" {best[1] / best[2]:.2f}x (goal: at least 1.7x)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="runs of the quick start per number of workers")
    parser.add_argument("--only", choices=["cost", "speed"], help="one of the two measurements")
    options = parser.parse_args()
    if options.only != "speed":
        own_cost()
    if options.only != "cost":
        speed_up(options.repeats)
