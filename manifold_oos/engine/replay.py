"""Coordinates of one arm on one split, computed anew from the config and the chosen parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manifold_oos.config.model import FIXED, Data, Experiment
from manifold_oos.engine.arm_run import ArmRun, Request, Result
from manifold_oos.engine.fits import Workbench
from manifold_oos.engine.plan import Plan
from manifold_oos.engine.splits import DataRef, Points, SplitRef


@dataclass(frozen=True)
class Replay:
    """An arm on one split of a data set, with the values of its grids."""

    data: Data
    arm: str
    size: float
    repetition: int = 0
    chosen: Mapping[str, Any] | None = None


def kept_coordinates(plan: Plan, folder: Path | None) -> dict[tuple[Any, ...], Path]:
    """The files of coordinates that a run kept and that belong to its present lines."""
    paths = [] if folder is None else sorted(folder.glob("embeddings/*.npz"))
    files = {path.stem.rsplit("-", 1)[-1]: path for path in paths}
    return {
        (line.arm, line.dataset, line.size, line.repetition, line.selection): files[line.key]
        for line in plan.lines
        if line.key in files
    }


def split_points(
    experiment: Experiment, data: Data, size: float, repetition: int, data_dir: Path | None = None
) -> Points:
    """The known and new points of a split, as a run sees them."""
    ref = DataRef(data.label, data.name, data.options, None if data_dir is None else str(data_dir))
    split = SplitRef(ref, experiment.split_of(data), size, repetition)
    return split.points(None if split.drawn else ref.load())


def read_kept(
    kept: Mapping[tuple[Any, ...], Path], place: Replay, selection: str | None
) -> dict[str, NDArray] | None:
    """Kept coordinates of an arm on a split, if they are of the parameters that are shown."""
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
    place: Replay,
    points: Points,
    changes: Mapping[str, Any] | None = None,
) -> Result:
    """Run an arm on points."""
    arm = experiment.arms[place.arm]
    for path, value in (changes or {}).items():
        stage, parameter = path.split(".", 1)
        arm = arm.model_copy(update={stage: arm.methods()[stage].with_(**{parameter: value})})
    run = ArmRun(Request(arm), Workbench(points))
    chosen = place.chosen or {}
    assignment = {path: chosen.get(path, grid.default) for path, grid in run.settled.grids.items()}
    with threadpool_limits(1):
        return run.run(assignment, ())
