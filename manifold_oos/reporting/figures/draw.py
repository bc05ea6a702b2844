"""The figures that a config asks for: each is a view of the rows, or of coordinates computed anew."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from manifold_oos.config.model import FIXED, Data, Output
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import better_of, label_of
from manifold_oos.reporting.figures.curves import curve_figure
from manifold_oos.reporting.figures.pareto import pareto_figure
from manifold_oos.reporting.figures.pictures import function_output, gallery_output
from manifold_oos.reporting.figures.ranks import rank_figure
from manifold_oos.results.cells import in_order
from manifold_oos.results.collect import Results
from manifold_oos.results.curves import at_each_x, chosen_rows, curve_cells, nothing_chosen
from manifold_oos.results.statistics import Ranking, rank_arms
from manifold_oos.results.tables import SIZE_NAMES, protocol_text, size_text, title_of

#: Arms that are ranked over fewer data sets than this get no critical-difference diagram by themselves.
RANKED_DATASETS = 3


@dataclass(frozen=True)
class Curve:
    """The numbers behind a figure of curves; ``cells`` are those of ``views.curve_cells``."""

    cells: pd.DataFrame
    x_label: str
    y_label: str
    title: str
    notes: list[str]
    second: pd.DataFrame | None = None
    second_label: str = ""
    log: bool | None = None


@dataclass(frozen=True)
class Ranks:
    """The numbers behind a critical-difference diagram."""

    ranking: Ranking
    title: str
    notes: list[str]


def figure_outputs(results: Results) -> list[Output]:
    """The figures of a config, or sensible ones where it has no outputs at all."""
    experiment, rows = results.experiment, results.shown
    if experiment.outputs:
        return [output for output in experiment.outputs if output.figure is not None]
    outputs = []
    if any(len(experiment.split_of(data).sizes) > 1 for data in experiment.datasets):
        outputs.append(Output(figure="curve", kind="curve", x="size"))
    if rows["dataset"].nunique() >= RANKED_DATASETS and rows["arm"].nunique() > 1:
        outputs.append(Output(figure="ranks", kind="ranks"))
    return outputs


def draw_output(output: Output, results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw what an output asks for."""
    experiment = results.experiment
    group = _group(output, results)
    if output.kind in ("embedding", "gallery"):
        yield stem_of(output), gallery_output(output, results, group, title_of(output))
        return
    if output.kind == "function":
        yield stem_of(output), function_output(output, results, group, title_of(output))
        return
    metrics = output.metric or experiment.metrics
    for metric in metrics:
        stem = stem_of(output) + (f"_{metric}" if len(metrics) > 1 else "")
        if output.kind == "ranks":
            ranks = make_ranks(output, results, metric)
            yield stem, rank_figure(ranks.ranking, title=ranks.title, notes=ranks.notes)
        elif output.kind == "pareto":
            yield stem, _pareto(output, results, metric, group)
        else:
            yield stem, curve_figure(**vars(make_curve(output, results, metric)))


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


def _rows_of(results: Results, output: Output, metric: str, *, decided: bool) -> pd.DataFrame:
    """The rows of a metric that an output is about; decided: of the chosen candidate of each grid alone."""
    rows = results.shown_final if decided else results.shown
    rows = rows[rows["dataset"].isin([data.label for data in _group(output, results)])]
    return in_order(chosen_rows(rows[rows["metric"] == metric], output), results.experiment)


def _group(output: Output, results: Results) -> list[Data]:
    return results.experiment.views_of(output.dataset)


