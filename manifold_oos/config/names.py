"""Checks a config against the methods and data sets it names, before anything is loaded or run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from manifold_oos import registry
from manifold_oos.config import limits
from manifold_oos.config.model import STAGES, Arm, CrossValidation, Data
from manifold_oos.config.values import (
    OPEN_KEYS,
    RANGE_KEYS,
    Facts,
    is_by_dataset,
    is_grid,
    is_number,
    literals,
    settle,
)
from manifold_oos.config.views import KINDS_OF_KEY, POINTS, changes_of, listed, mapped, patched
from manifold_oos.datasets import find as find_dataset
from manifold_oos.errors import ConfigError, nearest, shortened
from manifold_oos.metrics import METRICS
from manifold_oos.outlines import Outline, extends, outline
from manifold_oos.registry import KINDS

Path = tuple[str | int, ...]


class Mistake(NamedTuple):
    """A mistake and the path of the key that has it."""

    path: Path
    message: str


def check(tree: Mapping[str, Any]) -> list[Mistake]:
    """Everything wrong with the names and parameters of a config in its long form."""
    sets = tree["datasets"] if isinstance(tree.get("datasets"), list) else []
    whole = [item if isinstance(item, Mapping) else {"name": item} for item in sets]
    labels = [str(item.get("label") or item.get("name")) for item in whole]
    found = [mistake for i, item in enumerate(whole) for mistake in _data(("datasets", i), item)]
    for path, arm in _parts(tree, "arms"):
        found += _arm(path, arm, labels)
    for path, reading in _parts(tree, "readings"):
        if isinstance(reading.get("set"), Mapping):
            found += _patches((*path, "set"), reading, tree, labels)
    arms = [str(name) for name in _mapping(tree.get("arms"))]
    return [*found, *_outputs(tree), *_references(tree, labels, arms)]


def _mapping(value: Any) -> Mapping[Any, Any]:
    """A mapping as it is; whatever else stands there is told by the models."""
    return value if isinstance(value, Mapping) else {}


def _parts(tree: Mapping[str, Any], section: str) -> list[tuple[Path, Mapping[str, Any]]]:
    """The entries of a section that are mappings, with their paths."""
    value = tree.get(section)
    pairs = enumerate(value) if isinstance(value, list) else _mapping(value).items()
    return [((section, key), entry) for key, entry in pairs if isinstance(entry, Mapping)]


def _data(path: Path, whole: Mapping[str, Any]) -> Iterator[Mistake]:
    name = whole.get("name")
    if not isinstance(name, str):
        return
    try:
        loader = find_dataset(name)
    except ConfigError as error:
        yield Mistake((*path, "name"), str(error))
        return
    options = {key: value for key, value in whole.items() if key not in ("name", "label", "split", "stand_in")}
    known = loader.defaults() or options  # nothing is known of a class that is not imported
    for key in options:
        if key not in known:
            hint = nearest(key, [*known, "label", "split", "stand_in"])
            yield Mistake((*path, key), f"no such option of {name}; {hint} (moos describe {name})")
    try:
        loader.check({key: value for key, value in options.items() if key in known})
    except ConfigError as error:
        yield Mistake(path, str(error))


def _arm(path: Path, arm: Mapping[str, Any], labels: list[str]) -> Iterator[Mistake]:
    found: dict[str, tuple[str, Outline]] = {}
    for stage in STAGES:
        if arm.get(stage) is not None:
            yield from _method((*path, stage), stage, arm[stage], found, labels)
    if "embedding" in found and "extender" in found:
        embedding, extender = found["embedding"][0], found["extender"][0]
        if not extends(extender, embedding):
            good = [other for other in registry.index("extenders") if extends(other, embedding)]
            names = f"{found['extender'][1].name} does not extend {found['embedding'][1].name}"
            yield Mistake((*path, "extender"), f"{names}; those that do: {', '.join(good)}")
    alone = "embedding" in found and arm.get("extender") is None and not arm.get("batch")
    if alone and not found["embedding"][1].maps:
        yield Mistake((*path, "embedding"), "has no map for new points: add an extender (moos list extenders)")


def _patches(
    path: Path, reading: Mapping[str, Any], tree: Mapping[str, Any], labels: list[str]
) -> Iterator[Mistake]:
    """What is wrong with what a reading changes, and was not before."""
    arms = _mapping(tree.get("arms"))
    for key in reading["set"]:
        if str(key).split(".")[0] not in (*STAGES, "datasets") and not str(key).startswith(("dataset.", "cv.")):
            what = f"{', '.join(STAGES)} (or stage.parameter) or datasets of an arm, dataset.OPTION or cv.KEY"
            yield Mistake((*path, key), f"a reading changes {what}")
            return
    of_data, of_cv, changes = (changes_of(part, reading["set"]) for part in ("dataset", "cv", "arm"))
    for mistake in _invalid(CrossValidation, of_cv):
        yield Mistake((*path, f"cv.{next(iter(of_cv))}"), mistake.message)
        return
    for item in listed(tree.get("datasets")) if of_data else []:
        whole = item if isinstance(item, Mapping) else {"name": item}
        before = {mistake.message for mistake in _data((), whole)}
        wrong = [mistake for mistake in _data((), patched(whole, of_data)) if mistake.message not in before]
        wrong += _invalid(Data, patched(whole, of_data))
        for mistake in wrong[:1]:
            yield Mistake((*path, *(f"dataset.{key}" for key in mistake.path)), mistake.message)
            return
    if not changes:
        return
    yield from _unknown((*path, "datasets"), changes.get("datasets"), labels, "data set")
    measured = mapped(reading.get("arms"))
    for name in measured.values() if isinstance(measured, Mapping) else []:
        arm = arms.get(str(name))
        if not isinstance(arm, Mapping):
            continue
        missing = [key for key in changes if "." in str(key) and arm.get(str(key).split(".")[0]) is None]
        if missing:
            yield Mistake((*path, missing[0]), f"{name} has no {str(missing[0]).split('.')[0]} to change")
            continue
        for mistake in _invalid(Arm, patched(arm, changes)):
            yield Mistake(path, f"{name}: {mistake.message}")
            return
        before = {mistake.message for mistake in _arm((), arm, labels)}
        for mistake in _arm((), patched(arm, changes), labels):
            if mistake.message not in before:
                where = ".".join(map(str, mistake.path))
                key = next((key for key in changes if where.startswith(str(key))), next(iter(changes)))
                yield Mistake((*path, key), f"{name}: {mistake.message}")
                return


def _invalid(model: type[BaseModel], plain: Mapping[str, Any]) -> list[Mistake]:
    try:
        model.model_validate(plain)
    except ValidationError as error:
        return [Mistake((), str(error.errors()[0]["msg"]).removeprefix("Value error, "))]
    return []


def _method(
    path: Path, stage: str, given: Any, found: dict[str, tuple[str, Outline]], labels: list[str]
) -> Iterator[Mistake]:
    """Check a method of an arm, or one that a method is given by name; its name and outline go to ``found``."""
    method = given if isinstance(given, Mapping) else {"name": given}
    name = method.get("name")
    if not isinstance(name, str):
        yield Mistake(path, f"say which {stage}: a name, or a mapping with one (moos list {KINDS[stage]})")
        return
    try:
        known = outline(KINDS[stage], name)
    except ConfigError as error:
        yield Mistake(path, str(error))
        return
    found[stage] = name, known
    parameters = {key: value for key, value in method.items() if key != "name"}
    yield from _parameters(path, name, known, parameters, labels)


def _parameters(
    path: Path, name: str, method: Outline, parameters: Mapping[str, Any], labels: list[str]
) -> Iterator[Mistake]:
    known = dict(parameters) if method.parameters is None else method.parameters
    for key, value in parameters.items():
        if key not in known:
            yield Mistake(
                (*path, key), f"no such parameter of {name}; {nearest(key, known)} (moos describe {name})"
            )
            continue
        if key in KINDS and isinstance(value, str | Mapping):
            yield from _method((*path, key), key, value, {}, labels)
            continue
        shape = list(_shape((*path, key), value, labels))
        for literal in literals(value) if key.endswith("sigma") and not shape else ():
            if isinstance(literal, Mapping) and "median" not in literal:
                shape.append(Mistake((*path, key), "a width in other units is {median: 1.5}, in median distances"))
        yield from shape
        if shape or key not in method.limits:
            continue
        for literal in literals(value):
            if not any(limit.allows(literal) for limit in method.limits[key]):
                *most, last = (limit.text for limit in method.limits[key])
                wanted = f"{', '.join(most)} or {last}" if most else last
                yield Mistake((*path, key), f"must be {wanted}. Got {literal!r} instead (moos describe {name})")
                break
    for key, default in known.items():
        if default == "" and key not in parameters:
            yield Mistake(path, f"{name} needs {key} (moos describe {name})")


def _shape(path: Path, value: Any, labels: list[str]) -> Iterator[Mistake]:
    """Whether the open values inside a value are written as they should be."""
    if is_by_dataset(value):
        if not isinstance(value["by_dataset"], Mapping) or len(value) > 1:
            yield Mistake(path, "by_dataset maps labels of data sets (and default) to values, and stands alone")
            return
        for key, item in value["by_dataset"].items():
            yield from _unknown((*path, "by_dataset", key), str(key), [*labels, "default"], "data set")
            yield from _shape((*path, "by_dataset", key), item, labels)
    elif is_grid(value):
        inner = value["grid"]
        for key in value:
            if key not in OPEN_KEYS:
                yield Mistake((*path, key), f"no such key of a grid; {nearest(key, ['grid', 'default'])}")
        if isinstance(inner, Mapping):
            wrong = [key for key in inner if key not in RANGE_KEYS]
            if wrong or not {"from", "to"} <= set(inner) or ("step" in inner) == ("count" in inner):
                yield Mistake(
                    path, "a grid is a list, or {from: 1, to: 10, step: 1}, or {from: 1, to: 10, count: 4}"
                )
            elif not any(isinstance(inner[key], str) for key in ("from", "to")):  # sizes are known with the data
                try:
                    settle(value, Facts("", 2, 2, 2))
                except ConfigError as error:
                    yield Mistake(path, str(error))
        elif not isinstance(inner, list) or not inner:
            yield Mistake(path, "a grid is a list of values with at least one")
        elif len(inner) > limits.GRID:
            yield Mistake(path, f"more than {limits.GRID} values in one grid")
        else:
            for i, item in enumerate(inner):
                yield from _shape((*path, "grid", i), item, labels)
    elif isinstance(value, Mapping):
        if "median" in value:  # the unit of kernel widths
            factors = list(literals(value["median"])) if not list(_shape(path, value["median"], labels)) else []
            if len(value) > 1 or not all(is_number(factor) and factor > 0 for factor in factors):
                yield Mistake(path, "{median: 1.5} takes a number above 0, and nothing beside it")
                return
        for key, item in value.items():
            yield from _shape((*path, key), item, labels)


def _outputs(tree: Mapping[str, Any]) -> Iterator[Mistake]:
    """Keys of tables and figures that do nothing for their kind, or say what it cannot do."""
    for home, entry in _parts(tree, "outputs"):
        kind = "table" if entry.get("table") is not None else entry.get("kind") or "curve"
        for key, value in entry.items():
            path = (*home, key)
            kinds = KINDS_OF_KEY.get(key, [kind])
            if kind not in kinds:
                what = "table" if kind == "table" else f"figure of kind {kind}"
                yield Mistake(path, f"does nothing in a {what}; it belongs to {', '.join(kinds)}")
            elif key == "columns" and isinstance(value, str) != (kind == "table"):
                wanted = "size, dataset or a parameter" if kind == "table" else "how many panels stand in a row"
                yield Mistake(path, f"says {wanted}, not {shortened(value)}")
            elif key == "size" and kind in POINTS and len(listed(value)) > 1:
                yield Mistake(path, "the points of one split are drawn: give one size")
            elif key == "x" and kind == "pareto":
                yield from _unknown(path, value, METRICS, "metric")


def _unknown(path: Path, names: Any, known: Iterable[str], what: str) -> Iterator[Mistake]:
    known = list(known)
    for name in names if isinstance(names, list) else [names]:
        if isinstance(name, str) and name not in known:
            yield Mistake(path, f"no {what} {name}; {nearest(name, known)}")


def _references(tree: Mapping[str, Any], labels: list[str], arms: list[str]) -> Iterator[Mistake]:
    """Names of data sets, arms and metrics in the rest of the config."""
    metrics = list(METRICS)
    yield from _unknown(("metrics",), tree.get("metrics"), metrics, "metric")
    for path, arm in _parts(tree, "arms"):
        yield from _unknown((*path, "datasets"), arm.get("datasets"), labels, "data set")
    selection = tree.get("selection")
    protocols = {"train_only"} if selection is None else set()
    for item in selection if isinstance(selection, list) else []:
        protocols |= {str(item.get("name", next(iter(item), "")))} if isinstance(item, Mapping) else {str(item)}
    yield from _unknown(("cv", "metric"), _mapping(tree.get("cv")).get("metric"), metrics, "metric")
    for section in ("outputs", "claims", "published"):
        for path, entry in _parts(tree, section):
            yield from _unknown((*path, "selection"), entry.get("selection"), protocols, "protocol")
            yield from _unknown((*path, "dataset"), entry.get("dataset"), labels, "data set")
            for key in ("metric", "second", "alike"):
                yield from _unknown((*path, key), entry.get(key), metrics, "metric")
            for key in ("arms", "arm", "left", "right", "best", "among", "minus"):
                yield from _unknown((*path, key), entry.get(key), arms, "arm")
    for path, entry in _parts(tree, "readings"):
        yield from _unknown((*path, "metric"), entry.get("metric"), metrics, "metric")
        for key, known, what in (("arms", arms, "arm"), ("datasets", labels, "data set")):
            names = entry.get(key)
            pairs = [*names, *names.values()] if isinstance(names, Mapping) else names
            yield from _unknown((*path, key), pairs, known, what)
    for home, block in _parts(tree, "published"):
        for metric, by_dataset in _mapping(block.get("values")).items():
            path = (*home, "values", metric)
            yield from _unknown(path, metric, metrics, "metric")
            for dataset, by_arm in _mapping(by_dataset).items():
                yield from _unknown((*path, dataset), dataset, labels, "data set")
                for arm in _mapping(by_arm):
                    yield from _unknown((*path, dataset, arm), arm, arms, "arm")
