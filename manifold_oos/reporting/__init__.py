"""From rows to what a person reads: tables, figures, the regression check.

The way through it::

    results = collect(experiment, store)  # Results: rows, cells (means, intervals, verdicts), claims
    make_tables(results)  # Table objects; render.markdown, render.latex, render.rich_table write them
    draw_output(output, results)  # matplotlib figures of one output of the config
    write_outputs(experiment, store, folder)  # all of it as files
"""

from manifold_oos.reporting.figures import draw_output, figure_outputs
from manifold_oos.reporting.outputs import collect, print_summary, write_figures, write_outputs, write_tables
from manifold_oos.reporting.results import Results
from manifold_oos.reporting.tables import make_tables

__all__ = [
    "Results",
    "collect",
    "draw_output",
    "figure_outputs",
    "make_tables",
    "print_summary",
    "write_figures",
    "write_outputs",
    "write_tables",
]
