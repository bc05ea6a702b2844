"""Tables written down: Markdown, LaTeX (booktabs) and the terminal."""

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from manifold_oos.reporting.numbers import number_text, ours_text, sign_text, word_text
from manifold_oos.results.published import LEGEND
from manifold_oos.results.tables import TableEntry, TableView

COLORS = {"match": "green", "compatible": "green", "too noisy": "yellow", "better": "cyan", "worse": "red"}
#: What LaTeX would read as commands, and characters that its fonts lack.
_TEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "−": "$-$", "±": r"$\pm$", "†": r"$\dagger$", "≥": r"$\geq$", "≤": r"$\leq$", "≈": r"$\approx$",
    "√": r"$\surd$", "δ": r"$\delta$", "×": r"$\times$", "σ": r"$\sigma$", "μ": r"$\mu$", "λ": r"$\lambda$",
    "ε": r"$\varepsilon$", "·": r"$\cdot$", "²": r"$^2$",
}  # fmt: skip


def markdown(tables: Sequence[TableView], *, title: str = "", level: int = 2) -> str:
    """Tables as Markdown, each below a heading of the given level; the rule of verdicts stands once, at the end."""
    blocks = [f"# {md(title)}\n"] if title else []
    for table in tables:
        blocks.append(f"{'#' * level} {md(_heading(table))}\n")
        head = ["arm", "selection"]
        for header in table.headers:
            head += [header, "published"] if table.has_published else [header]
        rows = []
        for line in table.lines:
            cells = [line.arm, line.selection]
            for entry in line.entries:
                cells.append(_ours(entry, table, bold="**{}**"))
                cells += [_published(entry, table)] * table.has_published
            rows.append(cells)
        blocks += [markdown_table(head, rows, numbers=len(head) - 2), ""]
        blocks += [f"- {md(note)}" for note in table.notes]
        if table.has_published:
            blocks.append(f"- {md(LEGEND)}")
        blocks.append("")
    return "\n".join(blocks)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: int = 0) -> str:
    """A Markdown table, its last columns to the right where they are numbers."""
    rule = ["---"] * (len(head) - numbers) + ["--:"] * numbers
    lines = [list(map(md, head)), rule, *([md(str(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
    notes = [*table.notes, *([f"below ours the published number; {LEGEND}"] * table.has_published)]
    return Group(Text(_heading(table), style="bold"), out, *(Text(f"  {note}", style="dim") for note in notes))


def _heading(table: TableView) -> str:
    return f"{table.name}: {table.title}" if table.name else table.title


def _ours(entry: TableEntry, table: TableView, *, bold: str, escape: Callable[[str], str] = str) -> str:
    """Our mean and half its interval, the best in bold, or why there is none."""
    text = escape(ours_text(entry, table.metric))
    if entry.best:
        text = bold.format(text)
    return text if entry.tuned else text + escape(" †")


def _published(entry: TableEntry, table: TableView, *, words: bool = False) -> str:
    """The printed number and the verdict, as a sign or as a word."""
    if not math.isfinite(entry.published):
        return ""
    verdict = (word_text if words else sign_text)(entry.verdict, entry.needed)
    return f"{number_text(entry.published, table.metric)} {verdict}".strip()


def md(text: str) -> str:
    """Escape what would break a Markdown table or be taken for HTML."""
    return html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ")


def _tex(text: str) -> str:
    """Escape what LaTeX would read as commands."""
    return "".join(_TEX.get(character, character) for character in text)
