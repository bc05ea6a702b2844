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


#: Parts of a displayed formula stand below each other where a screen is narrow, and in smaller type.
WRAPPED = (
    "display: flex; flex-wrap: wrap; justify-content: center; gap: 0.3em 2em; overflow-x: auto;"
    " font-size: clamp(0.65em, 3.1vw, 1em)"
)


def parts_of(tex: str) -> list[str]:
    r"""The parts between wide spaces that stand in no braces, in no environment and in no tall brackets.

    Examples
    --------
    >>> parts_of(r"a = b, \qquad c = \begin{cases} d & \quad e \end{cases}")
    ['a = b,', 'c = \\begin{cases} d & \\quad e \\end{cases}']
    """
    parts, depth, start = [], 0, 0
    for token in re.finditer(
        r"\\(?:begin|left)(?![a-z])|\\(?:end|right)(?![a-z])|\\[{}]|[{}]|\\q?quad(?![a-z])", tex
    ):
        word = token[0]
        if word in ("\\quad", "\\qquad"):
            if depth == 0:
                parts.append(tex[start : token.start()])
                start = token.end()
        elif word not in ("\\{", "\\}"):
            depth += 1 if word in ("{", "\\begin", "\\left") else -1
    return [part.strip() for part in (*parts, tex[start:]) if part.strip()]


def to_mathml(tex: str, display: bool) -> str:
    """A formula as MathML; a command that stays as it is would be shown to readers and is an error."""
    if display:
        return f'<div style="{WRAPPED}">{"".join(_mathml(part, "block") for part in parts_of(tex))}</div>'
    return _mathml(tex, "inline")


def _mathml(tex: str, display: str) -> str:
    for word, known in WORDS.items():
        tex = tex.replace(word, known)
    mathml: str = convert(tex.strip(), display=display)
    left = re.search(r">\s*(\\[A-Za-z|]+)", mathml)
    if left:
        raise ValueError(
            f"{left[1]} in the formula {tex.strip()}: not known to latex2mathml; add it to docs/builders/mathml.py"
        )
    return mathml


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page."""
    return FORMULA.sub(lambda match: to_mathml(html.unescape(match["tex"]), match["tag"] == "div"), content)
