"""Curves and the critical-difference diagram as plain numbers, for the script of the page and for SVG."""

import math
from collections.abc import Iterator
from typing import Any

from manifold_oos.config.model import Output
from manifold_oos.errors import ConfigError
from manifold_oos.reporting.figures.curves import Axis
from manifold_oos.reporting.figures.draw import (
    RANKED_DATASETS,
    Curve,
    Ranks,
    figure_outputs,
    make_curve,
    make_ranks,
)
from manifold_oos.reporting.figures.ranks import describe_test, rank_layout
from manifold_oos.reporting.figures.style import COLORS
from manifold_oos.results.collect import Results
from manifold_oos.results.sheets import csv_text

#: The colours of matplotlib's figures, and lighter ones for a dark page.
PALETTE = {
    "light": list(COLORS),
    "dark": ["#4DA3E0", "#F58A4B", "#35C79A", "#E3A0C6", "#F2B83A", "#8FD0F5", "#C4C4C4"],
    "symbols": ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "hexagon"],
    "glyphs": ["●", "■", "▲", "◆", "▼", "✚", "✖", "★", "⬢"],
    "dashes": ["solid", "dash", "dot", "dashdot"],
}


def curve_outputs(results: Results) -> list[Output]:
    """The curves of a config, and those over size and iteration that it does not ask for but has rows for."""
    experiment, rows = results.experiment, results.shown
    outputs = [output for output in figure_outputs(results) if output.kind in ("curve", "trace")]
    sizes = any(len(experiment.split_of(data).sizes) > 1 for data in experiment.datasets)
    if sizes and not any(output.kind == "curve" and output.x in (None, "size") for output in outputs):
        outputs.append(Output(figure="size", kind="curve", x="size"))
    stepped = set(rows.loc[rows["step"].notna(), "metric"]) & set(experiment.metrics)
    if stepped and not any("step" in (output.x, "step" * (output.kind == "trace")) for output in outputs):
        outputs.append(Output(figure="iterations", kind="trace", metric=sorted(stepped)))
    return outputs


def curves(results: Results) -> Iterator[tuple[Output, Curve]]:
    """Every curve of the page that has points."""
    for output in curve_outputs(results):
        for metric in output.metric or results.experiment.metrics:
            try:
                curve = make_curve(output, results, metric)
            except ConfigError:
                continue
            if len(curve.cells):
                yield output, curve


def chart(curve: Curve) -> dict[str, Any]:
    """Numbers of a curve for the page's script."""
    arms = list(dict.fromkeys(curve.cells["arm"]))
    panels = []
    for title, cells in curve.cells.groupby("panel", sort=False):
        axis = Axis(cells["x"], curve.log)
        panel: dict[str, Any] = {"title": title, "log": axis.log, "numeric": axis.numeric, "series": []}
        panel["ticks"] = axis.values if axis.numeric and 0 < len(axis.values) <= 9 else None
        frames = [(cells, False)]
        if curve.second is not None:
            frames.append((curve.second[curve.second["panel"] == title], True))
        for frame, second in frames:
            for arm, mine in frame.groupby("arm", sort=False):
                if arm in arms:
                    panel["series"].append(_series(mine, axis, arms.index(str(arm)), second))
        panels.append(panel)
    return {
        "arms": arms,
        "panels": panels,
        "x": curve.x_label,
        "y": curve.y_label,
        "second": curve.second_label,
        "csv": csv_text(curve.cells),
    }


def _series(mine: Any, axis: Axis, arm: int, second: bool) -> dict[str, Any]:
    level = bool(mine["x"].isna().all())
    if not level:
        mine = mine[mine["x"].notna()]
        mine = mine.iloc[axis.positions(mine["x"]).argsort(kind="stable")]
    columns = {name: mine[name].tolist() for name in ("mean", "low", "high", "n")}
    x = [] if level else [value if axis.numeric else str(value) for value in mine["x"]]
    return {"arm": arm, "level": level, "second": second, "x": x, **columns}


def rankings(results: Results) -> Iterator[Ranks]:
    """Rankings that a config asks for, and one per metric over three data sets or more."""
    outputs = [output for output in results.experiment.outputs if output.kind == "ranks"]
    if not outputs and results.rows["dataset"].nunique() >= RANKED_DATASETS:
        outputs = [Output(figure="ranks", kind="ranks")]
    for output in outputs:
        for metric in output.metric or results.experiment.metrics:
            try:
                yield make_ranks(output, results, metric)
            except ConfigError:
                continue


def rank_diagram(ranks: Ranks) -> dict[str, Any]:
    """Where the parts of a critical-difference diagram stand, in pixels of a drawing 640 wide."""
    layout = rank_layout(ranks.ranking)
    left, right, top, line = 170.0, 470.0, 34.0, 22.0
    step = (right - left) / max(layout.k - 1, 1)
    first = top + 22 + 9 * len(layout.bars)

    def at(rank: float) -> float:
        return left + (rank - 1) * step

    labels = [
        {
            "x": at(label.rank),
            "y": first + line * label.row,
            "edge": left - 18 if label.left else right + 18,
            "anchor": "end" if label.left else "start",
            "text": label.text,
            "words": left - 24 if label.left else right + 24,
        }
        for label in layout.labels
    ]
    said = ", ".join(f"{arm} {rank:.2f}" for arm, rank in ranks.ranking.ranks.items())
    return {
        "title": ranks.title,
        "height": math.ceil(first + line * layout.rows),
        "left": left,
        "right": right,
        "top": top,
        "ticks": [(at(tick), tick) for tick in range(1, layout.k + 1)],
        "labels": labels,
        "bars": [
            {"y": top + 11 + 9 * index, "from": at(near) - 4, "to": at(far) + 4}
            for index, (near, far) in enumerate(layout.bars)
        ],
        "description": f"average ranks: {said}",
        "notes": [note for note in [describe_test(ranks.ranking), *ranks.notes] if note],
    }
