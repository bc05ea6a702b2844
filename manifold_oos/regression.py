"""The regression check: numbers computed anew against a reference, split by split and cell by cell."""

import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos.atomic import write_text
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import experiment_of
from manifold_oos.engine.executors import FOLDER
from manifold_oos.engine.progress import Progress
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError, MoosError
from manifold_oos.metrics import unit_of
from manifold_oos.reporting.write import split_rows
from manifold_oos.resources import shipped
from manifold_oos.results.collect import Results, collect, locate
from manifold_oos.results.sheets import csv_text, read_csv, unpacked

#: A split may differ by so many test samples or points, whichever is more; the mean of a cell by so many points.
SAMPLES, POINTS, MEAN_POINTS = 2, 0.3, 0.2
#: Numbers that are no rates may differ by this share.
RELATIVE = 1e-3
KEY = ["metric", "dataset", "size", "arm", "selection", "repetition"]
REFERENCE = Path("results") / "reference"
LOG_HEAD = "# Why the reference changed\n\nOne line for each `moos check --update`, oldest first.\n\n"


@dataclass(frozen=True)
class Difference:
    """A number that is not what the reference says; ``repetition`` is None for the mean of a cell."""

    metric: str
    dataset: str
    size: float
    arm: str
    selection: str
    repetition: int | None
    reference: float
    ours: float
    allowed: float

    def __str__(self) -> str:
        where = f"{self.arm} on {self.dataset} {self.size:g} ({self.selection})"
        what = "mean" if self.repetition is None else f"split {self.repetition}"
        if math.isnan(self.ours):
            return f"{self.metric} of {where}, {what}: no result where the reference has {self.reference:.6g}"
        return (
            f"{self.metric} of {where}, {what}: {self.ours:.6g} instead of {self.reference:.6g} "
            f"(differs by {abs(self.ours - self.reference):.3g}, allowed {self.allowed:.3g})"
        )


@dataclass
class Checked:
    """What the check of one config found."""

    name: str
    reference: Path
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    results: Results | None = None


