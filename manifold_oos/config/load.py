"""From a YAML file to a validated experiment, or to every mistake in it at once with file, line and key."""

import hashlib
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from manifold_oos.config import limits
from manifold_oos.config.model import STAGES, Experiment, expand
from manifold_oos.config.names import check
from manifold_oos.config.places import all_lines
from manifold_oos.config.subset import stated_splits
from manifold_oos.config.yaml_tree import Key, Tree, read_tree, set_values
from manifold_oos.errors import ConfigError, nearest, shortened
from manifold_oos.resources import shipped, shipped_configs

#: What a results root has beside the folders of experiments.
ROOT_FOLDERS = ("archive", "reference")
#: How the folder of a run with other values than the config's begins.
OVERRIDDEN = "set_"


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Experiment:
    """Read, override and validate a config.

    Parameters
    ----------
    path : path
        A YAML file; ``configs/quickstart.yaml`` also finds the file that ships with the package.
    overrides : iterable of str
        As ``--set`` takes them: ``split.repetitions=3``.

    Returns
    -------
    Experiment
        With ``name`` and ``path`` set. Mistakes are one :class:`ConfigError` with a line for each.
    """
    file = find_config(path)
    tree = read_tree(file)
    set_values(tree, overrides)
    return validate(tree, name=config_name(file), path=file)


def load_overridden(target: str | Path, overrides: Iterable[str] = ()) -> Experiment:
    """A config; with other values it has a folder of its own, and the paper's splits stay those of the file."""
    overrides = tuple(overrides)
    experiment = load_config(target, overrides)
    if not overrides:
        return experiment
    if experiment.published:
        experiment.published = stated_splits(load_config(target))
    slug = re.sub(r"[^A-Za-z0-9.=]+", "_", "_".join(overrides)).strip("_")
    if len(slug) > 60:
        slug = f"{slug[:50]}_{hashlib.sha256(slug.encode()).hexdigest()[:8]}"
    return experiment.named(f"{experiment.name}/{OVERRIDDEN}{slug}", experiment.path)


def find_config(path: str | Path) -> Path:
    """The file that a person means by a path."""
    path = Path(path)
    if "\0" in str(path):
        raise ConfigError(f"{str(path)!r}: no such config")
    if path.is_file():
        return path
    parts = path.parts[1:] if path.parts[:1] == ("configs",) else path.parts
    known = shipped_configs()
    for name in (Path(*parts).as_posix() if parts else "", Path(*parts).as_posix() + ".yaml" if parts else ""):
        if name in known:
            return shipped("configs") / name
    hint = nearest(path, [f"configs/{name}" for name in known])
    if hint.startswith("known:"):
        hint = "moos list configs shows those that ship"
    raise ConfigError(f"{path}: no such config; {hint}")


def config_name(file: Path) -> str:
    """The name of the results folder: the path below the nearest ``configs`` folder, or the stem alone.

    Examples
    --------
    >>> config_name(Path("configs/nsse/tables.yaml")), config_name(Path("mine.yaml"))
    ('nsse/tables', 'mine')
    """
    file = file.resolve()
    parts = [*file.parent.parts, file.stem]
    home = next((folder for folder in ("_configs", "configs") if folder in parts[:-1]), None)
    parts = parts[len(parts) - parts[::-1].index(home) :] if home else parts[-1:]
    parts = [re.sub(r"[^\w.,+=()-]+", "_", part) for part in parts]
    taken = parts[0] in ROOT_FOLDERS or parts[0].startswith("store.sqlite")
    if taken or any(part.strip(".") != part or len(part) > limits.NAME for part in parts):
        raise ConfigError(
            f"{file}: {'/'.join(parts)[:60]} cannot be a folder of results; give the file another name"
        )
    return "/".join(parts)


def validate(tree: Tree, name: str = "experiment", path: Path | None = None) -> Experiment:
    """Validate values that were read before."""
    long = expand(tree.values)
    found: list[tuple[Key, str]] = []
    experiment = None
    try:
        experiment = Experiment.model_validate(tree.values)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            location = _real(item["loc"])
            found.append((location, _words(item, location)))
    named = check(long)
    if any(mistake.path[0] == "readings" for mistake in named):  # which say where; the model knows only that
        found = [(location, words) for location, words in found if location]
    found += named
    if found or experiment is None:
        raise ConfigError(all_lines(tree, found))
    return experiment.named(name, path, tree)


def _real(location: Sequence[str | int]) -> Key:
    """A location without the marks that pydantic adds for gathered keys, unions and dictionary keys."""
    marks = ("parameters", "options", "[key]")
    return tuple(part for part in location if part not in marks and not str(part).startswith(("dict[", "list[")))


def _words(item: Mapping[str, Any], location: Key) -> str:
    """A pydantic error in the words of this project."""
    kind, value = item["type"], item.get("input")
    if kind == "extra_forbidden":
        known = _fields_at(location[:-1])
        if len(location) == 1:
            known += ["include", "dataset", *STAGES]
        return f"no such key; {nearest(location[-1], known)}"
    if kind == "missing":
        return "is missing" if location else "a config needs datasets and arms"
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    message = str(item["msg"]).removeprefix("Input should be ")
    whole = str(item["msg"])
    return f"must be {message}, not {shortened(value)}" if whole.startswith("Input should be") else whole


def _fields_at(path: Key) -> list[str]:
    """The keys that the model at a path of the config knows."""
    model: type[BaseModel] | None = Experiment
    skip = 0
    for part in path:
        if isinstance(part, int):
            continue
        if skip:
            skip -= 1
        elif model and part in model.model_fields:
            annotation = model.model_fields[part].annotation
            model = _model_in(annotation)
            skip = 1 if typing.get_origin(annotation) is dict else 0
    return list(model.model_fields) if model else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in typing.get_args(annotation):
        found = _model_in(argument)
        if found:
            return found
    return None
