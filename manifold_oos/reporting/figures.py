"""The figures that a config asks for: each is a view of the rows, or of coordinates computed anew."""

import re
from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from manifold_oos.errors import ConfigError
from manifold_oos.experiment.config import Data, Output
from manifold_oos.reporting.cells import FIXED, better_of, in_order, label_of
from manifold_oos.reporting.curves import curve_figure
from manifold_oos.reporting.pictures import function_output, gallery_output
from manifold_oos.reporting.ranks import rank_figure
from manifold_oos.reporting.results import Results
from manifold_oos.reporting.statistics import rank_arms
from manifold_oos.reporting.tables import SIZE_NAMES, protocol_text
from manifold_oos.reporting.views import at_each_x, choose, curve_cells

#: Arms that are ranked over fewer data sets than this get no critical-difference diagram by themselves.
RANKED_DATASETS = 3


def figure_outputs(results: Results) -> list[Output]:
    """The figures of a config, or sensible ones where it has no outputs at all.

    Parameters
    ----------
    results : Results
        Of an experiment.

    Returns
    -------
    list of Output
        Curves over size where there are several, and a critical-difference diagram over 3 data sets or more.
    """
    experiment, rows = results.experiment, results.rows
    if experiment.outputs:
        return [output for output in experiment.outputs if output.figure is not None]
    outputs = []
    if any(len(experiment.split_of(data).sizes) > 1 for data in experiment.datasets):
        outputs.append(Output(figure="curve", kind="curve", x="size"))
    if rows["dataset"].nunique() >= RANKED_DATASETS and rows["arm"].nunique() > 1:
        outputs.append(Output(figure="ranks", kind="ranks"))
    return outputs


def draw_output(output: Output, results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw what an output asks for.

    Parameters
    ----------
    output : Output
        A figure of the config.
    results : Results
        Of an experiment.

    Yields
    ------
    (str, Figure)
        File name without suffix, and the figure: one per metric for curves.
    """
    experiment = results.experiment
    group = [data for data in experiment.datasets if output.dataset is None or data.label in output.dataset]
    if output.kind in ("embedding", "gallery"):
        yield stem_of(output), gallery_output(output, results, group, _title(output))
        return
    if output.kind == "function":
        yield stem_of(output), function_output(output, results, group, _title(output))
        return
    metrics = output.metric or experiment.metrics
    for metric in metrics:
        stem = stem_of(output) + (f"_{metric}" if len(metrics) > 1 else "")
        if output.kind == "ranks":
            yield stem, _ranks(output, results, metric, group)
        else:
            yield stem, _curve(output, results, metric, group)


def stem_of(output: Output) -> str:
    """File name of a figure without suffix.

    Examples
    --------
    >>> stem_of(Output(figure=7))
    'figure_7'
    >>> stem_of(Output(figure="σ sweep, digits"))
    'sweep_digits'
    """
    text = str(output.figure)
    slug = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
    return f"figure_{slug}" if slug[:1].isdigit() else slug or "figure"


def _title(output: Output) -> str:
    name = f"Fig. {output.figure}" if str(output.figure)[:1].isdigit() else ""
    return ": ".join(part for part in (name, output.title) if part)


def _rows_of(results: Results, output: Output, metric: str) -> pd.DataFrame:
    rows = results.rows
    return in_order(choose(rows[rows["metric"] == metric], output), results.experiment)


def _curve(output: Output, results: Results, metric: str, group: list[Data]) -> Figure:
    """A metric over size, dimension, parameter or iteration, with a second quantity on the right if asked."""
    experiment = results.experiment
    x = "step" if output.kind == "trace" else output.x or "size"
    placed = at_each_x(_rows_of(results, output, metric), experiment, x, selection=output.selection)
    panel = ["dataset"] if x == "size" or placed["size"].nunique() < 2 else ["dataset", "size"]
    if output.n_components is not None and x != "n_components":
        placed = placed[placed["n_components"].isin(output.n_components) | placed["n_components"].isna()]
    second = None
    if output.second is not None:
        other = _rows_of(results, output, output.second)
        second = curve_cells(at_each_x(other, experiment, x, selection=output.selection), panel)
    used = [name for name in dict.fromkeys(placed["selection"]) if name != FIXED] or [FIXED]
    kind = experiment.split_of(group[0]).kind if group else "fraction"
    labels = {"size": SIZE_NAMES[kind], "n_components": "dimension", "step": "iteration"}
    counts = placed.groupby(["dataset", "size"])["repetition"].nunique()
    notes = [f"selection: {protocol_text(experiment, name)}" for name in used]
    if len(counts):
        low, high = int(counts.min()), int(counts.max())
        band = "band: 95 % interval" if high > 1 else "no interval"
        notes.append(f"{low if low == high else f'{low} to {high}'} split{'s' * (high > 1)}, {band}")
    return curve_figure(
        curve_cells(placed, panel),
        x_label=labels.get(x, x.replace("_", " ")),
        y_label=label_of(metric),
        title=_title(output),
        notes=[*notes, *results.notes(group), output.note],
        second=second,
        second_label=label_of(output.second) if output.second else "",
        log=output.log or None,
    )


def _ranks(output: Output, results: Results, metric: str, group: list[Data]) -> Figure:
    """Average ranks over data sets; a data set with several sizes counts once, with its average."""
    experiment = results.experiment
    placed = at_each_x(_rows_of(results, output, metric), experiment, "size", selection=output.selection)
    means = placed.groupby(["dataset", "size", "arm"], sort=False)["value"].mean()
    table = means.groupby(["dataset", "arm"], sort=False).mean().unstack("arm")
    if table.dropna().empty or table.shape[1] < 2:
        raise ConfigError(f"figure {output.figure}: ranks need a data set on which two arms or more have results")
    used = [name for name in dict.fromkeys(placed["selection"]) if name != FIXED] or [FIXED]
    notes = [f"selection: {protocol_text(experiment, name)}" for name in used]
    dropped = len(table) - len(table.dropna())
    if dropped:
        notes.append(f"{dropped} data sets without a result of every arm left out")
    title = _title(output) or f"Ranks by {label_of(metric)}"
    ranking = rank_arms(table, better=better_of(metric))
    return rank_figure(ranking, title=title, notes=[*notes, *results.notes(group), output.note])
