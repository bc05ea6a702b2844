"""What the views of one experiment are made from, gathered from the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos import datasets
from manifold_oos.config.load import OVERRIDDEN, load_config, load_overridden
from manifold_oos.config.model import Data, Experiment
from manifold_oos.engine.plan import Plan, make_plan
from manifold_oos.engine.replay import kept_coordinates
from manifold_oos.engine.splits import DataFacts
from manifold_oos.engine.store import Store, make_frame
from manifold_oos.engine.store_file import FILE
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import is_time
from manifold_oos.resources import shipped_configs
from manifold_oos.results import committed
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.cells import summarize_cells
from manifold_oos.results.claims import ClaimResult, correct, judge_claims

EARLIER = "computed by an earlier form of this config: captions and readings may be of other choices"
#: Folders of a results root that hold no experiment of their own.
NOT_EXPERIMENTS = ("archive", "reference")


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
    committed: Path | None = None
    caveats: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def final(self) -> pd.DataFrame:
        """The rows of final results, open grids decided."""
        return final_rows(self.rows, lead_of(self.experiment))

    @property
    def shown(self) -> pd.DataFrame:
        """The rows of tables, figures and claims: those of arms that are not measured for a reading."""
        return self._of_arms(self.rows, readings=False)

    @property
    def shown_final(self) -> pd.DataFrame:
        """The final rows of arms that are not measured for a reading."""
        return self._of_arms(self.final, readings=False)

    def _of_arms(self, rows: pd.DataFrame, *, readings: bool) -> pd.DataFrame:
        return rows[rows["arm"].isin(set(self.experiment.arms) - set(self.experiment.shown)) == readings]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Means, intervals, comparisons and verdicts: see :func:`~manifold_oos.results.cells.make_cells`."""
        told = committed.cells_of(self.committed, self.experiment) if self.committed and self.rows.empty else None
        if told is not None:
            return told
        parts = [summarize_cells(self.shown_final, self.experiment)]
        measured = self._of_arms(self.final, readings=True)  # beside the table: none of them is the best arm
        parts += [summarize_cells(measured, self.experiment).assign(best=False)] if len(measured) else []
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def claims_alone(self) -> list[ClaimResult]:
        """The claims of the config, each judged by itself."""
        told = committed.claims_of(self.committed, self.experiment) if self.committed else {}
        if self.committed and len(self.rows):
            lead = self.experiment.metrics[0]
            told = {at: result for at, result in told.items() if committed.beyond_splits(result.claim, lead)}
        return judge_claims(self.shown, self.experiment, facts=self._numbers, final=self.shown_final, told=told)

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The claims of the config with their verdicts, corrected for their number."""
        return correct(self.claims_alone)

    @property
    def origin(self) -> str:
        """One line where the numbers are not from a store."""
        if self.committed is None:
            return ""
        file = committed.FILES[0] if len(self.rows) else committed.FILES[1]
        told = f"no rows in a store; these are the committed tables ({self.committed / file})"
        return f"{self.experiment.name}: {told}" + (f", {EARLIER}" if self.earlier else "")

    @property
    def earlier(self) -> bool:
        """Whether the numbers are committed ones that another form of the config gave."""
        return self.committed is not None and committed.of_earlier_config(self.committed, self.experiment)

    @property
    def values(self) -> int:
        """How many numbers of single splits the tables rest on, without times."""
        return count_values(self.cells)

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
            known = self.facts[data.label].note if data.label in self.facts else datasets.find(data.name).note
            caveat = self.caveats.get(data.label, known)
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
        """Everything that the store has of it; without a store, what was committed."""
        if not (self.root / FILE).is_file():
            results = self.read_committed()
            if results is None:
                raise ConfigError(f"{self.root}: no results here; moos run {self._again} first, or give --out")
            return results
        with Store(self.root) as store:
            results = collect(self.experiment, store, folder=self.folder, data_dir=data_dir)
        if not results.rows.empty:
            return results
        told = self.read_committed()
        if told is None and set(results.absent) != {data.label for data in self.experiment.datasets}:
            where = f"no rows of the code as it is in {self.root / FILE}"
            raise ConfigError(f"{self.experiment.name}: {where}; moos run {self._again} first")
        return told or results

    def read_committed(self) -> Results | None:
        """The results that the files of the folder tell, if it has any."""
        if not any((self.folder / name).is_file() for name in committed.FILES):
            return None
        rows = committed.rows_of(self.folder)
        results = Results(self.experiment, make_frame([]) if rows is None else rows, committed=self.folder)
        there = set(results.cells["dataset"])
        labels = [data.label for data in self.experiment.datasets]
        absent = {label: "not in the committed tables" for label in labels if label not in there}
        return replace(results, absent=absent, caveats=committed.caveats_of(self.folder, labels))

    @property
    def _again(self) -> str:
        return str(self.experiment.path or self.experiment.name)


def locate(target: str | Path, out: str | Path = "results", overrides: Iterable[str] = ()) -> Located:
    """Find the results of a config, or the experiment of a results folder."""
    folder, overrides = Path(target), tuple(overrides)
    if not folder.is_dir():
        experiment = load_overridden(target, overrides)
        return Located(experiment, Path(out), Path(out) / experiment.name)
    root, name = _root(folder)
    config = folder / "config.yaml"
    if config.is_file():
        return Located(load_config(config, overrides).named(name, config), root, folder)
    parts = folder.resolve().parts
    names = ["/".join(parts[start:]) for start in range(1, len(parts))]
    shipped = next((name for name in names if f"{name}.yaml" in shipped_configs()), None)
    if shipped is None or not any((folder / file).is_file() for file in committed.FILES):
        raise ConfigError(f"{folder}: not a folder of results (no config.yaml in it)")
    return Located(load_config(f"configs/{shipped}.yaml", overrides), root, folder)


def locate_all(targets: Iterable[str], out: str | Path = "results", overrides: Iterable[str] = ()) -> list[Located]:
    """Find the results of configs and folders; a results root stands for all of its experiments."""
    overrides = tuple(overrides)
    places = [place for target in targets for place in map(str, below(Path(target)) or [Path(target)])]
    return [locate(place, out, overrides) for place in places]


def below(folder: Path) -> list[Path]:
    """The experiments of a results root; none where the folder is an experiment itself, or no folder."""
    if not folder.is_dir() or any((folder / name).is_file() for name in ("config.yaml", *committed.FILES)):
        return []
    return experiments(folder)


def experiments(root: Path) -> list[Path]:
    """The folders of a results root that a run wrote, by name, or that were committed; not those of ``--set``."""
    found = {path.parent for name in ("config.yaml", *committed.FILES) for path in root.rglob(name)} - {root}
    parts = {folder: folder.relative_to(root).parts for folder in found}
    return sorted(
        folder
        for folder, names in parts.items()
        if names[0] not in NOT_EXPERIMENTS and not names[-1].startswith(OVERRIDDEN)
    )


def count_values(cells: pd.DataFrame) -> int:
    """How many numbers of single splits cells rest on, without times."""
    return int(cells.loc[~cells["metric"].map(is_time).astype(bool), "splits"].sum())


def _root(folder: Path) -> tuple[Path, str]:
    """The nearest folder above with a store, and the path below it."""
    whole = folder.resolve()
    for parent in whole.parents:
        if (parent / FILE).is_file():
            return parent, whole.relative_to(parent).as_posix()
    return whole.parent, whole.name
