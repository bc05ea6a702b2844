"""Templates and the data inside them: everything that came from a file is escaped on its way into a page."""

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

ASSETS = Path(__file__).parent / "assets"
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def script_json(value: Any) -> Markup:
    """JSON that may stand inside a ``<script>`` element: nothing in it can close the element.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>", "value": float("nan")}))
    {"name":"\\u003c/script\\u003e\\u003cb\\u003e","value":null}
    """
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, code in _UNSAFE.items():
        text = text.replace(character, code)
    return Markup(text)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return value


def asset(name: str) -> Markup:
    """A style sheet or script of ours, for a page that carries everything with it."""
    return Markup((ASSETS / name).read_text(encoding="utf-8"))


@cache
def plotly() -> Markup:
    """Plotly's script, 4.8 MB: the Python package has it in no smaller bundle."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def render(template: str, **context: Any) -> str:
    """Fill a template; every string is escaped unless it is Markup."""
    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=asset, script_json=script_json, plotly=plotly)
    return environment.get_template(template).render(**context)
