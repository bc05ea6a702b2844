"""Reads a YAML file into plain values and remembers the file and line of each, for errors that say where."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from manifold_oos.errors import ConfigError

Key = tuple[str | int, ...]
#: YAML 1.1 takes 1e-3 for a string: it wants a dot and a sign.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
PLAIN_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "map", "seq"}
MAX_NODES = 100_000


class Place(NamedTuple):
    """Where a value was written; line 0 for the command line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass
class Tree:
    """The values of a file and the place of each by its path."""

    values: Any
    places: dict[Key, Place] = field(default_factory=dict)

    def place(self, path: Sequence[str | int]) -> Place | None:
        """The place of a value, or of the closest thing around it."""
        for length in range(len(path), -1, -1):
            if tuple(path[:length]) in self.places:
                return self.places[tuple(path[:length])]
        return None


class _Reader(yaml.SafeLoader):
    """SafeLoader whose nodes are walked by hand."""


def read_tree(path: Path) -> Tree:
    """Read a YAML file and everything it includes.

    ``include: FILE`` or a list of files (relative to the including file) puts their values beneath those of the
    file: mappings are merged key by key, anything else is replaced.
    """
    return _read(path, ())


def set_values(tree: Tree, assignments: Iterable[str]) -> None:
    """Apply overrides of the command line, such as ``split.repetitions=3``."""
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        if not equals or not dotted.strip():
            raise ConfigError(f"--set {assignment}: write PATH=VALUE, such as split.repetitions=3")
        value = read_value(text, f"--set {dotted}")
        here = tree.values
        keys: list[str | int] = []
        parts = dotted.strip().split(".")
        for i, part in enumerate(parts):
            key: str | int = part
            if isinstance(here, list):
                if not part.isdigit() or int(part) >= len(here):
                    raise ConfigError(f"--set {dotted}: {part} is not an entry of a list of {len(here)}")
                key = int(part)
            elif not isinstance(here, dict):
                raise ConfigError(f"--set {dotted}: {'.'.join(parts[:i])} is {here!r}, which has no parts")
            keys.append(key)
            if i == len(parts) - 1:
                here[key] = value
            elif isinstance(here, dict):
                if not isinstance(here.get(key), dict | list):
                    # A bare name, such as extender: sosi, becomes {name: sosi} when a part of it is set.
                    here[key] = {"name": here[key]} if isinstance(here.get(key), str) else {}
                here = here[key]
            else:
                here = here[int(key)]
        _forget(tree.places, tuple(keys))
        tree.places[tuple(keys)] = Place(f"--set {dotted}", 0)


def read_value(text: str, where: str) -> Any:
    """One YAML value from the command line."""
    try:
        node = yaml.compose(text, Loader=_Reader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: {text!r} is not a YAML value ({_problem(error)})") from error
    return None if node is None else _Walk(where).value(node, ())


def _read(path: Path, parents: tuple[Path, ...]) -> Tree:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from error
    try:
        node = yaml.compose(text, Loader=_Reader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {_problem(error)}") from error
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{path}:1: a config is a mapping such as 'dataset: coil20'")
    walk = _Walk(str(path))
    values = walk.value(node, ())
    if walk.errors:
        raise ConfigError("\n".join(walk.errors))
    tree = Tree(values, walk.places)
    included = values.pop("include", [])
    place = tree.places.get(("include",))
    for name in reversed(included if isinstance(included, list) else [included]):
        other = path.parent / str(name)
        if other.resolve() in {parent.resolve() for parent in (*parents, path)}:
            raise ConfigError(f"{place}: include: {name} includes itself")
        if not other.is_file():
            raise ConfigError(f"{place}: include: {other}: no such file")
        tree = _merge(_read(other, (*parents, path)), tree)
    return tree


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error).splitlines()[0]


class _Walk:
    """Turns nodes into plain values."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[Key, Place] = {}
        self.errors: list[str] = []
        self.count = 0
        self.loader = _Reader("")

    def value(self, node: yaml.Node, path: Key) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise ConfigError(f"{self.file}: more than {MAX_NODES} values (aliases inside aliases?)")
        line = node.start_mark.line + 1
        self.places.setdefault(path, Place(self.file, line))
        if node.tag.removeprefix("tag:yaml.org,2002:") not in PLAIN_TAGS:
            raise ConfigError(f"{self.file}:{line}: {node.tag}: a config has plain values only")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        return self.scalar(node)

    def mapping(self, node: yaml.MappingNode, path: Key) -> dict[Any, Any]:
        own = [id(key) for key, _ in node.value]
        self.loader.flatten_mapping(node)  # the merge key <<
        result: dict[Any, Any] = {}
        first: dict[Any, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.errors.append(f"{self.file}:{key_node.start_mark.line + 1}: a key must be a word or a number")
                continue
            key = self.scalar(key_node)
            line = key_node.start_mark.line + 1
            if key in first and id(key_node) in own and first[key] in own:
                where = ".".join(map(str, (*path, key)))
                self.errors.append(f"{self.file}:{line}: {where}: the key is given twice; remove one")
            first[key] = id(key_node)
            for old in [place for place in self.places if place[: len(path) + 1] == (*path, key)]:
                del self.places[old]
            self.places[(*path, key)] = Place(self.file, line)
            result[key] = self.value(value_node, (*path, key))
        return result

    def scalar(self, node: yaml.Node) -> Any:
        if node.tag == "tag:yaml.org,2002:str" and not node.style and NUMBER.fullmatch(node.value):  # type: ignore[attr-defined]
            return float(node.value)
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            return self.loader.construct_object(node, deep=True)
        except yaml.YAMLError as error:
            raise ConfigError(f"{self.file}:{node.start_mark.line + 1}: {_problem(error)}") from error
        except ValueError as error:
            raise ConfigError(f"{self.file}:{node.start_mark.line + 1}: {node.value!r}: {error}") from error


def _merge(beneath: Tree, above: Tree) -> Tree:
    """The values of ``above`` over those of ``beneath``, mapping by mapping."""
    places = dict(beneath.places)

    def merge(low: Any, high: Any, path: Key) -> Any:
        if isinstance(low, Mapping) and isinstance(high, Mapping):
            merged = dict(low)
            for key, item in high.items():
                merged[key] = merge(low[key], item, (*path, key)) if key in low else item
                if key not in low:
                    _copy(above.places, places, (*path, key))
            return merged
        _forget(places, path)
        _copy(above.places, places, path)
        return high

    return Tree(merge(beneath.values, above.values, ()), places)


def _forget(places: dict[Key, Place], path: Key) -> None:
    for key in [key for key in places if key[: len(path)] == path]:
        del places[key]


def _copy(source: Mapping[Key, Place], target: dict[Key, Place], path: Key) -> None:
    target.update({key: place for key, place in source.items() if key[: len(path)] == path})
