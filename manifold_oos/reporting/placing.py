"""Coordinates of one arm on one split, computed anew from the config and the chosen parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manifold_oos.experiment.arms import Arm, Request, Result
from manifold_oos.experiment.config import Data, Experiment
from manifold_oos.experiment.metrics import ANGLES
from manifold_oos.experiment.plan import Plan
from manifold_oos.experiment.splits import DataRef, Points, SplitRef
from manifold_oos.experiment.workbench import Workbench
from manifold_oos.reporting.cells import FIXED, final_rows
from manifold_oos.reporting.views import protocol_rows


@dataclass(frozen=True)
class Place:
    """An arm on one split of a data set, with the values of its grids."""

    data: Data
    arm: str
    size: float
    repetition: int = 0
    chosen: Mapping[str, Any] | None = None


def kept_coordinates(plan: Plan, folder: Path | None) -> dict[tuple[Any, ...], Path]:
    """The files of coordinates that a run kept and that belong to its present lines.

    Parameters
    ----------
    plan : Plan
        Of the experiment.
    folder : Path or None
        Of its files.

    Returns
    -------
    dict
        By arm, data set, size, repetition and selection.
    """
    paths = [] if folder is None else sorted(folder.glob("embeddings/*.npz"))
    files = {path.stem.rsplit("-", 1)[-1]: path for path in paths}
    return {
        (line.arm, line.dataset, line.size, line.repetition, line.selection): files[line.key[:6]]
        for line in plan.lines
        if line.key[:6] in files
    }


def split_points(
    experiment: Experiment, data: Data, size: float, repetition: int, data_dir: Path | None = None
) -> Points:
    """The known and new points of a split, as a run sees them.

    Parameters
    ----------
    experiment : Experiment
        The config.
    data : Data
        One of its data sets.
    size : float
        One of the sizes of its split.
    repetition : int
        From 0.
    data_dir : Path, optional
        Where the data are.

    Returns
    -------
    Points
        Both parts.
    """
    ref = DataRef(data.label, data.name, data.options, None if data_dir is None else str(data_dir))
    split = SplitRef(ref, experiment.split_of(data), size, repetition)
    return split.points(None if split.drawn else ref.load())


def chosen_values(
    rows: pd.DataFrame, experiment: Experiment, place: Place, selection: str | None
) -> dict[str, Any]:
    """The grid values that an arm was given on a split.

    Parameters
    ----------
    rows : DataFrame
        Rows of the store.
    experiment : Experiment
        The config.
    place : Place
        Arm and split.
    selection : str or None
        Protocol; None takes the first of the config.

    Returns
    -------
    dict of str to object
        By dotted path; empty where there are no rows or no grids.
    """
    mine = rows[(rows["arm"] == place.arm) & (rows["dataset"] == place.data.label)]
    mine = mine[np.isclose(mine["size"].to_numpy(dtype=float), place.size)]
    if mine.empty:
        return {}
    metric = mine["metric"].iloc[0] if experiment.metrics[0] not in set(mine["metric"]) else experiment.metrics[0]
    mine = protocol_rows(final_rows(mine[mine["metric"] == metric]), experiment, selection)
    here = mine[mine["repetition"] == place.repetition]
    return dict(json.loads((here if len(here) else mine)["chosen"].iloc[0])) if len(mine) else {}


def read_kept(
    kept: Mapping[tuple[Any, ...], Path], place: Place, selection: str | None
) -> dict[str, NDArray] | None:
    """Kept coordinates of an arm on a split, if they are of the parameters that are shown.

    Parameters
    ----------
    kept : mapping
        From :func:`kept_coordinates`.
    place : Place
        Arm, split and grid values.
    selection : str or None
        Protocol; None takes any.

    Returns
    -------
    dict of str to ndarray, or None
        ``known``, ``new``, ``known_labels``, ``new_labels``, ``predicted`` and more, as a run keeps them.
    """
    here = (place.arm, place.data.label, place.size, place.repetition)
    for key, path in kept.items():
        if key[:4] == here and (selection is None or key[4] in (selection, FIXED)):
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            if json.loads(str(arrays["chosen"])) == dict(place.chosen or {}):
                return arrays
    return None


def run_place(
    experiment: Experiment,
    place: Place,
    points: Points,
    changes: Mapping[str, Any] | None = None,
) -> Result:
    """Run an arm on points.

    Parameters
    ----------
    experiment : Experiment
        The config.
    place : Place
        The arm and its grid values; a grid without a value takes its default.
    points : Points
        Known and new points.
    changes : mapping of str to object, optional
        Parameters to replace, by ``stage.parameter``.

    Returns
    -------
    Result
        With ``placed`` coordinates and, where the arm labels, ``outcome.labels``.
    """
    config = experiment.arms[place.arm]
    stages = {
        stage: {"name": method.name, "parameters": dict(method.parameters)}
        for stage, method in config.methods().items()
    }
    for path, value in (changes or {}).items():
        stage, parameter = path.split(".", 1)
        stages[stage]["parameters"][parameter] = value  # type: ignore[index]
    request = Request("", stages, config.batch, "fixed", {}, {}, experiment.metrics[0], ())
    arm = Arm(request, Workbench(points))
    chosen = place.chosen or {}
    assignment = {path: chosen.get(path, grid.default) for path, grid in arm.grids.items()}
    with threadpool_limits(1):
        return arm.run(assignment, ())


def colors_of(points: Points, class_names: tuple[str, ...]) -> tuple[NDArray | None, NDArray | None, bool]:
    """What to colour points by: their class, else their first true parameter.

    Parameters
    ----------
    points : Points
        Of a split.
    class_names : tuple of str
        Of the data set.

    Returns
    -------
    known, new : ndarray or None
        Class names, or numbers for a colour scale.
    cyclic : bool
        Whether the numbers are angles.
    """
    if points.y is not None and points.y_new is not None and len(class_names) > 1:
        names = np.array(class_names)
        return names[points.y], names[points.y_new], False
    for key, values in points.known_parameters.items():
        return values.astype(float), points.parameters[key].astype(float), key in ANGLES
    return None, None, False
