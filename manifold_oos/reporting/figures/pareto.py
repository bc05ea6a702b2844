"""Error against cost: one point per arm, and the front of those that no other beats in both."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from manifold_oos.reporting.figures.style import FAINT, caption, house_style, look, new_figure

#: A range of scores with a larger ratio is shown on a logarithmic axis.
WIDE = 8
#: Of more arms than that only those on the front are named.
CROWD = 30
#: Where a name may stand, in points from its dot.
PLACES = [(7, 0), (7, 8), (7, -8), (-7, 0), (-7, 8), (-7, -8), (7, 16), (7, -16), (7, 5)]


def pareto_front(cost: Sequence[float], score: Sequence[float]) -> list[int]:
    """The points that no other point beats in both; lower is better in each.

    Examples
    --------
    >>> pareto_front([1, 2, 3, 2], [9, 5, 6, 7])
    [0, 1]
    """
    front: list[int] = []
    for index in np.lexsort((np.asarray(score), np.asarray(cost))):
        if not front or score[index] < score[front[-1]]:
            front.append(int(index))
    return front


def _label(ax: Axes, points: pd.DataFrame, front: Sequence[int]) -> None:
    """Write the names beside the points, each where it covers no name and no point; of a crowd only the front's."""
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    taken: list[Bbox] = []
    for x, y in ax.transData.transform(points[["x", "y"]].to_numpy(dtype=float)):
        taken.append(Bbox.from_bounds(x - 4, y - 4, 8, 8))
    named = range(len(points)) if len(points) <= CROWD else front
    for index in sorted(named, key=lambda index: (index not in front, index)):
        arm, x, y = points[["arm", "x", "y"]].iloc[index]
        weight = "bold" if index in front else "normal"
        for dx, dy in PLACES[index in front :]:  # not on the line that joins the front
            text = ax.annotate(
                str(arm), (x, y), xytext=(dx, dy), textcoords="offset points", fontsize=8, fontweight=weight,
                ha="left" if dx > 0 else "right", va="center",
            )  # fmt: skip
            box = text.get_window_extent()
            inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
            if (dx, dy) == PLACES[-1] or (inside and not any(box.overlaps(other) for other in taken)):
                taken.append(box)
                break
            text.remove()


def pareto_figure(
    points: pd.DataFrame,
    *,
    x_label: str,
    y_label: str,
    better: str = "lower",
    title: str = "",
    notes: Sequence[str] = (),
) -> Figure:
    """Draw arms by cost and error, with the Pareto front."""
    sign = 1.0 if better == "lower" else -1.0
    front = pareto_front(points["x"].tolist(), (sign * points["y"]).tolist())
    with house_style():
        figure = new_figure(6.4, 4.2)
        ax = figure.add_subplot()
        best = points.iloc[front]
        ax.plot(best["x"], best["y"], drawstyle="steps-post", color=FAINT, linewidth=1.2, zorder=1)
        for index, (x, y) in enumerate(points[["x", "y"]].itertuples(index=False)):
            how = look(index)
            on_front = index in front
            fill = how["color"] if on_front else "white"
            ax.plot(x, y, how["marker"], color=how["color"], markerfacecolor=fill, markersize=7, zorder=3)
        if (points["x"] > 0).all():
            ax.set_xscale("log")
        if (points["y"] > 0).all() and points["y"].max() > WIDE * points["y"].min():
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter("{x:g}")
        ax.margins(x=0.12, y=0.1)
        ax.set(xlabel=x_label, ylabel=y_label)
        _label(ax, points, front)
        caption(figure, title, ["filled and joined: no other arm is better in both", *notes])
    return figure
