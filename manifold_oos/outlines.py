"""What configs and plans ask of a method, known without importing it, nor scikit-learn."""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any

from manifold_oos import registry
from manifold_oos.errors import ConfigError
from manifold_oos.registry import KINDS
from manifold_oos.remembered import remembered

#: The types that a value of a config may be asked to have.
TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (Integral, Real, Mapping, Sequence, str, dict, list, tuple, bool, int, float)
}


@dataclass(frozen=True)
class Limit:
    """A constraint of scikit-learn's as plain data: its kind, its words, and what it was made with."""

    kind: str
    text: str
    arguments: Sequence[Any] = ()

    @classmethod
    def of(cls, constraint: Any) -> "Limit":
        """A constraint as ``_parameter_constraints`` states it."""
        from manifold_oos.constraints import HasMethods, Interval, StrOptions, make_constraint

        try:
            text = str(make_constraint(constraint))
        except ValueError:  # of a class of one's own
            return cls("unknown", "")
        if isinstance(constraint, type):
            return cls("type", text, [constraint.__name__])
        if isinstance(constraint, Interval):
            ends = [constraint.left, constraint.right, constraint.closed]
            return cls("interval", text, [constraint.type.__name__, *ends])
        if isinstance(constraint, StrOptions):
            options = sorted(constraint.options)
            return cls("options", f"a str among {{{', '.join(map(repr, options))}}}", options)
        if isinstance(constraint, HasMethods):
            return cls("methods", text, constraint.methods)
        return cls(str(constraint), text)

    def allows(self, value: Any) -> bool:
        """Whether a value of a config keeps it; of one that is not known here ``fit`` decides."""
        match self.kind, *self.arguments:
            case ("None",):
                return value is None
            case ("boolean",):
                return isinstance(value, bool)
            case ("array-like",):
                return isinstance(value, list | tuple | dict)
            case ("random_state",):
                return value is None or (isinstance(value, int) and 0 <= value < 2**32)
            case "type", str() as name if name in TYPES:
                return isinstance(value, TYPES[name])
            case "options", *options:
                return isinstance(value, str) and value in options
            case "methods", *methods:
                return all(callable(getattr(value, method, None)) for method in methods)
            case "interval", str() as name, low, high, closed if name in TYPES:
                low, high = -math.inf if low is None else low, math.inf if high is None else high
                ends = [end for end, side in ((low, "left"), (high, "right")) if closed in (side, "both")]
                return isinstance(value, TYPES[name]) and (low < value < high or value in ends)
        return True


@dataclass(frozen=True)
class Outline:
    """A method as a config sees it.

    ``parameters`` have their default as Python writes it, "" where there is none; they are None where nothing is
    known. ``maps`` says whether it has a map for new points, ``extends`` which embeddings of the package it takes.
    """

    name: str
    parameters: dict[str, str] | None
    limits: dict[str, list[Limit]] = field(default_factory=dict)
    supervised: bool = False
    maps: bool = False
    files: Sequence[str] = ()
    package: str | None = None
    extends: Sequence[str] = ()

    @classmethod
    def of(cls, method: Any) -> "Outline":
        """The outline of a class, which may be one's own."""
        if issubclass(method, registry.Opaque):
            return cls(method.name, None, maps=True)
        defaults = registry.signature(method)
        stated = getattr(method, "_parameter_constraints", {}).items()
        return cls(
            vars(method).get("name", method.__name__),
            {name: "" if value is inspect.Parameter.empty else repr(value) for name, value in defaults.items()},
            {name: [Limit.of(one) for one in given] for name, given in stated if not isinstance(given, str)},
            getattr(method, "supervised", False) is True,
            hasattr(method, "transform"),
            list(getattr(method, "files", ())),
            getattr(method, "package", None),
        )


def outline(kind: str, name: str) -> Outline:
    """The outline of a method by the name that a config uses; errors are those of :func:`registry.find`.

    Examples
    --------
    >>> outline("extenders", "lvm").parameters
    {'n_neighbors': '3', 'beta': 'None'}
    """
    if ":" in name:
        return Outline.of(registry.find(kind, name))
    registry.listed(kind, name)
    found = _shipped()[kind][name]
    if registry.absent(found):
        raise ConfigError(registry.absent(found))
    return found


def extends(extender: str, embedding: str) -> bool:
    """Whether an extender works with an embedding, both by the name that a config uses."""
    if ":" not in extender + embedding:
        return embedding in outline("extenders", extender).extends
    one, other = registry.find("extenders", extender), registry.find("embeddings", embedding)
    return bool(getattr(one, "supports", lambda _: True)(other))


@cache
def _shipped() -> dict[str, dict[str, Outline]]:
    """The outlines of all methods of the package."""
    found: dict[str, dict[str, Outline]] = {}
    for kind, entries in remembered("outlines", _import_all).items():
        for entry in entries:
            limits = {name: [Limit(**limit) for limit in some] for name, some in entry.pop("limits").items()}
            found.setdefault(kind, {})[entry["name"]] = Outline(**entry, limits=limits)
    return found


def _import_all() -> dict[str, list[dict[str, Any]]]:
    methods: dict[str, dict[str, Any]] = {kind: registry.available(kind) for kind in KINDS.values()}
    found = {kind: [asdict(Outline.of(cls)) for cls in some.values()] for kind, some in methods.items()}
    for entry in found["extenders"]:
        supports = methods["extenders"][entry["name"]].supports
        entry["extends"] = [name for name, embedding in methods["embeddings"].items() if supports(embedding)]
    return found
