"""Draw the pictures of docs/: each method on a small built-in example, and SOSI taking in new points.

python docs/builders/method_pictures.py [NAME...]     such as sosi or extenders/lle; all without a name
"""

import inspect
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from sklearn.decomposition import PCA

from manifold_oos import datasets
from manifold_oos.datasets.toy import s_surface, swiss_roll, two_manifolds
from manifold_oos.registry import KINDS, available
from manifold_oos.reporting.figures.style import COLORS, FAINT, INK, house_style, new_figure

IMAGES = Path(__file__).parents[1] / "images"
ANIMALS = ["duck", "pig", "dog"]
#: The usual extender of an embedding that has no map of its own.
EXTENDERS = {
    "diffusion_maps": "geometric_harmonics",
    "isomap": "landmark",
    "laplacian_eigenmaps": "nystrom",
    "lle": "nystrom",
    "ltsa": "lle",
    "spline": "lle",
}
#: Extenders that are shown on a surface, with their embedding; the others are shown on images of three classes.
ON_A_SURFACE = {
    "cp": {"name": "ltsa", "n_neighbors": 12},
    "geometric_harmonics": {"name": "diffusion_maps", "n_neighbors": 12},
    "gom": {"name": "ltsa", "n_neighbors": 12},
    "landmark": {"name": "isomap", "n_neighbors": 12},
    "lle": {"name": "ltsa", "n_neighbors": 12},
    "lvm": {"name": "ltsa", "n_neighbors": 12},
    "nystrom": {"name": "laplacian_eigenmaps", "n_neighbors": 12},
}


