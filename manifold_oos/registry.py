"""Finds methods by the name that configs use: every class with a ``name`` in the folder of its kind.

Dropping one file into ``embeddings/``, ``extenders/`` or ``classifiers/`` is all it takes to add a method; one
that lives elsewhere is named ``package.module:Class``.
"""

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal, NamedTuple

from manifold_oos.errors import ConfigError, DataError, nearest
from manifold_oos.remembered import remembered
from manifold_oos.resources import PACKAGE

#: The folder of each stage of an arm, which is also the word of ``moos list``.
KINDS = {"embedding": "embeddings", "extender": "extenders", "classifier": "classifiers"}
#: How a class of one's own is written in a config.
OWN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
#: Whether classes of one's own are imported: all of them, those of packages listed in MOOS_TRUST, or none.
Trust = Literal["all", "listed", "none"]
_trust: ContextVar[Trust] = ContextVar("trust", default="all")


@contextmanager
def trusting(trust: Trust) -> Iterator[None]:
    """Say whose code is run: ``package.module:Class`` of a config is imported, refused, or an :class:`Opaque`."""
    token = _trust.set(trust)
    try:
        yield
    finally:
        _trust.reset(token)


def trust_in(config: Path, trusted: bool = False) -> Trust:
    """What a run may import for a config: everything if it lies in the current folder or the person says so."""
    return "all" if trusted or config.resolve().is_relative_to(Path.cwd()) else "listed"


class Opaque:
    """Stands for a class of one's own where it is not imported: nothing is known of it but its name."""

    note = ""

    @classmethod
    def supports(cls, embedding: Any) -> bool:
        """Whether it extends an embedding: shown when it runs."""
        return True

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Options are not known."""
        return {}

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options as they are given."""
        return dict(options)

    def __init__(self, **_: Any) -> None:
        raise DataError(f"{type(self).__module__}:{type(self).__name__}: only moos run and moos embed import it")

    def transform(self, X: Any) -> Any:
        """A map for new points: shown when it runs."""


class Indexed(NamedTuple):
    """Where a method is, and what its docstring says."""

    module: str
    cls: str
    doc: str


@cache
def index(kind: str) -> dict[str, Indexed]:
    """Every method of a kind by its config name, read from the files of its folder: nothing is imported.

    Examples
    --------
    >>> index("extenders")["rbf"].cls
    'RBFExtender'
    """
    return {name: Indexed(*entry) for name, entry in remembered("index", _read)[kind].items()}


