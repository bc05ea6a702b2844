"""What chose the readings beside what confirms them: the counts of two seeds, and all that test errors decided."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from manifold_oos.atomic import write_text
from manifold_oos.config.model import Experiment
from manifold_oos.reporting.render import markdown_table, md
from manifold_oos.results.explanations import PrintedColumn
from manifold_oos.results.published import MATCH, SIGNS, tolerance
from manifold_oos.results.sheets import csv_text, read_csv

#: The seed on whose splits readings and defaults were settled; that of the configs chose nothing of ours.
CHOOSING = 0
CELL = ["experiment", "source", "protocol", "metric", "dataset", "arm", "size"]
#: How a note says that something was decided by test errors or by the paper's printed results.
ADMITS = "picked"


def cells_of_columns(columns: Mapping[str, Sequence[PrintedColumn]], earlier: Iterable[str] = ()) -> pd.DataFrame:
    """A row for each printed number: ours, its verdict, and whether an earlier form of the config gave it."""
    records = [
        {
            **dict(zip(CELL, (name, c.source, c.protocol, c.metric, c.dataset, c.arm, cell.size), strict=True)),
            "splits": cell.splits,
            "mean": cell.mean,
            "low": cell.low,
            "high": cell.high,
            "published": cell.published,
            "verdict": cell.verdict,
            "earlier": name in set(earlier),
        }
        for name, mine in columns.items()
        for c in mine
        for cell in c.cells
    ]
    return pd.DataFrame.from_records(records)


def seed_file(out: Path, seed: int) -> Path:
    """Where the cells of a seed are kept that tables do not show."""
    return out / f"seed_{seed}.csv"


def write_seed(cells: pd.DataFrame, out: Path, seed: int) -> Path:
    """Keep the cells of a seed."""
    return write_text(seed_file(out, seed), csv_text(cells))


def confirmation(cells: pd.DataFrame, out: Path, seeds: Iterable[int]) -> list[str]:
    """The verdicts of the choosing seed beside those of the tables, on the printed numbers that both have."""
    path = seed_file(out, CHOOSING)
    fresh = sorted(set(seeds) - {CHOOSING})
    if not path.is_file() or not fresh or cells.empty:
        return []
    chosen = read_csv(path, "cells", (*CELL, "verdict", "earlier"))
    chosen["size"] = chosen["size"].astype(float)
    both = cells.merge(chosen, on=CELL, suffixes=("", "_0"))
    rows = []
    for name, end in ((f"{CHOOSING}, which chose", "_0"), (f"{', '.join(map(str, fresh))}, fresh", "")):
        words = both[f"verdict{end}"]
        limits = [tolerance(metric, value) for metric, value in zip(both["metric"], both["published"], strict=True)]
        near = ((both[f"mean{end}"] - both["published"]).abs() <= pd.Series(limits) + 1e-9).sum()
        rows.append([name, len(both), *((words == word).sum() for word in SIGNS), near])
    kept = int(((both["verdict"] == MATCH) & (both["verdict_0"] == MATCH)).sum())
    matched = int((both["verdict_0"] == MATCH).sum())
    moved = int(both["earlier_0"].sum())
    head = ["seed", "cells", *(f"{sign} {word}" for word, sign in SIGNS.items()), "within δ"]
    told = f" {moved} cells of seed {CHOOSING} are of an earlier form of their config." if moved else ""
    return [
        f"Readings and defaults were settled on splits of seed {CHOOSING} and of a few others that notes name. The"
        f" tables are of seed {', '.join(map(str, fresh))}, which chose nothing of ours;"
        f" a reading that its columns suggested says so.{told}"
        f" Of the {matched} numbers that matched on seed {CHOOSING}, {kept} match on the fresh one:",
        "",
        markdown_table(head, rows, numbers=len(head) - 1),
        "",
    ]


def picked(experiments: Iterable[Experiment]) -> list[str]:
    """Everything that a config says was picked by test errors, with where it says so."""
    where: dict[str, list[str]] = {}
    for experiment in experiments:
        notes = [experiment.note, *(arm.note and f"{name}: {arm.note}" for name, arm in experiment.shown.items())]
        notes += [f"reading “{name}”: {reading.text}" for name, reading in experiment.readings.items()]
        for note in dict.fromkeys(note for note in notes if ADMITS in note):
            where.setdefault(note, []).append(experiment.name)
    if not where:
        return []
    lines = [f"- {md(note.rstrip('.'))} ({', '.join(names)})" for note, names in where.items()]
    return ["Picked by looking at test errors or at the printed results, and where:", "", *lines, ""]
