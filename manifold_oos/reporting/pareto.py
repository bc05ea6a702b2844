"""Error against cost: one point per arm, and the front of those that no other beats in both."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from manifold_oos.reporting.style import FAINT, footnote, house_style, look, new_figure


def pareto_front(cost: Sequence[float], score: Sequence[float]) -> list[int]:
    """The points that no other point beats in both; lower is better in each.

    Parameters
    ----------
    cost, score : sequence of float
        One pair per point.

    Returns
    -------
    list of int
        Their positions, by rising cost.

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


def pareto_figure(
    points: pd.DataFrame,
    *,
    x_label: str,
    y_label: str,
    better: str = "lower",
    title: str = "",
    notes: Sequence[str] = (),
) -> Figure:
    """Draw arms by cost and error, with the Pareto front.

    Parameters
    ----------
    points : DataFrame
        Columns ``arm``, ``x`` (cost, lower is better, on a logarithmic axis) and ``y``.
    x_label, y_label : str
        Axis labels.
    better : {"lower", "higher"}, default="lower"
        Which way y is better.
    title : str, default=""
        Title of the figure.
    notes : sequence of str, default=()
        Printed below.

    Returns
    -------
    Figure
        The figure.
    """
    sign = 1.0 if better == "lower" else -1.0
    front = pareto_front(points["x"].tolist(), (sign * points["y"]).tolist())
    with house_style():
        figure = new_figure(6.4, 4.2)
        ax = figure.add_subplot()
        best = points.iloc[front]
        ax.plot(best["x"], best["y"], drawstyle="steps-post", color=FAINT, linewidth=1.2, zorder=1)
        for index, (arm, x, y) in enumerate(points[["arm", "x", "y"]].itertuples(index=False)):
            how = look(index)
            on_front = index in front
            fill = how["color"] if on_front else "white"
            ax.plot(x, y, how["marker"], color=how["color"], markerfacecolor=fill, markersize=7, zorder=3)
            weight = "bold" if on_front else "normal"
            ax.annotate(str(arm), (x, y), xytext=(6, 4), textcoords="offset points", fontsize=8, fontweight=weight)
        if (points["x"] > 0).all():
            ax.set_xscale("log")
        ax.margins(x=0.12, y=0.1)
        ax.set(xlabel=x_label, ylabel=y_label)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        footnote(figure, ["filled and joined: no other arm is better in both", *notes])
    return figure
