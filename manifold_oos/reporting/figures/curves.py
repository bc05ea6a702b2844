"""Curves with error bands: a metric over training size, dimension, a swept parameter or the iteration."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from manifold_oos.reporting.figures.style import FAINT, caption, empty_panel, house_style, look, new_figure

#: Markers on more points than this hide the line.
MANY_POINTS = 16
#: The look of an arm that does not depend on x.
LEVEL: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": 1.2, "marker": ""}


def curve_figure(
    cells: pd.DataFrame,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    notes: Sequence[str] = (),
    second: pd.DataFrame | None = None,
    second_label: str = "",
    log: bool | None = None,
) -> Figure:
    """Draw one curve per arm in one panel per data set."""
    if y_label.endswith("(%)"):
        cells = cells.assign(low=cells["low"].clip(0, 100), high=cells["high"].clip(0, 100))
    with house_style():
        panels = list(dict.fromkeys(cells["panel"]))
        arms = list(dict.fromkeys(cells["arm"]))
        columns = 2 if len(panels) == 4 else max(1, min(3, len(panels)))
        rows = max(1, -(-len(panels) // columns))
        figure = new_figure(1.7 + 3.5 * columns, 0.6 + 2.9 * rows)
        axes = figure.subplots(rows, columns, squeeze=False)
        for ax, panel in zip(axes.flat, panels, strict=False):
            place = Axis(cells.loc[cells["panel"] == panel, "x"], log)
            _draw(ax, cells[cells["panel"] == panel], arms, place)
            place.dress(ax, x_label)
            ax.set_ylabel(y_label)
            if (cells.loc[cells["panel"] == panel, "mean"] >= 0).all() and ax.get_ylim()[0] < 0:
                ax.set_ylim(bottom=0)  # an interval may reach below what an error can be
            ax.set_title(panel)
            if second is not None and (second["panel"] == panel).any():
                _draw_second(ax, second[second["panel"] == panel], arms, place, second_label)
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        if not panels:
            empty_panel(axes.flat[0], "no rows to draw")
        level = {arm for arm in arms if cells.loc[cells["arm"] == arm, "x"].isna().all()}
        handles = [
            Line2D([], [], label=arm, **(look(index) | (LEVEL if arm in level else {})))
            for index, arm in enumerate(arms)
        ]
        if second is not None:
            handles.append(Line2D([], [], color=FAINT, linestyle=":", label=second_label))
        if len(handles) > 1:
            figure.legend(handles=handles, loc="outside right upper")
        caption(figure, title, notes)
    return figure


class Axis:
    """Where values stand on the x axis: numbers where they are (logarithmic if they grow so), words in a row."""

    def __init__(self, x: pd.Series, log: bool | None) -> None:
        known = [value for value in dict.fromkeys(x) if not pd.isna(value)]
        self.numeric = all(isinstance(value, int | float | np.number) for value in known)
        self.values = sorted(known) if self.numeric else known
        self.log = self.numeric and (_grows_geometrically(self.values) if log is None else log)

    def positions(self, x: pd.Series) -> np.ndarray:
        """Coordinates of values."""
        if self.numeric:
            return x.to_numpy(dtype=float)
        return np.array([self.values.index(value) for value in x], dtype=float)

    def dress(self, ax: Axes, label: str) -> None:
        """Scale, ticks and label."""
        ax.set_xlabel(label)
        if not self.numeric:
            ax.set_xticks(range(len(self.values)), [str(value) for value in self.values])
            return
        if self.log:
            ax.set_xscale("log")
        few = 0 < len(self.values) <= 9 and self.apart
        if few:
            ax.set_xticks(self.values)
        elif self.log:
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if self.decades < 2 else (1.0,)))
        if few or self.log:
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))

    @property
    def apart(self) -> bool:
        """Whether the numbers of all values find room below the axis."""
        places = np.log10(self.values) if self.log else np.asarray(self.values, dtype=float)
        return len(places) < 2 or bool(np.diff(places).min() >= 0.04 * np.ptp(places))

    @property
    def decades(self) -> float:
        """How far the values of a logarithmic axis reach."""
        return float(np.log10(self.values[-1] / self.values[0]))


def _grows_geometrically(values: Sequence[Any]) -> bool:
    """Whether values are spread by ratios over more than a decade."""
    if len(values) < 3 or min(values) <= 0 or max(values) < 12 * min(values):
        return False
    logs = np.diff(np.log(np.asarray(values, dtype=float)))
    return bool(logs.max() < 2.5 * logs.min())


def _draw(ax: Axes, cells: pd.DataFrame, arms: Sequence[str], place: Axis) -> None:
    """Curves with bands, and level lines for what does not depend on x."""
    for index, arm in enumerate(arms):
        mine = cells[cells["arm"] == arm]
        how = look(index)
        level = mine[mine["x"].isna()]
        for _, cell in level.iterrows():
            ax.axhline(cell["mean"], **(how | LEVEL))
            if cell["low"] < cell["high"]:
                ax.axhspan(cell["low"], cell["high"], color=how["color"], alpha=0.08, linewidth=0)
        curve = mine[mine["x"].notna()]
        if curve.empty:
            continue
        at = place.positions(curve["x"])
        order = np.argsort(at, kind="stable")
        at, curve = at[order], curve.iloc[order]
        if len(at) > MANY_POINTS:
            how["marker"] = ""
        ax.plot(at, curve["mean"], markeredgecolor="white", markeredgewidth=0.6, **how)
        low, high = curve["low"].fillna(curve["mean"]), curve["high"].fillna(curve["mean"])
        if len(at) > 1:
            ax.fill_between(at, low, high, color=how["color"], alpha=0.16 if len(arms) < 4 else 0.09, linewidth=0)
        else:
            ax.vlines(at, low, high, color=how["color"], linewidth=1.2)


def _draw_second(ax: Axes, cells: pd.DataFrame, arms: Sequence[str], place: Axis, label: str) -> None:
    """A second quantity on its own axis, dotted in the arms' colours."""
    twin = ax.twinx()
    twin.grid(False)
    twin.spines["right"].set_visible(True)
    for index, arm in enumerate(arms):
        mine = cells[(cells["arm"] == arm) & cells["x"].notna()]
        at = place.positions(mine["x"])
        order = np.argsort(at, kind="stable")
        twin.plot(at[order], mine["mean"].iloc[order], color=look(index)["color"], linestyle=":", linewidth=1.6)
    twin.set_ylabel(label)
