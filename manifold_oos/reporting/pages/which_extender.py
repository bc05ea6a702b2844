"""Write docs/which_extender.md from the stored rows of configs/grid: ranks, errors, costs and what follows.

Each recommendation is the arm of the best average rank among those that fit a situation, with the arms that the
test of the ranks does not tell apart from it. Nothing is run here: ``moos run configs/grid/extenders.yaml
configs/grid/all.yaml`` fills the store, in parts if need be, and the page says how many splits there were.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from manifold_oos.atomic import atomic, write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Arm, Experiment
from manifold_oos.errors import DataError
from manifold_oos.registry import find
from manifold_oos.reporting.figures.pareto import pareto_figure, pareto_front
from manifold_oos.reporting.figures.ranks import rank_figure
from manifold_oos.reporting.pages.common import DOCS, parser_of, start, stored
from manifold_oos.reporting.render import markdown_table
from manifold_oos.results.collect import Results
from manifold_oos.results.statistics import Ranking, rank_arms

PAGE = DOCS / "which_extender.md"
IMAGES = DOCS / "images"
ERROR, TIME, FIT = "misclassification_rate", "milliseconds_per_sample", "fit_seconds"
#: What mostly changes between the pictures of a class; the other sets mix it.
VARIES = {"coil20": "view", "eth80": "view", "umist": "view", "fei": "view", "yaleb": "light", "pie": "light"}
BUDGETS = (0.1, 1.0)
FEW = 5


def mean_of(results: Results, metric: str) -> pd.DataFrame:
    """The mean of a metric over the splits: a row per data set, a column per arm."""
    cells = results.cells[results.cells["metric"] == metric]
    table = cells.pivot_table(index="dataset", columns="arm", values="mean", sort=False, observed=True)
    return table[[arm for arm in results.experiment.arms if arm in table]]


def is_transductive(arm: Arm) -> bool:
    """Whether an arm needs the new points together."""
    methods = (("extenders", arm.extender), ("classifiers", arm.classifier))
    found: list[Any] = [find(kind, method.name) for kind, method in methods if method is not None]
    return any(method.transductive for method in found)


def situations(experiment: Experiment, errors: pd.DataFrame, times: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The errors that a situation leaves: some data sets, some arms."""
    sizes = {data.label: experiment.split_of(data).sizes[0] for data in experiment.datasets}
    slow = times.median()
    pointwise = [arm for arm in errors if not is_transductive(experiment.arms[str(arm)])]

    def sets(keep: Callable[[str], bool]) -> pd.DataFrame:
        return errors.loc[[label for label in errors.index if keep(label)]]

    found = {"any of the eight sets, new points together": errors, "new points one by one": errors[pointwise]}
    for budget in BUDGETS:
        cheap = [arm for arm in errors if slow[str(arm)] <= budget]
        found[f"at most {budget:g} ms for a new point"] = errors[cheap]
    found[f"up to {FEW} known points of a class"] = sets(lambda label: sizes[label] <= FEW)
    found[f"more than {FEW} known points of a class"] = sets(lambda label: sizes[label] > FEW)
    for what in ("view", "light"):
        found[f"the {what} changes"] = errors.loc[[label for label in errors.index if VARIES.get(label) == what]]
    return {name: frame for name, frame in found.items() if frame.size}


def pairs(experiment: Experiment, errors: pd.DataFrame) -> pd.DataFrame:
    """Errors of embedding + extender, a row per (data set, embedding), a column per extender that all rows have."""
    records = []
    for name in errors:
        arm = experiment.arms[str(name)]
        if arm.embedding is not None and arm.extender is not None:
            for label, value in errors[name].items():
                records.append((label, arm.embedding.name, arm.extender.name, value))
    frame = pd.DataFrame.from_records(records, columns=["dataset", "embedding", "extender", "error"])
    return frame.pivot_table(index=["dataset", "embedding"], columns="extender", values="error", sort=False)


def advice(situation: str, errors: pd.DataFrame, costs: pd.Series | None) -> list[str]:
    """One line of the recommendation."""
    ranking = rank_arms(errors, better="lower")
    best = str(ranking.ranks.index[0])
    told = [arm for arm in ranking.ranks.index[1:] if not ranking.p.loc[best, arm] < 0.05]
    near = ", ".join(f"{arm} {ranking.ranks[arm]:.1f}" for arm in told[:4]) + (", …" if len(told) > 4 else "")
    cost = "" if costs is None else f"{costs[best]:.2g}"
    complete = errors.dropna()
    mean = f"{complete[best].mean():.1f}"
    return [situation, f"**{best}**", f"{ranking.ranks[best]:.1f} of {len(ranking.ranks)}", mean, cost, near or "–"]


def arms_table(results: Results, errors: pd.DataFrame, times: pd.DataFrame, ranking: Ranking) -> str:
    """Every arm: rank, errors, costs, and whether it is on the front of error and cost."""
    fits = mean_of(results, FIT)
    order = [str(arm) for arm in ranking.ranks.index]
    cost, score = times.median()[order], errors.mean()[order]
    front = {order[i] for i in pareto_front(cost.tolist(), score.tolist())}
    rows = []
    for arm in order:
        best = [
            f"**{v:.1f}**" if v == errors.loc[str(label)].min() else f"{v:.1f}" for label, v in errors[arm].items()
        ]
        own = f"{cost[arm]:.2g}{' ◆' if arm in front else ''}"
        fit = f"{fits[arm].median():.2g}" if arm in fits else "–"
        rows.append([arm, f"{ranking.ranks[arm]:.2f}", f"{score[arm]:.1f}", *best, fit, own])
    return markdown_table(["arm", "rank", "mean", *map(str, errors.index), "fit (s)", "new point (ms)"], rows)


