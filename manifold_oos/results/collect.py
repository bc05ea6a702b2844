"""What the views of one experiment are made from, gathered from the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos import datasets
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Data, Experiment
from manifold_oos.engine.plan import Plan, make_plan
from manifold_oos.engine.replay import kept_coordinates
from manifold_oos.engine.splits import DataFacts
from manifold_oos.engine.store import Store
from manifold_oos.engine.store_file import FILE
from manifold_oos.errors import ConfigError
from manifold_oos.results.cells import make_cells
from manifold_oos.results.claims import ClaimResult, judge_claims


@dataclass(frozen=True)
class Results:
    """The results of an experiment as they stand, finished or not."""

    experiment: Experiment
    rows: pd.DataFrame
    absent: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, DataFacts] = field(default_factory=dict)
    failures: pd.DataFrame | None = None
    data_dir: Path | None = None
    kept: Mapping[tuple[Any, ...], Path] = field(default_factory=dict)

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The rows of tables, figures and claims: those of arms that are not measured for a reading."""
        return self.rows[~self.rows["arm"].isin(set(self.experiment.arms) - set(self.experiment.shown))]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Means, intervals, comparisons and verdicts: see :func:`~manifold_oos.results.cells.make_cells`."""
        return make_cells(self.shown, self.experiment)

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The claims of the config with their verdicts."""
        return judge_claims(self.shown, self.experiment, facts=self._numbers)

    def _numbers(self, label: str, size: float) -> dict[str, float]:
        """The numbers that a claim may name."""
        rows = self.rows[(self.rows["dataset"] == label) & (self.rows["size"] == size)]
        known: dict[str, float] = {} if rows.empty else {"n_train": float(rows["n_train"].iloc[0])}
        if label in self.facts:
            facts = self.facts[label]
            known |= {"n_classes": facts.n_classes, "n_features": facts.n_features}
        return known

    def notes(self, group: list[Data]) -> list[str]:
        """Stand-ins, caveats of the data sets, what is not at hand, and the note of the config."""
        notes = []
        for data in group:
            if data.stand_in:
                notes.append(f"{data.label} is a stand-in for {data.stand_in}: not a reproduction")
            caveat = self.facts[data.label].note if data.label in self.facts else datasets.find(data.name).note
            if caveat:
                notes.append(f"{data.label}: {caveat}")
            if data.label in self.absent:
                notes.append(f"{data.label}: data absent")
        return [*notes, self.experiment.note] if self.experiment.note else notes


def collect(
    experiment: Experiment,
    store: Store,
    *,
    plan: Plan | None = None,
    folder: Path | None = None,
    data_dir: str | Path | None = None,
) -> Results:
    """Gather what the store has of an experiment."""
    if plan is None:
        where = None if data_dir is None else str(data_dir)
        plan = make_plan(experiment, data_dir=where, offline=True, skip_missing=True, known=store.facts())
    parts = [part for part in (store.rows(plan), store.timings(plan)) if len(part)]
    rows = pd.concat(parts, ignore_index=True) if parts else store.rows(plan)
    return Results(
        experiment,
        rows,
        absent=plan.absent,
        facts=plan.facts,
        failures=store.failures(plan),
        data_dir=None if data_dir is None else Path(data_dir),
        kept=kept_coordinates(plan, folder),
    )


@dataclass(frozen=True)
class Located:
    """An experiment, the results root that has its store, and the folder of its files."""

    experiment: Experiment
    root: Path
    folder: Path

    def collect(self, data_dir: Path | None = None) -> Results:
        """Everything that the store has of it."""
        if not (self.root / FILE).is_file():
            raise ConfigError(f"{self.root}: no results here; moos run {self._again} first, or give --out")
        with Store(self.root) as store:
            results = collect(self.experiment, store, folder=self.folder, data_dir=data_dir)
        if results.rows.empty and set(results.absent) != {data.label for data in self.experiment.datasets}:
            where = f"no rows of the code as it is in {self.root / FILE}"
            raise ConfigError(f"{self.experiment.name}: {where}; moos run {self._again} first")
        return results

    @property
    def _again(self) -> str:
        return str(self.experiment.path or self.experiment.name)


def locate(target: str | Path, out: str | Path = "results", overrides: Iterable[str] = ()) -> Located:
    """Find the results of a config, or the experiment of a results folder."""
    folder = Path(target)
    if not folder.is_dir():
        experiment = load_config(target, overrides)
        return Located(experiment, Path(out), Path(out) / experiment.name)
    config = folder / "config.yaml"
    if not config.is_file():
        raise ConfigError(f"{folder}: not a folder of results (no config.yaml in it)")
    root, name = _root(folder)
    return Located(load_config(config, overrides).named(name, config), root, folder)


def _root(folder: Path) -> tuple[Path, str]:
    """The nearest folder above with a store, and the path below it."""
    whole = folder.resolve()
    for parent in whole.parents:
        if (parent / FILE).is_file():
            return parent, whole.relative_to(parent).as_posix()
    return whole.parent, whole.name