def _read() -> dict[str, dict[str, Indexed]]:
    found: dict[str, dict[str, Indexed]] = {}
    for kind in (*KINDS.values(), "datasets"):
        named = {}
        for file in (PACKAGE / kind).glob("*.py"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and (name := _config_name(node)):
                    doc = ast.get_docstring(node) or ""
                    named[name] = Indexed(f"manifold_oos.{kind}.{file.stem}", node.name, doc)
        found[kind] = dict(sorted(named.items()))
    return found


def _config_name(node: ast.ClassDef) -> str:
    """What the class says as ``name = "..."``, empty where it says nothing."""
    for item in node.body:
        target = item.target if isinstance(item, ast.AnnAssign) else getattr(item, "targets", [None])[0]
        if isinstance(target, ast.Name) and target.id == "name" and isinstance(item.value, ast.Constant):  # type: ignore[attr-defined]
            return str(item.value.value)  # type: ignore[attr-defined]
    return ""


@cache
def available(kind: str) -> dict[str, type]:
    """Every method of a kind.

    Parameters
    ----------
    kind : {"embeddings", "extenders", "classifiers"}
        The folder, which is also the word of configs and ``moos list``.

    Returns
    -------
    dict of str to type
        Class by config name, sorted by name.

    Examples
    --------
    >>> available("extenders")["rbf"].__name__
    'RBFExtender'
    """
    return {name: _imported(listing) for name, listing in index(kind).items()}


def _imported(listing: Indexed) -> type:
    cls: type = getattr(importlib.import_module(listing.module), listing.cls)
    return cls


def find(kind: str, name: str) -> type:
    """The class behind a name of a config; only its module is imported.

    Parameters
    ----------
    kind : {"embeddings", "extenders", "classifiers"}
        What kind of method is meant.
    name : str
        A name from :func:`index`, or ``package.module:Class`` for a method of one's own.

    Returns
    -------
    type
        The class.
    """
    if ":" in name:
        return _own_class(kind, name)
    cls = _imported(listed(kind, name))
    if absent(cls):
        raise ConfigError(absent(cls))
    return cls


def listed(kind: str, name: str) -> Indexed:
    """Where a method of the package is; one that is not there is a :class:`ConfigError` with the nearest names."""
    known = index(kind)
    if name not in known:
        raise ConfigError(f"{name}: no such name among the {kind}; {nearest(name, known)} (moos list {kind})")
    return known[name]


def absent(method: Any) -> str:
    """What to install before a method of another library can be used; empty where nothing is missing."""
    package = getattr(method, "package", None)
    if package is None or importlib.util.find_spec(package) is not None:
        return ""
    return f"{method.name} needs the package {package}: pip install 'manifold-oos[neighbors]'"


def signature(cls: type) -> dict[str, Any]:
    """The parameters of a method with their defaults (``inspect.Parameter.empty`` without one), in order."""
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    return {
        p.name: p.default
        for p in parameters.values()
        if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def build(kind: str, method: Any) -> Any:
    """An unfitted method from the way a config or a caller writes it.

    Parameters
    ----------
    kind : {"embeddings", "extenders", "classifiers"}
        What kind of method is meant.
    method : str, mapping or estimator
        A name, ``{"name": ..., parameter: value}``, or an instance, which is cloned.

    Returns
    -------
    estimator
        Unfitted.

    Examples
    --------
    >>> build("classifiers", {"name": "nn", "n_neighbors": 3})
    NearestNeighbor(n_neighbors=3)
    """
    if isinstance(method, str):
        return find(kind, method)()
    if not isinstance(method, Mapping):
        from sklearn.base import clone

        return clone(method)
    if not isinstance(method.get("name"), str):
        raise ConfigError(f"{dict(method)!r}: says not which of the {kind} is meant; add its name")
    cls = find(kind, method["name"])
    parameters = {key: value for key, value in method.items() if key != "name"}
    try:
        return cls(**parameters)
    except TypeError as error:
        raise ConfigError(f"{method['name']}: {error} (moos describe {method['name']})") from error


def _own_class(kind: str, name: str) -> type:
    trust = _trust.get()
    module, _, class_name = name.partition(":")
    listed = [prefix for prefix in os.environ.get("MOOS_TRUST", "").replace(",", " ").split() if prefix]
    if OWN.fullmatch(name) and trust == "none":
        return type(class_name, (Opaque,), {"__module__": module, "name": name})
    if trust == "listed" and not any(f"{module}.".startswith(f"{prefix}.") for prefix in listed):
        raise ConfigError(
            f"{name}: code of a config from outside this folder; if you trust it, moos run --trust, or list "
            f"{module.partition('.')[0]} in MOOS_TRUST"
        )
    cls = import_class(name)
    needed = "read" if kind == "datasets" else "fit"
    if not callable(getattr(cls, needed, None)):
        raise ConfigError(f"{name}: has no {needed}, which every class of the {kind} has")
    return cls


def import_class(path: str) -> type:
    """Import ``package.module:Class``, with the current folder importable as in ``python -m``."""
    if not OWN.fullmatch(path):
        raise ConfigError(f"{path}: cannot be imported; write package.module:Class")
    module_name, _, class_name = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        member = getattr(importlib.import_module(module_name), class_name)
    except (Exception, SystemExit) as error:  # whatever a module of one's own does when it is imported
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(f"{path}: cannot be imported ({reason}); write package.module:Class") from error
    if not inspect.isclass(member):
        raise ConfigError(f"{path}: not a class; write package.module:Class")
    return member


def module_of(kind: str, name: str) -> str:
    """The module that a name of a config stands for, known without importing a class of one's own."""
    return name.partition(":")[0] if ":" in name else listed(kind, name).module


def source_of(module: str) -> Path | None:
    """The file of a module that may not have been imported; importing it, or a package around it, is not needed."""
    search, spec = [str(Path.cwd()), *sys.path], None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), search)
        if spec is None and i == 0:
            spec = importlib.util.find_spec(parts[0])  # installed in editable form
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or [])
    return Path(spec.origin) if spec and spec.origin else None