def matrix_table(table: pd.DataFrame) -> str:
    """The mean error of every embedding with every extender, where all data sets have theirs."""
    groups = table.groupby("embedding", sort=False)
    means = groups.mean().where(groups.count() == table.index.get_level_values("dataset").nunique())
    rows = []
    for embedding, line in means.iterrows():
        low = line.min()
        cells = ["–" if pd.isna(v) else f"**{v:.1f}**" if v == low else f"{v:.1f}" for v in line]
        rows.append([str(embedding), *cells])
    return markdown_table(["embedding", *map(str, means.columns)], rows)


def draw(name: str, ranking: Ranking, points: pd.DataFrame) -> list[str]:
    """The two figures, and the lines that show them."""
    figures = {
        f"{name}_ranks": rank_figure(ranking),
        f"{name}_cost": pareto_figure(points, x_label="time per new point (ms, median)", y_label="mean error (%)"),
    }
    for stem, figure in figures.items():
        with atomic(IMAGES / f"{stem}.png") as file:
            figure.savefig(file, format="png", dpi=120)
    return [
        f"![Average ranks over the data sets](images/{name}_ranks.png)",
        "",
        f"![Error against the time for a new point](images/{name}_cost.png)",
    ]


def splits_text(results: Results) -> str:
    """How many splits there are of the number the config asks for."""
    asked = max(results.experiment.split_of(data).rounds for data in results.experiment.datasets)
    low, high = int(results.cells["splits"].min()), int(results.cells["splits"].max())
    return f"{low if low == high else f'{low} to {high}'} of {asked} splits"


def supervised(names: Iterable[str], wanted: bool) -> list[str]:
    """The embeddings that use labels, or those that do not."""
    found: dict[str, Any] = {name: find("embeddings", name) for name in names}
    return [name for name, embedding in found.items() if embedding.supervised is wanted]


def page(one: Results, every: Results | None) -> str:
    """The text of the page."""
    errors, times = mean_of(one, ERROR).dropna(axis=1), mean_of(one, TIME)
    ranking = rank_arms(errors, better="lower")
    costs = times.median()
    rows = [advice(name, frame, costs) for name, frame in situations(one.experiment, errors, times).items()]
    grid: list[str] = []
    if every is not None:
        table = pairs(every.experiment, mean_of(every, ERROR))
        common = table.dropna(axis=1, thresh=int(0.9 * len(table))).dropna()
        for words, wanted in (("uses labels", True), ("uses no labels", False)):
            names = supervised(common.index.get_level_values("embedding").unique(), wanted)
            rows.append(advice(f"the embedding is given and {words}", common.loc[(slice(None), names), :], None))
        overall = rank_arms(common, better="lower")
        grid = [
            "## Every embedding with every extender",
            "",
            f"`moos run configs/grid/all.yaml`, {splits_text(every)}. Mean error (%) over the data sets; the best"
            " extender of each embedding in bold. A dash: the two do not go together, or a set is missing.",
            "",
            matrix_table(table),
            "",
            f"Ranks over {len(common)} pairs of data set and embedding: "
            + ", ".join(f"{name} {rank:.2f}" for name, rank in overall.ranks.items())
            + ". The pairs of one data set are not independent, which flatters the test in the last two lines of"
            " the recommendation.",
            "",
        ]
    points = pd.DataFrame(
        {"arm": errors.columns, "x": [costs[str(a)] for a in errors], "y": errors.mean().to_numpy()}
    )
    return "\n".join(
        [
            "# Which extender?",
            "",
            "Computed from the grid by `python -m manifold_oos.reporting.pages.which_extender`; nothing on this"
            " page is typed. All methods have their default parameters and images are 16×16, so that a method that"
            " needs tuning is not at its best here: take the first two or three of a line and let `moos run` decide"
            " on your own data.",
            "",
            "## The recommendation",
            "",
            markdown_table(
                ["situation", "take", "average rank", "mean error (%)", "new point (ms)", "not told apart (rank)"],
                rows,
            ),
            "",
            "*Not told apart*: p ≥ 0.05 against the one to take, by Nemenyi's test of the ranks, or Wilcoxon's with"
            " Holm's correction where there are rows enough; best first, at most four named.",
            "",
            "## The extenders after one supervised embedding",
            "",
            f"`moos run configs/grid/extenders.yaml`, {splits_text(one)}. Error in %, best of each set in bold;"
            " ◆: no other arm is better in both error and time for a new point.",
            "",
            arms_table(one, errors, times, ranking),
            "",
            *draw("grid", ranking, points),
            "",
            *grid,
        ]
    ).rstrip() + "\n"  # fmt: skip


def main(arguments: list[str]) -> int:
    """Write the page from the store."""
    options = parser_of(__doc__).parse_args(arguments)
    one, every = (stored(load_config(f"configs/grid/{name}.yaml"), options.out) for name in ("extenders", "all"))
    if one is None or one.cells[one.cells["metric"] == TIME].empty:
        raise DataError("no rows of configs/grid/extenders.yaml in the store: run it first")
    print(write_text(PAGE, page(one, every)))
    return 0


if __name__ == "__main__":
    start(main)
