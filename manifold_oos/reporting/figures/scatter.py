"""Pictures of points: embeddings in two or three dimensions, side by side, and functions over the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets.sources import natural_key
from manifold_oos.reporting.figures.style import (
    COLORS,
    FAINT,
    INK,
    MARKERS,
    caption,
    empty_panel,
    house_style,
    new_figure,
)

#: Up to this many classes get a legend; more would only fill the page.
LEGEND_CLASSES = 24
#: A colour scale for true coordinates, without the pale end that vanishes on white.
SCALE = colormaps["viridis"]
CYCLE = colormaps["twilight_shifted"]


@dataclass(frozen=True)
class Cloud:
    """Points of one panel: coordinates, and a class or a true coordinate for each.

    ``wrong`` and ``novel`` mark new points with a wrong label, and those unlike all known ones.
    """

    title: str
    train: Array
    new: Array
    train_color: NDArray | None = None
    new_color: NDArray | None = None
    wrong: NDArray[np.bool_] | None = None
    message: str = ""
    cyclic: bool = False
    novel: NDArray[np.bool_] | None = None


def cloud_figure(
    grid: Sequence[Sequence[Cloud]], *, title: str = "", notes: Sequence[str] = (), dimensions: int = 2
) -> Figure:
    """Draw panels of points in rows: known points filled, new points hollow, by class."""
    clouds = [cloud for row in grid for cloud in row]
    classes = _classes(clouds)
    columns = max(len(row) for row in grid)
    side = 3.6 if len(clouds) == 1 else 2.5
    legend = _legend(clouds, classes)
    with house_style():
        height = (side + 0.15) * len(grid) + 0.5
        legend_columns = -(-len(legend) // max(1, int(height / 0.19)))
        figure = new_figure(side * columns + 0.2 + 1.1 * legend_columns, height)
        for r, row in enumerate(grid):
            for c, cloud in enumerate(row):
                depth = max(cloud.train.shape[1], cloud.new.shape[1])
                solid = dimensions == 3 and depth >= 3
                ax = figure.add_subplot(
                    len(grid), columns, r * columns + c + 1, projection="3d" if solid else "rectilinear"
                )
                _draw_cloud(ax, cloud, classes, 3 if solid else 2)
        if legend:
            figure.legend(
                handles=legend, loc="outside right upper", fontsize=7.5, handletextpad=0.3, ncols=legend_columns
            )
        caption(figure, title, notes)
    return figure


def function_figure(
    panels: Sequence[tuple[str, Array]],
    *,
    extent: tuple[float, float, float, float],
    points: Array,
    classes: NDArray,
    others: Array | None = None,
    limit: float = 1.0,
    title: str = "",
    notes: Sequence[str] = (),
) -> Figure:
    """Draw functions over a rectangle of the plane as images, with their zero line and the training points."""
    ratio = (extent[3] - extent[2]) / (extent[1] - extent[0])
    width = 2.8 * (len(panels) + 1)
    with house_style():
        figure = new_figure(width + 0.7, 2.8 * min(max(ratio, 0.5), 1.6) + 0.9)
        axes = figure.subplots(1, len(panels) + 1, squeeze=False)[0]
        order = {label: index for index, label in enumerate(np.unique(classes))}
        for ax in axes:
            ax.grid(False)
            ax.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[], aspect="equal")
            ax.spines[:].set_visible(True)
            for label, index in order.items():
                mine = points[classes == label]
                ax.plot(
                    mine[:, 0], mine[:, 1], MARKERS[index % len(MARKERS)], linestyle="none", markersize=6,
                    color=COLORS[index % len(COLORS)], markeredgecolor="white", markeredgewidth=1.0, zorder=3,
                )  # fmt: skip
        if others is not None:
            axes[0].plot(others[:, 0], others[:, 1], ".", markersize=2, color="#C8C8C8", zorder=1)
        axes[0].set_title("training points")
        picture = None
        for ax, (name, image) in zip(axes[1:], panels, strict=True):
            picture = ax.imshow(
                image, origin="lower", extent=extent, cmap="gray", vmin=-limit, vmax=limit, interpolation="bilinear"
            )
            if image.min() < 0 < image.max():
                ax.contour(image, levels=[0.0], extent=extent, colors=COLORS[4], linewidths=1.3)
            ax.set_title(name)
        if picture is not None:
            figure.colorbar(picture, ax=list(axes[1:]), label="f(x)", shrink=0.85, pad=0.01)
        caption(figure, title, notes)
    return figure


def _classes(clouds: Sequence[Cloud]) -> list[Any]:
    """All classes of all panels in one order, so that a class looks the same everywhere."""
    labels: set[Any] = set()
    for cloud in clouds:
        for color in (cloud.train_color, cloud.new_color):
            if color is not None and color.dtype.kind != "f":
                labels.update(color.tolist())
    return sorted(labels, key=lambda label: (isinstance(label, str), natural_key(str(label))))


def _class_look(index: int) -> tuple[str, str]:
    """Colour and marker of a class: markers change when the colours are used up."""
    return COLORS[index % len(COLORS)], MARKERS[(index // len(COLORS)) % len(MARKERS)]


def _legend(clouds: Sequence[Cloud], classes: Sequence[Any]) -> list[Line2D]:
    """Handles for known, new and wrong points and, if they are few, the classes."""
    handles = []
    both = any(len(cloud.train) and len(cloud.new) for cloud in clouds)
    common: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
    if both:
        handles.append(Line2D([], [], color=FAINT, label="known", **common))
        handles.append(Line2D([], [], color=FAINT, markerfacecolor="none", label="new", **common))
    if any(cloud.wrong is not None and cloud.wrong.any() for cloud in clouds):
        handles.append(Line2D([], [], color=INK, label="wrong label", **(common | {"marker": "x"})))
    if any(cloud.novel is not None and cloud.novel.any() for cloud in clouds):
        novel = {"marker": "D", "markersize": 8, "markerfacecolor": "none"}
        handles.append(Line2D([], [], color=INK, label="novel", **(common | novel)))
    if 1 < len(classes) <= LEGEND_CLASSES:
        for index, label in enumerate(classes):
            color, marker = _class_look(index)
            handles.append(Line2D([], [], color=color, label=str(label), **(common | {"marker": marker})))
    return handles


def _draw_cloud(ax: Any, cloud: Cloud, classes: Sequence[Any], dimensions: int) -> None:
    """One panel."""
    ax.set_title(cloud.title, fontsize=9)
    if cloud.message:
        empty_panel(ax, cloud.message)
        return
    ax.grid(False)
    ax.set_xticks([])
    ax.set_yticks([])
    if dimensions == 3:
        ax.set_zticks([])
        ax.set_box_aspect(None, zoom=1.2)
        ax.view_init(elev=18, azim=-65)
    else:
        ax.spines[:].set_visible(True)
        ax.spines[:].set_color("#D0D0D0")
        ax.set_aspect("equal", adjustable="datalim")  # a squashed embedding must look squashed
    size = float(np.clip(6000 / max(len(cloud.train) + len(cloud.new), 1), 5, 26))
    span = _span(cloud)
    for points, color, hollow in ((cloud.train, cloud.train_color, False), (cloud.new, cloud.new_color, True)):
        if not len(points):
            continue
        at = _first(points, dimensions)
        filled = not (hollow and len(cloud.train))
        for mask, shade, marker in _layers(color, len(points), classes, span, CYCLE if cloud.cyclic else SCALE):
            ax.scatter(
                *at[mask].T, s=size if filled else size * 1.1, marker=marker, linewidths=0.25 if filled else 0.7,
                **({"c": shade, "edgecolors": "white"} if filled else {"facecolors": "none", "edgecolors": shade}),
            )  # fmt: skip
    if cloud.wrong is not None and cloud.wrong.any():
        at = _first(cloud.new, dimensions)[cloud.wrong]
        ax.scatter(*at.T, s=size * 1.6, marker="x", c=INK, linewidths=0.7, alpha=0.75)
    if cloud.novel is not None and cloud.novel.any():
        at = _first(cloud.new, dimensions)[cloud.novel]
        ax.scatter(*at.T, s=size * 4, marker="D", facecolors="none", edgecolors=INK, linewidths=0.8)


def _first(points: Array, dimensions: int) -> Array:
    """The leading columns; a single one is drawn along the first axis."""
    if points.shape[1] >= dimensions:
        return points[:, :dimensions]
    return np.pad(points, ((0, 0), (0, dimensions - points.shape[1])))


def _span(cloud: Cloud) -> tuple[float, float]:
    """Range of the colour scale that known and new points share."""
    values = [c for c in (cloud.train_color, cloud.new_color) if c is not None and c.dtype.kind == "f" and len(c)]
    return (min(v.min() for v in values), max(v.max() for v in values)) if values else (0.0, 1.0)


def _layers(
    color: NDArray | None, n: int, classes: Sequence[Any], span: tuple[float, float], scale: Colormap
) -> list[tuple[NDArray[np.bool_], Any, str]]:
    """Masks with their colours and markers: one per class, or one with a colour scale."""
    everything = np.ones(n, dtype=bool)
    if color is None:
        return [(everything, COLORS[0], "o")]
    if color.dtype.kind == "f":
        return [(everything, scale((color - span[0]) / ((span[1] - span[0]) or 1.0)), "o")]
    layers = []
    for index, label in enumerate(classes):
        mask = color == label
        if mask.any():
            shade, marker = _class_look(index)
            layers.append((mask, shade, marker))
    return layers
