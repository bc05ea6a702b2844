"""One repetition of the papers' configs by an older commit and by this one: CPU time, and every number compared.

    python benchmarks/main_job.py                      every config whose data are at hand
    python benchmarks/main_job.py nsse/orl sosi/yaleb  some; --commit REV another older commit

Both run in processes of their own with one BLAS thread, in turn, each with its own configs and from an empty store.
Numbers are compared on the lines that both have; times are the CPU time of the run without imports and reports.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
BASE = "c32d3a7"
KEY = ["metric", "dataset", "size", "arm", "selection", "repetition"]
#: What a process of either commit runs; its modules were elsewhere then.
JOB = """
import sys, time, json
try:
    from manifold_oos.config.load import load_config
    from manifold_oos.config.subset import reduce_experiment
    from manifold_oos.engine.runner import run_experiment
    from manifold_oos.engine.store import Store
    from manifold_oos.results.collect import collect
    from manifold_oos.reporting.write import split_rows
except ImportError:
    from manifold_oos.experiment.loading import load_config
    from manifold_oos.reporting.reduce import reduce_experiment
    from manifold_oos.experiment.runner import run_experiment
    from manifold_oos.experiment.store import Store
    from manifold_oos.reporting.outputs import collect, split_rows
config, out = sys.argv[1:]
experiment = reduce_experiment(load_config(config), repetitions=1)
start = time.process_time()
summary = run_experiment(experiment, out, 1, skip_missing=True)
seconds = time.process_time() - start
with Store(out) as store:
    rows = split_rows(collect(experiment, store, plan=summary.plan))
rows.to_csv(f"{out}/rows.csv", index=False)
print(json.dumps({"seconds": seconds, "failed": [f"{line.arm}: {text}" for line, text in summary.failed]}))
"""


def checkout(commit: str, folder: Path) -> Path:
    """The files of a commit in a folder."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def run(tree: Path, config: str, out: Path) -> tuple[float, pd.DataFrame, list[str]]:
    """CPU seconds, numbers and failures of one repetition."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    out.mkdir(parents=True)
    command = [sys.executable, "-c", JOB, f"configs/{config}.yaml", str(out)]
    done = subprocess.run(command, cwd=tree, env=os.environ | threads, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{config} in {tree}: {done.stderr.strip().splitlines()[-1]}")
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return said["seconds"], pd.read_csv(out / "rows.csv"), said["failed"]


def compare(old: pd.DataFrame, new: pd.DataFrame) -> str:
    """How many numbers both have, how many differ beyond 1e-9, and where most."""
    both = old.merge(new, on=KEY, suffixes=("_old", "_new"))
    gap = (both["value_new"] - both["value_old"]).abs() / both["value_old"].abs().clip(lower=1)
    off = both[gap > 1e-9]
    text = f"{len(both)} numbers, {len(off)} differ"
    if len(off):
        worst = off.assign(gap=gap).sort_values("gap").iloc[-1]
        place = f"{worst['arm']}, {worst['dataset']} {worst['size']:g}, {worst['metric']}"
        arms = ", ".join(dict.fromkeys(off["arm"]))
        text += f" (most: {place}: {worst['value_old']:.6g} → {worst['value_new']:.6g}; arms: {arms})"
    alone = len(old) + len(new) - 2 * len(both)
    return text + (f"; {alone} lines in one of them alone" if alone else "")


def papers() -> list[str]:
    """Every config of a paper."""
    folders = [path for path in sorted((ROOT / "configs").iterdir()) if path.is_dir() and path.name != "grid"]
    files = [file for folder in folders for file in sorted(folder.glob("[!_]*.yaml"))]
    return ["coil20_sosi", *(file.relative_to(ROOT / "configs").with_suffix("").as_posix() for file in files)]


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each config, and the ratio of all together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", help="such as nsse/orl; all papers without one")
    parser.add_argument("--commit", default=BASE, help=f"the older commit (default {BASE})")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each; the median counts")
    options = parser.parse_args(arguments)
    total = np.zeros(2)
    with tempfile.TemporaryDirectory() as folder:
        trees = {"old": checkout(options.commit, Path(folder) / "old"), "new": ROOT}
        for config in options.configs or papers():
            seconds: dict[str, list[float]] = {"old": [], "new": []}
            rows: dict[str, pd.DataFrame] = {}
            failed: list[str] = []
            for number in range(options.rounds):
                for name, tree in trees.items():
                    out = Path(folder) / "out" / f"{config.replace('/', '-')}-{name}-{number}"
                    spent, rows[name], wrong = run(tree, config, out)
                    seconds[name].append(spent)
                    failed += [f"{name}: {text}" for text in wrong]
            if rows["old"].empty and rows["new"].empty:
                print(f"{config:28} data absent", flush=True)
                continue
            old, new = (float(np.median(seconds[name])) for name in trees)
            total += old, new
            print(f"{config:28} {new / old:5.2f}  ({old:.1f} s → {new:.1f} s)  {compare(rows['old'], rows['new'])}")
            for text in failed:
                print(f"    failed {text}")
            sys.stdout.flush()
    if total[0]:
        print(f"{'all':28} {total[1] / total[0]:5.2f}  ({total[0]:.1f} s → {total[1]:.1f} s of CPU)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
