"""Turns an experiment into one that varies a single parameter of its arms."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from manifold_oos import registry
from manifold_oos.config import limits
from manifold_oos.config.dump import plain_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.names import check
from manifold_oos.config.places import all_lines
from manifold_oos.config.values import has_grid, is_by_dataset, is_grid, spread
from manifold_oos.config.views import patched
from manifold_oos.config.yaml_tree import read_value
from manifold_oos.errors import ConfigError, nearest
from manifold_oos.registry import KINDS, signature


def parse_values(values: str | None, range_: str | None) -> list[Any] | None:
    """The values of a sweep from the command line.

    Examples
    --------
    >>> parse_values(None, "0.1:10:3:log")
    [0.1, 1.0, 10.0]
    """
    if values is not None and range_ is not None:
        raise ConfigError("--values and --range: give one of the two")
    if values is not None:
        parsed = read_value(f"[{values}]", "--values")
        if not parsed:
            raise ConfigError("--values: at least one value is needed, such as 0.5,1,2")
        return list(parsed)
    if range_ is None:
        return None
    parts = range_.split(":")
    log = parts[-1] == "log"
    numbers = parts[:-1] if log else parts
    try:
        start, stop, count = float(numbers[0]), float(numbers[1]), int(numbers[2])
        if len(numbers) != 3 or not 2 <= count <= limits.GRID or not math.isfinite(start - stop):
            raise ValueError
    except (ValueError, IndexError):
        raise ConfigError(
            f"--range {range_}: write from:to:count or from:to:count:log, such as 0.1:10:20:log; "
            f"a count is 2 to {limits.GRID}"
        ) from None
    points = spread(start, stop, count, log)
    whole = all(point == int(point) for point in points) and "." not in range_
    return [int(point) for point in points] if whole else points


def sweepable(experiment: Experiment) -> dict[str, list[tuple[str, str]]]:
    """Every parameter that could be swept: the arms and stages that have it, by short name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for arm, spec in experiment.shown.items():
        for stage, method in spec.methods().items():
            for parameter in signature(registry.find(KINDS[stage], method.name)):
                found.setdefault(parameter, []).append((arm, stage))
    return found


def targets(experiment: Experiment, name: str) -> list[tuple[str, str, str]]:
    """The arms and stages whose parameter a name means."""
    known = sweepable(experiment)
    arms = list(experiment.shown)
    wanted_arm = next((arm for arm in arms if name.startswith(f"arms.{arm}.")), None)
    rest = name.removeprefix(f"arms.{wanted_arm}.") if wanted_arm else name
    wanted_stage = next((stage for stage in KINDS if rest.startswith(f"{stage}.")), None)
    path = rest.removeprefix(f"{wanted_stage}.") if wanted_stage else rest
    hits = [
        (arm, stage, path)
        for arm, stage in known.get(path.split(".")[0], [])
        if wanted_arm in (None, arm) and wanted_stage in (None, stage)
    ]
    # One curve per arm: a short name that several stages have means the extender's, then the embedding's.
    order = ("extender", "embedding", "classifier")
    first = {arm: min((s for a, s, _ in hits if a == arm), key=order.index) for arm, _, _ in hits}
    hits = [hit for hit in hits if hit[1] == first[hit[0]]]
    if not hits:
        full = [f"arms.{arm}.{stage}.{key}" for key, places in known.items() for arm, stage in places]
        listed = "; ".join(
            f"{key} ({', '.join(sorted({arm for arm, _ in places}))})" for key, places in known.items()
        )
        hint = nearest(name, full if name.startswith("arms.") else known)
        raise ConfigError(f"--param {name}: no arm has it; {hint}\nparameters of this config: {listed}")
    return hits


def make_sweep(experiment: Experiment, name: str, values: Sequence[Any] | None = None) -> Experiment:
    """The experiment whose arms are those that have a parameter, with that parameter over a grid.

    Other grids of these arms keep their default. A number that a method wants beside the parameter, such as R̂
    beside the σ of an interpolator, is drawn on a second axis.
    """
    hits = targets(experiment, name)
    tree = {
        key: value
        for key, value in plain_config(experiment).items()
        if key not in ("published", "readings", "claims")
    }
    arms: dict[str, dict[str, Any]] = {}
    beside: list[str] = []
    swept: list[Any] = []
    for arm, stage, path in hits:
        method = getattr(experiment.arms[arm], stage)
        cls: Any = registry.find(KINDS[stage], method.name)
        grid = list(values) if values is not None else declared(cls, path)
        if not grid:
            continue
        spec = arms.get(arm) or _settled(tree["arms"][arm])
        arms[arm] = patched(spec, {f"{stage}.{path}": {"grid": grid}})
        swept += [
            next(iter(item.values())) if isinstance(item, Mapping) and len(item) == 1 else item for item in grid
        ]
        beside += [text for key, text in getattr(cls, "sweep_metrics", {}).items() if path.split(".")[0] == key]
    if not arms:
        raise ConfigError(f"--param {name}: {hits[0][1]} declares no grid for it; give --values or --range")
    x = hits[0][2]
    metrics = list(dict.fromkeys([*experiment.metrics, *beside]))
    numbers = [value for value in swept if isinstance(value, int | float) and not isinstance(value, bool)]
    log = len(numbers) > 2 and min(numbers) > 0 and max(numbers) / min(numbers) >= 20
    figure = {"figure": f"sweep of {x}", "kind": "curve", "x": x, "log": log, "metric": experiment.metrics[0]}
    tree |= {
        "title": f"{experiment.title or experiment.name}: sweep of {name}",
        "arms": arms,
        "metrics": metrics,
        "selection": ["best"],
        "outputs": [
            {"table": f"sweep of {x}", "columns": x},
            figure | ({"second": beside[0]} if beside else {}),
        ],
    }
    findings = check(tree)
    if findings:
        raise ConfigError(all_lines(None, findings))
    slug = re.sub(r"[^\w+-]+", "_", name)
    return Experiment.model_validate(tree).named(f"{experiment.name}/sweep_{slug}", experiment.path)


def declared(cls: Any, path: str) -> list[Any]:
    """The grid that a method declares for a parameter, in the unit of a path such as ``sigma.median``."""
    first, _, part = path.partition(".")
    values = list(getattr(cls, "grids", {}).get(first, ()))
    if part:
        values = [value[part] for value in values if isinstance(value, Mapping) and part in value]
    return values


def _settled(value: Any) -> Any:
    """An arm with its own grids at their defaults."""
    if is_grid(value):
        inner = value["grid"]
        if "default" in value:
            return value["default"]
        return inner[len(inner) // 2] if isinstance(inner, list) else inner["from"]
    if is_by_dataset(value) and has_grid(value):
        return {"by_dataset": {key: _settled(item) for key, item in value["by_dataset"].items()}}
    if isinstance(value, Mapping):
        return {key: _settled(item) for key, item in value.items()}
    return value
