"""The interactive page of the whole grid: every embedding with every extender, by set, metric and dimension."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from manifold_oos import __version__
from manifold_oos.metrics import METRICS, label_of
from manifold_oos.reporting.pages.grid_data import experiments
from manifold_oos.reporting.report.html import render


def view_of(name: str, title: str, cells: pd.DataFrame) -> dict[str, Any]:
    """What the page shows of one config: its sets, arms and metrics, and a number for each of the three."""
    lines = cells[cells["config"] == name]
    sets, arms = list(lines["dataset"].unique()), list(lines["arm"].unique())
    facts = lines.drop_duplicates("arm").set_index("arm")
    shown = [metric for metric in METRICS if metric in lines and lines[metric].notna().any()]
    at = {(row["dataset"], row["arm"]): row for row in lines.to_dict("records")}

    def numbers(column: str, digits: int) -> list[list[float | None]]:
        rows = [[at.get((label, arm), {}).get(column, math.nan) for label in sets] for arm in arms]
        return [[_short(value, digits) for value in row] for row in rows]

    failed = {
        f"{arm}|{label}": row["failed"] for (label, arm), row in at.items() if isinstance(row.get("failed"), str)
    }
    return {
        "key": name,
        "title": title,
        "sets": sets,
        "known": [int(lines.loc[lines["dataset"] == label, "known"].max()) for label in sets],
        "splits": int(lines["splits"].max()),
        "arms": [
            [arm, facts.at[arm, "embedding"], facts.at[arm, "extender"], bool(facts.at[arm, "tuned"])]
            for arm in arms
        ],
        "metrics": [
            {
                "key": metric,
                "label": label_of(metric),
                "better": METRICS[metric].better,
                "values": numbers(metric, 3),
                "halves": numbers(f"{metric} ±", 2) if f"{metric} ±" in lines else None,
            }
            for metric in shown
        ],
        "failed": {place: reason for place, reason in failed.items() if reason},
    }


def _short(value: Any, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if isinstance(value, int | float) and math.isfinite(value) else None


def grid_page(cells: pd.DataFrame, pictures: Mapping[str, Any]) -> str:
    """The page."""
    present = set(cells["config"])
    views = [view_of(name, e.title, cells) for name, e in experiments().items() if name in present]
    return render("grid.html", views=views, data={"views": views, "pictures": pictures}, version=__version__)
