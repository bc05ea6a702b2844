"""The critical-difference diagram: average ranks of arms on a line, bars over those that cannot be told apart."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from manifold_oos.reporting.figures.style import COLORS, FAINT, INK, footnote, house_style, new_figure
from manifold_oos.results.statistics import Ranking


def rank_figure(ranking: Ranking, *, title: str = "", notes: Sequence[str] = ()) -> Figure:
    """Draw a critical-difference diagram."""
    ranks = list(ranking.ranks.items())
    k = len(ranks)
    left, right = ranks[: (k + 1) // 2], ranks[(k + 1) // 2 :]
    depth = 0.55 + 0.16 * len(ranking.groups)
    with house_style():
        figure = new_figure(7.2, 1.1 + 0.26 * len(left) + 0.2 * len(ranking.groups))
        ax = figure.add_subplot()
        span = max(k - 1, 1)
        ax.set_xlim(1 - 0.45 * span, k + 0.45 * span)
        bottom = depth + 0.42 * len(left)
        ax.set_ylim(bottom, -0.75)
        ax.set_axis_off()
        ax.plot([1, k], [0, 0], color=INK, linewidth=1.2)
        for tick in range(1, k + 1):
            ax.plot([tick, tick], [0, -0.12], color=INK, linewidth=1.0)
            ax.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=8.5)
        for side, members in (("left", left), ("right", right[::-1])):
            for row, (arm, rank) in enumerate(members):
                y = depth + 0.42 * row
                edge = 1 - 0.06 * span if side == "left" else k + 0.06 * span
                ax.plot([rank, rank, edge], [0, y, y], color=FAINT, linewidth=0.9, zorder=1)
                ax.plot([rank], [0], "o", color=COLORS[0], markersize=5, zorder=3, clip_on=False)
                text, ha = (f"{arm}  {rank:.2f}", "right") if side == "left" else (f"{rank:.2f}  {arm}", "left")
                ax.text(edge + (-0.01 if side == "left" else 0.01) * span, y, text, ha=ha, va="center")
        for index, group in enumerate(ranking.groups):
            ends = [ranking.ranks[group[0]] - 0.01 * span, ranking.ranks[group[-1]] + 0.01 * span]
            y = 0.22 + 0.16 * index
            ax.plot(ends, [y, y], color=COLORS[1], linewidth=3.6, solid_capstyle="round", zorder=2)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        footnote(figure, [describe_test(ranking), *notes])
    return figure


def describe_test(ranking: Ranking) -> str:
    """Say in one sentence how the ranks were compared."""
    text = f"average ranks over {ranking.n_datasets} data sets (1 is best)"
    if ranking.p_friedman == ranking.p_friedman:
        text += f", Friedman p = {ranking.p_friedman:.2g}"
    test = {"wilcoxon-holm": "Wilcoxon's test with Holm's correction", "nemenyi": "Nemenyi's test"}[ranking.test]
    return text + f"; a bar joins arms that {test} does not tell apart at 5 %"
