"""Writes what a run was made of beside its tables: the resolved config, the environment, kept predictions."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_info

from manifold_oos import __version__
from manifold_oos.atomic import write_text
from manifold_oos.config.dump import config_text
from manifold_oos.engine.plan import Plan
from manifold_oos.engine.store import Store

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "pillow", "numba", "joblib", "distributed")


def environment() -> dict[str, Any]:
    """What numbers may depend on beside the code: versions, machine type, BLAS."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    libraries = {item["internal_api"]: item.get("version") for item in threadpool_info()}
    return {
        "manifold_oos": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": versions,
        "libraries": libraries,
    }


def write_records(plan: Plan, store: Store, folder: Path) -> list[Path]:
    """Write ``config.yaml`` and ``environment.json``, and where labels were kept, those and their confusions."""
    paths = [
        write_text(folder / "config.yaml", config_text(plan.experiment)),
        write_text(folder / "environment.json", json.dumps(environment(), indent=2) + "\n"),
    ]
    kept = store.predictions(plan)
    if len(kept):
        paths.append(write_text(folder / "predictions.csv", kept.to_csv(index=False, lineterminator="\n")))
        paths.append(write_text(folder / "confusion.csv", confusion(kept, plan).to_csv(index=False)))
    return paths


def confusion(predictions: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How often each class was taken for each, over all repetitions."""
    keys = ["arm", "dataset", "size", "selection", "n_components", "candidate", "truth", "predicted"]
    counts = predictions.groupby(keys, sort=False, dropna=False).size().rename("count").reset_index()
    for column in ("truth", "predicted"):
        counts[column] = [
            _class_name(plan, dataset, label)
            for dataset, label in zip(counts["dataset"], counts[column], strict=True)
        ]
    return counts


def _class_name(plan: Plan, dataset: str, label: int) -> str:
    names = plan.facts[dataset].class_names
    return names[label] if 0 <= label < len(names) else str(label)
