"""Narrows an experiment: fewer arms, sizes or repetitions, or what a reference table has."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from manifold_oos.config.model import FIXED, Arm, Data, Experiment, Published, Split
from manifold_oos.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd


def reduce_experiment(
    experiment: Experiment,
    *,
    datasets: Collection[str] | None = None,
    sizes: Collection[float] | None = None,
    arms: Collection[str] | None = None,
    repetitions: int | None = None,
) -> Experiment:
    """Leave out parts of an experiment."""
    for what, wanted, known in (
        ("data set", datasets, [data.label for data in experiment.datasets]),
        ("arm", arms, list(experiment.arms)),
    ):
        unknown = [name for name in wanted or () if name not in known]
        if unknown:
            raise ConfigError(f"{experiment.name}: no {what} {unknown[0]}; there are {', '.join(known)}")
    kept = []
    for data in experiment.datasets:
        if datasets is None or data.label in datasets:
            split = experiment.split_of(data)
            wanted_sizes = [size for size in split.sizes if sizes is None or _among(size, sizes)] or split.sizes
            kept.append(data.model_copy(update={"split": narrowed(split, wanted_sizes, repetitions)}))
    some = {name: arm for name, arm in experiment.arms.items() if arms is None or name in arms}
    return _copy(experiment, some, datasets=kept)


def experiment_of(experiment: Experiment, reference: "pd.DataFrame") -> Experiment:
    """The part of an experiment that a table of splits covers."""
    labels = set(reference["dataset"])
    datasets: list[Data] = []
    for data in experiment.datasets:
        if data.label in labels:
            mine = reference[reference["dataset"] == data.label]
            split = experiment.split_of(data)
            sizes = [size for size in split.sizes if _among(size, set(mine["size"]))]
            if sizes:
                narrow = narrowed(split, sizes, int(mine["repetition"].max()) + 1)
                datasets.append(data.model_copy(update={"split": narrow}))
    arms = {}
    for name, arm in experiment.arms.items():
        on = set(reference.loc[reference["arm"] == name, "dataset"])
        if on:
            arms[name] = arm.model_copy(update={"datasets": sorted(on)})
    chosen = set(reference["selection"]) - {FIXED}
    selection = [protocol for protocol in experiment.selection if protocol.name in chosen] or experiment.selection
    metrics = [metric for metric in experiment.metrics if metric in set(reference["metric"])]
    if not (datasets and arms and metrics):
        raise ConfigError(f"{experiment.name}: the reference has none of its data sets, arms and metrics")
    return _copy(experiment, arms, datasets=datasets, selection=selection, metrics=metrics)


def narrowed(split: Split, sizes: Iterable[float], repetitions: int | None) -> Split:
    """A split with fewer sizes and repetitions."""
    sizes = list(sizes)
    value = getattr(split, split.kind)
    update: dict[str, object] = {}
    if split.half_space is not None:
        update["half_space"] = value.model_copy(update={"quantile": sizes})
    elif split.draws is not None:
        update["draws"] = value.model_copy(update={"train": sizes})
    elif split.kind != "alternate":
        update[split.kind] = sizes
    if repetitions is not None:
        update["repetitions"] = min(repetitions, split.repetitions)
    return split.model_copy(update=update)


def _among(size: float, sizes: Collection[float]) -> bool:
    return any(math.isclose(size, wanted, rel_tol=1e-9) for wanted in sizes)


def stated_splits(experiment: Experiment) -> list[Published]:
    """The printed numbers with the paper's number of splits, before an experiment is cut to fewer."""
    rounds = max(experiment.split_of(data).rounds for data in experiment.datasets)
    return [block.model_copy(update={"splits": block.splits or rounds}) for block in experiment.published]


def _copy(experiment: Experiment, arms: Mapping[str, Arm], **update: object) -> Experiment:
    """The experiment with parts left out, and without outputs whose arms have all gone."""
    outputs = [
        output for output in experiment.outputs if output.arms is None or not arms.keys().isdisjoint(output.arms)
    ]
    update |= {"arms": dict(arms), "outputs": outputs, "published": stated_splits(experiment)}
    return experiment.model_copy(update=update).named(experiment.name, experiment.path)
