"""What the engine costs beside its trials, and what a second worker brings to a config of each paper.

    python benchmarks/engine.py                                       both; --only cost or speed for one
    python benchmarks/engine.py --only speed quickstart nsse/coil20   some configs; --repetitions 5 of more splits

Wall-clock times, which need two idle cores. Starting the workers is in the time of two; data are cached before.
"""

import argparse
import tempfile
import time

from manifold_oos import registry
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine import runner
from manifold_oos.engine.keys import source_digest
from manifold_oos.engine.store import Store

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


def speed_up(config: str, repetitions: int) -> None:
    """Two workers against one on some repetitions of a config, in turn, each from an empty store."""
    experiment = reduce_experiment(load_config(f"configs/{config}.yaml"), repetitions=repetitions)
    for ref in runner.make_plan(experiment).refs.values():
        ref.load()
    for arm in experiment.arms.values():
        for stage, method in arm.methods().items():  # what is imported and compiled once is in neither time
            getattr(registry.find(registry.KINDS[stage], method.name), "warm_up", lambda: None)()
    seconds = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            summary = runner.run_experiment(experiment, folder, workers=workers)
            seconds[workers] = time.perf_counter() - start
            if workers == 1:
                with Store(folder) as store:
                    inside = store.connection.execute("select sum(seconds) from costs").fetchone()[0]
        assert not summary.failed and not summary.interrupted
    overhead = 1000 * (seconds[1] - inside) / summary.trials
    print(
        f"{config:32} {summary.trials:4} trials: {seconds[1]:7.1f} s with one worker, {seconds[2]:7.1f} s with two:"
        f" {seconds[1] / seconds[2]:.2f}x (goal: at least 1.85x); beside its lines a trial takes {overhead:.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "configs", nargs="*", default=PAPERS, help="by their path below configs/; one of each paper"
    )
    parser.add_argument("--repetitions", type=int, default=2, help="splits of each config")
    parser.add_argument("--only", choices=["cost", "speed"], help="one of the two measurements")
    options = parser.parse_args()
    if options.only != "speed":
        own_cost()
    if options.only != "cost":
        for name in options.configs:
            speed_up(name, options.repetitions)
