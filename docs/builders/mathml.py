"""Hook of MkDocs: formulas become MathML while the site is built, so that pages need no script and no network."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\[(\[](?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', re.DOTALL
)
#: What the converter does not know, in words that it does.
WORDS = {r"\|": "‖", r"\arg": r"\operatorname{arg}"}


def to_mathml(tex: str, display: bool) -> str:
    """A formula as MathML; a command that stays as it is would be shown to readers and is an error."""
    for word, known in WORDS.items():
        tex = tex.replace(word, known)
    mathml: str = convert(tex.strip(), display="block" if display else "inline")
    left = re.search(r">\s*(\\[A-Za-z|]+)", mathml)
    if left:
        raise ValueError(
            f"{left[1]} in the formula {tex.strip()}: not known to latex2mathml; add it to docs/builders/mathml.py"
        )
    return f'<div style="overflow-x: auto">{mathml}</div>' if display else mathml


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page."""
    return FORMULA.sub(lambda match: to_mathml(html.unescape(match["tex"]), match["tag"] == "div"), content)
