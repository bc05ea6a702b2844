"""Reads numpydoc docstrings: the one source of ``moos list``, ``moos describe`` and error hints."""

import inspect
import re
from dataclasses import dataclass, field

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
        Anything documented.

    Returns
    -------
    str
        One line without the final full stop.

    Examples
    --------
    >>> summary(summary)
    'First sentence of a docstring'
    """
    text = inspect.getdoc(thing) or ""
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
    text = inspect.getdoc(cls) or ""
    pieces = SECTION.split(text)
    sections = dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2]), strict=True))
    signature = inspect.signature(cls).parameters
    parameters = []
    for head, body in re.findall(
        r"^(\S.*)\n((?:[ \t]+.*\n?|\n)*)", sections.get("Parameters", "") + "\n", re.MULTILINE
    ):
        names, _, kind = head.partition(" : ")
        for name in names.split(", "):
            default = signature[name].default if name in signature else inspect.Parameter.empty
            parameters.append(
                Parameter(
                    name=name,
                    type=re.sub(r",? default=.*$", "", kind),
                    default="" if default is inspect.Parameter.empty else repr(default),
                    text=" ".join(body.split()),
                )
            )
    first, _, prose = pieces[0].partition("\n\n")
    return Documentation(
        summary=" ".join(first.split()),
        prose=prose.strip(),
        parameters=tuple(parameters),
        references=sections.get("References", ""),
        sections=sections,
    )