def make_curve(output: Output, results: Results, metric: str) -> Curve:
    """A metric over size, dimension, parameter or iteration, with a second quantity if asked."""
    experiment, group = results.experiment, _group(output, results)
    x = "step" if output.kind == "trace" else output.x or "size"
    along = "size" if x in ("n_features", "n_test") else x
    mine = _rows_of(results, output, metric, decided=along in ("size", "n_train"))
    placed = at_each_x(mine, experiment, along, selection=output.selection)
    panel = ["dataset"] if x in ("size", "n_train") or placed["size"].nunique() < 2 else ["where"]
    placed = _with_place(placed, results)
    if x in ("n_features", "n_test"):  # one curve through data sets that differ in it
        widths = {label: facts.n_features for label, facts in results.facts.items()}
        values = placed["dataset"].map(widths) if x == "n_features" else placed["n_test"]
        placed = placed.assign(x=values.astype(float), together="")
        panel = ["together"]
    if output.n_components is not None and x != "n_components":
        placed = placed[placed["n_components"].isin(output.n_components) | placed["n_components"].isna()]
    second = None
    if output.second is not None:
        other = _rows_of(results, output, output.second, decided=along in ("size", "n_train"))
        beside = _with_place(at_each_x(other, experiment, x, selection=output.selection), results)
        second = curve_cells(beside, panel)
    used = [name for name in dict.fromkeys(placed["selection"]) if name != FIXED] or [FIXED]
    kind = experiment.split_of(group[0]).kind if group else "fraction"
    labels = {
        "n_train": "known points",
        "n_test": "new points",
        "n_features": "features",
        "size": SIZE_NAMES[kind],
        "n_components": "dimension",
        "step": "iteration",
    }
    counts = placed.groupby(["dataset", "size"])["repetition"].nunique()
    notes = [f"selection: {protocol_text(experiment, name)}" for name in used]
    if x not in ("size", "step") and nothing_chosen(placed):
        notes = [f"every value of {x} as it is, nothing chosen"]
    if len(counts):
        low, high = int(counts.min()), int(counts.max())
        band = "band: 95 % interval" if high > 1 else "no interval"
        notes.append(f"{low if low == high else f'{low} to {high}'} split{'s' * (high > 1)}, {band}")
    return Curve(
        curve_cells(placed, panel),
        x_label=labels.get(x, x.replace("_", " ")),
        y_label=label_of(metric),
        title=title_of(output),
        notes=[*notes, *results.notes(group), output.note],
        second=second,
        second_label=label_of(output.second) if output.second else "",
        log=output.log or None,
    )


def _with_place(placed: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Rows with a column ``where``: the data set and the size in words."""
    kinds = {data.label: results.experiment.split_of(data).kind for data in results.experiment.datasets}
    pairs = zip(placed["dataset"], placed["size"], strict=True)
    return placed.assign(where=[f"{label}, {size_text(kinds[label], size)}" for label, size in pairs])


def make_ranks(output: Output, results: Results, metric: str) -> Ranks:
    """Average ranks over data sets; a data set with several sizes counts once, with its average."""
    experiment, group = results.experiment, _group(output, results)
    mine = _rows_of(results, output, metric, decided=True)
    placed = at_each_x(mine, experiment, "size", selection=output.selection)
    means = placed.groupby(["dataset", "size", "arm"], sort=False)["value"].mean()
    table = means.groupby(["dataset", "arm"], sort=False).mean().unstack("arm")
    if table.dropna().empty or table.shape[1] < 2:
        raise ConfigError(f"figure {output.figure}: ranks need a data set on which two arms or more have results")
    used = [name for name in dict.fromkeys(placed["selection"]) if name != FIXED] or [FIXED]
    notes = [f"selection: {protocol_text(experiment, name)}" for name in used]
    dropped = len(table) - len(table.dropna())
    if dropped:
        notes.append(f"{dropped} data sets without a result of every arm left out")
    title = title_of(output) or f"Ranks by {label_of(metric)}"
    ranking = rank_arms(table, better=better_of(metric))
    return Ranks(ranking, title, [*notes, *results.notes(group), output.note])


def _pareto(output: Output, results: Results, metric: str, group: list[Data]) -> Figure:
    """Mean of a metric over data sets against the geometric mean of a cost (x: time per new point)."""
    experiment = results.experiment
    cost = output.x or "milliseconds_per_sample"
    tables = {}
    for name in (metric, cost):
        mine = _rows_of(results, output, name, decided=True)
        placed = at_each_x(mine, experiment, "size", selection=output.selection)
        tables[name] = (
            placed.groupby(["dataset", "size", "arm"], sort=False)["value"].mean().unstack("arm").dropna()
        )
    shared = tables[metric].index.intersection(tables[cost].index)
    if shared.empty:
        raise ConfigError(f"figure {output.figure}: no data set on which every arm has {metric} and {cost}")
    y = tables[metric].loc[shared].mean()
    x = np.exp(np.log(tables[cost].loc[shared, y.index].clip(lower=1e-9)).mean())
    points = pd.DataFrame({"arm": y.index, "x": x.to_numpy(), "y": y.to_numpy()})
    notes = [f"means over {len(shared)} data sets and sizes", *results.notes(group), output.note]
    return pareto_figure(
        points,
        x_label=label_of(cost),
        y_label=label_of(metric),
        better=better_of(metric),
        title=title_of(output),
        notes=notes,
    )
