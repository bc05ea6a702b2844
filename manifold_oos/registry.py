"""Finds methods by the name that configs use: every class with a ``name`` in the folder of its kind.

Dropping one file into ``embeddings/``, ``extenders/`` or ``classifiers/`` is all it takes to add a method; one
that lives elsewhere is named ``package.module:Class``.
"""

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.base import clone

from manifold_oos.errors import ConfigError, nearest

#: The folder of each stage of an arm, which is also the word of ``moos list``.
KINDS = {"embedding": "embeddings", "extender": "extenders", "classifier": "classifiers"}


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
    package = importlib.import_module(f"manifold_oos.{kind}")
    found: dict[str, type] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and isinstance(vars(member).get("name"), str):
                found[vars(member)["name"]] = member
    return dict(sorted(found.items()))


def find(kind: str, name: str) -> type:
    """The class behind a name of a config.

    Parameters
    ----------
    kind : {"embeddings", "extenders", "classifiers"}
        What kind of method is meant.
    name : str
        A name from :func:`available`, or ``package.module:Class`` for a method of one's own.

    Returns
    -------
    type
        The class.
    """
    if ":" in name:
        return import_class(name)
    classes = available(kind)
    if name not in classes:
        raise ConfigError(f"{name}: no such name among the {kind}; {nearest(name, classes)} (moos list {kind})")
    if absent(classes[name]):
        raise ConfigError(absent(classes[name]))
    return classes[name]


def absent(cls: type) -> str:
    """What to install before a method of another library can be used; empty where nothing is missing."""
    package = getattr(cls, "package", None)
    if package is None or importlib.util.find_spec(package) is not None:
        return ""
    return f"{vars(cls).get('name')} needs the package {package}: pip install 'manifold-oos[neighbors]'"


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
        return clone(method)
    if not isinstance(method.get("name"), str):
        raise ConfigError(f"{dict(method)!r}: says not which of the {kind} is meant; add its name")
    cls = find(kind, method["name"])
    parameters = {key: value for key, value in method.items() if key != "name"}
    try:
        return cls(**parameters)
    except TypeError as error:
        raise ConfigError(f"{method['name']}: {error} (moos describe {method['name']})") from error


def import_class(path: str) -> type:
    """Import ``package.module:Class``, with the current folder importable as in ``python -m``.

    Parameters
    ----------
    path : str
        Module and class with a colon between.

    Returns
    -------
    type
        The class.
    """
    module_name, _, class_name = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        member = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be imported ({error}); write package.module:Class") from error
    if not inspect.isclass(member):
        raise ConfigError(f"{path}: not a class; write package.module:Class")
    return member
