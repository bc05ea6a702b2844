"""Made-up rows and configs, so that every expected number can be worked by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from manifold_oos.config.model import Experiment
from manifold_oos.engine.store import make_frame


def fake_rows(values: Mapping[tuple[Any, ...], Sequence[float]], **common: Any) -> pd.DataFrame:
    """Rows from ``{(arm, dataset, size): [value of each repetition]}``; other columns as given or plain."""
    records = []
    for (arm, dataset, size), numbers in values.items():
        for repetition, value in enumerate(numbers):
            record = {"arm": arm, "dataset": dataset, "size": size, "repetition": repetition, "value": value}
            defaults = {
                "selection": "fixed",
                "candidate": "{}",
                "metric": "misclassification_rate",
                "n_train": 50,
                "n_test": 100,
                "chosen": "{}",
                "tuned": True,
                "fitted": "{}",
                "warnings": "[]",
            }
            records.append(defaults | common | record)
    return make_frame(records)


def swept_rows(
    arm: str, dataset: str, size: float, values: Mapping[Any, Sequence[float]], parameter: str, **common: Any
) -> pd.DataFrame:
    """Open candidates of a grid under ``best``: ``{value of the parameter: [value of each repetition]}``."""
    parts = []
    for value, numbers in values.items():
        text = json.dumps({parameter: value})
        columns = {"candidate": text, "chosen": text, "selection": "best"} | common
        if parameter.endswith("n_components"):
            columns["n_components"] = value
        parts.append(fake_rows({(arm, dataset, size): numbers}, **columns))
    return pd.concat(parts, ignore_index=True)


def make_experiment(**config: Any) -> Experiment:
    base = {
        "title": "made up",
        "datasets": [{"name": "digits", "split": {"train_per_class": [5, 10]}}],
        "arms": {"A": {"classifier": "nn"}, "B": {"classifier": "nn"}, "C": {"classifier": "nn"}},
        "metrics": ["misclassification_rate"],
    }
    return Experiment.model_validate(base | config)
