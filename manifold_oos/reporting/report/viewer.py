"""What the embedding viewer shows: kept coordinates, labels, iterations and thumbnails of the points."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.config.model import FIXED, Data
from manifold_oos.datasets.base import Dataset
from manifold_oos.engine.replay import Replay
from manifold_oos.engine.splits import DataRef, SplitRef
from manifold_oos.errors import DataError
from manifold_oos.metrics import ANGLES
from manifold_oos.reporting.report.blocks import Blocks, sprite
from manifold_oos.resources import shipped_configs
from manifold_oos.results.collect import Results
from manifold_oos.results.curves import chosen_values
from manifold_oos.results.tables import SIZE_NAMES

#: Coordinates to choose from, iterations of a slider, and values that one slider may have.
DIMENSIONS = 8
STEPS = 30
STEP_VALUES = 400_000


def make_viewer(results: Results, blocks: Blocks) -> dict[str, Any] | None:
    """Everything that the viewer of one experiment needs."""
    if not results.kept:
        return None
    sets = {data.label: _Set(results, data) for data in results.experiment.datasets}
    notes: list[str] = []
    used: dict[str, set[int]] = {}
    for key, path in results.kept.items():
        if not sets[key[1]].drawn:
            used.setdefault(key[1], set()).update(*_read(path, "known_index", "new_index").values())
    shown = {label: sets[label].describe(sorted(used.get(label, ())), blocks, notes) for label in sets}
    views: list[dict[str, Any]] = []
    for key, path in results.kept.items():
        if not blocks.full:
            views.append(_view(results, sets[key[1]], key, _read(path), blocks))
    if len(views) < len(results.kept):
        left = f"{len(results.kept) - len(views)} of {len(results.kept)}"
        notes.append(f"{left} kept embeddings are left out, to keep the page small")
    return {"views": views, "datasets": shown, "notes": notes}


def first_look(viewer: Mapping[str, Any], blocks: Blocks) -> dict[str, list[str]]:
    """What the controls of a viewer offer before the script runs, so that nothing moves when it does."""
    views = viewer["views"]
    here = [view for view in views if view["dataset"] == views[0]["dataset"]]
    shown = next((view for view in here if "steps" in view), here[0])
    return {
        "datasets": list(dict.fromkeys(view["dataset"] for view in views)),
        "arms": list(dict.fromkeys([shown["arm"], *(view["arm"] for view in here)])),
        "splits": [view["label"] for view in here if view["arm"] == shown["arm"]],
        "axes": [f"y{i + 1}" for i in range(blocks.found[shown["known"]]["shape"][1])],
        "classes": viewer["datasets"][shown["dataset"]]["classes"] if "new_labels" in shown else [],
    }


def _read(path: Path, *names: str) -> dict[str, NDArray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in names or file.files}


class _Set:
    """A data set of the config, loaded only if it is at hand and is the one that was run."""

    def __init__(self, results: Results, data: Data) -> None:
        self.results, self.data = results, data
        self.split = results.experiment.split_of(data)
        self.facts = results.facts.get(data.label)
        folder = None if results.data_dir is None else str(results.data_dir)
        self.ref = DataRef(data.label, data.name, data.options, folder, offline=True)
        self.drawn = self.split.kind == "draws" or self.split.redraw
        self.problem = ""
        self.loaded: Dataset | None = None
        if data.label in {key[1] for key in results.kept} and not self.drawn:
            try:
                self.loaded = self.ref.load()
            except DataError:
                self.problem = "its data are not at hand"
            if self.loaded is not None and self.facts and self.loaded.fingerprint != self.facts.fingerprint:
                self.loaded, self.problem = None, "its data are not those of the run"

    def describe(self, samples: list[int], blocks: Blocks, notes: list[str]) -> dict[str, Any]:
        """Class names, and of the samples their names and thumbnails."""
        label = self.data.label
        shown: dict[str, Any] = {"classes": list(self.facts.class_names) if self.facts else []}
        if self.problem:
            notes.append(f"{label}: no pictures of the points, for {self.problem}")
        if self.loaded is not None:
            sheet = None if blocks.full else sprite(self.loaded, samples)
            if sheet is not None:
                blocks.reserve(sheet["uri"])
                if len(sheet["samples"]) < len(samples):
                    few = f"{len(sheet['samples'])} of {len(samples)}"
                    notes.append(f"{label}: pictures of {few} points, evenly chosen, to keep the page small")
            shown["sprite"] = sheet
            shown["names"] = {i: self.loaded.names[i] for i in samples}
            blocks.reserve("".join(shown["names"].values()))
        return shown

    def colors(self, size: float, repetition: int, arrays: Mapping[str, NDArray]) -> dict[str, Any] | None:
        """The first true coordinate of the points, for sets without classes."""
        if "new_labels" in arrays:
            return None
        if self.loaded is not None:
            for name, column in self.loaded.parameters.items():
                return {"name": name, "known": column[arrays["known_index"]], "new": column[arrays["new_index"]]}
        if self.drawn:
            points = SplitRef(self.ref, self.split, size, repetition).points(None)
            for name, column in points.known_parameters.items():
                return {"name": name, "known": column, "new": points.parameters[name]}
        return None


def _view(
    results: Results, part: _Set, key: tuple[Any, ...], arrays: Mapping[str, NDArray], blocks: Blocks
) -> dict[str, Any]:
    """One arm on one split."""
    arm, label, size, repetition, selection = key
    chosen = json.loads(str(arrays["chosen"]))
    place = Replay(part.data, arm, size, repetition)
    wanted = chosen_values(results.rows, results.experiment, place, None if selection == FIXED else selection)
    view: dict[str, Any] = {
        "dataset": label,
        "arm": arm,
        "label": f"{SIZE_NAMES[part.split.kind]} {size:g}, split {repetition}"
        + (f", {selection}" if selection != FIXED else ""),
        "chosen": ", ".join(f"{path} = {_short(value)}" for path, value in chosen.items()),
        "other": bool(wanted) and wanted != chosen,
        "known": blocks.put(arrays["known"][:, :DIMENSIONS]),
        "new": blocks.put(arrays["new"][:, :DIMENSIONS]),
    }
    for name in ("known_index", "new_index", "known_labels", "new_labels", "predicted"):
        if name in arrays:
            view[name] = blocks.put(arrays[name])
    colors = part.colors(size, repetition, arrays)
    if colors is not None:
        view["color"] = {
            "name": colors["name"],
            "cyclic": colors["name"] in ANGLES,
            "known": blocks.put(colors["known"].astype(float)),
            "new": blocks.put(colors["new"].astype(float)),
        }
    if "step_coordinates" in arrays:
        view["steps"] = _steps(arrays, blocks)
    return view


def _steps(arrays: Mapping[str, NDArray], blocks: Blocks) -> dict[str, Any]:
    """Iterations, evenly thinned where they are many; the first and the last stay."""
    coordinates = arrays["step_coordinates"][:, :, :DIMENSIONS]
    room = max(2, min(STEPS, STEP_VALUES // max(1, coordinates[0].size)))
    kept = np.unique(np.linspace(0, len(coordinates) - 1, min(room, len(coordinates))).round().astype(int))
    steps: dict[str, Any] = {
        "numbers": arrays["step_numbers"][kept].tolist(),
        "coordinates": blocks.put(coordinates[kept].astype(float)),
        "final": bool(np.allclose(coordinates[-1], arrays["new"][:, :DIMENSIONS], rtol=1e-4, atol=1e-6)),
    }
    for name in ("labels", "confidence", "taken"):
        if f"step_{name}" in arrays:
            values = arrays[f"step_{name}"][kept]
            if name == "confidence":
                # ratios of any size, infinite for a point on a training point: their logarithm keeps its digits
                finite = np.nanmax(values, where=np.isfinite(values), initial=1.0)
                values = np.log10(np.clip(values, 1e-9, finite)).reshape(-1)
            steps[name] = blocks.put(values)
    return steps


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_short(item)}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def how_to_keep(name: str) -> str:
    """The command that keeps coordinates for the viewer.

    Examples
    --------
    >>> how_to_keep("quickstart")
    'moos run configs/quickstart.yaml --keep-embeddings'
    """
    config = f"configs/{name}.yaml" if f"{name}.yaml" in shipped_configs() else "YOUR_CONFIG.yaml"
    return f"moos run {config} --keep-embeddings"
