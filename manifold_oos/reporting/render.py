"""Tables written down: Markdown, LaTeX (booktabs) and the terminal."""

import math
import re
from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from manifold_oos.results.published import SIGNS
from manifold_oos.results.tables import TableEntry, TableView

COLORS = {"matches": "green", "better": "cyan", "worse": "red"}
_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "σ": r"$\sigma$",
    "μ": r"$\mu$",
    "λ": r"$\lambda$",
    "ε": r"$\varepsilon$",
    "·": r"$\cdot$",
    "²": r"$^2$",
}


def markdown(tables: Sequence[TableView], *, title: str = "") -> str:
    """Tables as Markdown."""
    blocks = [f"# {_md(title)}\n"] if title else []
    for table in tables:
        blocks.append(f"## {_md(_heading(table))}\n")
        head = ["arm", "selection"]
        for header in table.headers:
            head += [header, "published"] if table.has_published else [header]
        lines = [head, ["---", "---", *["--:"] * (len(head) - 2)]]
        for line in table.lines:
            cells = [line.arm, line.selection]
            for entry in line.entries:
                cells.append(_ours(entry, table, bold="**{}**"))
                if table.has_published:
                    cells.append(_published(entry, table))
            lines.append([_md(cell) for cell in cells])
        blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n")
        blocks += [f"- {_md(note)}" for note in table.notes]
        if table.has_published:
            blocks.append(f"- {LEGEND}")
        blocks.append("")
    return "\n".join(blocks)


LEGEND = (
    "published: matches (=) within the larger of our interval and min(2 points, half the value), else better (+) "
    "or worse (−)"
)


def latex(tables: Sequence[TableView], *, title: str = "") -> str:
    """Tables as LaTeX for the package booktabs."""
    blocks = ["% needs \\usepackage{booktabs}"]
    if title:
        blocks.append("% " + re.sub(r"\s+", " ", title))
    for table in tables:
        each = 2 if table.has_published else 1
        headers = [_tex(header) for header in table.headers]
        head = " & ".join(rf"\multicolumn{{2}}{{c}}{{{header}}}" if each > 1 else header for header in headers)
        sub = " & ".join(["ours & published"] * len(table.headers))
        body = []
        for line in table.lines:
            cells = [_tex(line.arm), _tex(line.selection)]
            for entry in line.entries:
                cells.append(_ours(entry, table, bold=r"\textbf{{{}}}", escape=_tex))
                if table.has_published:
                    cells.append(_tex(_published(entry, table)))
            body.append("    " + " & ".join(cells) + r" \\")
        notes = [*table.notes, *([LEGEND] if table.has_published else [])]
        blocks += [
            "",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_tex(_heading(table))}. {_tex('; '.join(notes))}.}}",
            rf"  \begin{{tabular}}{{ll{'r' * (each * len(table.headers))}}}",
            r"    \toprule",
            rf"    arm & selection & {head} \\",
            *([rf"     & & {sub} \\"] if each > 1 else []),
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    return "\n".join(blocks) + "\n"


def rich_table(table: TableView) -> Group:
    """A table for the terminal."""
    out = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    out.add_column("arm", no_wrap=True)
    out.add_column("selection", style="dim")
    for header in table.headers:
        out.add_column(header, justify="right")
    for line in table.lines:
        cells = [Text(line.arm), Text(line.selection)]
        for entry in line.entries:
            cell = Text(_ours(entry, table, bold="{}"), style="bold" if entry.best else "")
            printed = _published(entry, table, words=True)
            if printed:
                cell.append("\n" + printed, style=COLORS.get(entry.verdict, "dim") + " not bold")
            cells.append(cell)
        out.add_row(*cells)
    notes = [*table.notes, *(["below ours: the published number and how ours stands to it"] * table.has_published)]
    return Group(Text(_heading(table), style="bold"), out, *(Text(f"  {note}", style="dim") for note in notes))


def _heading(table: TableView) -> str:
    return f"{table.name}: {table.title}" if table.name else table.title


def _ours(entry: TableEntry, table: TableView, *, bold: str, escape: Callable[[str], str] = str) -> str:
    """Our mean and half its interval, or why there is none."""
    text = entry.state or "–"
    if entry.splits:
        decimals = table.digits(entry.mean)
        text = f"{entry.mean:.{decimals}f}"
        if math.isfinite(entry.half_width):
            text += f" ± {entry.half_width:.{decimals}f}"
    text = escape(text)
    if entry.best:
        text = bold.format(text)
    return text if entry.tuned else text + escape(" †")


def _published(entry: TableEntry, table: TableView, *, words: bool = False) -> str:
    """The printed number and the verdict, as a sign or as a word."""
    if not math.isfinite(entry.published):
        return ""
    verdict = entry.verdict if words else SIGNS.get(entry.verdict, "")
    return f"{entry.published:.{table.digits(entry.published)}f} {verdict}".strip()


def _md(text: str) -> str:
    """Escape what would break a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _tex(text: str) -> str:
    """Escape what LaTeX would read as commands."""
    return "".join(_TEX.get(character, character) for character in text)