class Points(NamedTuple):
    """Known and new points with what colours them: classes, or a coordinate."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray
    classes: bool


def animals(per_class: int) -> Points:
    """Images of three turning animals, some views of each known."""
    data = datasets.load("turntable", classes=ANIMALS, size=[20, 20], normalize="unit")
    assert data.y is not None
    rng = np.random.default_rng(0)
    picked = [rng.permutation(np.flatnonzero(data.y == c))[:per_class] for c in range(data.n_classes)]
    known = np.sort(np.concatenate(picked))
    new = np.setdiff1d(np.arange(len(data)), known)
    return Points(data.X[known], data.y[known], data.X[new], data.y[new], True)


def surface(draw: Any, known: int, new: int) -> Points:
    """A surface in space, coloured by its arc length."""
    X, parameters = draw(known + new, np.random.default_rng(0))
    t = parameters["arc_length"]
    order = np.random.default_rng(1).permutation(len(X))
    a, b = order[:known], order[known:]
    return Points(X[a], t[a], X[b], t[b], False)


def scatter(ax: Axes, Y: np.ndarray, y: np.ndarray, classes: bool, title: str, **options: Any) -> None:
    """Points in one panel, without scales."""
    if classes:
        color, shade = [COLORS[int(c) % len(COLORS)] for c in y], {}
    else:
        color, shade = y, {"cmap": "viridis"}
    ax.scatter(Y[:, 0], Y[:, 1], **({"c": color, "s": 9, "linewidths": 0} | shade | options))
    frame(ax, title)


def frame(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=8.5, fontweight="normal", loc="center")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.margins(0.08)
    for spine in ax.spines.values():
        spine.set(visible=True, linewidth=0.6, color="#BBBBBB")


def labelled(ax: Axes, Z: np.ndarray, given: np.ndarray, true: np.ndarray, title: str) -> None:
    """New points in the colour of the label they got, wrong ones crossed."""
    wrong = given != true
    scatter(ax, Z, given, True, f"{title}: {100 * wrong.mean():.1f} % wrong")
    ax.scatter(Z[wrong, 0], Z[wrong, 1], marker="x", c=INK, s=22, linewidths=0.9, zorder=4)


def known_marks(ax: Axes, Y: np.ndarray, y: np.ndarray) -> None:
    colors = [COLORS[int(c) % len(COLORS)] for c in y]
    ax.scatter(Y[:, 0], Y[:, 1], c=colors, s=44, edgecolors=INK, linewidths=0.9, zorder=3)


def fitted(kind: str, name: str, **settings: Any) -> Any:
    cls = available(kind)[name]
    accepted = inspect.signature(cls).parameters
    return cls(**{key: value for key, value in settings.items() if key in accepted})


def nearest(Z: np.ndarray, Y: np.ndarray, y: np.ndarray) -> np.ndarray:
    distance = ((Z[:, None] - Y[None]) ** 2).sum(axis=2)
    labels: np.ndarray = y[distance.argmin(axis=1)]
    return labels


def draw_embedding(name: str) -> Figure:
    """The data, the known points embedded, the new points mapped."""
    cls = available("embeddings")[name]
    points = animals(24) if cls.supervised else surface(swiss_roll, 700, 500)
    if name == "precomputed":
        model = cls(PCA(2).fit_transform(points.X)).fit(points.X, index=np.arange(len(points.X)))
    else:
        model = fitted("embeddings", name, n_components=2, n_neighbors=5 if cls.supervised else 9)
        model.fit(points.X, points.y)
    Y = model.embedding_
    if hasattr(model, "transform"):
        Y = Y if hasattr(model, "package") else model.transform(points.X)
        Z, how = model.transform(points.X_new), "by its own map"
    else:
        extender = fitted("extenders", EXTENDERS.get(name, "rbf"))
        extender.fit(points.X, Y, points.y if points.classes else None, embedding=model)
        Z, how = extender.transform(points.X_new), f"by {extender.name}"
    figure = new_figure(7.2, 2.45)
    left, middle, right = figure.subplots(1, 3)
    if points.classes:
        scatter(left, PCA(2).fit_transform(points.X), points.y, True, "known images (two main directions)")
    else:
        scatter(left, points.X[:, [0, 2]], points.y, False, "known points, from the side")
    scatter(middle, Y, points.y, points.classes, "embedded")
    if points.classes:
        labelled(right, Z, nearest(Z, Y, points.y), points.y_new, f"new, {how}")
    else:
        scatter(right, Z, points.y_new, False, f"new points, {how}")
    return figure


def draw_extender(name: str) -> Figure:
    """The known points, and the new ones where the extender puts them."""
    if name in ("sosi", "progressive"):
        return draw_steps(name, (0, 5, 9))
    cls = available("extenders")[name]
    figure = new_figure(7.2, 2.6)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    if name not in ON_A_SURFACE:
        points = animals(12)
        embedding = fitted("embeddings", "suplap", n_components=2).fit(points.X, points.y)
        Y = embedding.embedding_
        extender = cls().fit(points.X, Y, points.y, embedding=embedding)
        Z = extender.transform(points.X_new)
        scatter(left, Y, points.y, True, "known images, embedded by suplap", s=16)
        labelled(right, Z, nearest(Z, Y, points.y), points.y_new, f"new images, by {name}")
        return figure
    points = surface(s_surface, 500, 400)
    if cls.transductive:  # they can go beyond the known part
        below = points.y < 1.15 * 1.5 * np.pi
        beyond = points.y_new >= 1.15 * 1.5 * np.pi
        points = Points(points.X[below], points.y[below], points.X_new[beyond], points.y_new[beyond], False)
    settings = ON_A_SURFACE[name]
    embedding = fitted("embeddings", settings["name"], n_components=2, n_neighbors=settings["n_neighbors"])
    Y = embedding.fit(points.X).embedding_
    extender = fitted("extenders", name)
    extender.fit(points.X, Y, X_new=points.X_new if cls.transductive else None, embedding=embedding)
    Z = extender.transform(points.X_new)
    low, high = min(points.y.min(), points.y_new.min()), max(points.y.max(), points.y_new.max())
    shade = {"vmin": low, "vmax": high}
    part = "part of an S-surface" if cls.transductive else "an S-surface"
    scatter(left, Y, points.y, False, f"known points of {part}, by {settings['name']}", **shade)
    right.scatter(Y[:, 0], Y[:, 1], c="#DDDDDD", s=6, linewidths=0)
    scatter(right, Z, points.y_new, False, f"new points, by {name}", **shade)
    return figure


def draw_steps(name: str, shown: tuple[int, ...], width: float = 7.2, faces: bool = False) -> Figure:
    """New points over the iterations of an extender that takes them in."""
    points = animals(6)
    embedding = fitted("embeddings", "suplap", n_components=2).fit(points.X, points.y)
    extender = fitted("extenders", name)
    extender.fit(points.X, embedding.embedding_, points.y, X_new=points.X_new, embedding=embedding)
    same = name == "sosi"  # progressive embeds anew: only the last coordinates are kept
    steps = [extender.steps_[i] for i in shown] if same else [extender.steps_[-1]]
    figure = new_figure(width if same else width / 2, 2.6)
    grid = figure.add_gridspec(3, len(steps) + 1, width_ratios=[0.3 if faces else 0.001, *[1] * len(steps)])
    if faces:
        portraits([figure.add_subplot(grid[row, 0]) for row in range(3)])
    panels = [figure.add_subplot(grid[:, column + 1]) for column in range(len(steps))]
    for ax, step in zip(panels, steps, strict=True):
        Z = step.coordinates if step.coordinates is not None else extender.new_embedding_
        Y = embedding.embedding_ if same else extender.training_embedding_
        title = f"iteration {step.number}: {step.taken.sum()} of {len(Z)} taken in\nlabels"
        waiting = ~step.taken
        labelled(ax, Z, step.labels, points.y_new, title)
        ax.scatter(Z[waiting, 0], Z[waiting, 1], c="white", s=2.2, linewidths=0, zorder=2)
        known_marks(ax, Y, points.y)
    return figure


def portraits(axes: list[Axes]) -> None:
    """A picture of each class in a frame of its colour."""
    data = datasets.load("turntable", classes=ANIMALS)
    assert data.y is not None and data.image_shape is not None
    for c, ax in enumerate(axes):
        ax.imshow(data.X[data.y == c][6].reshape(data.image_shape), cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set(visible=True, linewidth=2.5, color=COLORS[c])


def draw_classifier(name: str) -> Figure:
    """Two curves with a few labels, and the labels that the others get."""
    X, parameters = two_manifolds(200, np.random.default_rng(0))
    X = X + 0.15 * np.random.default_rng(1).standard_normal(X.shape)
    y = (parameters["side"] < 0).astype(int)
    picked = [np.random.default_rng(3).permutation(np.flatnonzero(y == c))[:5] for c in (0, 1)]
    known = np.concatenate(picked)
    new = np.setdiff1d(np.arange(len(X)), known)
    method = available("classifiers")[name]()
    takes_new = "X_new" in inspect.signature(method.fit).parameters
    method.fit(X[known], y[known], **({"X_new": X[new]} if takes_new else {}))
    figure = new_figure(7.2, 2.6)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    left.scatter(*X[new].T, c=FAINT, s=8, linewidths=0)
    frame(left, "ten labelled points among two hundred")
    known_marks(left, X[known], y[known])
    if not method.transductive:
        side = np.linspace(-4.2, 7.2, 160), np.linspace(-3.2, 4.2, 120)
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(*side)])
        regions = np.asarray(method.predict(grid)).reshape(len(side[1]), len(side[0]))
        right.contourf(*side, regions, levels=[-0.5, 0.5, 1.5], colors=COLORS[:2], alpha=0.15)
    labelled(right, X[new], np.asarray(method.predict(X[new])), y[new], f"labels by {name}")
    known_marks(right, X[known], y[known])
    return figure


def write(figure: Figure, path: Path, dpi: int = 100) -> None:
    """A PNG of few colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, facecolor="white", metadata={"Software": None})
    with Image.open(path) as image:
        image.convert("RGB").quantize(64).save(path, optimize=True)
    print(f"{path.relative_to(IMAGES.parents[1])}: {path.stat().st_size // 1024} kB")


def main() -> None:
    wanted = set(sys.argv[1:])
    draw = {"embeddings": draw_embedding, "extenders": draw_extender, "classifiers": draw_classifier}
    warnings.simplefilter("ignore")
    with house_style():
        for kind in KINDS.values():
            for name in available(kind):
                if not wanted or {name, f"{kind}/{name}"} & wanted:
                    write(draw[kind](name), IMAGES / "methods" / f"{kind}_{name}.png")
        if not wanted or "readme" in wanted:
            write(draw_steps("sosi", (0, 3, 6, 9), width=11, faces=True), IMAGES / "sosi.png", dpi=110)


if __name__ == "__main__":
    main()
