"""Names of a package that are imported when they are first asked for: importing the package costs nothing."""

import importlib
import sys
from collections.abc import Callable, Mapping


def attach(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """What a package assigns to ``__getattr__``, ``__dir__`` and ``__all__``.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    places : mapping of str to str
        The module within the package of each public name.

    Returns
    -------
    tuple
        The two functions and the sorted names.
    """

    def __getattr__(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{places[name]}"), name)

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return __getattr__, __dir__, sorted(places)
