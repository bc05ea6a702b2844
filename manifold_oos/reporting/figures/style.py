"""One look for all figures: colours that colour-blind readers tell apart, markers as a second cue, fixed bytes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from manifold_oos.atomic import atomic

#: Okabe and Ito's palette without its yellow, which is too faint on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
INK = "#222222"
DPI = 160
FAINT = "#8C8C8C"

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "lines.linewidth": 1.7,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.dpi": 100,
    "pdf.fonttype": 42,
    "svg.hashsalt": "moos",
}
#: Nothing of the day or the machine goes into a figure, so that the same numbers give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the project's style inside the block."""
    with mpl.rc_context(RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Start an empty figure that belongs to no window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def look(index: int) -> dict[str, Any]:
    """Colour, marker and line of the index-th curve; all three differ as long as possible."""
    return {
        "color": COLORS[index % len(COLORS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[(index // len(COLORS)) % len(LINES)],
    }


def caption(figure: Figure, title: str, notes: Sequence[str]) -> None:
    """The title above a figure, and below it what a reader must know (protocol, splits, stand-ins)."""
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    text = " · ".join(note for note in notes if note)
    if text:
        figure.supxlabel(text, fontsize=7.5, color="#5F5F5F", x=0.01, ha="left", wrap=True)


def empty_panel(ax: Axes, message: str) -> None:
    """Say in a panel why there is nothing to draw."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, message, ha="center", va="center", color=FAINT, transform=ax.transAxes, wrap=True)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and PDF, each file as a whole."""
    paths = []
    for suffix, metadata in METADATA.items():
        path = stem.with_name(stem.name + suffix)
        with atomic(path) as stream:
            figure.savefig(stream, format=suffix[1:], metadata=metadata, facecolor="white", dpi=DPI)
        paths.append(path)
    return paths
