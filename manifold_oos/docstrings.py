"""Reads numpydoc docstrings: the one source of ``moos list``, ``moos describe`` and error hints."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manifold_oos.datasets.base import Loader

SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter as documented: name, type, default and text."""

    name: str
    type: str
    default: str
    text: str


@dataclass(frozen=True)
class Documentation:
    """What a docstring says: a line, the prose after it, parameters and references."""

    summary: str
    prose: str
    parameters: tuple[Parameter, ...] = ()
    references: str = ""
    sections: dict[str, str] = field(default_factory=dict)


def summary(thing: object) -> str:
    """First sentence of a docstring.

    Parameters
    ----------
    thing : object
        Anything documented, or the docstring itself.

    Returns
    -------
    str
        One line without the final full stop.

    Examples
    --------
    >>> summary(summary)
    'First sentence of a docstring'
    """
    text = thing if isinstance(thing, str) else inspect.getdoc(thing) or ""
    return re.sub(r"(, \S+ \S+)? of \[\d+\]_", "", " ".join(text.split("\n\n")[0].split())).removesuffix(".")


def parse(cls: type) -> Documentation:
    """Take a class's docstring apart.

    Parameters
    ----------
    cls : type
        A class with a numpydoc docstring.

    Returns
    -------
    Documentation
        Its parts; parameters in the order of the docstring, with the defaults of the signature.

    Examples
    --------
    >>> from manifold_oos.registry import find
    >>> [parameter.name for parameter in parse(find("extenders", "lvm")).parameters]
    ['n_neighbors', 'beta']
    """
    signature = inspect.signature(cls).parameters.items()
    defaults = {name: repr(value.default) for name, value in signature if value.default is not value.empty}
    return read(inspect.getdoc(cls) or "", defaults)


def read(text: str, defaults: Mapping[str, str]) -> Documentation:
    """Take the docstring of a class apart, with the defaults of its parameters as Python writes them."""
    opening, sections = _sections(text)
    parameters = _parameters(sections.get("Parameters", ""), defaults)
    first, _, prose = opening.partition("\n\n")
    return Documentation(
        summary=" ".join(first.split()),
        prose=prose.strip(),
        parameters=tuple(parameters),
        references=sections.get("References", ""),
        sections=sections,
    )


def options(loader: "type[Loader]") -> tuple[Parameter, ...]:
    """Every option of a data set with its default.

    Parameters
    ----------
    loader : type
        Its loader, whose ``read`` documents the set's own options; ``datasets.load`` documents the common ones.

    Returns
    -------
    tuple of Parameter
        Its own first.

    Examples
    --------
    >>> from manifold_oos.datasets import find
    >>> [option.name for option in options(find("swiss_roll"))]
    ['n_samples', 'noise', 'seed', 'normalize', 'random_projection']
    """
    from manifold_oos import datasets

    defaults = {name: repr(value) for name, value in loader.defaults().items()}
    if len(loader.variants) == 1:
        del defaults["variant"]
    common = _parameters(_sections(inspect.getdoc(datasets.load) or "")[1]["Other Parameters"], defaults)
    own = _parameters(_sections(inspect.getdoc(loader.read) or "")[1].get("Parameters", ""), defaults)
    documented = {option.name: option for option in own if option.name != "variant"}
    documented |= {option.name: option for option in common if option.name not in documented}
    return tuple(option for name, option in documented.items() if name in defaults)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section of a docstring, and the sections by title."""
    pieces = SECTION.split(text)
    return pieces[0], dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2]), strict=True))


def _parameters(section: str, defaults: Mapping[str, str]) -> list[Parameter]:
    """The entries of a section, with the defaults that are known."""
    return [
        Parameter(
            name=name,
            type=re.sub(r",? default=.*$", "", kind),
            default=defaults.get(name, ""),
            text=" ".join(body.split()),
        )
        for head, body in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)*)", section + "\n", re.MULTILINE)
        for names, _, kind in [head.partition(" : ")]
        for name in names.split(", ")
    ]
