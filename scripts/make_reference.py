"""Write the reference tables that ``moos check`` compares with: a part of an experiment, split by split.

python scripts/make_reference.py configs/nsse/tables.yaml --repetitions 2 --datasets coil20 orl --sizes 2 7
writes results/reference/nsse/tables.csv. Only what the table covers is computed again by the check.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from manifold_oos.atomic import write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.progress import make_progress
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import MoosError
from manifold_oos.regression import REFERENCE
from manifold_oos.reporting.write import csv_text, split_rows
from manifold_oos.results.collect import collect


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", help="configs whose numbers are kept")
    parser.add_argument("--repetitions", type=int, help="at most so many splits")
    parser.add_argument("--datasets", nargs="+", help="labels of the data sets to keep")
    parser.add_argument("--sizes", nargs="+", type=float, help="sizes to keep")
    parser.add_argument("--arms", nargs="+", help="arms to keep")
    parser.add_argument("--out", type=Path, default=REFERENCE, help="folder of the reference tables")
    parser.add_argument("--workers", type=int, default=None, help="processes; the default is the number of cores")
    parser.add_argument("--data-dir", type=Path, help="folder of data sets to look in first")
    options = parser.parse_args(arguments)
    for config in options.configs:
        part = reduce_experiment(
            load_config(config),
            datasets=options.datasets,
            sizes=options.sizes,
            arms=options.arms,
            repetitions=options.repetitions,
        )
        with tempfile.TemporaryDirectory(prefix="moos-reference-") as root:
            progress = make_progress(part.metrics[0])
            summary = run_experiment(part, root, options.workers, data_dir=options.data_dir, progress=progress)
            if summary.failed or summary.interrupted:
                print(f"{part.name}: {len(summary.failed)} lines failed; no reference written", file=sys.stderr)
                return 1
            with Store(root) as store:
                rows = split_rows(collect(part, store, plan=summary.plan))
        path = write_text(options.out / f"{part.name}.csv", csv_text(rows))
        print(f"{path}: {len(rows)} rows, {summary.seconds:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MoosError as error:
        print(f"make_reference: {error}", file=sys.stderr)
        sys.exit(2)
