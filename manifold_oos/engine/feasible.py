"""What cannot be done, known before anything runs: from the config and a few facts about its data sets."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from manifold_oos import datasets
from manifold_oos.config import limits
from manifold_oos.config.model import Arm, Data, Experiment, Split
from manifold_oos.config.names import Mistake, Path
from manifold_oos.config.values import Facts, Grid, grids_of, has_grid, is_number, settle
from manifold_oos.config.views import POINTS
from manifold_oos.engine.splits import DataFacts, count_known
from manifold_oos.errors import ConfigError
from manifold_oos.outlines import outline


def check(experiment: Experiment, facts: Mapping[str, DataFacts]) -> list[Mistake]:
    """Every mistake that the data sets at hand show, the first one for each key."""
    found: dict[Path, Mistake] = {}
    lines = 0
    for data in experiment.datasets:
        split = experiment.split_of(data)
        own = data.split.model_fields_set if data.split else set()
        home: Path = (*experiment.place_of(data), "split") if split.kind in own else ("split",)
        mistakes = list(_drawn(home, split, data))
        arms = experiment.arms_of(data)
        protocols = [len(experiment.selection) if _has_grid(arm) else 1 for arm in arms.values()]
        lines += split.rounds * len(split.sizes) * sum(protocols)
        if data.label in facts and not mistakes:
            mistakes += _split(home, split, data.label, facts[data.label])
        if data.label in facts and not mistakes:
            for name, arm in arms.items():
                mistakes += _arm(name, arm, split, data.label, facts[data.label])
        for mistake in mistakes:
            found.setdefault(mistake.path, mistake)
    if lines > limits.LINES:
        found[()] = Mistake(("split", "repetitions"), f"{lines:,} lines to compute; at most {limits.LINES:,}")
    return [*found.values(), *_outputs(experiment, facts)]


def _has_grid(arm: Arm) -> bool:
    return any(has_grid(method.parameters) for method in arm.methods().values())


def _drawn(home: Path, split: Split, data: Data) -> Iterator[Mistake]:
    word = "draws" if split.kind == "draws" else "redraw"
    needed = {"seed", "n_samples"} if split.kind == "draws" else {"seed"} if split.redraw else set()
    known = datasets.find(data.name).defaults()
    if known and needed - set(known):
        yield Mistake((*home, word), f"{data.name} is not a generated set; use fraction")


def _split(home: Path, split: Split, label: str, facts: DataFacts) -> Iterator[Mistake]:
    """Sizes that leave no known or no new points, or need what the data do not have."""
    n, path = facts.n, (*home, split.kind)
    if split.kind == "train_per_class" and not facts.n_classes:
        yield Mistake(path, f"{label} has no labels; use fraction")
        return
    if split.half_space is not None:
        wanted, names = split.half_space.parameter, list(facts.parameters)
        if not (0 <= wanted < len(names) if isinstance(wanted, int) else wanted in names):
            there = ", ".join(names) or "none"
            yield Mistake((*path, "parameter"), f"{label} has no parameter {wanted} to split by; it has: {there}")
            return
    for size in split.sizes:
        if split.kind == "train_per_class" and facts.class_counts and size > min(facts.class_counts):
            least = int(np.argmin(facts.class_counts))
            class_name = facts.class_names[least] if facts.class_names else str(least)
            has = f"class {class_name} of {label} has {facts.class_counts[least]} points"
            yield Mistake(path, f"{size:g} known points per class, and {has}")
        elif split.kind != "draws":
            known = size if split.kind in ("n_train", "first") else count_known(split, size, facts)
            if not 1 < known < n:
                yield Mistake(path, f"{size:g} leaves less than two known or no new points of the {n} of {label}")


def _arm(name: str, arm: Arm, split: Split, label: str, facts: DataFacts) -> Iterator[Mistake]:
    home: Path = ("readings", arm.reading, "set") if arm.reading else ("arms", name)
    for stage, method in arm.methods().items():
        supervised = stage == "classifier" or (
            stage == "embedding" and outline("embeddings", method.name).supervised
        )
        if supervised and not facts.n_classes:
            yield Mistake((*home, stage), f"{method.name} needs labels, and {label} has none")
    for size in split.sizes:
        n_train = count_known(split, size, facts)
        grids: dict[str, Grid] = {}
        for stage, method in arm.methods().items():
            try:
                settled = settle(method.parameters, Facts(label, n_train, facts.n_classes, facts.n_features))
            except ConfigError as error:
                yield Mistake((*home, stage), f"{error} ({label}, {n_train} known points)")
                return
            grids |= grids_of(settled, stage)
            if stage == "embedding":
                value = grids.get("embedding.n_components")
                dims = value.values if value else (settled.get("n_components"),)
                most = facts.n if arm.batch else n_train
                if all(is_number(d) and not 1 <= d <= most for d in dims):
                    what = f"{', '.join(f'{d:g}' for d in dims)} of {most} points ({label}, size {size:g})"
                    yield Mistake((*home, stage, "n_components"), f"more coordinates than there are points: {what}")
        sizes = [len(grid.values) for grid in grids.values()]
        if math.prod(sizes) > limits.GRID:
            yield Mistake(home, f"the grids have more than {limits.GRID:,} combinations")


def _outputs(experiment: Experiment, facts: Mapping[str, DataFacts]) -> Iterator[Mistake]:
    """Figures that the data or the arms cannot have."""
    for i, output in enumerate(experiment.outputs):
        shown = [data for data in experiment.views_of(output.dataset) if data.label in facts]
        if output.kind == "function" and shown and facts[shown[0].label].n_features != 2:
            yield Mistake(
                ("outputs", i, "kind"), f"a function is drawn over the plane, and {shown[0].label} is not 2-D"
            )
        drawn = [arm for name, arm in experiment.shown.items() if output.arms is None or name in output.arms]
        if output.kind in POINTS and not any(arm.embedding for arm in drawn):
            yield Mistake(("outputs", i, "kind"), "no arm with an embedding to draw")