def read_reference(path: Path) -> pd.DataFrame:
    """Read a table of splits."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such reference; moos check CONFIG --update REASON writes one")
    frame = unpacked(read_csv(path, "splits", (*KEY, "value", "n_test")))
    if frame.empty:
        raise ConfigError(f"{path}: the reference is empty")
    return frame


def find_references() -> dict[str, Path]:
    """The reference tables by the name of their config, here or in the checkout."""
    folder = REFERENCE if REFERENCE.is_dir() else shipped("results") / "reference"
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.csv"))}


def find_checks(targets: Iterable[str], against: Path | None) -> list[tuple[Experiment, Path]]:
    """What a person asks to check: experiments with their references."""
    targets = list(targets)
    references = find_references()
    if against is not None and len(targets) != 1:
        raise ConfigError("--against FILE goes with one config or results folder")
    if not targets:
        if not references:
            raise ConfigError(f"nothing to check: no reference in {REFERENCE}; name a config or results folder")
        targets = [f"configs/{name}.yaml" for name in references]
    checks = []
    for target in targets:
        folder = Path(target)
        experiment = locate(target).experiment
        reference = against or references.get(experiment.name)
        if reference is None and folder.is_dir() and (folder / "splits.csv").is_file():
            reference = folder / "splits.csv"
        if reference is None:
            known = ", ".join(references) or "none"
            raise ConfigError(f"{target}: no reference for {experiment.name} in {REFERENCE} (there: {known})")
        checks.append((experiment, reference))
    return checks


def run_check(
    experiment: Experiment,
    reference: Path,
    *,
    out: Path | None = None,
    workers: int | None = 1,
    data_dir: Path | None = None,
    skip_missing: bool = False,
    progress: Progress | None = None,
) -> Checked:
    """Compute what a reference covers anew and compare."""
    table = read_reference(reference)
    part = experiment_of(experiment, table)
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-") as temporary:
        root = Path(temporary) if out is None else out
        summary = run_experiment(
            part, root, workers, data_dir=data_dir, skip_missing=skip_missing, progress=progress
        )
        if summary.interrupted:
            raise KeyboardInterrupt
        with Store(root) as store:
            results = collect(part, store, plan=summary.plan)
    checked = Checked(experiment.name, reference, results=results, skipped=dict(summary.plan.absent))
    checked.failures = [
        f"{line.arm} on {line.dataset} {line.size:g}, repetition {line.repetition}: {message}"
        for line, message in summary.failed
    ]
    table = table[~table["dataset"].isin(checked.skipped)]
    checked.compared, checked.differences = compare_splits(split_rows(results), table)
    return checked


def update_reference(
    experiment: Experiment,
    reason: str,
    *,
    folder: Path = REFERENCE,
    workers: int | None = None,
    data_dir: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Path, int]:
    """Compute an experiment anew, write its reference table and say why in CHANGES.md; the file and its rows."""
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-") as root:
        summary = run_experiment(experiment, root, workers, data_dir=data_dir, progress=progress)
        if summary.interrupted:
            raise KeyboardInterrupt
        if summary.failed:
            raise MoosError(f"{experiment.name}: {len(summary.failed)} lines failed; no reference written")
        with Store(root) as store:
            rows = split_rows(collect(experiment, store, plan=summary.plan))
    log = folder / "CHANGES.md"
    before = log.read_text(encoding="utf-8") if log.is_file() else LOG_HEAD
    write_text(log, f"{before}- `{experiment.name}`, {len(rows)} numbers: {' '.join(reason.split())}\n")
    return write_text(folder / f"{experiment.name}.csv", csv_text(rows)), len(rows)


def compare_splits(ours: pd.DataFrame, reference: pd.DataFrame) -> tuple[int, list[Difference]]:
    """Compare tables of splits.

    A rate is equal within 2 test samples or 0.3 points on a split, whichever is more, and within 0.2 points in the
    mean of a cell; any other metric within a share of 1e-3.
    """
    rounded = ["size"]
    left = reference.assign(**{column: reference[column].astype(float).round(9) for column in rounded})
    right = ours.assign(**{column: ours[column].astype(float).round(9) for column in rounded})
    merged = left.merge(right[[*KEY, "value"]], on=KEY, how="left", suffixes=("", "_ours"))
    differences = []
    for row in merged.to_dict("records"):
        allowed = tolerance(row["metric"], row["value"], n_test=row["n_test"])
        if not _equal(row["value"], row["value_ours"], allowed):
            differences.append(_difference(row, int(row["repetition"]), row["value"], row["value_ours"], allowed))
    cell = [column for column in KEY if column != "repetition"]
    complete = merged[merged["value"].isna() == merged["value_ours"].isna()]
    for _, block in complete.groupby(cell, sort=False):
        expected, found = float(block["value"].mean()), float(block["value_ours"].mean())
        first = block.iloc[0].to_dict()
        allowed = tolerance(first["metric"], expected)
        if not _equal(expected, found, allowed):
            differences.append(_difference(first, None, expected, found, allowed))
    return len(merged), differences


def tolerance(metric: str, reference: float, n_test: float | None = None) -> float:
    """How far a number may be from the reference.

    Examples
    --------
    >>> round(tolerance("misclassification_rate", 10.0, n_test=400), 6)
    0.5
    >>> tolerance("misclassification_rate", 10.0)
    0.2
    """
    if unit_of(metric) == "%":
        return MEAN_POINTS if n_test is None else max(100 * SAMPLES / n_test, POINTS)
    return RELATIVE * abs(reference)


def _equal(expected: float, found: float, allowed: float) -> bool:
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return abs(expected - found) <= allowed + 1e-9


def _difference(
    row: Mapping[Any, Any], repetition: int | None, expected: float, found: float, allowed: float
) -> Difference:
    return Difference(
        metric=str(row["metric"]),
        dataset=str(row["dataset"]),
        size=float(str(row["size"])),
        arm=str(row["arm"]),
        selection=str(row["selection"]),
        repetition=repetition,
        reference=float(expected),
        ours=float(found),
        allowed=allowed,
    )
