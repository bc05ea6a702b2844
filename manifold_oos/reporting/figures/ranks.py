"""The critical-difference diagram: average ranks of arms on a line, bars over those that cannot be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from manifold_oos.reporting.figures.style import COLORS, FAINT, INK, caption, house_style, new_figure
from manifold_oos.results.statistics import Ranking


@dataclass(frozen=True)
class RankLabel:
    """An arm at its rank, named in a row of the left or the right side."""

    rank: float
    row: int
    left: bool
    text: str


@dataclass(frozen=True)
class RankLayout:
    """Where the parts of a diagram stand: labels in rows, bars (from rank, to rank) one below the other."""

    k: int
    rows: int
    labels: list[RankLabel]
    bars: list[tuple[float, float]]


def rank_layout(ranking: Ranking) -> RankLayout:
    """The better half of the arms on the left from the top, the others on the right from the bottom."""
    order = list(ranking.ranks.items())
    k, rows = len(order), (len(order) + 1) // 2
    labels = []
    for index, (arm, rank) in enumerate(order):
        left = index < rows
        text = f"{arm}  {rank:.2f}" if left else f"{rank:.2f}  {arm}"
        labels.append(RankLabel(float(rank), index if left else k - 1 - index, left, text))
    bars = [(float(ranking.ranks[group[0]]), float(ranking.ranks[group[-1]])) for group in ranking.groups]
    return RankLayout(k, rows, labels, bars)


def rank_figure(ranking: Ranking, *, title: str = "", notes: Sequence[str] = ()) -> Figure:
    """Draw a critical-difference diagram."""
    layout = rank_layout(ranking)
    k, span = layout.k, max(layout.k - 1, 1)
    depth = 0.55 + 0.16 * len(layout.bars)
    with house_style():
        figure = new_figure(7.2, 1.1 + 0.26 * layout.rows + 0.2 * len(layout.bars))
        ax = figure.add_subplot()
        ax.set_xlim(1 - 0.45 * span, k + 0.45 * span)
        ax.set_ylim(depth + 0.42 * layout.rows, -0.75)
        ax.set_axis_off()
        ax.plot([1, k], [0, 0], color=INK, linewidth=1.2)
        for tick in range(1, k + 1):
            ax.plot([tick, tick], [0, -0.12], color=INK, linewidth=1.0)
            ax.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=8.5)
        for label in layout.labels:
            y = depth + 0.42 * label.row
            edge, out, ha = (1 - 0.06 * span, -0.01, "right") if label.left else (k + 0.06 * span, 0.01, "left")
            ax.plot([label.rank, label.rank, edge], [0, y, y], color=FAINT, linewidth=0.9, zorder=1)
            ax.plot([label.rank], [0], "o", color=COLORS[0], markersize=5, zorder=3, clip_on=False)
            ax.text(edge + out * span, y, label.text, ha=ha, va="center")
        for index, (first, last) in enumerate(layout.bars):
            ends, y = [first - 0.01 * span, last + 0.01 * span], 0.22 + 0.16 * index
            ax.plot(ends, [y, y], color=COLORS[1], linewidth=3.6, solid_capstyle="round", zorder=2)
        caption(figure, title, [describe_test(ranking), *notes])
    return figure


def describe_test(ranking: Ranking) -> str:
    """Say in one sentence how the ranks were compared."""
    text = f"average ranks over {ranking.n_datasets} data sets (1 is best)"
    if ranking.p_friedman == ranking.p_friedman:
        text += f", Friedman p = {ranking.p_friedman:.2g}"
    test = {"wilcoxon-holm": "Wilcoxon's test with Holm's correction", "nemenyi": "Nemenyi's test"}[ranking.test]
    return text + f"; a bar joins arms that {test} does not tell apart at 5 %"
