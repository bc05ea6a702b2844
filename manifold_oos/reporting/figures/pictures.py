"""Figures of points: embeddings, galleries of methods, and function images, from one split of an experiment."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from manifold_oos.config.model import Data, Output
from manifold_oos.engine.replay import Replay, read_kept, run_place, split_points
from manifold_oos.engine.splits import Points
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.metrics import ANGLES
from manifold_oos.novelty import NOVEL, NoveltyScale
from manifold_oos.reporting.figures.scatter import Cloud, cloud_figure, function_figure
from manifold_oos.results.collect import Results
from manifold_oos.results.curves import chosen_values
from manifold_oos.results.tables import SIZE_NAMES
from manifold_oos.results.verdict import has_verdict

#: Pixels along the longer side of a function image.
PIXELS = 240


def gallery_output(output: Output, results: Results, group: list[Data], title: str = "") -> Figure:
    """Embeddings side by side.

    ``kind: embedding`` shows known and new points in one panel per arm, a row (or more, by ``columns``) for each
    data set;
    ``kind: gallery`` shows known points above and new points below, as LGRM's Fig. 1, after the data themselves
    where they are three-dimensional (``rows: known`` leaves the new points out, ``rows: new`` the known ones).
    """
    experiment = results.experiment
    grid: list[list[Cloud]] = []
    sizes = []
    present = [data for data in group if data.label not in results.absent]
    for data in present or group:  # a row of empty panels only where nothing can be drawn: the notes say the rest
        arms = [
            name
            for name, arm in experiment.arms_of(data).items()
            if arm.embedding is not None and not arm.reading and (output.arms is None or name in output.arms)
        ]
        if data.label in results.absent:
            grid.append([Cloud(f"{data.label}: {arm}", *_nothing(), message="data absent") for arm in arms])
            continue
        split = experiment.split_of(data)
        size = output.size[0] if output.size else split.sizes[-1]
        repetition = output.repetition or 0
        points = cache(partial(split_points, experiment, data, size, repetition, results.data_dir))
        places = [Replay(data, arm, size, repetition) for arm in arms]
        clouds = [_cloud(output, results, place, points) for place in places]
        counts = next(((len(c.train), len(c.new)) for c in clouds if not c.message), (0, 0))
        sizes.append(f"{data.label}: {SIZE_NAMES[split.kind]} {size:g} ({counts[0]} known, {counts[1]} new)")
        if output.kind == "gallery":
            grid += _gallery_rows(output, clouds, points())
        else:
            prefix = f"{data.label}: " if len(present) > 1 else ""
            panels = [replace(cloud, title=prefix + cloud.title) for cloud in clouds]
            width = output.columns if isinstance(output.columns, int) else len(panels)
            grid += [panels[start : start + width] for start in range(0, len(panels), width)]
    if not any(grid):
        raise ConfigError(f"figure {output.figure}: no arm with an embedding to draw")
    dimensions = 3 if output.n_components == [3] or output.kind == "gallery" else 2
    above = "above: known points, below: new points" if output.kind == "gallery" and output.rows is None else ""
    notes = [above, *sizes, f"split {output.repetition or 0}", *results.notes(group), output.note]
    return cloud_figure(grid, title=title, notes=notes, dimensions=dimensions)


def _cloud(output: Output, results: Results, place: Replay, points: Callable[[], Points]) -> Cloud:
    """One arm on one split, from kept coordinates or computed anew; an arm that fails says so in its panel."""
    place = replace(place, chosen=chosen_values(results.rows, results.experiment, place, output.selection))
    facts = results.facts.get(place.data.label)
    kept = read_kept(results.kept, place, output.selection)
    if kept is not None and facts is not None and "new_labels" in kept:
        names = np.array(facts.class_names)
        known_color, new_color = names[kept["known_labels"]], names[kept["new_labels"]]
        wrong = kept["predicted"] != kept["new_labels"] if "predicted" in kept else None
        novel = _novel(results, points)
        return Cloud(place.arm, kept["known"], kept["new"], known_color, new_color, wrong, novel=novel)
    here = points()
    class_names = facts.class_names if facts else tuple(f"class {c}" for c in range(here.facts.n_classes))
    known_color, new_color, cyclic = colors_of(here, class_names)
    try:
        result = run_place(results.experiment, place, here)
    except (ValueError, np.linalg.LinAlgError) as error:
        return Cloud(place.arm, *_nothing(), message=f"failed: {str(error).splitlines()[0]}")
    assert result.placed is not None
    predicted = result.outcome.labels
    wrong = None if predicted is None or here.y_new is None else predicted != here.y_new
    return Cloud(
        place.arm,
        result.placed.known,
        result.placed.new,
        known_color,
        new_color,
        wrong,
        cyclic=cyclic,
        novel=_novel(results, points),
    )


def _novel(results: Results, points: Callable[[], Points]) -> NDArray[np.bool_] | None:
    """The new points unlike all known ones, in pictures of a person's own data."""
    if not has_verdict(results.experiment):
        return None
    try:
        here = points()
    except DataError:
        return None
    novel: NDArray[np.bool_] = NoveltyScale(here.X).of(here.X_new) > NOVEL
    return novel


