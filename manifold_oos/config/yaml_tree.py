"""Reads a YAML file into plain values and remembers the file and line of each, for errors that say where."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from manifold_oos.config import limits
from manifold_oos.errors import ConfigError, shortened
from manifold_oos.resources import shipped

Key = tuple[str | int, ...]
#: YAML 1.1 takes 1e-3 for a string: it wants a dot and a sign.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
PLAIN_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "map", "seq"}
MERGE = "tag:yaml.org,2002:merge"


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
    """SafeLoader whose nodes are walked by hand, and which does not go deeper than a config needs."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > limits.DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"more than {limits.DEPTH} levels", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read_tree(path: Path) -> Tree:
    """Read a YAML file and everything it includes.

    ``include: FILE`` or a list of files (relative to the including file) puts their values beneath those of the
    file: mappings are merged key by key, claims are appended, anything else is replaced. What is included lies
    below the folder of the config or among the configs that ship.
    """
    return _Files(path).read(path, ())


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
                if part not in map(str, range(len(here))):
                    raise ConfigError(f"--set {dotted}: {part} is not an entry of a list of {len(here)}")
                key = int(part)
            elif not isinstance(here, dict):
                raise ConfigError(f"--set {dotted}: {'.'.join(parts[:i])} is {shortened(here)}, which has no parts")
            keys.append(key)
            if i == len(parts) - 1:
                _forget(tree.places, here.get(key) if isinstance(here, dict) else here[int(key)], tuple(keys))
                here[key] = value
            elif isinstance(here, dict):
                if not isinstance(here.get(key), dict | list):
                    # A bare name, such as extender: sosi, becomes {name: sosi} when a part of it is set.
                    here[key] = {"name": here[key]} if isinstance(here.get(key), str) else {}
                here = here[key]
            else:
                here = here[int(key)]
        tree.places[tuple(keys)] = Place(f"--set {dotted}", 0)


