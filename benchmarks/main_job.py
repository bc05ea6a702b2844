"""One repetition of the papers' configs by an older commit and by this one: CPU time, and every number compared.

    python benchmarks/main_job.py                      every config whose data are at hand
    python benchmarks/main_job.py nsse/orl sosi/yaleb  some; --commit REV another older commit

Both run in processes of their own with one BLAS thread, in turn, from an empty store, on the same trials: those of
the older commit's config, readings left out, with the arms that this commit still knows. Times are the CPU time of
the run without imports and reports; what numba compiles where its cache is empty is done before and told apart.
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
from typing import Any

import numpy as np
import pandas as pd
import yaml

from manifold_oos.config.load import load_config
from manifold_oos.errors import ConfigError

ROOT = Path(__file__).parents[1]
BASE = "c32d3a7"
KEY = ["metric", "dataset", "size", "arm", "selection", "repetition"]
#: What a process of either commit runs; its modules were elsewhere then.
JOB = """
import sys, time, json, importlib, pkgutil, manifold_oos
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
config, out, what = sys.argv[1:]
experiment = load_config(config)
if what == "plain":
    plain = experiment.model_dump(include={"selection", "cv", "metrics"}, exclude_unset=True)
    plain["split"] = experiment.split.model_dump(exclude_unset=True)
    plain["datasets"] = [
        {"name": data.name, "label": data.label, "split": data.split and data.split.model_dump(exclude_unset=True)}
        | data.options
        for data in experiment.datasets
    ]
    labels = {data.label for data in experiment.datasets} | {"default"}

    def here(value, by=False):  # without values for the data sets of other configs
        if not isinstance(value, dict):
            return value
        return {k: here(v, k == "by_dataset") for k, v in value.items() if not by or k in labels}

    plain["arms"] = {
        name: {stage: {"name": method.name} | here(method.parameters) for stage, method in arm.methods().items()}
        | {"batch": arm.batch, "datasets": arm.datasets}
        for name, arm in experiment.arms.items()
    }
    for entry in (*plain["datasets"], *plain["arms"].values()):
        for key in [key for key, value in entry.items() if value is None]:
            del entry[key]
    print(json.dumps(plain))
    sys.exit()
experiment = reduce_experiment(experiment, repetitions=1)
for module in pkgutil.walk_packages(manifold_oos.__path__, "manifold_oos."):  # one of them imports late, one early
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
start = time.process_time()
if "sparse" in {method.name for arm in experiment.arms.values() for method in arm.methods().values()}:
    import numpy as np
    from manifold_oos.numerics.basis_pursuit import basis_pursuit
    basis_pursuit(np.eye(3), np.ones((3, 2)))
first = time.process_time() - start
start = time.process_time()
summary = run_experiment(experiment, out, 1, skip_missing=True)
seconds = time.process_time() - start
with Store(out) as store:
    rows = split_rows(collect(experiment, store, plan=summary.plan))
rows.to_csv(f"{out}/rows.csv", index=False)
failed = [f"{line.arm}: {text}" for line, text in summary.failed]
print(json.dumps({"seconds": seconds, "first": first, "failed": failed}))
"""


def checkout(commit: str, folder: Path) -> Path:
    """The files of a commit in a folder."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def call(tree: Path, *arguments: str) -> dict[str, Any]:
    """What a process of a commit says at its end."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-c", JOB, *arguments]
    done = subprocess.run(command, cwd=tree, env=os.environ | threads, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{arguments[0]} in {tree}: {done.stderr.strip().splitlines()[-1]}")
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def common(config: str, old: Path, folder: Path) -> str:
    """A config of the same trials for both commits: the older one's, without readings and arms that are gone."""
    plain = call(old, config, "", "plain")
    plain["datasets"] = [
        {key: item for key, item in data.items() if item is not None} for data in plain["datasets"]
    ]
    arms = {
        name: {key: item for key, item in arm.items() if item is not None} for name, arm in plain["arms"].items()
    }
    file = folder / f"{Path(config).stem}.yaml"
    kept = {name: arm for name, arm in arms.items() if _loads(plain | {"arms": {name: arm}}, file)}
    _loads(plain | {"arms": kept}, file)
    return str(file)


def _loads(plain: dict[str, Any], file: Path) -> bool:
    file.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
    try:
        load_config(file)
    except ConfigError:
        return False
    return True


def run(tree: Path, config: str, out: Path) -> tuple[float, pd.DataFrame, list[str]]:
    """CPU seconds, numbers, and what else is to be said of one repetition: failures, and a slow first call."""
    out.mkdir(parents=True)
    said = call(tree, config, str(out), "run")
    notes = [f"failed {text}" for text in said["failed"]]
    notes += [f"first call of basis pursuit {said['first']:.1f} s"] if said["first"] > 1 else []
    return said["seconds"], pd.read_csv(out / "rows.csv"), notes


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
            notes: list[str] = []
            file = common(f"configs/{config}.yaml", trees["old"], Path(folder))
            for number in range(options.rounds):
                for name, tree in trees.items():
                    out = Path(folder) / "out" / f"{config.replace('/', '-')}-{name}-{number}"
                    spent, rows[name], said = run(tree, file, out)
                    seconds[name].append(spent)
                    notes += [f"{name}: {text}" for text in said]
            if rows["old"].empty and rows["new"].empty:
                print(f"{config:28} data absent", flush=True)
                continue
            old, new = (float(np.median(seconds[name])) for name in trees)
            total += old, new
            print(f"{config:28} {new / old:5.2f}  ({old:.1f} s → {new:.1f} s)  {compare(rows['old'], rows['new'])}")
            for text in notes:
                print(f"    {text}")
            sys.stdout.flush()
    if total[0]:
        print(f"{'all':28} {total[1] / total[0]:5.2f}  ({total[0]:.1f} s → {total[1]:.1f} s of CPU)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