def _gallery_rows(output: Output, clouds: list[Cloud], points: Points) -> list[list[Cloud]]:
    """Known points above, new points below, the data first where they can be drawn."""
    if points.X.shape[1] == 3 and clouds:
        first = clouds[0]
        colors = (first.train_color, first.new_color)
        clouds = [Cloud("data", points.X, points.X_new, *colors, cyclic=first.cyclic), *clouds]
    wanted = {None: ("known", "new"), "known": ("known",), "new": ("new",), "both": ("both",)}.get(output.rows)
    if wanted is None:
        raise ConfigError(f"figure {output.figure}: rows is one of known, new, both; not {output.rows}")
    lines = []
    for part in wanted:
        line = []
        for cloud in clouds:
            nothing = np.empty((0, cloud.train.shape[1]))
            if cloud.message or part == "both":
                line.append(cloud)
            elif part == "known":
                line.append(Cloud(cloud.title, cloud.train, nothing, cloud.train_color, cyclic=cloud.cyclic))
            else:
                name = cloud.title if wanted == ("new",) else ""
                line.append(Cloud(name, nothing, cloud.new, None, cloud.new_color, cyclic=cloud.cyclic))
        lines.append(line)
    return lines


def _nothing() -> tuple[np.ndarray, np.ndarray]:
    return np.empty((0, 2)), np.empty((0, 2))


def function_output(output: Output, results: Results, group: list[Data], title: str = "") -> Figure:
    """The first coordinate as a function over the plane, at several values of a parameter (SOSI Fig. 2)."""
    experiment = results.experiment
    data = group[0]
    arm = (output.arms or list(experiment.arms_of(data)))[0]
    split = experiment.split_of(data)
    size = output.size[0] if output.size else split.sizes[0]
    points = split_points(experiment, data, size, output.repetition or 0, results.data_dir)
    if points.X.shape[1] != 2:
        raise ConfigError(f"figure {output.figure}: a function image needs points of the plane, not {data.label}")
    everything = np.vstack([points.X, points.X_new])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.15 * (high - low).max()
    extent = (low[0] - margin, high[0] + margin, low[1] - margin, high[1] + margin)
    step = max(extent[1] - extent[0], extent[3] - extent[2]) / PIXELS
    across, up = np.arange(extent[0], extent[1], step), np.arange(extent[2], extent[3], step)
    plane = np.column_stack([part.ravel() for part in np.meshgrid(across, up)])
    path = output.x or "extender.sigma"
    path = path if "." in path else f"extender.{path}"
    panels = []
    limit = 1.0
    for value in output.values or [None]:
        changes = {} if value is None else {path: value}
        result = run_place(experiment, Replay(data, arm, size), points, changes)
        assert result.placed is not None
        stage = "extender" if "extender" in result.placed.fits else "embedding"
        image = result.placed.fits[stage].estimator.transform(plane)[:, 0].reshape(len(up), len(across))
        limit = float(np.abs(result.placed.known[:, 0]).max())
        name = {"sigma": "σ"}.get(path.split(".")[-1], path.split(".")[-1])
        panels.append((arm if value is None else f"{name} = {value}", image))
    classes = np.zeros(len(points.X), dtype=int) if points.y is None else points.y
    notes = [f"white: +{limit:.3g}, black: −{limit:.3g}; line: f = 0", *results.notes([data]), output.note]
    return function_figure(
        panels,
        extent=extent,
        points=points.X,
        classes=classes,
        others=points.X_new,
        limit=limit,
        title=title,
        notes=notes,
    )


def colors_of(points: Points, class_names: tuple[str, ...]) -> tuple[NDArray | None, NDArray | None, bool]:
    """What to colour points by: their class, else their first true parameter."""
    if points.y is not None and points.y_new is not None and len(class_names) > 1:
        names = np.array(class_names)
        return names[points.y], names[points.y_new], False
    for key, values in points.known_parameters.items():
        return values.astype(float), points.parameters[key].astype(float), key in ANGLES
    return None, None, False