def read_value(text: str, where: str) -> Any:
    """One YAML value from the command line."""
    try:
        node = yaml.compose(text, Loader=_Reader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: {shortened(text)} is not a YAML value ({_problem(error)})") from error
    return None if node is None else _Walk(where).value(node, ())


class _Files:
    """The files of one config: where they may lie, and how many there are."""

    def __init__(self, config: Path) -> None:
        self.homes = (config.parent.resolve(), shipped("configs").resolve())
        self.count = 0

    def read(self, path: Path, parents: tuple[Path, ...]) -> Tree:
        tree = _one_file(path)
        included = tree.values.pop("include", [])
        place = tree.places.get(("include",))
        for name in reversed(included if isinstance(included, list) else [included]):
            other = self.found(path, name, place)
            if other.resolve() in {parent.resolve() for parent in (*parents, path)}:
                raise ConfigError(f"{place}: include: {name} includes itself")
            tree = _merge(self.read(other, (*parents, path)), tree)
        return tree

    def found(self, path: Path, name: Any, place: Place | None) -> Path:
        """The file that an include names."""
        if not isinstance(name, str) or "\0" in name or len(name) > 2 * limits.NAME:
            raise ConfigError(f"{place}: include: a file name or a list of them, not {shortened(name)}")
        other = path.parent / name
        self.count += 1
        if self.count > limits.INCLUDES:
            raise ConfigError(f"{place}: include: more than {limits.INCLUDES} files are included")
        if not any(other.resolve().is_relative_to(home) for home in self.homes):
            raise ConfigError(f"{place}: include: {other}: lies outside the folder of the config")
        if not other.is_file():
            raise ConfigError(f"{place}: include: {other}: no such file")
        return other


def _one_file(path: Path) -> Tree:
    try:
        if path.stat().st_size > limits.FILE_BYTES:
            raise ConfigError(f"{path}: a config has at most {limits.FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
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
    return Tree(values, walk.places)


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
        self.flat: dict[int, dict[Any, tuple[yaml.Node, yaml.Node]]] = {}

    def at(self, node: yaml.Node) -> str:
        return f"{self.file}:{node.start_mark.line + 1}"

    def value(self, node: yaml.Node, path: Key) -> Any:
        self.count += 1
        if self.count > limits.NODES:
            raise ConfigError(f"{self.at(node)}: more than {limits.NODES} values (aliases inside aliases?)")
        if len(path) > limits.DEPTH:
            raise ConfigError(f"{self.at(node)}: more than {limits.DEPTH} levels (an alias of itself?)")
        self.places.setdefault(path, Place(self.file, node.start_mark.line + 1))
        if node.tag.removeprefix("tag:yaml.org,2002:") not in PLAIN_TAGS:
            raise ConfigError(f"{self.at(node)}: {node.tag[:60]}: a config has plain values only")
        if isinstance(node, yaml.MappingNode):
            result = {}
            for key, (key_node, value_node) in self.pairs(node, path).items():
                self.places[(*path, key)] = Place(self.file, key_node.start_mark.line + 1)
                result[key] = self.value(value_node, (*path, key))
            return result
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        return self.scalar(node)

    def pairs(self, node: yaml.MappingNode, path: Key) -> dict[Any, tuple[yaml.Node, yaml.Node]]:
        """Key and value nodes by key, those of the merge key ``<<`` beneath the mapping's own; each node once."""
        if id(node) in self.flat:
            return self.flat[id(node)]
        merged = self.flat[id(node)] = {}  # what an alias of itself would find
        own: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.errors.append(f"{self.at(key_node)}: a key must be a word or a number")
                continue
            key = "<<" if key_node.tag == MERGE else self.scalar(key_node)
            if key in own:
                where = ".".join(map(str, (*path, key)))
                self.errors.append(f"{self.at(key_node)}: {where[:60]}: the key is given twice; remove one")
            own[key] = key_node, value_node
        if "<<" in own:
            _, source = own.pop("<<")
            for other in source.value if isinstance(source, yaml.SequenceNode) else [source]:
                if not isinstance(other, yaml.MappingNode):
                    raise ConfigError(f"{self.at(other)}: <<: takes a mapping or a list of them")
                merged |= {key: pair for key, pair in self.pairs(other, path).items() if key not in merged}
        merged |= own
        return merged

    def scalar(self, node: yaml.Node) -> Any:
        tag, text = node.tag.removeprefix("tag:yaml.org,2002:"), node.value
        if tag in ("int", "float") and len(text) > limits.NUMBER_LENGTH:
            raise ConfigError(f"{self.at(node)}: {shortened(text)}: a number of {len(text)} characters")
        if tag == "str" and not node.style and NUMBER.fullmatch(text):  # type: ignore[attr-defined]
            return float(text)
        if tag == "timestamp":
            return text
        if tag not in PLAIN_TAGS:
            raise ConfigError(f"{self.at(node)}: {node.tag[:60]}: a config has plain values only")
        try:
            return self.loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ConfigError(f"{self.at(node)}: {shortened(text)}: not a value of type {tag}") from error


def _merge(beneath: Tree, above: Tree) -> Tree:
    """The values of ``above`` over those of ``beneath``, mapping by mapping; claims one after the other."""
    places = dict(beneath.places)

    def merge(low: Any, high: Any, path: Key) -> Any:
        if isinstance(low, Mapping) and isinstance(high, Mapping):
            merged = dict(low)
            for key, item in high.items():
                merged[key] = merge(low[key], item, (*path, key)) if key in low else item
                if key not in low:
                    take(item, (*path, key), (*path, key))
            return merged
        if path == ("claims",) and isinstance(low, list) and isinstance(high, list):
            for i, item in enumerate(high):
                take(item, (*path, i), (*path, len(low) + i))
            return [*low, *high]
        _forget(places, low, path)
        take(high, path, path)
        return high

    def take(value: Any, source: Key, target: Key) -> None:
        for key in _paths(value):
            if (*source, *key) in above.places:
                places[(*target, *key)] = above.places[(*source, *key)]

    return Tree(merge(beneath.values, above.values, ()), places)


def _paths(value: Any, path: Key = ()) -> Iterator[Key]:
    """The path of a value and of everything in it."""
    yield path
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from _paths(item, (*path, key))


def _forget(places: dict[Key, Place], value: Any, path: Key) -> None:
    for key in _paths(value, path):
        places.pop(key, None)
