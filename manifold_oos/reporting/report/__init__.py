"""The report: one HTML page that needs no network, and the front page of all experiments.

The way through it::

    place = locate("results/quickstart")  # config, store and folder of an experiment
    write_report([place], Path("report.html"))  # tables, curves, ranks, times, config, embedding viewer
    write_index(Path("results"))  # a page for each experiment, and index.html with the state of each output
"""

from manifold_oos.reporting.report.index import write_index
from manifold_oos.reporting.report.page import write_report

__all__ = ["write_index", "write_report"]
