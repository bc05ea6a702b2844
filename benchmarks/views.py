"""CPU seconds that views take over made-up stores: python benchmarks/views.py [ROWS ...].

The arms, claims, readings and printed numbers of sparse coding on Yale, with made-up rows. Reading the rows, making
cells and claims, and writing the tables are timed apart; imports are not counted.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from manifold_oos.config.load import load_config
from manifold_oos.config.model import Data, Experiment
from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.store import Store
from manifold_oos.engine.trial import LineResult
from manifold_oos.reporting.write import print_results, write_tables
from manifold_oos.results.collect import collect

DIMENSIONS = [5, 10, 20, 40]


def shaped(repetitions: int) -> Experiment:
    """The experiment on digits in the place of the faces: nothing is computed from them."""
    experiment = load_config("configs/sparse_coding/yale.yaml")
    stand_in = Data.model_validate({"name": "digits", "label": "yale", "classes": 10, "per_class": 16})
    split = experiment.split.model_copy(update={"repetitions": repetitions})
    return experiment.model_copy(update={"datasets": [stand_in], "split": split})


def fill(store: Store, experiment: Experiment) -> int:
    """Made-up rows for every line of the plan; how many."""
    plan = make_plan(experiment)
    store.remember(plan)
    random = np.random.default_rng(0)
    results, count = {}, 0
    for line in plan.lines:
        rows = []
        for dimension in [None] if line.selection == "fixed" else DIMENSIONS:
            text = json.dumps({} if dimension is None else {"embedding.n_components": dimension})
            for metric in (*plan.metrics, "fit_seconds", "milliseconds_per_sample"):
                row = {"metric": metric, "value": random.normal(70, 4), "candidate": text, "chosen": text}
                row |= {"n_components": dimension, "step": None, "n_train": 50, "n_test": 100, "tuned": True}
                rows.append(row | {"fitted": "{}", "warnings": "[]"})
        count += len(rows)
        results[line.key] = LineResult(line.key, rows)
    store.add(results.values(), dict.fromkeys(results, plan.metrics), dict.fromkeys(results, "made up"))
    return count


def main(wanted: list[int]) -> None:
    for rows in wanted:
        with tempfile.TemporaryDirectory() as root:
            with Store(root) as store:
                each = fill(store, shaped(1))
            experiment = shaped(max(2, round(rows / each)))
            with Store(Path(root) / "whole") as store:
                count = fill(store, experiment)
                start = time.process_time()
                results = collect(experiment, store)
                read = time.process_time()
                _ = results.cells, results.claims
                judged = time.process_time()
                write_tables(results, Path(root) / "views")
                with contextlib.redirect_stdout(io.StringIO()):
                    print_results(results, Console())
                written = time.process_time()
        parts = f"read {read - start:.2f}, cells and claims {judged - read:.2f}, tables {written - judged:.2f}"
        print(f"{count} rows: {written - start:.2f} s of CPU ({parts})", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [5_000, 20_000])
