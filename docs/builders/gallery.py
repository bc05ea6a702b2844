"""Draws every embedding of the Swiss roll, the Swiss roll with a hole and the S-surface, as in LGRM Fig. 1 and 2.

Usage: python docs/builders/gallery.py [--out docs/images/gallery.png]
"""

import argparse
import inspect
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from manifold_oos.datasets.toy import s_surface, swiss_roll
from manifold_oos.registry import available
from manifold_oos.reporting.figures.style import INK, house_style

N, COLUMNS, NEIGHBORS = 1000, 7, 9
SURFACES = {
    "Swiss roll": lambda rng: swiss_roll(N, rng),
    "Swiss roll with a hole": lambda rng: swiss_roll(N, rng, hole=True),
    "S-surface": lambda rng: s_surface(N, rng),
}


def worse_coordinate(Y: np.ndarray, P: np.ndarray) -> float:
    """R² of the true coordinate that an affine map of the embedding explains worse."""
    A = np.c_[np.ones(len(Y)), Y]
    rest = P - A @ np.linalg.lstsq(A, P, rcond=None)[0]
    return float((1 - rest.var(axis=0) / P.var(axis=0)).min())


def embed(method: type, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Two coordinates with one number of neighbours for all; supervised methods get the labels."""
    known = inspect.signature(method).parameters
    settings = {"n_components": 2, "n_neighbors": NEIGHBORS}
    embedding = method(**{key: value for key, value in settings.items() if key in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return embedding.fit(X, labels).embedding_


def panel(axes: Axes, Y: np.ndarray, color: np.ndarray, title: str, bold: bool = False) -> None:
    """One scatter plot without scales, each direction filling its panel."""
    axes.scatter(*Y.T, c=color, s=2.2, cmap="viridis", linewidths=0, rasterized=True)
    axes.set_title(title, fontsize=7.5, fontweight="bold" if bold else "normal", loc="center", pad=3)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.margins(0.06)
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5, color="#BBBBBB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images/gallery.png"))
    out = parser.parse_args().out
    foreign = ("package", "needs_index")  # of other libraries, or from a file
    own = {n: cls for n, cls in available("embeddings").items() if not any(hasattr(cls, mark) for mark in foreign)}
    methods = sorted(own.items(), key=lambda item: (item[1].supervised, item[0]))
    rows = -(-(len(methods) + 1) // COLUMNS)
    with house_style():
        figure = Figure(figsize=(1.55 * COLUMNS, 1.6 * rows * len(SURFACES) + 0.5), layout="constrained")
        blocks = figure.subfigures(len(SURFACES), 1, hspace=0.02)
        for block, (name, draw) in zip(blocks, SURFACES.items(), strict=True):
            X, parameters = draw(np.random.default_rng(0))
            true = np.column_stack([parameters["arc_length"], parameters["width"]])
            color = true[:, 0]
            labels = np.digitize(color, np.quantile(color, [0.25, 0.5, 0.75]))
            block.suptitle(name, fontsize=10, fontweight="bold", x=0.005, ha="left", color=INK)
            grid = block.subplots(rows, COLUMNS)
            for axes in grid.flat[len(methods) + 1 :]:
                axes.set_axis_off()
            panel(grid.flat[0], X[:, [0, 2]], color, "the points, from the side")
            for axes, (word, method) in zip(grid.flat[1:], methods, strict=False):
                Y = embed(method, X, labels)
                quality = worse_coordinate(Y, true)
                title = (
                    f"{word.replace('spectral_regression', 'spectral_regr.')}{' *' if method.supervised else ''}"
                )
                panel(axes, Y, color, f"{title}  {quality:.2f}", bold=quality > 0.99)
        note = (
            f"{N} points, {NEIGHBORS} neighbours, otherwise defaults. Colour: arc length. Number: R² of the worse"
            " true coordinate under an affine map (bold: unrolled). * supervised: four stretches are classes."
        )
        figure.supxlabel(note, fontsize=7.5, color=INK)
        FigureCanvasAgg(figure)
        out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(out, dpi=100, metadata={"Software": None})
    with Image.open(out) as image:
        image.convert("RGB").quantize(96).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
