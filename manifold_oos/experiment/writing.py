"""Writes what a run was made of beside its tables: the resolved config, the environment, kept predictions."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import BaseModel
from threadpoolctl import threadpool_info

from manifold_oos import __version__
from manifold_oos.atomic import write_text
from manifold_oos.experiment.config import Data, Experiment, Method
from manifold_oos.experiment.plan import Plan
from manifold_oos.experiment.store import Store

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "pillow", "osqp", "joblib", "distributed")


def plain_config(experiment: Experiment) -> dict[str, Any]:
    """A config as one would write it, every default and include spelled out.

    Parameters
    ----------
    experiment : Experiment
        A validated config.

    Returns
    -------
    dict
        Plain values that validate to the same experiment.
    """
    plain: dict[str, Any] = _plain(experiment)
    for data, written in zip(experiment.datasets, plain["datasets"], strict=True):
        if data.split is not None:
            written["split"] = _plain(experiment.split_of(data))
    return plain


def config_text(experiment: Experiment) -> str:
    """The YAML of :func:`plain_config`."""
    text: str = yaml.safe_dump(plain_config(experiment), sort_keys=False, allow_unicode=True, width=116)
    return text


def environment() -> dict[str, Any]:
    """What numbers may depend on beside the code: versions, machine type, BLAS.

    Returns
    -------
    dict
        Nothing that tells who or where.
    """
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
    """Write ``config.yaml`` and ``environment.json``, and where labels were kept, those and their confusions.

    Parameters
    ----------
    plan : Plan
        Of the experiment.
    store : Store
        Of the results root.
    folder : Path
        Of the experiment.

    Returns
    -------
    list of Path
        What was written.
    """
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
    """How often each class was taken for each, over all repetitions.

    Parameters
    ----------
    predictions : DataFrame
        From :meth:`Store.predictions`.
    plan : Plan
        For the names of the classes.

    Returns
    -------
    DataFrame
        Columns arm, dataset, size, selection, n_components, candidate, truth, predicted, count; pairs that never
        occurred are left out.
    """
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


def _plain(value: Any) -> Any:
    if isinstance(value, Method | Data):
        field = "parameters" if isinstance(value, Method) else "options"
        rest = {name: item for name, item in value if name != field and item not in (None, "")}
        if rest.get("label") == rest["name"]:
            del rest["label"]
        return _plain(rest) | _plain(getattr(value, field))
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value if item not in (None, "", [], {})}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
